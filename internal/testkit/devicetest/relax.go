package devicetest

import (
	"fmt"
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
)

type relaxCase struct {
	bound.Relax
	pre    ends
	upper  ends // where the line above is looked at: pre, unless own
	own    bool
	mag    []float64
	points []float64 // where in each interval the lines are looked at, 0 to 1
}

func drawRelax(g *gen) opCase {
	c := &relaxCase{Relax: bound.Relax{N: g.length(), Activation: g.activation()}}
	if smooth(c.Kind) && !g.large {
		c.N = 1 + g.IntN(6) // the exact value costs time
	}
	c.Charge = g.p.RelaxCharge(g.size())
	c.pre, c.mag = g.preActivations(c.N, c.Kind), g.magnitudes(c.N)
	c.upper, c.own = c.pre, g.oneIn(4)
	if c.own {
		c.upper = g.preActivations(c.N, c.Kind)
	}
	for range 3 {
		c.points = append(c.points, g.Float64())
	}
	return c
}

func (c *relaxCase) call(e *env) error {
	a := c.Relax
	line := func(name string) bound.Line { return bound.Line{A: e.out(name+".A", a.N), B: e.out(name+".B", a.N)} }
	a.Lo, a.Hi, a.Err = line("Lo"), line("Hi"), e.out("Err", a.N)
	a.Pre, a.Mag = e.pair("Pre", c.pre), e.in("Mag", c.mag)
	if c.own {
		a.Upper = e.pair("Upper", c.upper)
	}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

// lines are the lines of one neuron.
type lines struct{ aLo, bLo, aHi, bHi float64 }

func (c *relaxCase) check(k *checker, out []output) {
	for i := range c.N {
		l := lines{out[0].v[i], out[1].v[i], out[2].v[i], out[3].v[i]}
		for _, a := range []float64{l.aLo, l.aHi} {
			if !(a >= 0 && a <= 4) || a > 0 && a < 0x1p-30 && a != c.SlopeLo && a != c.SlopeHi {
				k.failf("neuron %d has slope %x", i, a)
				return
			}
		}
		c.checkErr(k, i, l, out[4].v[i])
		for _, slope := range []float64{c.SlopeLo, c.SlopeLo/2 + c.SlopeHi/2, c.SlopeHi} {
			c.checkLines(k, i, l, point(slope))
			if c.SlopeLo == c.SlopeHi {
				break
			}
		}
	}
}

// checkErr: Err is the charge of the definition, rounded up, and not much more.
func (c *relaxCase) checkErr(k *checker, i int, l lines, got float64) {
	b, a := max(math.Abs(l.bLo), math.Abs(l.bHi)), max(math.Abs(l.aLo), math.Abs(l.aHi))
	if math.IsInf(b, 0) || math.IsNaN(b) {
		if got <= k.p.Max() {
			k.failf("Err[%d] is %x for the lines %+x", i, got, l)
		}
		return
	}
	want := add(mul(exact(c.Charge.G1), exact(b)), mul(exact(c.Charge.G2), mul(exact(a), exact(c.mag[i]))))
	k.upper("Err", i, got, want)
	if !k.far(exact(c.mag[i])) && !k.far(exact(b)) {
		k.near("Err", i, got, want, add(mul(k.ulps(20), want), k.etas(20)))
	}
}

// checkLines compares each line with the activation on its interval: at the ends, at 0, at
// random points, and where the gap is extreme.
func (c *relaxCase) checkLines(k *checker, i int, l lines, slope ball) {
	c.checkLine(k, "lower", i, line{l.aLo, l.bLo}, 1, c.pre, slope)
	c.checkLine(k, "upper", i, line{-l.aHi, -l.bHi}, -1, c.upper, slope)
}

// checkLine checks a line below sign times the activation.
func (c *relaxCase) checkLine(k *checker, which string, i int, l line, sign float64, on ends, slope ball) {
	lo, hi := on.lo[i], on.hi[i]
	at := []float64{lo, hi, 0}
	for _, f := range c.points {
		at = append(at, lo+f*(hi-lo), lo*f)
	}
	if smooth(c.Kind) {
		at = append(at, c.critical(sign*l.a)...)
	}
	gap := gaps{math.Inf(1), math.Inf(-1)}
	for _, t := range at {
		if !(t >= lo && t <= hi) {
			continue
		}
		x := ballOf(exact(t))
		y := x.activate(c.Kind, slope)
		if sign < 0 {
			y = y.neg()
		}
		gap.take(c.below(k, which, i, l, x, y, t))
	}
	if !math.IsInf(lo, 0) && !math.IsInf(hi, 0) && slope.isPoint() {
		c.checkTight(k, which, i, l, lo, hi, gap)
	}
}

type line struct{ a, b float64 }

// below demands that the line is not provably above y at x, and returns the gap.
func (c *relaxCase) below(k *checker, which string, i int, l line, x, y ball, t float64) float64 {
	if math.IsInf(l.b, -1) || math.IsNaN(l.b) {
		return math.Inf(1)
	}
	v := point(l.a).mul(x).add(point(l.b))
	if v.lo.Cmp(y.hi) > 0 {
		k.failf("%s line %x t + %x of neuron %d (upper on [%x, %x]) is on the wrong side at t = %x: %s against %s",
			which, l.a, l.b, i, c.upper.lo[i], c.upper.hi[i], t, v.lo.Text('p', 0), y.hi.Text('p', 0))
	}
	gap, _ := loNum().Sub(y.hi, v.lo).Float64()
	return gap
}

// critical are points around those where the derivative is the slope a: there
// the gap to a line is extreme.
func (c *relaxCase) critical(a float64) []float64 {
	var t float64
	switch c.Kind {
	case network.Softplus:
		t = math.Log(a) - math.Log1p(-a) // softplus' is sigmoid
	case network.ELU:
		t = math.Log(a / c.SlopeHi)
	default:
		scale := 1.0 // sigma is sigmoid, or tanh t = 2 sigmoid(2t) - 1
		if c.Kind == network.Tanh {
			a, scale = a/4, 0.5
		}
		if !(a > 0 && a <= 0.25) {
			return nil
		}
		s := (1 + math.Sqrt(1-4*a)) / 2
		t = scale * (math.Log(s) - math.Log(a/s)) // 1-s = a/s does not cancel
	}
	if math.IsNaN(t) || math.IsInf(t, 0) {
		return nil
	}
	var at []float64
	for _, off := range []float64{0, 0x1p-40, 0x1p-12} {
		at = append(at, t+off, t-off, -t-off, off-t)
	}
	return at
}

// gaps are how near a line comes to the activation, and how far it gets from it.
type gaps struct{ least, most float64 }

func (g *gaps) take(gap float64) { g.least, g.most = min(g.least, gap), max(g.most, gap) }

// checkTight: a line touches up to rounding, and on an interval of width w is
// within w^2/2 max|d2 sigma| and within w max|sigma'| of it.
func (c *relaxCase) checkTight(k *checker, which string, i int, l line, lo, hi float64, got gaps) {
	w, size := hi-lo, max(-lo, hi)
	if !(size < 0x1p60) || size < 0x1p-60 {
		return
	}
	rounding, curved := 8*size*k.p.Unit(), w
	switch c.Kind {
	case network.Sigmoid:
		rounding, curved = rounding+(120+90*w)*k.p.Unit(), min(w*w/2*0.1, w/4)
	case network.Tanh:
		rounding, curved = rounding+(120+90*w)*k.p.Unit(), min(w*w/2*0.8, w)
	case network.Softplus:
		rounding, curved = rounding+(120+90*w)*k.p.Unit(), min(w*w/2*0.25, w)
	case network.ELU:
		rounding, curved = rounding+(120+90*w)*k.p.Unit()+2*(c.SlopeHi-c.SlopeLo)*w, min(w*w/2*c.SlopeHi+max(0, min(-lo, hi)), w)
		if l.a == 0 {
			curved += w * min(c.SlopeHi, 0x1p-30) // a slope below the least has become 0
		}
	case network.Identity, network.ReLU, network.LeakyReLU:
		rounding += (c.SlopeHi - c.SlopeLo) * size
		curved = max(0, min(-lo, hi)) // both lines have the least area, docs/theory.md, section 2.2
		if c.Kind == network.Identity {
			curved = 0
		} else if w > 0x1p20*curved {
			rounding += 0x1p-29 * size // the slope was below the least, or the quotient 1
		}
	default:
		panic(fmt.Sprintf("devicetest: nothing says how tight lines are round activation %v, in internal/testkit/devicetest/relax.go", c.Kind))
	}
	if got.least > rounding || got.most > curved+rounding {
		k.failf("%s line of neuron %d on [%x, %x] (%+x): gap from %g to %g, allowed %g to %g",
			which, i, lo, hi, l, got.least, got.most, rounding, curved+rounding)
	}
}
