package covary

import (
	"math"

	"psafe/host/arith"
)

// Times is (K + Diag(Delta)) at, each entry of which is off by at most wrong, and square the form
// at' (K + Diag(Delta)) at, but for Diag(Delta), off by at most err with it.
func (r *Row) Times(at []float64) (w, wrong []float64, square, err float64) {
	n := r.N + 1
	size, extra := 0.0, 0.0
	for j, c := range at {
		size += float64(math.Abs(c) * r.Spread[j])
		extra += float64(float64(r.Delta[j]*c) * c)
	}
	g, u := Grow(2*n), Unit(2*n)
	size *= g
	w, wrong = make([]float64, n), make([]float64, n)
	for i := range w {
		dot := 0.0
		for j, c := range at {
			dot += float64(r.K[i*n+j] * c)
		}
		square += float64(dot * at[i])
		w[i] = dot
		wrong[i] = float64((float64(float64(u*r.Spread[i])*size)+float64(r.Delta[i]*math.Abs(at[i])))*g) + Tiny
	}
	return w, wrong, square, float64((float64(float64(u*size)*size)+extra)*g) + Tiny
}

// varianceUp bounds the form (c+d)'(K + Diag(Delta))(c+d) over |d_j| <= h_j from above, the last
// coordinate being 1: (92).
func (r *Row) varianceUp(c, h []float64) float64 {
	w, wrong, square, err := r.Times(append(append([]float64(nil), c...), 1))
	first := 0.0
	for j, reach := range h {
		first += float64((math.Abs(w[j]) + wrong[j]) * reach)
	}
	return LargestUp(max(0, arith.Up(square+err)), float64(first*Grow(r.N))+Tiny, r.OverBoxUp(h))
}

// LargestUp is (92), of centre = c'Kc, first = max |(Kc)'d| and second = max d'Kd.
func LargestUp(centre, first, second float64) float64 {
	root := arith.Up(arith.Up(math.Sqrt(centre)) + arith.Up(math.Sqrt(second)))
	return min(arith.Up(arith.Up(centre+2*first)+second), arith.Up(root*root))
}
