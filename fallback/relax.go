package fallback

import (
	"psafe/host/bound"
)

// Relax is defined in bound.Relax.
func (d *Device[T]) Relax(a bound.Relax) error {
	aLo, bLo := d.data(a.Lo.A), d.data(a.Lo.B)
	aHi, bHi := d.data(a.Hi.A), d.data(a.Hi.B)
	err, mag := d.data(a.Err), d.data(a.Mag)
	lo, hi := d.interval(a.Pre)
	upLo, upHi := d.interval(a.Upper)
	slopeLo, slopeHi := T(a.SlopeLo), T(a.SlopeHi)
	g1, g2 := T(a.Charge.G1), T(a.Charge.G2)
	relax := d.activation[a.Kind].relax
	return d.parallel(a.N, 256, func(from, to int) {
		for i := from; i < to; i++ {
			aLo[i], bLo[i], aHi[i], bHi[i] = relax(d, lo[i], hi[i], slopeLo, slopeHi)
			if upLo != nil {
				_, _, aHi[i], bHi[i] = relax(d, upLo[i], upHi[i], slopeLo, slopeHi)
			}
			b := max(abs(bLo[i]), abs(bHi[i]))
			s := max(abs(aLo[i]), abs(aHi[i]))
			err[i] = d.up(d.up(T(g1*b)) + d.up(T(g2*d.up(T(s*mag[i])))))
		}
	})
}

// relaxLinear relaxes max(t, slope t) for a slope in [slopeLo, slopeHi], which is
// 0 for ReLU and 1 for the identity.
//
// Upper line over l < 0 < u: any slope a in [0, 1] will do, with the intercept
// that lifts it over both ends, (a - slope)(-l) and (1 - a) u, each rounded up.
// So the quotient that gives a need not be exact (nor the same as another
// division's); it only has to be the same on every device.
func (d *Device[T]) relaxLinear(l, u, slopeLo, slopeHi T) (aLo, bLo, aHi, bHi T) {
	if l >= 0 || slopeLo == 1 {
		return 1, 0, 1, 0
	}
	if u <= 0 {
		return slopeHi, 0, slopeLo, 0
	}
	aLo = slopeHi
	if u > -l {
		aLo = 1
	}
	aHi = T((u - T(slopeLo*l)) * d.recipApprox(u-l))
	if !(aHi >= 0 && aHi <= 1) {
		aHi = 1
	}
	if aHi < minSlope {
		aHi = 0
	}
	atL := d.up(T(d.up(aHi-slopeLo) * -l))
	atU := d.up(T(d.up(1-aHi) * u))
	return aLo, 0, aHi, max(atL, atU)
}

// relaxSigmoid uses sigmoid(t) = 1 - sigmoid(-t) for the lower line.
func (d *Device[T]) relaxSigmoid(l, u, _, _ T) (aLo, bLo, aHi, bHi T) {
	aHi, bHi = d.sigmoidUpper(l, u)
	aLo, bLo = d.sigmoidUpper(-u, -l)
	return aLo, d.down(1 - bLo), aHi, bHi
}

// relaxTanh uses tanh(t) = 2 sigmoid(2t) - 1.
func (d *Device[T]) relaxTanh(l, u, _, _ T) (aLo, bLo, aHi, bHi T) {
	aLo, bLo, aHi, bHi = d.relaxSigmoid(T(2*l), T(2*u), 0, 0)
	return T(4 * aLo), d.down(T(2*bLo) - 1), T(4 * aHi), d.up(T(2*bHi) - 1)
}

func (d *Device[T]) relaxSoftplus(l, u, _, _ T) (aLo, bLo, aHi, bHi T) {
	return d.convexLines(l, u, d.softplusAt)
}

func (d *Device[T]) relaxELU(l, u, alphaLo, alphaHi T) (aLo, bLo, aHi, bHi T) {
	if l >= 0 {
		return 1, 0, 1, 0
	}
	return d.convexLines(l, u, func(t T) convexAt[T] { return d.eluAt(t, alphaLo, alphaHi) })
}
