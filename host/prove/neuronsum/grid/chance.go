package grid

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/law"
)

// chance bounds, for a neuron and a point v of a grid, the probability that t is not positive at
// one of the points c_K of the cells around v, given u = t(v) > 0,
//
//	above(y) >= P(u + s + m <= 0 | u)   for all u >= y,
//	s = sum_j w_j beside_j,   m = sum_j min(w_j before_j, w_j after_j)
//
// over the axes with cells on one side and on both. mirrored is the same for the neuron with -w and
// -b: P(u + s + M > 0 | u) for u <= -y, M with max.
//
// Given u all weights are normal, with means that are affine in u and covariances that do not
// depend on it. The weights of two-sided axes are sums of independent standard normal variables
// e_j, which are cut into bins. Given all e, s (or s + before w and s + after w, for one axis, the
// closed one) is normal, and the event is that a normal variable is at most a convex function of e:
// a form each.
type chance struct {
	unknown bool
	// most is the largest u that the slacks of forms are made for.
	most  float64
	axes  []chanceAxis
	forms []chanceForm
	// outside is the probability that some e is in none of its bins.
	outside float64

	// step is how far apart the u are for which above works it out, last and p the last one.
	step, last, p float64
}

// chanceAxis is a two-sided axis whose weight is, given u,
//
//	z_j = mean + slope u + sum_(i <= j) row[i] e_i
type chanceAxis struct {
	mean, slope   float64
	row           []float64
	before, after float64
	// reach is the larger of after and -before, kink how much steeper min(z before, z after) gets
	// at 0.
	reach, kink float64
}

// chanceForm is y = s, s + before w or s + after w, for the closed axis: given u and e it is normal
// with the mean mean + slope u + sum_j row[j] e_j and the standard deviation sd. steep[j] bounds
// the change of (-u - y - m)/sd with e_j, slack all roundings.
type chanceForm struct {
	normal       pairNormal
	mean, slope  float64
	row, steep   []float64
	perSd, slack float64
	// rise bounds how much larger -u - y - m can be at a larger u.
	rise         float64
	bins         []*chanceBins
	steepSquared []float64
}

// pairNormal is a form's law for no e at all, in intervals.
type pairNormal struct{ mean, slope, sd arith.Interval }

// variables are the weights of the two-sided axes and a form, last: their means, their
// covariances with u and with each other, in intervals.
type variables struct {
	mean, withU []arith.Interval
	cov         [][]arith.Interval
}

// chanceReach is the number of standard deviations of each e that the bins cover.
const chanceReach = 7.5

// chance prepares the bound; t(v) must have a standard deviation above 0.
func (n *sums) chance(p *point, i int, mirrored bool) *chance {
	c := &chance{last: -1, p: 1}
	sign := arith.Exactly(1)
	if mirrored {
		sign = arith.Exactly(-1)
	}
	mean, sd := n.Preactivation(i, p.x)
	mean = mean.Times(sign)
	variance := sd.Square()
	c.most = max(math.Abs(mean.Lo), math.Abs(mean.Hi)) + 8*sd.Hi
	if sdBias := n.Hidden.Bias.SdHi[i]; !(variance.Lo > 0) || !(c.most <= math.MaxFloat64) || !(sdBias <= math.MaxFloat64) {
		c.unknown = true
		return c
	}
	s := n.steps(p, i, sign)
	if len(s.axes) > maxAxes {
		c.unknown = true
		return c
	}
	c.step = chanceStep * s.size
	closed := s.closed()
	var vars variables
	for _, a := range s.axes {
		if a == closed {
			continue
		}
		before, after := p.before[a.axis], p.after[a.axis]
		vars.add(a.mean, a.withU, a.variance)
		c.axes = append(c.axes, chanceAxis{before: before.Lo, after: after.Hi, reach: max(after.Hi, -before.Lo), kink: arith.Up(after.Hi - before.Lo)})
	}
	ends := []arith.Interval{{}}
	if closed != nil {
		ends = []arith.Interval{arith.Exactly(p.before[closed.axis].Lo), arith.Exactly(p.after[closed.axis].Hi)}
	}
	for _, end := range ends {
		y := s.law
		if closed != nil {
			y.mean = y.mean.Plus(closed.mean.Times(end))
			y.withU = y.withU.Plus(closed.withU.Times(end))
			y.variance = y.variance.Plus(closed.variance.Times(end.Square()))
		}
		vars.add(y.mean, y.withU, y.variance)
		if !c.addForm(&vars, mean, variance) {
			c.unknown = true
			return c
		}
		vars.drop()
	}
	if len(c.axes) > 0 {
		c.outside = arith.Up(float64(len(c.axes)) * arith.Up(2*gauss.TailUp(chanceReach)))
	}
	return c
}

// steps hold what a neuron's pre-activation changes by from a point of a grid to points around it.
type steps struct {
	// law holds the law of s, with what weights without noise add to m.
	law stepLaw
	// axes are the two-sided ones whose weights have noise; size is about the standard deviation
	// of s + m.
	axes []*stepAxis
	size float64
}

// stepLaw is a normal variable's mean, covariance with u and variance, in intervals.
type stepLaw struct{ mean, withU, variance arith.Interval }

// stepAxis is a two-sided axis with its weight's law; width is the standard deviation of the
// longest step along it.
type stepAxis struct {
	stepLaw
	axis  int
	width float64
}

// steps describes those of neuron i around p, times sign: s and m at chance.
func (n *sums) steps(p *point, i int, sign arith.Interval) *steps {
	w := &n.Hidden.Weight
	s, fixed, squares := &steps{}, arith.Interval{}, 0.0
	for j, at := range n.Hidden.Dense().Into(i) {
		mean, v := arith.Exactly(w.Mean[at]).Times(sign), arith.Of(w.SdLo[at], w.SdHi[at]).Square()
		if !p.twoSided(j) {
			s.law.mean = s.law.mean.Plus(mean.Times(p.beside[j]))
			s.law.variance = s.law.variance.Plus(v.Times(p.beside[j].Square()))
			s.law.withU = s.law.withU.Plus(v.Times(p.beside[j]).Times(arith.Exactly(p.x[j])))
			continue
		}
		if w.SdHi[at] == 0 {
			x, y := mean.Times(p.before[j]), mean.Times(p.after[j])
			fixed = fixed.Plus(arith.Of(min(x.Lo, y.Lo), min(x.Hi, y.Hi)))
			continue
		}
		width := max(p.after[j].Hi, -p.before[j].Lo) * w.SdHi[at]
		s.axes = append(s.axes, &stepAxis{stepLaw{mean, v.Times(arith.Exactly(p.x[j])), v}, j, width})
		squares += width * width
	}
	s.size = math.Sqrt(squares + s.law.variance.Hi)
	s.law.mean = s.law.mean.Plus(fixed)
	return s
}

// closed is the axis that is not cut into bins, if there is one: the first of the widest, where it
// is wide beside s.
func (s *steps) closed() *stepAxis {
	var widest *stepAxis
	for _, a := range s.axes {
		if a.width > 0 && (widest == nil || a.width > widest.width) {
			widest = a
		}
	}
	if widest == nil || widest.width <= 6*math.Sqrt(s.law.variance.Hi) {
		return nil
	}
	return widest
}

// add adds a variable that is independent of the others given u.
func (v *variables) add(mean, withU, variance arith.Interval) {
	v.mean, v.withU = append(v.mean, mean), append(v.withU, withU)
	v.cov = append(v.cov, []arith.Interval{variance})
}

// drop drops the last variable.
func (v *variables) drop() {
	last := len(v.mean) - 1
	v.mean, v.withU, v.cov = v.mean[:last], v.withU[:last], v.cov[:last]
}

// chanceStep is the distance of the u for which the probability is worked out, in standard
// deviations of s + m, where it is not small.
const chanceStep = 0.03

// given turns covariances into rows of a Cholesky factor of those given u: in intervals, the
// lower triangle of C = Cov - Cov_u Cov_u' / Var u.
func (v *variables) given(variance arith.Interval) (slope []arith.Interval, rows [][]arith.Interval) {
	for i := range v.mean {
		slope = append(slope, v.withU[i].Over(variance))
	}
	for i := range v.mean {
		row := make([]arith.Interval, i+1)
		for k := range row {
			c := arith.Interval{}
			if k == i {
				c = v.cov[i][0]
			}
			c = c.Minus(slope[i].Times(v.withU[k]))
			for m := range k {
				c = c.Minus(row[m].Times(at(rows, row, k, i)[m]))
			}
			switch {
			case k == i:
				row[k] = c.Sqrt()
			case c == arith.Interval{}:
			default:
				row[k] = c.Over(rows[k][k])
			}
		}
		rows = append(rows, row)
	}
	return slope, rows
}

// at is row k of the factor, row being row i.
func at(rows [][]arith.Interval, row []arith.Interval, k, i int) []arith.Interval {
	if k == i {
		return row
	}
	return rows[k]
}

// addForm adds the last of the variables as a form, and describes the axes before it.
func (c *chance) addForm(v *variables, meanU, variance arith.Interval) bool {
	slope, rows := v.given(variance)
	last := len(rows) - 1
	base := make([]arith.Interval, last+1) // means at u = 0
	for i := range base {
		base[i] = v.mean[i].Minus(slope[i].Times(meanU))
		if !base[i].Finite() || !slope[i].Finite() {
			return false
		}
		for _, x := range rows[i] {
			if !x.Finite() {
				return false
			}
		}
	}
	sd := rows[last][last]
	f := chanceForm{normal: pairNormal{base[last], slope[last], sd}}
	// The event becomes less probable with u where 1 + the slopes of y and of m is not negative.
	falls := arith.Exactly(1).Plus(slope[last])
	for j := range c.axes {
		a := &c.axes[j]
		x, y := slope[j].Times(arith.Exactly(a.before)), slope[j].Times(arith.Exactly(a.after))
		falls = falls.Plus(arith.Of(min(x.Lo, y.Lo), min(x.Hi, y.Hi)))
	}
	// Where it might not, it rises by no more than that up to the largest u.
	f.rise = arith.Up(max(0, -falls.Lo) * arith.Up(2*c.most))
	if last == 0 {
		c.forms = append(c.forms, f)
		return true
	}
	if !(sd.Lo > 0) {
		return false
	}
	c.describe(base, slope, rows[:last])
	f.linearise(c, base, slope, rows)
	if !(f.slack <= maxSlack) {
		return false
	}
	c.forms = append(c.forms, f)
	return true
}

// maxSlack is the largest slack, in standard deviations, with which a form is of use.
const maxSlack = 1e-6

// describe stores the middles of the axes' intervals.
func (c *chance) describe(base, slope []arith.Interval, rows [][]arith.Interval) {
	for j, row := range rows {
		a := &c.axes[j]
		a.mean, a.slope, a.row = base[j].Middle(), slope[j].Middle(), make([]float64, len(row))
		for i, x := range row {
			a.row[i] = x.Middle()
		}
	}
}

// linearise stores the middles of the form's intervals and bounds what they, and all
// roundings of walk, can make of (-u - y - m)/sd: 2^-44 of the sum of magnitudes
// is more than the roundings of fewer than 100 operations.
func (f *chanceForm) linearise(c *chance, base, slope []arith.Interval, rows [][]arith.Interval) {
	last := len(rows) - 1
	f.mean, f.slope = base[last].Middle(), slope[last].Middle()
	radius := base[last].Radius() + slope[last].Radius()*c.most
	size := c.most + f.rise + base[last].Size() + slope[last].Size()*c.most
	sd := rows[last][last]
	f.steep = make([]float64, last)
	for j := range last {
		x := rows[last][j]
		f.row = append(f.row, x.Middle())
		f.steep[j] += x.Size()
		a := &c.axes[j]
		radius += chanceReach*x.Radius() + a.reach*(base[j].Radius()+slope[j].Radius()*c.most)
		size += chanceReach*x.Size() + a.reach*(base[j].Size()+slope[j].Size()*c.most)
		for i, y := range rows[j] {
			radius += a.reach * chanceReach * y.Radius()
			size += a.reach * chanceReach * y.Size()
			f.steep[i] += a.reach * y.Size()
		}
	}
	f.perSd = 1 / sd.Middle()
	f.slack = (radius + size*0x1p-44) / sd.Lo
	far := 16.0 // Where all of a bin is below -16, errors in proportion to it are of no account.
	for j := range f.steep {
		f.steep[j] = f.steep[j] / sd.Lo * (1 + 0x1p-40)
		far += 2 * chanceReach * f.steep[j]
		f.slack += f.steep[j] * chanceMeanErr
		f.steepSquared = append(f.steepSquared, f.steep[j]*f.steep[j]*(1+0x1p-40))
	}
	f.slack += far * (sd.Radius()/sd.Lo + 0x1p-48)
	f.chooseBins()
}

// above returns the bound for u >= y. It must be called with ascending y: between steps the last
// one serves, as the probability falls.
func (c *chance) above(y float64) float64 {
	if c.unknown || !(y >= 0 && y <= c.most) {
		return 1
	}
	switch {
	case c.last >= 0 && y < c.last:
		panic("grid: chance.above: descending")
	case c.last >= 0 && (y < c.last+c.step || c.p < 1e-12):
		return c.p
	}
	c.last = y
	sum := c.outside
	for k := range c.forms {
		sum += c.forms[k].above(c, y)
	}
	c.p = min(c.p, sum*(1+0x1p-40))
	return c.p
}

func (f *chanceForm) above(c *chance, u float64) float64 {
	if len(c.axes) == 0 {
		law := law.Normal(f.normal.mean.Plus(f.normal.slope.Times(arith.Exactly(u))).Minus(arith.Exactly(f.rise)), f.normal.sd)
		if law.SdLo == 0 && law.SdHi == 0 && -u < law.MeanLo {
			return 0
		}
		if law.SdLo == 0 && -u < law.MeanLo { // the largest deviation is the worst
			law.SdLo = law.SdHi
		}
		return law.BelowUp(-u)
	}
	w := walk{c: c, f: f, slope: slopes()}
	for j := range c.axes {
		w.z[0][j] = c.axes[j].mean + c.axes[j].slope*u
	}
	w.axis(0, 1, f.rise-u-f.mean-f.slope*u, 0, f.slack, 0)
	return w.sum
}
