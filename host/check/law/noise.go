package law

import "psafe/host/arith"

// SquareUp is at least x^2, and 0 for 0.
func SquareUp(x float64) float64 { return arith.ProductUp(x, x) }

func SquaresUp(x []float64) []float64 {
	y := make([]float64, len(x))
	for j := range x {
		y[j] = SquareUp(x[j])
	}
	return y
}

// Noise bounds what a layer's deviations do to a row: -E inf over the cell (11), and the
// Variance (12).
type Noise struct{ Mean, Variance float64 }

// ByUp returns how far a bound has to be moved for noise of this mean and variance.
func (n Noise) ByUp(quantile float64) float64 {
	if n.Variance == 0 {
		return n.Mean
	}
	return arith.SumUp(n.Mean, arith.Up(quantile*arith.SqrtUp(n.Variance)))
}

// Plus is the noise of two layers.
func (n Noise) Plus(m Noise) Noise {
	return Noise{arith.SumUp(n.Mean, m.Mean), arith.SumUp(n.Variance, m.Variance)}
}

// TimesSqrt2OverPiUp is at least sqrt(2/pi) s, for s >= 0 but for roundings.
func TimesSqrt2OverPiUp(s float64) float64 {
	if s <= 0 {
		return 0
	}
	return arith.Up(arith.Sqrt2OverPiUp * s)
}

// SquareDown is at most x^2 for x >= 0.
func SquareDown(x float64) float64 { return max(0, arith.Down(x*x)) }
