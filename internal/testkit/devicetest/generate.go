package devicetest

import (
	"math"
	"math/rand/v2"

	"psafe/host/bound"
)

// gen draws the numbers of one case. All of a case have a flavour: rounding bugs
// need numbers of one size, underflow and overflow bugs small and huge ones.
type gen struct {
	*rand.Rand
	p       bound.Precision
	flavour flavour
	// large makes sizes that do not fit a work-group: for comparisons only, the
	// exact result would take too long.
	large bool
}

type flavour int

const (
	ordinary flavour = iota
	ties             // few bits around 1: sums that lie half-way
	tiny             // products underflow
	huge             // products overflow
	wide             // all exponents
	flavours
)

func newGen(seed uint64, p bound.Precision) *gen {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 0x70736166)), p: p}
	// Half of all cases are ordinary.
	if g.IntN(2) == 0 {
		g.flavour = flavour(g.IntN(int(flavours)))
	}
	return g
}

// sane reports whether no product of the case underflows or overflows much, so that tests of
// tightness mean something.
func (g *gen) sane() bool { return g.flavour == ordinary || g.flavour == ties }

// size is the length of a sum: around the block length, around two, and small.
func (g *gen) size() int {
	if g.large && g.oneIn(2) {
		return []int{64, 127, 128, 129, 200}[g.IntN(5)]
	}
	return []int{1, 1, 2, 3, 5, 31, 32, 33, 63, 65}[g.IntN(10)]
}

// count is a number of outputs or rows, up to n.
func (g *gen) count(n int) int {
	if g.large && g.oneIn(2) {
		return []int{31, 32, 33, 63, 64, 65, 130}[g.IntN(7)]
	}
	return 1 + g.IntN(n)
}

// length is that of a list of which every entry is treated alike.
func (g *gen) length() int {
	if g.large && g.oneIn(2) {
		return []int{255, 256, 257, 1000, 5000}[g.IntN(5)]
	}
	return []int{1, 31, 32, 33, 63, 65}[g.IntN(6)]
}

func (g *gen) oneIn(n int) bool { return g.IntN(n) == 0 }

// number draws a number of the format, a corner often.
func (g *gen) number() float64 {
	switch g.IntN(12) {
	case 0:
		return 0
	case 1:
		return math.Copysign(0, -1)
	case 2:
		return g.sign() * g.p.Nearest(g.scale())
	}
	x := 0.0
	switch g.flavour {
	case ties:
		u := g.p.Unit()
		x = []float64{1, u, 3 * u, u / 2, 1 + 2*u, 2 - 2*u, 0.75, 1 - u}[g.IntN(8)] * math.Ldexp(1, g.IntN(3))
	case wide:
		x = math.Ldexp(1+g.Float64(), g.IntN(g.exponents())-g.exponents()/2)
	default:
		x = g.Float64() * g.scale() * math.Ldexp(1, g.IntN(5)-2)
	}
	return g.sign() * min(g.p.Nearest(x), g.p.Max())
}

func (g *gen) sign() float64 { return float64(1 - 2*g.IntN(2)) }

// exponents is the number of exponents of wide numbers: their products reach subnormals and
// infinity, but rarely.
func (g *gen) exponents() int {
	if g.p == bound.Float32 {
		return 136
	}
	return 1060
}

// scale is a typical magnitude.
func (g *gen) scale() float64 {
	eta, most := g.p.Eta(), g.p.Max()
	switch g.flavour {
	case tiny:
		return math.Sqrt(eta) * math.Ldexp(1, g.IntN(3)*4-4) * [2]float64{1, math.Sqrt(eta) * 0x1p10}[g.IntN(2)]
	case huge:
		return []float64{math.Sqrt(most), most / 4, 1}[g.IntN(3)]
	}
	return 1
}

func (g *gen) numbers(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = g.number()
	}
	return v
}

// magnitudes draws numbers that are not negative.
func (g *gen) magnitudes(n int) []float64 {
	v := g.numbers(n)
	for i := range v {
		v[i] = math.Abs(v[i])
	}
	return v
}

// ends is a list of intervals.
type ends struct{ lo, hi []float64 }

func (e *ends) add(lo, hi float64) { e.lo, e.hi = append(e.lo, lo), append(e.hi, hi) }

// intervals draws intervals of finite numbers: one in four a point, one in four
// touching 0.
func (g *gen) intervals(n int) ends {
	var e ends
	ends := g.numbers(2 * n)
	for i := range n {
		lo, hi := min(ends[2*i], ends[2*i+1]), max(ends[2*i], ends[2*i+1])
		switch g.IntN(8) {
		case 0, 1:
			hi = lo
		case 2:
			lo, hi = min(lo, 0), 0
		case 3:
			lo, hi = 0, max(hi, 0)
		}
		e.add(lo, hi)
	}
	return e
}

// nonNegative moves intervals to the right of 0.
func (e *ends) nonNegative() {
	for i, lo := range e.lo {
		a, b := math.Abs(lo), math.Abs(e.hi[i])
		e.lo[i], e.hi[i] = min(a, b), max(a, b)
	}
}

// unbound makes ends infinite here and there.
func (g *gen) unbound(e *ends) {
	for i := range e.lo {
		if g.oneIn(6) {
			e.hi[i] = math.Inf(1)
		}
		if g.oneIn(6) {
			e.lo[i] = math.Inf(-1)
		}
	}
}

func (e *ends) finite() bool {
	for i, lo := range e.lo {
		if math.IsInf(lo, 0) || math.IsInf(e.hi[i], 0) {
			return false
		}
	}
	return true
}

// mostAbs is the largest magnitude in interval i.
func (e *ends) mostAbs(i int) float64 { return max(-e.lo[i], e.hi[i]) }

// batch draws one of the shapes of bound.Batch, and now and then a ragged one.
func (g *gen) batch() bound.Batch {
	n := 1 + g.IntN(4)
	switch g.IntN(5) {
	case 0:
		return bound.Batch{Items: n, PerBox: 1, Inputs: 1}
	case 1:
		return bound.Batch{Items: n, PerBox: n, Inputs: n}
	case 2:
		m := 1 + g.IntN(3)
		return bound.Batch{Items: n * m, PerBox: m, Inputs: m}
	case 3:
		return bound.Batch{Items: n, PerBox: 1, Inputs: n}
	}
	return bound.Batch{Items: 5, PerBox: 2, Inputs: 3}
}
