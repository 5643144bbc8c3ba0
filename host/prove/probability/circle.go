package probability

import "math"

// power is a positive number m 2^e with a relative error of at most ops (3u).
type power struct {
	m   float64
	e   int
	ops float64
}

func (p power) times(q power) power {
	m, e := math.Frexp(p.m * q.m)
	return power{m, p.e + q.e + e, p.ops + q.ops + 1}
}

// newPower is r^k.
func newPower(r float64, k int) power {
	base := power{m: r}
	if k < 0 {
		base, k = power{m: 1 / r, ops: 1}, -k
	}
	p := power{m: 1}
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			p = p.times(base)
		}
		base = base.times(base)
	}
	return p
}

func (p power) up() float64 {
	if !(p.ops < 0x1p40) || p.e > 0 || !(p.m > 0) {
		return 1
	}
	return min(1, up(up(p.m*(1+p.ops*3.01*unit))*math.Ldexp(1, max(p.e, -1000))))
}

// meanPowerUp is E r^k for the lattice's points k: by Horner's rule from the upper end, times
// r^First.
func (l *Lattice) meanPowerUp(r float64) power {
	sum := 0.0
	for i := len(l.P) - 1; i >= 0; i-- {
		sum = sum*r + l.P[i]
	}
	p := newPower(r, l.First).times(power{m: max(sum, 0x1p-1000)})
	p.ops += float64(len(l.P) + 2)
	return p
}
