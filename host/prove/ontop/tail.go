package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/covary"
	"psafe/host/prove/probability"
)

// TailUp bounds the probability that the row is negative, or 0, somewhere in the cell, from above:
// Q(E F / sqrt v) of (93). With met it is only about some one point of the cell, of
// which nothing is known but that it is in it; then a mean below 0 tells something too.
func (r *Row) TailUp(c *Cell, met bool) float64 {
	if r == nil {
		return 1
	}
	f := r.form(c)
	if f == nil {
		return 1
	}
	least, v := r.meanDown(f), r.varianceOf(f)
	switch {
	case !(math.Abs(least) <= math.MaxFloat64 && v.Hi <= math.MaxFloat64):
		return 1
	case least > 0:
		return gauss.TailUp(arith.Down(least / arith.Up(math.Sqrt(v.Hi))))
	case met && v.Lo > 0:
		// At the point the row is normal, with a mean of at least least and a variance of at least v.Lo.
		// A little is kept for check, whose numbers differ in the last bits.
		fail := 1 - gauss.TailDown(arith.Up(-least/arith.Down(math.Sqrt(v.Lo))))
		return min(1, arith.Up(fail*(1+0x1p-45)))
	}
	return 1
}

// meanDown is a lower bound of the mean of F, the least value of the row over the cell, x and what is
// between the lines taken apart: (93).
func (r *Row) meanDown(f *form) float64 {
	var sum arith.Sum
	sum.Plus(r.constant.Lo)
	for j, a := range r.mean {
		sum.Add(arith.LeastProduct(a.Lo, a.Hi, f.at[j], f.at[j]))
		if f.half[j] != 0 {
			sum.Add(-gauss.AbsMeanUp(a.Size(), r.Marginal[j]), f.half[j])
		}
	}
	coefficients, spreads := r.overInputs(f)
	for k, radius := range f.radius {
		if radius != 0 {
			sum.Add(-gauss.AbsMeanUp(coefficients[k], spreads[k]), radius)
		}
	}
	return sum.Lo()
}

// overInputs bounds, for each input, the magnitude of the mean of its coefficient, A slope_k, and its
// standard deviation, the root of slope_k' K slope_k.
func (r *Row) overInputs(f *form) (coefficients, spreads []float64) {
	in, n := len(f.radius), r.n+1
	var live []int
	for j, slope := range f.slope {
		for k, a := range slope {
			if a != 0 && f.radius[k] != 0 {
				live = append(live, j)
				break
			}
		}
	}
	coefficients, spreads = make([]float64, in), make([]float64, in)
	off, sizes, extra, column := make([]float64, in), make([]float64, in), make([]float64, in), make([]float64, in)
	u := covary.Unit(2 * len(live))
	for _, i := range live {
		mid, wrong := r.mean[i].Middle(), arith.Up(r.mean[i].Radius()+float64(u*r.mean[i].Size()))
		clear(column)
		for _, j := range live {
			if r.K != nil {
				covary.AddTimes(column, r.K[i*n+j], f.slope[j])
			}
		}
		for k, a := range f.slope[i] {
			size := math.Abs(a)
			coefficients[k] += float64(mid * a)
			off[k] += float64(wrong * size)
			sizes[k] += float64(r.Spread[i] * size)
			extra[k] += float64(float64(r.Delta[i]*size) * size)
			spreads[k] += float64(column[k] * a)
		}
	}
	g := covary.Grow(2 * len(live))
	for k := range in {
		coefficients[k] = float64((math.Abs(coefficients[k])+off[k])*g) + covary.Tiny
		rest := float64(float64(u*sizes[k])*sizes[k]) + extra[k]
		spreads[k] = arith.Up(math.Sqrt(arith.Up(arith.Up(max(0, spreads[k]))+float64(rest*g)) + covary.Tiny))
	}
	return coefficients, spreads
}

// varianceOf holds the variance of the row at every point of the cell, and above it the squared
// Lipschitz constant of F in the noise: (92), with c the middle of the form. Of the first order the
// range over x and between the lines counts, of the second the lesser of those of the box and along the lines.
func (r *Row) varianceOf(f *form) arith.Interval {
	at := append(append([]float64(nil), f.at...), 1)
	over := r.Delta[r.n]
	for j, c := range f.at {
		far := math.Abs(c) + f.reach[j]
		over += float64(float64(r.Delta[j]*far) * far)
	}
	g := covary.Grow(2*r.n + 2)
	w, wrong, square, err := r.Times(at)
	first := r.firstOrderUp(f, w, wrong)
	second := min(r.OverBoxUp(f.reach), r.OverLinesUp(f.slope, f.radius, f.half))
	most := covary.LargestUp(max(0, arith.Up(square+err)), first, second)
	// K is at least k + Diag(delta) - 2 Diag(delta), of which the first is positive semidefinite.
	least := arith.Down(arith.Down(arith.Down(square-err)-2*first) - 2*float64(over*g) - covary.Tiny)
	return arith.Of(max(0, least), most)
}

// firstOrderUp bounds |w (z(x) - at)| for all x of the cell, each w_i being off by wrong_i.
func (r *Row) firstOrderUp(f *form, w, wrong []float64) float64 {
	box, gaps := 0.0, 0.0
	along, off := make([]float64, len(f.radius)), make([]float64, len(f.radius))
	u := covary.Unit(r.n)
	for j := range r.n {
		most := math.Abs(w[j]) + wrong[j]
		box += float64(most * f.reach[j])
		gaps += float64(most * f.half[j])
		for k, a := range f.slope[j] {
			along[k] += float64(w[j] * a)
			off[k] += float64((wrong[j] + float64(u*math.Abs(w[j]))) * math.Abs(a))
		}
	}
	for k, radius := range f.radius {
		gaps += float64((math.Abs(along[k]) + off[k]) * radius)
	}
	g := covary.Grow(2*r.n + len(f.radius))
	return min(box, gaps)*g + covary.Tiny
}

// Law is the law of the least value of the row over the cell: the tail (93) at every threshold. There is no
// hidden bound that could fail.
func (r *Row) Law(c *Cell) *probability.MarginLaw {
	if r != nil {
		if f := r.form(c); f != nil {
			return probability.NewMarginLaw(r.meanDown(f), []float64{r.varianceOf(f).Hi})
		}
	}
	return probability.NewMarginLaw(math.Inf(-1), nil)
}
