package posterior

import (
	"fmt"
	"math"
)

// Widen multiplies every standard deviation by a real number in [lo, hi], 0 < lo <=
// hi: what the posterior says of the same means with more or less spread. Bounds are
// rounded outward; Spread stays what the file holds. It is an error for posteriors
// that are not independent normal weights, and if a standard deviation overflows.
func (p *Posterior) Widen(lo, hi float64) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	if !(lo > 0 && lo <= hi && hi <= math.MaxFloat64) {
		return fmt.Errorf("factor from %v to %v is no positive number", lo, hi)
	}
	for _, g := range p.Params() {
		for j := range g.SdLo {
			g.SdLo[j], _ = productBounds(g.SdLo[j], lo)
			_, g.SdHi[j] = productBounds(g.SdHi[j], hi)
		}
	}
	return p.Validate()
}

// productBounds are the float64 next to a b >= 0 from below and above, both a b if
// that is one. FMA gives the sign of what rounding left out, unless it underflows.
func productBounds(a, b float64) (lo, hi float64) {
	x := a * b
	if a == 0 || b == 0 {
		return 0, 0
	}
	switch e := math.FMA(a, b, -x); {
	case x < 1e-290:
		return max(0, math.Nextafter(x, -1)), math.Nextafter(x, 1)
	case e < 0:
		return math.Nextafter(x, 0), x
	case e > 0:
		return x, math.Nextafter(x, math.Inf(1))
	}
	return x, x
}
