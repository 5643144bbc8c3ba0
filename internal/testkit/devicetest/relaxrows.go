package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
)

// relaxRowsCase has, besides the inputs, for each neuron a pair (zeta, z) that the
// lines allow: what the rows say must hold there. The lines pass through the
// pairs as closely as the format allows.
type relaxRowsCase struct {
	bound.RelaxRows
	s, cIn, z              ends
	aLo, bLo, aHi, bHi     []float64
	err, mag, zeta, actual []float64
	before                 int // neurons that S is said to be a sum over
	noHi                   bool
	numbers                bool // S.Lo and S.Hi are one array
	plain                  bool // lines are the identity
}

func drawRelaxRows(g *gen) opCase {
	c := &relaxRowsCase{RelaxRows: bound.RelaxRows{
		PerBox: 1 + g.IntN(3), Cols: g.count(3), Mirrored: g.oneIn(2), NonNeg: g.oneIn(3), P: 1 + g.IntN(4), N: g.size(),
	}, before: g.size(), plain: g.oneIn(3)}
	c.Round = g.p.RowsRounding(c.N, c.before)
	blocks := (c.P + c.PerBox - 1) / c.PerBox
	c.s, c.cIn, c.z = g.intervals(blocks*c.N*c.Cols), g.intervals(blocks*c.Cols), g.intervals(c.P*c.N)
	if c.NonNeg {
		c.z.nonNegative()
		c.noHi = !c.Mirrored && g.oneIn(2)
	}
	if c.numbers = g.oneIn(4); c.numbers {
		c.s.hi = c.s.lo
	}
	if g.oneIn(8) && !c.NonNeg {
		g.unbound(&c.z)
	}
	charge := g.p.RelaxCharge(c.N)
	for i := range c.P * c.N {
		c.neuron(g, i, charge)
	}
	return c
}

// neuron draws what belongs to one neuron.
func (c *relaxRowsCase) neuron(g *gen, i int, charge bound.Charge) {
	lo, hi := max(c.z.lo[i], -g.p.Max()), min(c.z.hi[i], g.p.Max())
	z := [3]float64{lo, hi, g.p.Nearest(lo/2 + hi/2)}[g.IntN(3)]
	zeta := g.number()
	if c.plain || g.oneIn(3) {
		zeta = z
	}
	mag := math.Abs(zeta)
	if g.oneIn(3) {
		mag = max(mag, math.Abs(g.number()))
	}
	aLo, bLo := g.through(zeta, z, c.plain, g.p.RoundLo, big.ToNegativeInf)
	aHi, bHi := g.through(zeta, z, c.plain, g.p.RoundHi, big.ToPositiveInf)
	b, a := max(math.Abs(bLo), math.Abs(bHi)), max(aLo, aHi)
	err := add(mul(exact(charge.G1), exact(b)), mul(exact(charge.G2), mul(exact(a), exact(mag))))
	e := g.p.RoundHi(toFloat(err, big.ToPositiveInf))
	c.aLo, c.bLo, c.aHi, c.bHi = append(c.aLo, aLo), append(c.bLo, bLo), append(c.aHi, aHi), append(c.bHi, bHi)
	c.err, c.mag, c.zeta, c.actual = append(c.err, max(e, g.p.Eta())), append(c.mag, mag), append(c.zeta, zeta), append(c.actual, z)
}

// through is a line a t + b through (zeta, z), b rounded by round.
func (g *gen) through(zeta, z float64, plain bool, round func(float64) float64, mode big.RoundingMode) (a, b float64) {
	if plain {
		return 1, 0
	}
	a = []float64{0, 1, 0x1p-30, 4, g.p.Nearest(0x1p-30 + g.Float64())}[g.IntN(5)]
	b = round(toFloat(sub(exact(z), mul(exact(a), exact(zeta))), mode))
	if math.IsInf(b, 0) {
		return 0, z
	}
	return a, b
}

// toFloat rounds to float64 in a direction.
func toFloat(x num, mode big.RoundingMode) float64 {
	y := new(big.Float).SetMode(mode).SetPrec(53).Set(x)
	v, acc := y.Float64()
	switch {
	case mode == big.ToNegativeInf && acc == big.Above:
		return math.Nextafter(v, math.Inf(-1))
	case mode == big.ToPositiveInf && acc == big.Below:
		return math.Nextafter(v, math.Inf(1))
	}
	return v
}

func (c *relaxRowsCase) call(e *env) error {
	a := c.RelaxRows
	a.A, a.C = e.out("A", a.P*a.N*a.Rows()), e.out("C", a.P*a.Rows())
	a.S.Lo, a.CIn.Lo = e.in("S.Lo", c.s.lo), e.in("CIn.Lo", c.cIn.lo)
	switch {
	case c.noHi:
	case c.numbers:
		a.S.Hi = a.S.Lo
	default:
		a.S.Hi = e.in("S.Hi", c.s.hi)
	}
	if c.Mirrored {
		a.CIn.Hi = e.in("CIn.Hi", c.cIn.hi)
	}
	a.Z, a.Err, a.Mag = e.pair("Z", c.z), e.in("Err", c.err), e.in("Mag", c.mag)
	a.Lo = bound.Line{A: e.in("Lo.A", c.aLo), B: e.in("Lo.B", c.bLo)}
	a.Hi = bound.Line{A: e.in("Hi.A", c.aHi), B: e.in("Hi.B", c.bHi)}
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *relaxRowsCase) check(k *checker, out []output) {
	for p := range c.P {
		for r := range c.Rows() {
			c.checkRow(k, out[0].v, out[1].v, p, r)
		}
	}
	if c.NonNeg && !c.noHi {
		general := *c
		general.NonNeg = false
		k.sameAs(&general, out)
	}
}

// source is the interval of row r's coefficient of z_j, and its constant.
func (c *relaxRowsCase) source(p, j, r int) (lo, hi, constant float64) {
	at, col := (p/c.PerBox*c.N+j)*c.Cols, p/c.PerBox*c.Cols
	if r < c.Cols {
		return c.s.lo[at+r], c.s.hi[at+r], c.cIn.lo[col+r]
	}
	r -= c.Cols
	return -c.s.hi[at+r], -c.s.lo[at+r], -c.cIn.hi[col+r]
}

// checkRow demands, at the pairs (zeta, z),
//
//	sum_j A_j zeta_j + C <= sum_j min(S.Lo z_j, S.Hi z_j) + CIn - owed
//
// where owed is the rounding that the operation promises to have charged: of the
// sum that S was (only what underflows of it), and of the BackSubstitute to come.
func (c *relaxRowsCase) checkRow(k *checker, outA, outC []float64, p, r int) {
	at := p*c.Rows() + r
	_, _, constant := c.source(p, 0, r)
	want, got, owed := exact(constant), newNum(), k.etas(c.N)
	for j := range c.N {
		i := p*c.N + j
		a := outA[i*c.Rows()+r]
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return // overflow: everything after it is unknown
		}
		lo, hi, _ := c.source(p, j, r)
		worst, _ := products(lo, hi, c.actual[i], c.actual[i])
		want, got = add(want, worst), add(got, mul(exact(a), exact(c.zeta[i])))
		sum := mul(k.ulps(roundings(c.N)-1), mul(absOf(exact(a)), exact(c.mag[i])))
		under := mul(mul(exact(float64(c.before)/2), exact(k.p.Eta())), absOf(exact(c.actual[i])))
		owed = add(owed, add(sum, under))
	}
	if cOut := outC[at]; math.IsNaN(cOut) || math.IsInf(cOut, -1) {
		c.checkKnown(k, at, p, r)
	} else {
		k.lower("C", at, cOut, sub(sub(want, owed), got))
		c.checkTight(k, at, p, r, outA, cOut)
	}
}

// charges are exact upper bounds of the charges of the definition, given the
// coefficients' magnitudes, and of the size of all that is summed.
func (c *relaxRowsCase) charges(k *checker, p, r int) (charge, magnitude num) {
	_, _, constant := c.source(p, 0, r)
	charge, size := newNum(), newNum()
	magnitude = absOf(exact(constant))
	for j := range c.N {
		i := p*c.N + j
		lo, hi, _ := c.source(p, j, r)
		s := exact(max(math.Abs(lo), math.Abs(hi)))
		charge = add(charge, mul(s, exact(c.err[i])))
		z, b := exact(c.z.mostAbs(i)), exact(max(math.Abs(c.bLo[i]), math.Abs(c.bHi[i])))
		size = add(size, add(z, exact(c.mag[i])))
		chord := mul(exact(2), mul(s, z))
		charge = add(charge, mul(chord, exact(c.Round.Chord)))
		magnitude = add(magnitude, add(chord, mul(s, b)))
	}
	under := mul(size, mul(exact(float64(4*c.before+20)), exact(k.p.Eta())))
	charge = add(mul(charge, exact(1.01)), add(under, k.etas(20*(4*c.N+c.before)+40)))
	return charge, add(magnitude, add(size, charge))
}

// checkKnown: "unknown" is for overflow only.
func (c *relaxRowsCase) checkKnown(k *checker, at, p, r int) {
	if _, magnitude := c.charges(k, p, r); !k.far(magnitude) && c.z.finite() {
		k.failf("C[%d] is not finite", at)
	}
}

// checkTight compares C with the exact constant of the relaxed row, less the
// charges. The coefficients are known where z has one sign; where it has both, a
// single neuron with the identity for lines shows the chord, which must touch
// the minimum at both ends.
func (c *relaxRowsCase) checkTight(k *checker, at, p, r int, outA []float64, cOut float64) {
	charge, magnitude := c.charges(k, p, r)
	if k.far(magnitude) || !c.z.finite() {
		return
	}
	_, _, constant := c.source(p, 0, r)
	want := exact(constant)
	slack := add(charge, mul(k.ulps(2*roundings(c.N)+40), magnitude))
	for j := range c.N {
		i := p*c.N + j
		a := outA[i*c.Rows()+r]
		lo, hi, _ := c.source(p, j, r)
		if c.z.lo[i] < 0 && c.z.hi[i] > 0 && !c.numbers {
			if c.N == 1 && c.plain {
				c.checkChord(k, i, a, sub(exact(cOut), want), lo, hi, slack)
			}
			return
		}
		coefficient := lo
		if c.z.lo[i] < 0 {
			coefficient = hi
		}
		slope, b := c.aLo[i], c.bLo[i]
		if coefficient < 0 {
			slope, b = c.aHi[i], c.bHi[i]
		}
		product := mul(exact(coefficient), exact(slope))
		k.near("A", i*c.Rows()+r, a, product, add(mul(k.ulps(1), absOf(product)), k.etas(1)))
		want = add(want, mul(exact(coefficient), exact(b)))
	}
	k.near("C", at, cOut, want, slack)
}

// checkChord: the line touches min(lo z, hi z) at both ends of the interval of z.
// Where a product or the quotient leaves the range of the format, it need not.
func (c *relaxRowsCase) checkChord(k *checker, i int, a float64, icpt num, lo, hi float64, slack num) {
	zLo, zHi, s := c.z.lo[i], c.z.hi[i], max(-lo, hi)
	if s < 0x1p-30 || min(-zLo, zHi) < 0x1p-60 || zHi-zLo > 0x1p60 {
		return
	}
	for _, z := range []float64{c.z.lo[i], c.z.hi[i]} {
		worst, _ := products(lo, hi, z, z)
		if gap := sub(worst, add(mul(exact(a), exact(z)), icpt)); gap.Cmp(add(slack, slack)) > 0 {
			k.failf("chord %x z + ... of [%x, %x] over [%x, %x] is %s below the minimum at %x, allowed %s",
				a, lo, hi, c.z.lo[i], c.z.hi[i], text(gap), z, text(slack))
		}
	}
}
