package fallback

import (
	"math"

	"psafe/host/bound"
)

// PoolLines is defined in bound.PoolLines.
func (d *Device[T]) PoolLines(a bound.PoolLines) error {
	n := a.P * a.U
	t := poolLines[T]{a: a, d: d}
	t.aLo, t.bLo = d.data(a.Lower.A), d.data(a.Lower.B)
	t.aHi, t.bHi = d.data(a.Upper.A), d.data(a.Upper.B)
	t.err, t.magOut = d.data(a.Err), d.data(a.MagOut)
	t.vLo, t.vHi = d.interval(a.V)
	t.aboveLo, t.aboveHi = d.interval(a.Above)
	t.starLo, t.starHi = d.interval(a.Star)
	t.lo, t.hi = d.interval(a.Pre)
	t.mag, t.radius = d.data(a.Mag), d.data(a.Radius)
	if t.radius != nil {
		t.radiusOut = d.data(a.RadiusOut)
	}
	t.members, t.slot = d.data(a.Members), d.data(a.Slot)
	t.lead = d.data(a.Lead)
	return d.parallel(n, 256, func(from, to int) {
		for i := from; i < to; i++ {
			t.unit(i)
		}
	})
}

type poolLines[T bound.Real] struct {
	a                  bound.PoolLines
	d                  *Device[T]
	aLo, bLo, aHi, bHi []T
	err                []T
	vLo, vHi           []T
	aboveLo, aboveHi   []T
	starLo, starHi     []T
	magOut, radiusOut  []T
	lo, hi             []T
	mag, radius        []T
	members, slot      []T
	lead               []T
}

// unit computes unit i of all items'.
func (t *poolLines[T]) unit(i int) {
	d, w := t.d, t.a.Window
	window := t.members[i%t.a.U*w:][:w]
	items := i / t.a.U * t.a.N
	star := int(t.slot[i])
	inf := T(math.Inf(1))
	l, u, mag := -inf, inf, inf // of a window without a member nothing is known
	if j := int(window[star]); j >= 0 {
		l, u, mag = d.lower(t.lo[items+j]), d.upper(t.hi[items+j]), t.mag[items+j]
	}
	c, greatest, delta, radius := l, l, T(0), T(0)
	for s, j := range window {
		if j < 0 {
			continue
		}
		at := items + int(j)
		if t.radius != nil {
			radius = max(radius, t.radius[at])
		}
		if s == star {
			continue
		}
		c, greatest = max(c, d.upper(t.hi[at])), max(greatest, d.lower(t.lo[at]))
		if t.lead != nil {
			delta = max(delta, d.upper(-t.lead[i*w+s]))
		}
	}
	if t.lead == nil {
		delta = inf
	}
	slope, b := d.poolUpper(l, u, c, delta)
	hi := min(max(u, c), d.upper(d.up(u+delta)))
	above := l
	if slope != 1 || b != 0 {
		above = d.lower(d.down(d.down(T(slope*l)) + b))
	}
	t.aLo[i], t.bLo[i], t.aHi[i], t.bHi[i] = 1, 0, slope, b
	t.err[i] = d.up(d.up(T(T(t.a.Charge.G1)*abs(b))) + d.up(T(T(t.a.Charge.G2)*mag)))
	t.vLo[i], t.vHi[i] = l, hi
	t.starLo[i], t.starHi[i] = l, u
	if t.a.Greatest {
		t.vLo[i] = greatest
	}
	t.aboveLo[i], t.aboveHi[i] = min(above, hi), hi
	t.magOut[i] = d.upper(d.up(mag + abs(b)))
	if t.radius != nil {
		t.radiusOut[i] = radius
	}
}

// poolUpper returns a line s y + t above min(max(y, c), y + delta) for y in [l, u], c >= l.
//
// Like relaxLinear's, the slope of the chord may be any in [0, 1]: t lifts it over both ends,
// c - s l and u - s u, each rounded up. A chord that is not finite is (0, +Inf), below which
// the difference is taken wherever the middle of [l, u] is finite.
func (d *Device[T]) poolUpper(l, u, c, delta T) (s, t T) {
	switch {
	case !(l >= -d.max && u <= d.max && c <= d.max):
		t = T(math.Inf(1))
	case c <= l: // v = y_*
		return 1, 0
	case c >= u:
		t = c
	default:
		s = T((u - c) * d.recipApprox(u-l))
		if !(s >= 0 && s <= 1) {
			s = 1
		}
		if s < minSlope {
			s = 0
		}
		t = max(d.up(c-d.down(T(s*l))), d.up(u-d.down(T(s*u))))
		if !(t <= d.max) {
			s, t = 0, T(math.Inf(1))
		}
	}
	middle := T(0.5*l) + T(0.5*u)
	if delta <= d.max && middle+delta < T(s*middle)+t {
		return 1, delta
	}
	return s, t
}
