package verify

import (
	"fmt"
	"math"
	"math/big"

	"psafe/host/model/network"
	"psafe/host/read/vnnlib"
)

// Counterexample is an input in a box of the query whose output is in a polytope that is
// unsafe there, both exactly as stated: of several networks, those of all one after the other.
type Counterexample struct {
	// Case is the number of the box.
	Case int
	// Input is exact. Each number is a float32 if the box has one in that coordinate, else a
	// float64, and else, where the box is one point, that number; or, of inputs that are compared with
	// each other, a sum of such.
	Input []*big.Rat
	// OutputLo and OutputHi enclose the outputs: they are equal for activations with a kink.
	OutputLo, OutputHi []*big.Rat
}

// examiner decides whether points are counterexamples, of the query and the networks as they are given.
type examiner struct {
	*Question
	// ranges holds the ranges of the boxes, made when they are first needed.
	ranges map[int]ranges
}

// ranges are of a box of the joined query, and of its inputs that are sums.
type ranges struct {
	free []span
	sums map[int]span
}

func newExaminer(q *Question) *examiner { return &examiner{q, map[int]ranges{}} }

func (e *examiner) rangesOf(k int) ranges {
	r, known := e.ranges[k]
	if !known {
		r.sums = map[int]span{}
		for j := range e.joined.query.Cases[k].Box {
			r.free = append(r.free, spanOf(&e.joined.query.Cases[k].Box[j]))
		}
		for i, s := range e.joined.of {
			if s.step >= 0 {
				r.sums[i] = spanOf(&e.Query.Cases[k].Box[i])
			}
		}
		e.ranges[k] = r
	}
	return r
}

// examine is the counterexample near free inputs x in box k, nil if x is near none. It tries the float32
// nearest to x and then x itself, each moved into the box as stated, sums rounded and then not.
func (e *examiner) examine(k int, x []float64) *Counterexample {
	r := e.rangesOf(k)
	for _, as := range []struct{ short, round bool }{{true, true}, {false, true}, {true, false}, {false, false}} {
		if len(r.sums) == 0 && !as.round {
			break
		}
		free := make([]*big.Rat, len(x))
		for j := range free {
			if free[j] = r.free[j].near(x[j], as.short); free[j] == nil {
				return nil
			}
		}
		if point := e.inputs(&r, free, as.short, as.round); point != nil {
			if c := e.evaluate(k, point); c != nil {
				return c
			}
		}
	}
	return nil
}

// inputs are the query's inputs of free ones, nil if none are known.
func (e *examiner) inputs(r *ranges, free []*big.Rat, short, round bool) []*big.Rat {
	point := make([]*big.Rat, len(e.joined.of))
	for i, s := range e.joined.of {
		if point[i] = free[s.base]; s.step < 0 {
			continue
		}
		point[i] = new(big.Rat).Add(free[s.base], free[s.step])
		if round {
			v, _ := point[i].Float64()
			of := r.sums[i]
			if point[i] = of.near(v, short); point[i] == nil {
				return nil
			}
		}
	}
	return point
}

// evaluate returns the counterexample that a point is in box k, nil if it is none.
func (e *examiner) evaluate(k int, point []*big.Rat) *Counterexample {
	of := &e.Query.Cases[k]
	x := make([]network.Enclosure, len(point))
	for j, p := range point {
		if !of.Box[j].Contains(p) {
			return nil
		}
		x[j] = enclose(p)
	}
	c := &Counterexample{Case: k, Input: point}
	for i, n := range e.Networks {
		size := e.Query.Networks[i].Input.Size
		for _, y := range n.Network().Enclose(weightsOf(n), x[:size]) {
			lo, _ := y.Lo.Rat(nil)
			hi := lo
			if y.Hi != y.Lo {
				hi, _ = y.Hi.Rat(nil)
			}
			c.OutputLo, c.OutputHi = append(c.OutputLo, lo), append(c.OutputHi, hi)
		}
		x = x[size:]
	}
	if of.Unsafe.Holds(func(r *vnnlib.Constraint) bool { return surely(r, point, c.OutputLo, c.OutputHi) }) {
		return c
	}
	return nil
}

// surely reports whether a constraint holds at inputs x for all outputs between lo and hi.
func surely(c *vnnlib.Constraint, x, lo, hi []*big.Rat) bool {
	worst := make([]*big.Rat, len(lo))
	for _, t := range c.Terms {
		if t.Input {
			continue
		}
		if worst[t.Of] = lo[t.Of]; t.Coef.Sign() < 0 {
			worst[t.Of] = hi[t.Of]
		}
	}
	return c.Holds(x, worst)
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
