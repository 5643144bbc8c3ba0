package relax

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
)

// Hidden is a hidden layer: bounds of its pre-activations and of its values, and lines
// around the activation.
type Hidden struct {
	Pre, Z       Span
	Lower, Upper []Line
	// Pool is there for a max pool. Then the lines are of what stands in for the maximum, whose
	// range is arg; else arg is pre.
	Pool *pool
	Arg  Span
}

// HiddenOf is a layer with these pre-activations; without lines where nothing chooses them.
func HiddenOf(act net.Activation, pre Span, by *Choice) Hidden {
	h := Hidden{Pre: pre, Z: NewSpan(len(pre.Lo)), Arg: pre}
	for i, lo := range pre.Lo {
		hi := pre.Hi[i]
		h.Z.Lo[i], h.Z.Hi[i] = curves.ValueDown(act, lo), curves.ValueUp(act, hi)
		if by != nil {
			lower, upper := LinesAround(act, lo, hi, by)
			h.Lower, h.Upper = append(h.Lower, lower), append(h.Upper, upper)
		}
	}
	return h
}

// Through replaces s z by a zeta, plus what it adds to c: s z >= a zeta + (the addition),
// zeta being the pre-activations whose values are z, and lower lines below these.
func (h *Hidden) Through(s Span, lower []Line, c *arith.Sum) (a []float64) {
	a = make([]float64, len(s.Lo))
	for j := range a {
		zLo, zHi := h.Z.Lo[j], h.Z.Hi[j]
		if zLo == 0 && zHi == 0 || s.Lo[j] == 0 && s.Hi[j] == 0 {
			continue
		}
		coefficient, intercept := Chord(s.Lo[j], s.Hi[j], zLo, zHi)
		t := lower[j]
		if !(coefficient >= 0) {
			t = h.Upper[j]
		}
		c.Plus(intercept)
		c.Add(coefficient, t.B)
		var rest float64
		a[j], rest = arith.TwoProduct(coefficient, t.A)
		if rest < 0 {
			c.Add(rest, h.Arg.Hi[j])
		} else if rest != 0 {
			c.Add(rest, h.Arg.Lo[j])
		}
		if math.Abs(a[j]) < 0x1p-960 && coefficient != 0 && t.A != 0 {
			c.Add(-arith.Eta, Abs(h.Arg.Lo[j], h.Arg.Hi[j])) // rest has underflowed
		}
	}
	return a
}

// throughSigns is through where some neurons have signs, which is where the new row is below the
// old one: with a multiplier m >= 0,
//
//	active, t >= 0:      s z = s t >= (s - m) t, and any number up to s will do for s - m
//	not active, t <= 0:  s z = 0 >= m t
func (h *Hidden) throughSigns(s Span, lower []Line, signs []int, multipliers []float64, c *arith.Sum) (a []float64) {
	free := Span{slices.Clone(s.Lo), slices.Clone(s.Hi)}
	for j, sign := range signs {
		if sign != 0 {
			free.Lo[j], free.Hi[j] = 0, 0
		}
	}
	a = h.Through(free, lower, c)
	for j, sign := range signs {
		switch {
		case sign > 0: // z >= 0, so that s is at its least
			a[j] = s.Lo[j] - multipliers[j]
		case sign < 0:
			a[j] = multipliers[j]
		}
	}
	return a
}

// pool bounds the maxima v of the windows of a max pool by one member each, the star, which is
// chosen by intervals: y_* <= v <= slope y_* + above. docs/theory.md, (22) to (25).
type pool struct {
	Star         []int32
	Slope, Above []float64
}

// substitute replaces a v by s y, plus what it adds to c, for the values y of the layer of n
// numbers that is pooled: the lower line where a is positive, else the upper one.
func (p *pool) substitute(a []float64, n int, c *arith.Sum) Span {
	total := make([]arith.Sum, n)
	for v, x := range a {
		j := p.Star[v]
		if x > 0 {
			total[j] = total[j].With(x, 1)
		} else if x != 0 {
			c.Add(x, p.Above[v])
			total[j] = total[j].With(x, p.Slope[v])
		}
	}
	s := NewSpan(n)
	for j := range total {
		if total[j].N > 0 {
			s.Lo[j], s.Hi[j] = total[j].Lo(), total[j].Hi()
		}
	}
	return s
}
