package property

import "slices"

// CentreApprox is about the centre of the box: sums of large ends overflow.
func (b Box) CentreApprox() []float64 {
	x := make([]float64, len(b.Lo))
	for j := range x {
		x[j] = (b.Lo[j] + b.Hi[j]) / 2
	}
	return x
}

// Halves cuts the box in two at the Middle of coordinate j.
func (b Box) Halves(j int) (left, right Box) {
	mid := Middle(b.Lo[j], b.Hi[j])
	left = Box{Lo: b.Lo, Hi: slices.Clone(b.Hi)}
	right = Box{Lo: slices.Clone(b.Lo), Hi: b.Hi}
	left.Hi[j], right.Lo[j] = mid, mid
	return left, right
}

// Middle is about the middle of [lo, hi], and inside of it whatever overflows.
func Middle(lo, hi float64) float64 { return min(max(lo/2+hi/2, lo), hi) }
