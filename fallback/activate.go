package fallback

import (
	"psafe/host/bound"
)

// Activate is defined in bound.Activate.
func (d *Device[T]) Activate(a bound.Activate) error {
	zLo, zHi := d.interval(a.Z, a.N, "Activate.Z")
	lo, hi := d.interval(a.Pre, a.N, "Activate.Pre")
	slopeLo, slopeHi := T(a.Activation.SlopeLo), T(a.Activation.SlopeHi)
	d.parallel(a.N, 4096, func(from, to int) {
		for i := from; i < to; i++ {
			switch a.Activation.Kind {
			case bound.Identity:
				zLo[i], zHi[i] = lo[i], hi[i]
			case bound.ReLU:
				zLo[i], zHi[i] = max(lo[i], 0), max(hi[i], 0)
			case bound.LeakyReLU:
				zLo[i], zHi[i] = d.leakyLo(lo[i], slopeHi), d.leakyHi(hi[i], slopeLo)
			case bound.Tanh:
				l, _ := d.sigmoidBounds(T(2 * lo[i]))
				_, h := d.sigmoidBounds(T(2 * hi[i]))
				zLo[i], zHi[i] = max(-1, d.down(T(2*l)-1)), min(1, d.up(T(2*h)-1))
			case bound.Sigmoid:
				zLo[i], _ = d.sigmoidBounds(lo[i])
				_, zHi[i] = d.sigmoidBounds(hi[i])
			}
		}
	})
	return nil
}

// leakyLo is below the leaky ReLU of t for every slope up to slopeHi.
func (d *Device[T]) leakyLo(t, slopeHi T) T {
	if t >= 0 {
		return t
	}
	return d.lower(d.down(T(slopeHi * t)))
}

// leakyHi is above the leaky ReLU of t for every slope from slopeLo.
func (d *Device[T]) leakyHi(t, slopeLo T) T {
	if t >= 0 {
		return t
	}
	return d.upper(d.up(T(slopeLo * t)))
}
