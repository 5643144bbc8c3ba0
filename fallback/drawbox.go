package fallback

import (
	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/internal/vector"
)

// DrawBox is defined in bound.DrawBox.
func (d *Device[T]) DrawBox(a bound.DrawBox) error {
	t := drawBox[T]{a: a, vectors: d.vectors}
	t.lo, t.hi = d.interval(a.Box)
	t.cLo, t.cHi = d.interval(a.Centre)
	t.unit, t.gamma = d.data(a.Unit), d.data(a.Gamma)
	groups := (a.N + 3) / 4 // one Philox call gives four numbers
	return d.parallel(a.Boxes*groups, 256, func(from, to int) {
		for from < to {
			b, g := from/groups, from%groups
			n := min(to-from, groups-g)
			for i := drawBoxLanes(&t, b, g, n); i < n; i++ {
				t.group(b, g+i)
			}
			from += n
		}
	})
}

type drawBox[T bound.Real] struct {
	a                             bound.DrawBox
	vectors                       vector.Set
	lo, hi, cLo, cHi, unit, gamma []T
}

// group draws the weights 4g to 4g+3 of box b.
func (t *drawBox[T]) group(b, g int) {
	var n [4]float32
	if t.a.Sampled {
		n = arith.Normals(t.a.Seed, t.a.First+uint64(b), t.a.Stream, uint32(g))
	}
	for w := 4 * g; w < min(4*g+4, t.a.N); w++ {
		i := b*t.a.N + w
		t.lo[i], t.hi[i] = bound.BoxEnds(t.cLo[w], t.cHi[w], t.unit[w], t.gamma[b], T(n[w%4]))
	}
}
