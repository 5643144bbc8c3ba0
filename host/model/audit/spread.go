package audit

import (
	"fmt"
	"math"

	"psafe/host/model/posterior"
)

// reading is a way to make a standard deviation of a stored number s.
type reading struct {
	words string // what the numbers look like, and what to write
	sd    func(s float64) float64
}

// readings are all that are known of, the usual ones first.
var readings = []reading{
	{`a standard deviation: write scale "sd"`, func(s float64) float64 { return s }},
	{`a variance: write scale "variance"`, math.Sqrt},
	{`rho of a softplus: write scale "softplus"`, func(s float64) float64 { return max(s, 0) + math.Log1p(math.Exp(-math.Abs(s))) }},
	{`log sd: write scale "log_sd"`, math.Exp},
	{`a log variance: write scale "log_variance"`, func(s float64) float64 { return math.Exp(s / 2) }},
	{`a precision: write 1/sqrt of it and scale "sd"`, func(s float64) float64 { return 1 / math.Sqrt(s) }},
	{`the root of a standard deviation: write its square and scale "sd"`, func(s float64) float64 { return s * s }},
}

// near reports whether means of many numbers agree, as far as float32 sums of them do.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-3*math.Abs(want)+1e-30 }

// compareSpread compares the means of the standard deviations with reference.spread.
func compareSpread(p *posterior.Posterior, c *Comparison) error {
	var stored [][]float64
	var want []float64
	what := ""
	for a, ref := range p.Reference.Spread {
		if math.IsNaN(ref) {
			continue
		}
		c.Spreads++
		g := p.Params()[a]
		if mean := meanOf(g.SdHi, readings[0].sd); !near(mean, ref) {
			if what == "" {
				what = fmt.Sprintf("reference.spread: the mean standard deviation of the %s of layer %d is %.4g, as read (scale %v) it is %.4g", []string{"weights", "biases"}[a%2], a/2, ref, p.Scale, mean)
			}
			stored, want = append(stored, g.Spread), append(want, ref)
		}
	}
	if what == "" {
		return nil
	}
	m := &Mismatch{What: what}
	if guess := GuessScale(stored, want); guess != "" {
		m.Fits = guess
	}
	return m
}

// GuessScale returns what stored spreads look like, given the mean of the standard deviations of
// each list; NaN where nobody knows. It is empty if no reading fits all of them.
func GuessScale(stored [][]float64, want []float64) string {
	for _, r := range readings {
		fits, any := true, false
		for a, list := range stored {
			if len(list) == 0 || math.IsNaN(want[a]) {
				continue
			}
			any = true
			fits = fits && near(meanOf(list, r.sd), want[a])
		}
		if fits && any {
			return "sigma looks like " + r.words
		}
	}
	return ""
}

func meanOf(list []float64, sd func(float64) float64) float64 {
	sum := 0.0
	for _, s := range list {
		sum += sd(s)
	}
	return sum / float64(len(list))
}
