package report

import (
	"math"
	"math/big"
)

// Mean is what several records say on average. Lower is rounded down and Upper up,
// so that they bound the mean of P_safe as the records bound each P_safe.
type Mean struct {
	Inputs       int
	Lower, Upper float64
	// Statistical says whether all records have an interval; StatLower and
	// StatUpper are the means of the ends. Each interval holds with the confidence or more.
	Statistical          bool
	StatLower, StatUpper float64
	Confidence           float64
	// NoLower: the records are all of method statistical, which claims no p_lower.
	NoLower bool
}

// MeanOf averages records of different inputs.
func MeanOf(records []Placed) Mean {
	m := Mean{Inputs: len(records), Statistical: true, Confidence: 1, NoLower: true}
	var ends [4][]float64
	for _, r := range records {
		ends[0], ends[1] = append(ends[0], float64(r.PLower)), append(ends[1], float64(r.PUpper))
		m.NoLower = m.NoLower && r.Method == "statistical"
		if r.Statistical == nil {
			m.Statistical = false
			continue
		}
		ends[2], ends[3] = append(ends[2], float64(r.Statistical.Lower)), append(ends[3], float64(r.Statistical.Upper))
		m.Confidence = min(m.Confidence, r.Statistical.Confidence)
	}
	m.Lower, m.Upper = meanDown(ends[0]), meanUp(ends[1])
	if m.Statistical {
		m.StatLower, m.StatUpper = meanDown(ends[2]), meanUp(ends[3])
	}
	return m
}

// meanDown is the mean of probabilities, rounded down.
func meanDown(p []float64) float64 {
	exact := exactMean(p)
	mean, _ := exact.Float64()
	if new(big.Rat).SetFloat64(mean).Cmp(exact) > 0 {
		mean = math.Nextafter(mean, 0)
	}
	return mean
}

// meanUp is the mean of probabilities, rounded up.
func meanUp(p []float64) float64 {
	exact := exactMean(p)
	mean, _ := exact.Float64()
	if new(big.Rat).SetFloat64(mean).Cmp(exact) < 0 {
		mean = math.Nextafter(mean, 2)
	}
	return mean
}

func exactMean(p []float64) *big.Rat {
	sum := new(big.Rat)
	for _, x := range p {
		sum.Add(sum, new(big.Rat).SetFloat64(x))
	}
	return sum.Quo(sum, new(big.Rat).SetInt64(int64(len(p))))
}
