package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
)

// splitRowsCase has, besides the inputs, a pre-activation for each neuron of each row, which has the
// sign of its phase there: what the row says must hold at it.
type splitRowsCase struct {
	bound.SplitRows
	s, cIn, slope, phase, beta []float64
	z                          ends
	aHi, bHi, mag              []float64
	zeta                       []float64 // [P x N x R]
	before                     int       // neurons that S is said to be a sum over
}

func drawSplitRows(g *gen) opCase {
	c := &splitRowsCase{SplitRows: bound.SplitRows{P: 1 + g.IntN(3), N: g.size(), R: g.count(40)}, before: g.size()}
	c.Round, c.Charge = g.p.RowsRounding(c.N, c.before), g.p.RelaxCharge(c.N)
	n := c.P * c.N
	c.s, c.cIn = g.intervals(n*c.R).lo, g.intervals(c.P*c.R).lo
	for range n {
		c.neuron(g)
	}
	if g.oneIn(8) {
		c.constants(g)
	}
	return c
}

// constants has intercepts alone in the rows, and CIn next to minus what they add up to: so nothing
// but what is charged of them can make good the roundings of their products and sums.
func (c *splitRowsCase) constants(g *gen) {
	between1And2 := func() float64 { return g.p.Nearest(1 + g.Float64()) }
	for i := range c.aHi {
		b := between1And2()
		c.aHi[i], c.bHi[i], c.mag[i], c.z.hi[i] = 0, b, b, b
		for at := i * c.R; at < (i+1)*c.R; at++ {
			c.s[at], c.zeta[at], c.phase[at], c.beta[at] = -between1And2(), b, 0, 0
		}
	}
	for p := range c.P {
		for r := range c.R {
			sum := newNum()
			for i := p * c.N; i < (p+1)*c.N; i++ {
				sum = add(sum, mul(exact(-c.s[i*c.R+r]), exact(c.bHi[i])))
			}
			c.cIn[p*c.R+r] = g.p.RoundHi(toFloat(sum, big.ToPositiveInf))
		}
	}
}

// neuron draws what belongs to one neuron, with a pre-activation of either sign that rows take.
func (c *splitRowsCase) neuron(g *gen) {
	active, dead := math.Abs(g.number()), -math.Abs(g.number())
	aHi := []float64{0, 1, g.p.Nearest(g.Float64())}[g.IntN(3)]
	// The line is above z at both, as closely as the format allows.
	var bHi float64
	for _, t := range []float64{active, dead} {
		b := g.p.RoundHi(toFloat(sub(exact(max(t, 0)), mul(exact(aHi), exact(t))), big.ToPositiveInf))
		bHi = max(bHi, b)
	}
	if math.IsInf(bHi, 0) {
		aHi, bHi = 0, active
	}
	mag := max(active, -dead)
	if g.oneIn(3) {
		mag = max(mag, math.Abs(g.number()))
	}
	c.aHi, c.bHi, c.mag = append(c.aHi, aHi), append(c.bHi, bHi), append(c.mag, mag)
	c.z.lo, c.z.hi = append(c.z.lo, 0), append(c.z.hi, active)
	for range c.R {
		t := []float64{active, dead}[g.IntN(2)]
		phase := []float64{0, 1, -1, 0.5}[g.IntN(4)]
		if phase*t < 0 {
			phase = -phase
		}
		slope := []float64{0, 1, g.p.Nearest(g.Float64()), g.number()}[g.IntN(4)]
		beta := []float64{0, math.Abs(g.number()), g.number()}[g.IntN(3)]
		c.zeta, c.phase = append(c.zeta, t), append(c.phase, phase)
		c.slope, c.beta = append(c.slope, slope), append(c.beta, beta)
	}
}

func (c *splitRowsCase) call(e *env) error {
	a := c.SplitRows
	a.A, a.C = e.out("A", a.P*a.N*a.R), e.out("C", a.P*a.R)
	a.S, a.CIn = e.in("S", c.s), e.in("CIn", c.cIn)
	a.Slope, a.Phase, a.Beta = e.in("Slope", c.slope), e.in("Phase", c.phase), e.in("Beta", c.beta)
	a.Z, a.Mag = e.pair("Z", c.z), e.in("Mag", c.mag)
	a.Hi = bound.Line{A: e.in("Hi.A", c.aHi), B: e.in("Hi.B", c.bHi)}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *splitRowsCase) check(k *checker, out []output) {
	for p := range c.P {
		for r := range c.R {
			c.checkRow(k, out[0].v, out[1].v, p, r)
		}
	}
}

// checkRow demands, at the pre-activations of the case,
//
//	sum_j A_j zeta_j + C <= sum_j s_j z_j + sum over neurons without a phase of Beta_j zeta_j + CIn - owed
//
// where owed is what relaxRowsCase says; and that C and A are as large as the charges allow.
func (c *splitRowsCase) checkRow(k *checker, outA, outC []float64, p, r int) {
	want, got, owed := exact(c.cIn[p*c.R+r]), newNum(), k.etas(c.N)
	size, magnitude, charge, constant := newNum(), absOf(want), newNum(), want
	finite := true
	for j := range c.N {
		i := p*c.N + j
		at := i*c.R + r
		a, s, t, beta := outA[at], exact(c.s[at]), exact(c.zeta[at]), c.beta[at]
		finite = finite && !math.IsNaN(a) && !math.IsInf(a, 0)
		want = add(want, mul(s, exact(max(c.zeta[at], 0))))
		if c.phase[at] == 0 {
			want = add(want, mul(exact(beta), t))
		}
		if !finite {
			continue
		}
		got = add(got, mul(exact(a), t))
		sum := mul(k.ulps(roundings(c.N)-1), mul(absOf(exact(a)), exact(c.mag[i])))
		under := mul(mul(exact(float64(c.before)/2), exact(k.p.Eta())), exact(max(c.zeta[at], 0)))
		owed = add(owed, add(sum, under))

		x, term, b := c.wanted(at, i)
		k.near("A", at, a, add(x, term), add(mul(k.ulps(2), add(absOf(x), absOf(term))), k.etas(2)))
		constant = add(constant, mul(s, exact(b)))
		coefficient, icpt := add(absOf(x), absOf(term)), absOf(mul(s, exact(b)))
		charge = add(charge, add(mul(coefficient, mul(exact(c.Charge.G2), exact(c.mag[i]))), mul(icpt, exact(c.Charge.G1))))
		// Errors are rounded up before rows multiply them: at least to the least number there is.
		charge = add(charge, mul(add(coefficient, absOf(s)), k.etas(2)))
		size = add(size, add(exact(c.z.hi[i]), exact(c.mag[i])))
		magnitude = add(magnitude, add(icpt, mul(coefficient, exact(c.mag[i]))))
	}
	at := p*c.R + r
	under := mul(size, mul(exact(float64(4*c.before+20)), exact(k.p.Eta())))
	charge = add(mul(charge, exact(1.01)), add(under, k.etas(20*(4*c.N+c.before)+40)))
	magnitude = add(magnitude, add(size, charge))
	cOut := outC[at]
	switch {
	case !finite:
	case math.IsNaN(cOut) || math.IsInf(cOut, -1):
		if !k.far(magnitude) {
			k.failf("C[%d] is not finite", at)
		}
	default:
		k.lower("C", at, cOut, sub(sub(want, owed), got))
		if !k.far(magnitude) {
			k.near("C", at, cOut, constant, add(charge, mul(k.ulps(2*roundings(c.N)+40), magnitude)))
		}
	}
}

// wanted is the coefficient by the definition, as two summands, and the intercept.
func (c *splitRowsCase) wanted(at, i int) (x, term num, intercept float64) {
	s, beta, slope := exact(c.s[at]), c.beta[at], c.slope[at]
	positive := exact(max(beta, 0))
	if !(slope >= 0 && slope <= 1) {
		slope = 0
	}
	switch phase := c.phase[at]; {
	case phase > 0:
		return s, sub(newNum(), positive), 0
	case phase < 0:
		return newNum(), positive, 0
	case c.s[at] >= 0:
		return mul(s, exact(slope)), exact(beta), 0
	}
	return mul(s, exact(c.aHi[i])), exact(beta), c.bHi[i]
}
