package fallback

import (
	"math"

	"psafe/host/bound"
)

// PoolStar is defined in bound.PoolStar.
func (d *Device[T]) PoolStar(a bound.PoolStar) error {
	slot, unit := d.data(a.Slot), d.data(a.Unit)
	lo, hi := d.interval(a.Pre)
	members := d.data(a.Members)
	return d.parallel(a.P*a.U, 1024, func(from, to int) {
		for i := from; i < to; i++ {
			p, u := i/a.U, i%a.U
			window := members[u*a.Window : (u+1)*a.Window]
			star, most := -1, T(math.Inf(-1))
			for s, j := range window {
				if j < 0 {
					continue
				}
				at := p*a.N + int(j)
				middle := lo[at] + hi[at]
				if star < 0 || middle > most {
					star = s
					if middle > most { // not of NaN
						most = middle
					}
				}
			}
			star = max(star, 0)
			slot[i], unit[i] = T(star), window[star]
		}
	})
}
