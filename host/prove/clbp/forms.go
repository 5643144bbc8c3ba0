package clbp

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// What tails of rows are of: bounds of the rows, and noise by level.

// considered are the bounds of the rows of a cell as the device gives them, and whether less noise is wanted.
type considered struct {
	forms [][]tailForm
	more  bool
}

// consider looks at cell c, item i of a batch. What is sharpened is compared between devices, so it must
// not depend on what the cell has.
func consider(c *cell, n *bound.CLBPMargins, i int) considered {
	forms := formsOf(c, n, i)
	return considered{forms, rowsUp(c, leastTails(forms)) > worthSharpening || rowsUp(c, tailsUp(forms)) > worthSharpening}
}

// failUp is (14): the budget of the hidden bounds, and the rows of the alternative
// of S that fails least. It is 1 where it cannot be less than what the cell has. The error is that
// of Sharpen.
func (m method) failUp(c *cell, n *bound.CLBPMargins, i int, tau float64, known considered) (float64, error) {
	budget, forms := m.budgetUp(c, n, i, tau), known.forms
	if known.more {
		if err := addSharp(forms, n, i); err != nil {
			return 1, err
		}
	}
	if plusUp(rowsUp(c, leastTails(forms)), budget) >= c.fail {
		return 1, nil
	}
	return min(1, plusUp(rowsUp(c, tailsUp(forms)), budget)), nil
}

// formsOf are the bounds of the rows of a cell, item i of a batch, as the device gives them.
func formsOf(c *cell, n *bound.CLBPMargins, i int) [][]tailForm {
	forms := make([][]tailForm, len(c.task.S.Rows))
	for r := range forms {
		forms[r] = rowForms(n, i*n.Rows+r)
	}
	return forms
}

// addSharp adds those with what the host says of their noise.
func addSharp(forms [][]tailForm, n *bound.CLBPMargins, i int) error {
	if err := n.Sharpen(i); err != nil {
		return err
	}
	for r := range forms {
		forms[r] = append(forms[r], sharpForms(n, i, r)...)
	}
	return nil
}

// worthSharpening is how much the rows of a cell fail by if their noise is computed once more.
const worthSharpening = Enough / 100

// rowsUp is by how much rows fail from which S follows, of those the ones that fail least; of a dual cell, by how
// much S may hold.
func rowsUp(c *cell, tails []float64) float64 {
	if c.dual {
		return dualUp(&c.task.S, tails)
	}
	return impliedUp(&c.task.S, tails)
}

// impliedUp bounds the probability that S fails, given those of its rows: that of rows from which it
// follows.
func impliedUp(s *property.Safe, tails []float64) float64 {
	rows, ok := s.Implicant(tails)
	if !ok {
		return 1
	}
	sum := 0.0
	for _, r := range rows {
		sum = plusUp(sum, tails[r])
	}
	return min(1, sum)
}

// plusUp is a + b for probabilities of failures, rounded up: what cannot fail adds nothing.
func plusUp(a, b float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	return math.Nextafter(a+b, math.Inf(1))
}

// noisesOf lists all numbers that say something of cell i, the rows one after the other.
func noisesOf(c *cell, n *bound.CLBPMargins, i int) []float64 {
	var all []float64
	for _, by := range n.Others {
		all = append(all, noisesOf(c, by, i)...)
	}
	for r := range c.task.S.Rows {
		for _, form := range []*bound.Noises{&n.ByIntervals, &n.ByLines} {
			if form.Lo == nil {
				continue
			}
			lo, mean, variance := form.At(i*n.Rows + r)
			all = append(append(append(all, lo), mean...), variance...)
		}
		_, mean, variance := n.Sharp(i, r)
		if levels := n.SharpLevels(i); mean == nil { // as many numbers, whatever they are
			mean, variance = make([]float64, levels), make([]float64, levels)
		}
		all = append(append(all, mean...), variance...)
	}
	return all
}

// tailForm is a lower bound of a row: it is at least t, but for noise of these variances, one for each
// level.
type tailForm struct {
	t         float64
	variances []float64
}

// certain reports whether the row is not negative, whatever the weights are.
func (f tailForm) certain() bool { return len(f.variances) == 0 && f.t >= 0 }

// least returns what the form's tail is never less than.
func (f tailForm) least() float64 {
	if f.certain() {
		return 0
	}
	return probability.NoiseTailLeast(f.t, f.variances)
}

// tailUp bounds the probability that the row is negative; known is a bound that there is.
func (f tailForm) tailUp(known float64) float64 {
	if f.certain() {
		return 0
	}
	return probability.NoiseTailUp(f.t, f.variances, known)
}

// formOf is lo less the noise of some layers.
func formOf(lo float64, mean, variance []float64) tailForm {
	if len(mean) == 0 {
		return tailForm{lo, nil}
	}
	e := 0.0
	for _, m := range mean {
		e = math.Nextafter(e+m, math.Inf(1))
	}
	return tailForm{math.Nextafter(lo-e, math.Inf(-1)), variance}
}

// rowForms are the two bounds of a row, one whose noise is that of the last layer and one with that
// of all layers. Which of them is the better depends on no weight.
func rowForms(n *bound.CLBPMargins, at int) []tailForm {
	var forms []tailForm
	for _, form := range []*bound.Noises{&n.ByIntervals, &n.ByLines} {
		if form.Lo != nil {
			forms = append(forms, formOf(form.At(at)))
		}
	}
	return forms
}

// worthTail is the share of the best score of other lower slopes from which on their tail is
// computed: how variances are shared among layers counts too, but little.
const worthTail = 1 - 0x1p-6

// sharpForms are the row with what the host says of its noise, and with the lower slopes, and the
// noise, that put it about the most standard deviations above 0: which they are depends on no
// weight.
func sharpForms(n *bound.CLBPMargins, i, r int) []tailForm {
	var sharp []tailForm
	// Where there is no noise there is nothing to choose, and no Sharp to believe.
	if lo, mean, variance := n.Sharp(i, r); len(mean) > 0 {
		sharp = append(sharp, formOf(lo, mean, variance))
	}
	var others []tailForm
	var scores []float64
	most := 0.0
	for _, o := range n.Others {
		lo, mean, variance := o.ByLines.At(i*n.Rows + r)
		_, sharpMean, sharpVariance := o.Sharp(i, r)
		for _, f := range []struct{ mean, variance []float64 }{{mean, variance}, {sharpMean, sharpVariance}} {
			if score := scoreApprox(lo, f.mean, f.variance); len(f.mean) > 0 && score > 0 {
				others, scores, most = append(others, formOf(lo, f.mean, f.variance)), append(scores, score), max(most, score)
			}
		}
	}
	for j, f := range others {
		if scores[j] >= most*worthTail {
			sharp = append(sharp, f)
		}
	}
	return sharp
}

// tailsUp bounds for each row the probability that it is negative somewhere in the cell, by the best
// of its forms. The likeliest to be the best comes first, so that others are left out.
func tailsUp(forms [][]tailForm) []float64 {
	tails := make([]float64, len(forms))
	for r, all := range forms {
		tails[r] = 1
		slices.SortFunc(all, func(a, b tailForm) int { return cmp.Compare(a.least(), b.least()) })
		for _, f := range all {
			tails[r] = f.tailUp(tails[r])
		}
	}
	return tails
}

// leastTails returns what tailsUp is never less than.
func leastTails(forms [][]tailForm) []float64 {
	tails := make([]float64, len(forms))
	for r, all := range forms {
		tails[r] = 1
		for _, f := range all {
			tails[r] = min(tails[r], f.least())
		}
	}
	return tails
}

// scoreApprox is by how many standard deviations of the noise a bound is above 0.
func scoreApprox(lo float64, mean, variance []float64) float64 {
	v := 0.0
	for l, m := range mean {
		lo -= m
		v += variance[l]
	}
	return lo / math.Sqrt(v)
}
