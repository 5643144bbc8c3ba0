package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/relax"
)

// FedBox holds what feeds a layer: middle and half-width of each number, and 1.
type FedBox struct{ C, H []float64 }

func FedBoxOf(z relax.Span) FedBox {
	b := FedBox{}
	for j := range z.Lo {
		c := arith.Middle(z.Lo[j], z.Hi[j])
		b.C = append(b.C, c)
		b.H = append(b.H, max(0, arith.SumUp(z.Hi[j], -c), arith.SumUp(c, -z.Lo[j])))
	}
	b.C = append(b.C, 1)
	return b
}

// around is a box of these half-widths around 0, and 0 where there is 1 otherwise.
func around(h []float64) FedBox { return FedBox{make([]float64, len(h)+1), h} }

// FormOf is (92): of the form at the middle, half of what it changes by in first order, and the largest
// value of the form of the half-widths.
func FormOf(centre, first, second float64) float64 {
	root := arith.SumUp(arith.SqrtUp(centre), arith.SqrtUp(second))
	return min(arith.SumUp(arith.SumUp(centre, 2*first), second), arith.ProductUp(root, root))
}

func InRange(lists ...[]float64) bool {
	for _, list := range lists {
		if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= TopMost) }) {
			return false
		}
	}
	return true
}

func anyNot0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x != 0 })
}

func AnyAbove0(list []float64) bool {
	return slices.ContainsFunc(list, func(x float64) bool { return x > 0 })
}
