package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// The probit rule of last-layer Laplace (docs/theory.md, section 9.6): logits m_k(x) / sqrt(1 + pi/8
// v_k(x)), of the mean and the variance of each output. Nothing in it is random.

// An interval that holds pi/8.
var piEighth = arith.Of(math.Pi/8, math.Nextafter(math.Pi/8, 1))

// logit holds what is known of an output for all x of a cell: its mean, and 1 / sqrt(1 + pi/8 v).
type logit struct{ mean, shrink arith.Interval }

// unit is the row sign f_k of so many outputs.
func unit(k, outputs int, sign float64) *property.Row {
	c := make([]float64, outputs)
	c[k] = sign
	return &property.Row{CLo: c, CHi: c}
}

// leastMean is a lower bound of the mean of the row at each x of the cell.
func (r *Row) leastMean(c *Cell) float64 {
	if r == nil {
		return math.Inf(-1)
	}
	f := r.form(c)
	if f == nil {
		return math.Inf(-1)
	}
	var sum arith.Sum
	sum.Plus(r.constant.Lo)
	for j, a := range r.mean {
		sum.Add(arith.LeastProduct(a.Lo, a.Hi, f.at[j], f.at[j]))
		sum.Add(-a.Size(), f.half[j])
	}
	coefficients, _ := r.overInputs(f)
	for k, radius := range f.radius {
		sum.Add(-coefficients[k], radius)
	}
	return sum.Lo()
}

// logit returns the logit of output k.
func (t *Top) logit(k int, c *Cell) logit {
	up, down := t.Row(unit(k, t.out, 1)), t.Row(unit(k, t.out, -1))
	v := arith.Of(0, math.Inf(1))
	if up != nil {
		if f := up.form(c); f != nil {
			v = up.varianceOf(f)
		}
	}
	return logit{arith.Of(up.leastMean(c), -down.leastMean(c)), ShrinkOf(v)}
}

// ShrinkOf holds 1 / sqrt(1 + pi/8 v) for all v of an interval, none below 0.
func ShrinkOf(v arith.Interval) arith.Interval {
	most := arith.Up(1 + arith.Up(piEighth.Hi*v.Hi))
	least := arith.Down(1 + arith.Down(piEighth.Lo*max(0, v.Lo)))
	s := arith.Of(0, min(1, arith.Up(1/arith.Down(math.Sqrt(least)))))
	if most <= math.MaxFloat64 {
		s.Lo = max(0, arith.Down(1/arith.Up(math.Sqrt(most))))
	}
	if !(s.Hi >= 0) {
		s.Hi = 1
	}
	return s
}

// ProbitMargins are lower bounds of l_c(x) - l_k(x), the differences of the logits of the probit rule, for
// all x of a cell and all classes k but c, in their order.
func (t *Top) ProbitMargins(class int, c *Cell) []float64 {
	logits := make([]logit, t.out)
	for k := range logits {
		logits[k] = t.logit(k, c)
	}
	var margins []float64
	for k := range logits {
		if k != class {
			row := unit(class, t.out, 1)
			row.CLo[k] = -1 // CHi is the same list
			margins = append(margins, probitMargin(logits[class], logits[k], t.Row(row).leastMean(c)))
		}
	}
	return margins
}

// probitMargin is a lower bound of s_c m_c - s_k m_k, of which m_c - m_k is at least apart: the product
// forms s_k (m_c - m_k) + (s_c - s_k) m_c and s_c (m_c - m_k) + (s_c - s_k) m_k have the difference of the
// means as the lines know it, and the third one takes both logits by themselves.
func probitMargin(c, k logit, apart float64) float64 {
	far := arith.SumDown(leastOf(c.shrink, c.mean), -mostOf(k.shrink, k.mean))
	differ := arith.Of(arith.SumDown(c.shrink.Lo, -k.shrink.Hi), arith.SumUp(c.shrink.Hi, -k.shrink.Lo))
	by := func(s, mean arith.Interval) float64 {
		return arith.SumDown(leastOf(s, arith.Of(apart, apart)), leastOf(differ, mean))
	}
	least := math.Inf(-1)
	for _, x := range []float64{far, by(k.shrink, c.mean), by(c.shrink, k.mean)} {
		if x > least { // not NaN
			least = x
		}
	}
	return least
}

// leastOf is a lower bound of the products of numbers of two intervals, -Inf where one is not finite.
func leastOf(a, b arith.Interval) float64 {
	if !a.Finite() || !b.Finite() {
		return math.Inf(-1)
	}
	return min(arith.ProductDown(a.Lo, b.Lo), arith.ProductDown(a.Lo, b.Hi), arith.ProductDown(a.Hi, b.Lo), arith.ProductDown(a.Hi, b.Hi))
}

// mostOf is an upper bound of them.
func mostOf(a, b arith.Interval) float64 { return -leastOf(arith.Of(-a.Hi, -a.Lo), b) }
