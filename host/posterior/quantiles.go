package posterior

import (
	"math"
	"slices"
)

// QuantileLevels are the levels of Quantiles.
var QuantileLevels = [5]float64{0, 0.25, 0.5, 0.75, 1}

// Quantiles gives the minimum, the quartiles and the maximum of values, with
// linear interpolation between neighbours, as NumPy's default does; NaN for no
// values. They are for reports: not rounded in any direction. values is not
// changed.
func Quantiles(values []float64) [5]float64 {
	var q [5]float64
	sorted := slices.Sorted(slices.Values(values))
	for i, level := range QuantileLevels {
		if len(sorted) == 0 {
			q[i] = math.NaN()
			continue
		}
		place := level * float64(len(sorted)-1)
		low := int(place)
		q[i] = sorted[low]
		if t := place - float64(low); t > 0 {
			q[i] += t * (sorted[low+1] - sorted[low])
		}
	}
	return q
}
