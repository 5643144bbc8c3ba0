package verify

import (
	"fmt"
	"math"
	"math/big"

	"psafe/host/model/network"
	"psafe/host/read/vnnlib"
)

// Counterexample is an input in a box of the query whose output is in a polytope that is
// unsafe there, both exactly as stated.
type Counterexample struct {
	// Case is the number of the box.
	Case int
	// Input is exact. Each number is a float32 if the box has one in that coordinate, else a
	// float64, and else, where the box is one point, that number.
	Input []*big.Rat
	// OutputLo and OutputHi enclose the outputs: they are equal for activations with a kink.
	OutputLo, OutputHi []*big.Rat
}

// examiner decides whether points are counterexamples.
type examiner struct {
	query   *vnnlib.Query
	net     network.Network
	weights [][]float64
	// ranges holds the ranges of the boxes, made when they are first needed.
	ranges map[int][]span
}

func newExaminer(q *vnnlib.Query, net network.Network, weights [][]float64) *examiner {
	return &examiner{query: q, net: net, weights: weights, ranges: map[int][]span{}}
}

// examine is the counterexample near x in box k, nil if x is near none. It tries the float32
// nearest to x and then x itself, each moved into the box as stated.
func (e *examiner) examine(k int, x []float64) *Counterexample {
	spans := e.ranges[k]
	if spans == nil {
		for j := range e.query.Cases[k].Box {
			spans = append(spans, spanOf(&e.query.Cases[k].Box[j]))
		}
		e.ranges[k] = spans
	}
	for _, short := range []bool{true, false} {
		point := make([]*big.Rat, len(x))
		for j := range point {
			if point[j] = spans[j].near(x[j], short); point[j] == nil {
				return nil
			}
		}
		if c := e.evaluate(k, point); c != nil {
			return c
		}
	}
	return nil
}

// evaluate returns the counterexample that a point is in box k, nil if it is none.
func (e *examiner) evaluate(k int, point []*big.Rat) *Counterexample {
	of := &e.query.Cases[k]
	x := make([]network.Enclosure, len(point))
	for j, p := range point {
		if !of.Box[j].Contains(p) {
			return nil
		}
		x[j] = enclose(p)
	}
	c := &Counterexample{Case: k, Input: point}
	for _, y := range e.net.Enclose(e.weights, x) {
		lo, _ := y.Lo.Rat(nil)
		hi := lo
		if y.Hi != y.Lo {
			hi, _ = y.Hi.Rat(nil)
		}
		c.OutputLo, c.OutputHi = append(c.OutputLo, lo), append(c.OutputHi, hi)
	}
	if of.Unsafe.Holds(func(r *vnnlib.Constraint) bool { return surely(r, c.OutputLo, c.OutputHi) }) {
		return c
	}
	return nil
}

// surely reports whether a constraint holds for all outputs between lo and hi.
func surely(c *vnnlib.Constraint, lo, hi []*big.Rat) bool {
	worst := make([]*big.Rat, len(lo))
	for _, t := range c.Terms {
		if worst[t.Output] = lo[t.Output]; t.Coef.Sign() < 0 {
			worst[t.Output] = hi[t.Output]
		}
	}
	return c.Holds(worst)
}

// enclose is a number for a network; what is not dyadic is between two numbers of 300 bits.
func enclose(p *big.Rat) network.Enclosure {
	if f, exact := p.Float64(); exact {
		return network.MakeEnclosure(f)
	}
	rounded := func(mode big.RoundingMode) *big.Float { return new(big.Float).SetPrec(300).SetMode(mode).SetRat(p) }
	return network.Enclosure{Lo: rounded(big.ToNegativeInf), Hi: rounded(big.ToPositiveInf)}
}

// span is which numbers an interval of a query holds.
type span struct {
	// lo and hi are the first and last float64 in it, lo > hi if there is none; short are
	// the same for float32.
	lo, hi           float64
	shortLo, shortHi float32
	// only is the interval, if it is one point and has a decimal text.
	only *big.Rat
}

func spanOf(i *vnnlib.Interval) span {
	var s span
	if _, decimal := i.Lo.FloatPrec(); decimal && i.Lo.Cmp(i.Hi) == 0 {
		s.only = i.Lo
	}
	above := func(x float64) bool { // in the interval, as far as its lower end goes
		order := new(big.Rat).SetFloat64(x).Cmp(i.Lo)
		return order > 0 || order == 0 && !i.LoStrict
	}
	below := func(x float64) bool {
		order := new(big.Rat).SetFloat64(x).Cmp(i.Hi)
		return order < 0 || order == 0 && !i.HiStrict
	}
	// Rat.Float64 and Rat.Float32 round to nearest: at most one step off, and one more
	// where the end is strict.
	s.lo, _ = i.Lo.Float64()
	for !above(s.lo) {
		s.lo = math.Nextafter(s.lo, math.Inf(1))
	}
	s.hi, _ = i.Hi.Float64()
	for !below(s.hi) {
		s.hi = math.Nextafter(s.hi, math.Inf(-1))
	}
	s.shortLo, s.shortHi = float32(math.Inf(1)), float32(math.Inf(-1))
	if lo, _ := i.Lo.Float32(); finite(lo) {
		for finite(lo) && !above(float64(lo)) {
			lo = math.Nextafter32(lo, float32(math.Inf(1)))
		}
		s.shortLo = lo
	}
	if hi, _ := i.Hi.Float32(); finite(hi) {
		for finite(hi) && !below(float64(hi)) {
			hi = math.Nextafter32(hi, float32(math.Inf(-1)))
		}
		s.shortHi = hi
	}
	return s
}

func finite(x float32) bool { return math.Abs(float64(x)) <= math.MaxFloat32 }

// near is a number of the interval near x, a float32 if it is to be short and there is one;
// nil if none is known.
func (s *span) near(x float64, short bool) *big.Rat {
	switch v := float32(x); {
	case short && s.shortLo <= s.shortHi:
		return new(big.Rat).SetFloat64(float64(min(max(v, s.shortLo), s.shortHi)))
	case s.lo <= s.hi:
		return new(big.Rat).SetFloat64(min(max(x, s.lo), s.hi))
	}
	return s.only
}

// Decimal writes a number of an Input with all its digits, without an exponent, as VNN-LIB 2
// does.
func Decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		panic("verify: Decimal: " + r.String() + " has no end of digits")
	}
	return r.FloatString(digits)
}

// OutputApprox is output i, rounded to the nearest float64.
func (c *Counterexample) OutputApprox(i int) float64 {
	middle := new(big.Rat).Add(c.OutputLo[i], c.OutputHi[i])
	v, _ := middle.Mul(middle, big.NewRat(1, 2)).Float64()
	return v
}

// Where returns in words where the counterexample is, for people.
func (c *Counterexample) Where(q *vnnlib.Query) string {
	if len(q.Cases) == 1 {
		return "in the input box"
	}
	return fmt.Sprintf("in input box %d of %d", c.Case, len(q.Cases))
}
