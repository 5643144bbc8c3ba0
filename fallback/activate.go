package fallback

import (
	"psafe/host/bound"
)

// Activate is defined in bound.Activate.
func (d *Device[T]) Activate(a bound.Activate) error {
	zLo, zHi := d.interval(a.Z)
	lo, hi := d.interval(a.Pre)
	slopeLo, slopeHi := T(a.Activation.SlopeLo), T(a.Activation.SlopeHi)
	activate := d.activation[a.Activation.Kind].activate
	return d.parallel(a.N, 4096, func(from, to int) {
		for i := from; i < to; i++ {
			zLo[i], zHi[i] = activate(d, lo[i], hi[i], slopeLo, slopeHi)
		}
	})
}

func (d *Device[T]) activateIdentity(lo, hi, _, _ T) (zLo, zHi T) { return lo, hi }

func (d *Device[T]) activateReLU(lo, hi, _, _ T) (zLo, zHi T) { return max(lo, 0), max(hi, 0) }

func (d *Device[T]) activateLeaky(lo, hi, slopeLo, slopeHi T) (zLo, zHi T) {
	return d.leakyLo(lo, slopeHi), d.leakyHi(hi, slopeLo)
}

// activateTanh uses tanh(t) = 2 sigmoid(2t) - 1.
func (d *Device[T]) activateTanh(lo, hi, _, _ T) (zLo, zHi T) {
	l, h := d.activateSigmoid(T(2*lo), T(2*hi), 0, 0)
	return max(-1, d.down(T(2*l)-1)), min(1, d.up(T(2*h)-1))
}

func (d *Device[T]) activateSigmoid(lo, hi, _, _ T) (zLo, zHi T) {
	zLo, _ = d.sigmoidBounds(lo)
	_, zHi = d.sigmoidBounds(hi)
	return zLo, zHi
}

func (d *Device[T]) activateSoftplus(lo, hi, _, _ T) (zLo, zHi T) {
	return d.softplusAt(lo).lo, d.softplusAt(hi).hi
}

func (d *Device[T]) activateELU(lo, hi, alphaLo, alphaHi T) (zLo, zHi T) {
	return d.eluAt(lo, alphaLo, alphaHi).lo, d.eluAt(hi, alphaLo, alphaHi).hi
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
