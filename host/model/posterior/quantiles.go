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
	sorted := slices.Clone(values)
	slices.Sort(sorted)
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

// Spread summarises the standard deviations of one list of parameters.
type Spread struct {
	// Quantiles are at QuantileLevels.
	Quantiles [5]float64
	// N is how many parameters there are; Random of them have a standard deviation above 0.
	N, Random int
}

// LayerSpread summarises the standard deviations of one layer.
type LayerSpread struct{ Weight, Bias Spread }

// SpreadSummary summarises the standard deviations (SDApprox) of every layer, for reports
// of posteriors of any kind.
func (p *Posterior) SpreadSummary() []LayerSpread {
	summary := make([]LayerSpread, len(p.Layers))
	sd := p.SDApprox()
	for k := range p.Layers {
		summary[k] = LayerSpread{Weight: spreadOf(sd[2*k]), Bias: spreadOf(sd[2*k+1])}
	}
	return summary
}

func spreadOf(sds []float64) Spread {
	s := Spread{Quantiles: Quantiles(sds), N: len(sds)}
	for _, sd := range sds {
		if sd > 0 {
			s.Random++
		}
	}
	return s
}
