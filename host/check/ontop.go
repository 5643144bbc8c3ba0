package check

import (
	"math"
	"slices"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Noise in the last layer alone, of any covariance (docs/theory.md (93)): what feeds that layer is a
// fixed function of x, of which lines and intervals are known, and no hidden bound can fail.

// topped is the random last layer of a posterior.
type topped struct {
	layer      *posterior.Layer
	covariance *posterior.Covariance
	in, out    int
	// rows are those that have been asked for.
	mutex sync.Mutex
	rows  map[string]*topRow
}

// newTopped is nil for a posterior that is random elsewhere, too.
func newTopped(post *posterior.Posterior) *topped {
	if post.OnTop() != nil {
		return nil
	}
	last := len(post.Layers) - 1
	t := &topped{layer: &post.Layers[last], rows: map[string]*topRow{}}
	t.in, t.out = t.layer.Inputs(), t.layer.Outputs()
	if all := post.Covariances(); all != nil {
		t.covariance = all[last]
	}
	return t
}

// slopes hold what is known of an input z_j of the last layer on a cell: z_j is at least lower +
// below (x - centre) and at most upper + above (x - centre), and in [lo, hi].
type slopes struct {
	lower, upper float64
	below, above []float64
	lo, hi       float64
}

// topPass is a cell with the slopes of all inputs of the last layer.
type topPass struct {
	*topped
	radius []float64
	inputs []slopes
}

// newTopPass bounds what feeds the last layer by lines, with the means as weights.
func (n *noisy) newTopPass(cell property.Box, try uint64) *topPass {
	mean := n.ofMeans(try)
	p := mean.newPass(span{cell.Lo, cell.Hi})
	last := len(n.mean) - 1
	for k := range last {
		p.hiddenLayer(k)
	}
	t := &topPass{topped: n.top, radius: reachOf(cell).radius}
	centre := make([]float64, len(cell.Lo))
	for k := range centre {
		centre[k] = centreOf(cell.Lo[k], cell.Hi[k])
	}
	t.inputs = p.slopesInto(last, centre)
	return t
}

// slopesInto returns what is known of each number that feeds layer k.
func (p *pass) slopesInto(k int, centre []float64) []slopes {
	list, z := make([]slopes, p.layers[k].in), p.into(k)
	for j := range list {
		s := &list[j]
		s.lower, s.below, s.lo = p.lineOf(k, j, 1, centre)
		s.upper, s.above, s.hi = p.lineOf(k, j, -1, centre)
		s.upper, s.hi = -s.upper, -s.hi
		for i, a := range s.above {
			s.above[i] = 0 - a
		}
		s.lo, s.hi = max(s.lo, z.lo[j]), min(s.hi, z.hi[j])
	}
	return list
}

// lineOf is a function of x below sign z_j, z being what feeds layer k: at + slope (x - centre); and a
// lower bound of sign z_j.
func (p *pass) lineOf(k, j int, sign float64, centre []float64) (at float64, slope []float64, lo float64) {
	row := newSpan(p.layers[k].in)
	row.lo[j], row.hi[j] = sign, sign
	return p.lineBelow(k, row, arith.Sum{}, centre)
}

// lineBelow is a function of x below row z + c, z being what feeds layer k, and a lower bound of it.
func (p *pass) lineBelow(k int, row span, c arith.Sum, centre []float64) (at float64, slope []float64, lo float64) {
	slope = make([]float64, len(centre))
	lo = p.down(k, row, c, way{arrive: func(s span, c arith.Sum) { at = p.lineAt(s, c, centre, slope) }})
	return at, slope, lo
}

// lineAt is s x + c at its least for the inputs x of the pass, as at + slope (x - centre).
func (p *pass) lineAt(s span, c arith.Sum, centre, slope []float64) (at float64) {
	for i := range slope {
		if s.lo == nil || s.lo[i] == 0 && s.hi[i] == 0 {
			continue
		}
		var more float64
		if slope[i] = s.lo[i]; s.lo[i] != s.hi[i] {
			slope[i], more = chord(s.lo[i], s.hi[i], p.x.lo[i], p.x.hi[i])
		}
		c.Plus(more)
		c.Add(slope[i], centre[i])
	}
	return c.Lo()
}

// chosen are the lines that a row takes: z_j is in at_j + slope_j (x - centre) +- half_j, and within
// reach_j of at_j.
type chosen struct {
	at, half, reach []float64
	slope           [][]float64
}

// choose takes the lower line where the mean of the row's coefficient is not negative, else the upper.
func (t *topPass) choose(r *topRow) chosen {
	c := chosen{make([]float64, t.in), make([]float64, t.in), make([]float64, t.in), make([][]float64, t.in)}
	for j := range t.inputs {
		c.take(j, &t.inputs[j], t.radius, r.mean[j].Middle() >= 0)
	}
	return c
}

// take takes what the lower line says of z_j, or the upper.
func (c *chosen) take(j int, s *slopes, radius []float64, below bool) {
	var apart, rises, falls arith.Sum
	for k, radius := range radius {
		if radius != 0 {
			apart.Add(arith.SumUp(max(s.above[k], s.below[k]), -min(s.above[k], s.below[k])), radius)
			rises.Add(math.Abs(s.below[k]), radius)
			falls.Add(math.Abs(s.above[k]), radius)
		}
	}
	apart.Plus(s.upper)
	apart.Plus(-s.lower)
	gap, low, high := apart.Hi(), 0.0, 0.0
	varies := rises
	if below {
		end := rises
		end.Plus(s.hi)
		end.Plus(-s.lower)
		gap = max(0, min(gap, end.Hi()))
		low, high, c.slope[j] = s.lower, arith.SumUp(s.lower, gap), s.below
	} else {
		end := falls
		end.Plus(s.upper)
		end.Plus(-s.lo)
		gap, varies = max(0, min(gap, end.Hi())), falls
		low, high, c.slope[j] = arith.SumDown(s.upper, -gap), s.upper, s.above
	}
	c.at[j] = arith.Middle(low, high)
	c.half[j] = max(arith.SumUp(high, -c.at[j]), arith.SumUp(c.at[j], -low))
	varies.Plus(c.half[j])
	c.reach[j] = max(0, min(varies.Hi(), max(arith.SumUp(s.hi, -c.at[j]), arith.SumUp(c.at[j], -s.lo))))
}

// tailUp bounds the probability that a row is negative, or 0, somewhere in the cell; with met only at
// some one point of it.
func (t *topPass) tailUp(row *property.Row, met bool) float64 {
	r, c := t.chosen(row)
	if c == nil {
		return 1
	}
	least, v := t.meanDown(r, c), t.variance(r, c)
	switch {
	case !arith.Finite(least, least) || !v.Finite() || v.Hi <= 0:
		return 1
	case least > 0:
		return gauss.TailOfUp(ratio(least, v.Hi))
	case met && v.Lo > 0 && least < 0:
		return arith.Up(1 - tailDown(-least, v.Lo))
	}
	return 1
}

// chosen is a row with its lines, nil where numbers are out of range.
func (t *topPass) chosen(row *property.Row) (*topRow, *chosen) {
	r := t.rowOf(row)
	if r == nil {
		return nil, nil
	}
	c := t.choose(r)
	for _, list := range [][]float64{c.at, c.half, c.reach} {
		if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= topMost) }) {
			return nil, nil
		}
	}
	return r, &c
}

// law is that of the least value of a row over the cell: it is at least its mean less noise of that
// variance.
func (t *topPass) law(row *property.Row) *marginLaw {
	r, c := t.chosen(row)
	if c == nil {
		return &marginLaw{}
	}
	return lawOf(t.meanDown(r, c), []noise{{0, t.variance(r, c).Hi}})
}

// predictive returns what the cell proves of a decision. No hidden bound can fail.
func (t *topPass) predictive(of *asked) *predictive {
	var laws []*marginLaw
	for r := range of.task.S.Rows {
		laws = append(laws, t.law(&of.task.S.Rows[r]))
	}
	return of.predictive(laws, 0, t.tails(&of.task.S, false))
}

// tailDown is at most Q(t/sqrt(v)) for t, v > 0.
func tailDown(t, v float64) float64 {
	z := ratio(t, v)
	if !(z.Hi < 30) {
		return 0
	}
	return arith.Down(gauss.TailOfUp(z) * (1 - 0x1p-50)) // which is above Q by less than 2^-51
}

// meanDown is the mean of the least value of the row over the cell, at least.
func (t *topPass) meanDown(r *topRow, c *chosen) float64 {
	var sum arith.Sum
	sum.Plus(r.constant.Lo)
	for j, a := range r.mean {
		sum.Add(arith.LeastProduct(a.Lo, a.Hi, c.at[j], c.at[j]))
		if c.half[j] != 0 {
			sum.Add(-gauss.AbsMeanUp(a.Size(), r.marginal(j)), c.half[j])
		}
	}
	live := slices.DeleteFunc(upTo(t.in), func(j int) bool {
		return !slices.ContainsFunc(c.slope[j], func(a float64) bool { return a != 0 })
	})
	mean, sd := r.alongUp(c, live, t.radius)
	for k, radius := range t.radius {
		if radius != 0 {
			sum.Add(-gauss.AbsMeanUp(mean[k], sd[k]), radius)
		}
	}
	return sum.Lo()
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// cellFailUp bounds the probability that the network leaves S in the cell.
func (t *topPass) cellFailUp(s *property.Safe) float64 {
	return impliedUp(s, t.tails(s, false))
}

// holdsUp bounds the probability that S holds at some one point of the cell, given S with its rows
// negated.
func (t *topPass) holdsUp(negated *property.Safe) float64 {
	return refutedUp(negated, t.tails(negated, true))
}

func (t *topPass) tails(s *property.Safe, met bool) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = t.tailUp(&s.Rows[r], met)
	}
	return tails
}
