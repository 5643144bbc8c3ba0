package boxes

import (
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
)

// Nearly all intervals of weights are wider than gamma by roundings only. Those that are by up to nearly
// are counted together, as if they were wider by nearlyMore.
const (
	nearly     = 2e-5
	nearlyMore = 3e-5
)

// Ceiling returns log10, rounded up, of the most that n drawn boxes of half-width
// gamma can hold: n times the product over random weights of erf(g/sqrt2), docs/theory.md,
// section 2.5, g being the half-width of the weight's stored interval in standard
// deviations: gamma, and what rounding to precision p can add. At most 0; 0, which
// says nothing, for a posterior whose weights are not independent normal ones.
func Ceiling(post *posterior.Posterior, p bound.Precision, n int, gamma float64) float64 {
	if n == 0 {
		return math.Inf(-1)
	}
	if !post.Independent() {
		return 0
	}
	plain, log := 0, probability.CeilingLog(n, gamma, 0)
	for _, g := range post.Params() {
		for j, sd := range g.SdLo {
			if g.SdHi[j] == 0 {
				continue
			}
			unit := max(g.SdHi[j], 4*p.Unit()*math.Abs(g.Mean[j]), 4*p.Eta())
			// Six roundings of numbers below |mean| + (gamma + 7) unit.
			slack := 8*p.Unit()*(math.Abs(g.Mean[j])+(gamma+8)*unit) + 8*p.Eta()
			if wide := (gamma*unit + slack) / sd; wide <= gamma*(1+nearly) {
				plain++
			} else {
				log = math.Nextafter(log+probability.CeilingLog(1, wide*(1+0x1p-40), 1), math.Inf(1))
			}
		}
	}
	log = math.Nextafter(log+probability.CeilingLog(1, gamma*(1+nearlyMore), plain), math.Inf(1))
	return min(0, arith.Log10Up(log))
}
