package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/read/property"
)

// The probit rule of a last layer that alone is random (docs/theory.md, section 9.6).

// Probit returns the laws of the margins of a class on the cell by the rule: the differences of its logits are
// margins of one network.
func (t *TopPass) Probit(class int) (laws []*law.MarginLaw) {
	own := t.shrunk(class)
	for k := range t.Out {
		if k == class {
			continue
		}
		apart := t.meanLeast(func(row []float64) { row[class], row[k] = 1, -1 })
		laws = append(laws, law.LawOf(own.less(t.shrunk(k), apart), nil))
	}
	return laws
}

// shrunk holds what is known of an output on the cell: its mean, and 1/sqrt(1 + pi/8 v) of its variance v.
type shrunk struct{ mean, by arith.Interval }

func (t *TopPass) shrunk(k int) shrunk {
	least := func(sign float64) float64 { return t.meanLeast(func(row []float64) { row[k] = sign }) }
	s := shrunk{arith.Of(least(1), -least(-1)), arith.Of(0, 1)}
	row := make([]float64, t.Out)
	row[k] = 1
	r, c := t.chosen(&property.Row{CLo: row, CHi: row})
	if c == nil {
		return s
	}
	v := t.variance(r, c)
	// pi lies between these two.
	const piLo, piHi = 3.141592653589793, 3.1415926535897936
	root := func(v float64, up bool) float64 { // of 1 + pi/8 v, to one side
		if up {
			return arith.SqrtUp(arith.SumUp(1, arith.ProductUp(piHi/8, v)))
		}
		return arith.Down(math.Sqrt(arith.SumDown(1, arith.ProductDown(piLo/8, max(0, v)))))
	}
	if low := root(v.Lo, false); low >= 1 {
		s.by.Hi = min(1, arith.Up(1/low))
	}
	if high := root(v.Hi, true); high <= math.MaxFloat64 {
		s.by.Lo = max(0, arith.Down(1/high))
	}
	return s
}

// less is a lower bound of the difference of this logit and another one, whose means differ by at least
// apart.
func (a shrunk) less(b shrunk, apart float64) float64 {
	differ := arith.Of(arith.SumDown(a.by.Lo, -b.by.Hi), arith.SumUp(a.by.Hi, -b.by.Lo))
	if !a.mean.Finite() || !b.mean.Finite() || !differ.Finite() || !arith.Finite(apart, apart) {
		return math.Inf(-1)
	}
	means := arith.Exactly(apart)
	by := func(by, mean arith.Interval) float64 { return by.Times(means).Plus(differ.Times(mean)).Lo }
	return max(a.by.Times(a.mean).Plus(arith.Of(-b.mean.Hi, -b.mean.Lo).Times(b.by)).Lo, by(b.by, a.mean), by(a.by, b.mean))
}

// meanLeast is a lower bound of the mean of a row of outputs on the cell.
func (t *TopPass) meanLeast(set func(row []float64)) float64 {
	row := make([]float64, t.Out)
	set(row)
	r, c := t.chosen(&property.Row{CLo: row, CHi: row})
	if c == nil {
		return math.Inf(-1)
	}
	var sum arith.Sum
	sum.Plus(r.Constant.Lo)
	for j, a := range r.Mean {
		sum.Add(arith.LeastProduct(a.Lo, a.Hi, c.At[j], c.At[j]))
		sum.Add(-a.Size(), c.Half[j])
	}
	along, _ := r.AlongUp(c, upTo(t.In), t.radius)
	for k, radius := range t.radius {
		sum.Add(-along[k], radius)
	}
	return sum.Lo()
}
