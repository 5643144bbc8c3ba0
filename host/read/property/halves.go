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

// Widest is the first coordinate in which no other is wider, by differences to nearest.
func (b Box) Widest() int {
	best := 0
	for j := range b.Lo {
		if b.Hi[j]-b.Lo[j] > b.Hi[best]-b.Lo[best] {
			best = j
		}
	}
	return best
}

// Contains reports whether x is in the box.
func (b Box) Contains(x []float64) bool {
	for j, v := range x {
		if !(b.Lo[j] <= v && v <= b.Hi[j]) {
			return false
		}
	}
	return true
}

// Middle is about the middle of [lo, hi], and inside of it whatever overflows.
func Middle(lo, hi float64) float64 { return min(max(lo/2+hi/2, lo), hi) }
