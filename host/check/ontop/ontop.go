// Package ontop bounds rows where no hidden layer has normal noise: of a random last layer
// (docs/theory.md (93)), of dropout (5.4), and of networks that are linearised in their weights
// (5.8).
package ontop

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/cases"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Noise in the last layer alone, of any covariance (docs/theory.md (93)): what feeds that layer is a
// fixed function of x, of which lines and intervals are known, and no hidden bound can fail.

// NewTopped is nil for a posterior that is random elsewhere, too.
func NewTopped(post *posterior.Posterior) *covary.Topped {
	if post.OnTop() != nil {
		return nil
	}
	last := len(post.Layers) - 1
	t := &covary.Topped{Layer: &post.Layers[last], Rows: map[string]*covary.TopRow{}}
	t.In, t.Out = t.Layer.Inputs(), t.Layer.Outputs()
	if all := post.Covariances(); all != nil {
		t.Covariance = all[last]
	}
	return t
}

// TopPass is a cell with the slopes of all inputs of the last layer.
type TopPass struct {
	*covary.Topped
	radius []float64
	inputs []relax.Slopes
}

// NewTopPass bounds what feeds the last layer by lines, with the means as weights.
func NewTopPass(of *covary.Topped, mean relax.Network, cell property.Box) *TopPass {
	p := mean.NewPass(relax.Span{Lo: cell.Lo, Hi: cell.Hi})
	last := len(mean.Layers) - 1
	for k := range last {
		p.HiddenLayer(k)
	}
	return &TopPass{Topped: of, radius: relax.RadiusOf(cell), inputs: p.SlopesInto(last, relax.CentresOf(cell))}
}

// choose takes the lower line where the mean of the row's coefficient is not negative, else the upper.
func (t *TopPass) choose(r *covary.TopRow) relax.Chosen {
	c := relax.NewChosen(t.In)
	for j := range t.inputs {
		c.Take(j, &t.inputs[j], t.radius, r.Mean[j].Middle() >= 0)
	}
	return c
}

// tailUp bounds the probability that a row is negative, or 0, somewhere in the cell; with met only at
// some one point of it.
func (t *TopPass) tailUp(row *property.Row, met bool) float64 {
	r, c := t.chosen(row)
	if c == nil {
		return 1
	}
	least, v := t.meanDown(r, c), t.variance(r, c)
	switch {
	case !arith.Finite(least, least) || !v.Finite() || v.Hi <= 0:
		return 1
	case least > 0:
		return gauss.TailOfUp(law.Ratio(least, v.Hi))
	case met && v.Lo > 0 && least < 0:
		return arith.Up(1 - law.TailDown(-least, v.Lo))
	}
	return 1
}

// chosen is a row with its lines, nil where numbers are out of range.
func (t *TopPass) chosen(row *property.Row) (*covary.TopRow, *relax.Chosen) {
	r := t.RowOf(row)
	if r == nil {
		return nil, nil
	}
	c := t.choose(r)
	if !covary.InRange(c.At, c.Half, c.Reach) {
		return nil, nil
	}
	return r, &c
}

// law returns the law of the least value of a row over the cell: it is at least its mean less noise of that
// variance.
func (t *TopPass) law(row *property.Row) *law.MarginLaw {
	r, c := t.chosen(row)
	if c == nil {
		return &law.MarginLaw{}
	}
	return law.LawOf(t.meanDown(r, c), []law.Noise{{Mean: 0, Variance: t.variance(r, c).Hi}})
}

// Laws returns the laws of the rows of a set, with what they fail with. No hidden bound can fail.
func (t *TopPass) Laws(s *property.Safe) (laws []*law.MarginLaw, fails []float64) {
	for r := range s.Rows {
		laws = append(laws, t.law(&s.Rows[r]))
	}
	return laws, t.tails(s, false)
}

// meanDown is the mean of the least value of the row over the cell, at least.
func (t *TopPass) meanDown(r *covary.TopRow, c *relax.Chosen) float64 {
	var sum arith.Sum
	sum.Plus(r.Constant.Lo)
	for j, a := range r.Mean {
		sum.Add(arith.LeastProduct(a.Lo, a.Hi, c.At[j], c.At[j]))
		if c.Half[j] != 0 {
			sum.Add(-gauss.AbsMeanUp(a.Size(), r.Marginal(j)), c.Half[j])
		}
	}
	live := slices.DeleteFunc(upTo(t.In), func(j int) bool {
		return !slices.ContainsFunc(c.Slope[j], func(a float64) bool { return a != 0 })
	})
	mean, sd := r.AlongUp(c, live, t.radius)
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

// CellFailUp bounds the probability that the network leaves S in the cell.
func (t *TopPass) CellFailUp(s *property.Safe) float64 {
	return cases.ImpliedUp(s, t.tails(s, false))
}

// HoldsUp bounds the probability that S holds at some one point of the cell, given S with its rows
// negated.
func (t *TopPass) HoldsUp(negated *property.Safe) float64 {
	return cases.RefutedUp(negated, t.tails(negated, true))
}

func (t *TopPass) tails(s *property.Safe, met bool) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = t.tailUp(&s.Rows[r], met)
	}
	return tails
}

// variance holds that of the row at every point of the cell, and bounds from above what (92) says of the
// whole form.
func (t *TopPass) variance(r *covary.TopRow, c *relax.Chosen) arith.Interval {
	at := append(slices.Clone(c.At), 1)
	w, own := make([]arith.Interval, r.N), arith.Interval{}
	over := arith.Exactly(r.Delta[t.In])
	for i := range w {
		var s arith.Sum
		for j, x := range at {
			s = s.With(r.K[i*r.N+j], x)
		}
		s.Add(r.Delta[i], at[i])
		w[i] = arith.Of(s.Lo(), s.Hi())
		own = own.Plus(w[i].Times(arith.Exactly(at[i])))
		if i < t.In {
			far := arith.SumUp(math.Abs(at[i]), c.Reach[i])
			over = over.Plus(arith.Exactly(r.Delta[i]).Times(arith.Exactly(far).Square()))
		}
	}
	first := t.firstOrderUp(w, c)
	second := min(r.FormUp(c.Reach), r.LinesUp(c, t.radius))
	centre := max(0, own.Hi)
	root := arith.SumUp(arith.SqrtUp(centre), arith.SqrtUp(second))
	most := min(arith.SumUp(arith.SumUp(centre, 2*first), second), arith.ProductUp(root, root))
	least := arith.SumDown(arith.SumDown(own.Lo, -2*first), -arith.Up(2*over.Hi))
	return arith.Of(max(0, least), most)
}

// firstOrderUp bounds |w (z - at)| over the cell: by how far each z may be, and along the lines.
func (t *TopPass) firstOrderUp(w []arith.Interval, c *relax.Chosen) float64 {
	var box, lines arith.Sum
	along := make([]arith.Interval, len(t.radius))
	for j := range t.In {
		box.Add(w[j].Size(), c.Reach[j])
		lines.Add(w[j].Size(), c.Half[j])
		for k, a := range c.Slope[j] {
			if a != 0 && t.radius[k] != 0 {
				along[k] = along[k].Plus(w[j].Times(arith.Exactly(a)))
			}
		}
	}
	for k, radius := range t.radius {
		lines.Add(along[k].Size(), radius)
	}
	return max(0, min(box.Hi(), lines.Hi()))
}
