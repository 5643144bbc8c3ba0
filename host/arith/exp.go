package arith

import "math"

// Cody-Waite split of ln 2: ln2Hi has 32 significant bits, so k*ln2Hi is exact
// for |k| < 2^21, and |ln 2 - ln2Hi - ln2Lo| < 2^-86. ln2Down and ln2Up are
// the neighbouring float64 around ln 2.
const (
	ln2Hi   = 6.93147180369123816490e-01
	ln2Lo   = 1.90821492927058770002e-10
	ln2Down = 0x1.62e42fefa39efp-1
	ln2Up   = 0x1.62e42fefa39f0p-1
	log2E   = 1.44269504088896338700
)

// ExpNegErr bounds the relative error of ExpNeg. See there.
const ExpNegErr = 8 * Unit

// expNegMax is the largest argument ExpNeg accepts; e^-expNegMax < 2^-1154.
const expNegMax = 801

// ExpNeg evaluates e^-y for 0 <= y <= expNegMax:
//
//	e^-y = m 2^-k (1 + d),   |d| <= ExpNegErr = 8u,   0.7 < m < 1.42,   k >= 0
//
// Proof. k is the integer nearest to y/ln 2 up to an error that is far below
// 1e-3, so r = y - k ln 2 has |r| <= 0.347. r1 = y - k ln2Hi and r = r1 - k
// ln2Lo each cost one rounding (FMA) of at most 0.347u(1+u), and the split of
// ln 2 costs k 2^-86 < 2^-75: together below 0.7u absolute in r, hence 0.71u
// relative in e^-r. The Taylor polynomial of degree 13 leaves
// |r|^14/14! e^|r| < 6e-18 < 0.06u, 0.09u relative to e^-r >= 0.706. In
// Horner's scheme with one rounding a step, the coefficient of r^i meets i+1
// roundings besides its own: |error| <= u sum (i+2)|r|^i/i! =
// u (2+|r|) e^|r| < 3.33u, that is 4.72u relative. Sum 5.6u, below 8u
// with all second-order terms.
func ExpNeg(y float64) (m float64, k int) {
	k = int(float64(y*log2E) + 0.5)
	kf := float64(k)
	r := math.FMA(-kf, ln2Hi, y)
	r = math.FMA(-kf, ln2Lo, r)
	t := -r
	const (
		c2  = 1.0 / 2
		c3  = 1.0 / 6
		c4  = 1.0 / 24
		c5  = 1.0 / 120
		c6  = 1.0 / 720
		c7  = 1.0 / 5040
		c8  = 1.0 / 40320
		c9  = 1.0 / 362880
		c10 = 1.0 / 3628800
		c11 = 1.0 / 39916800
		c12 = 1.0 / 479001600
		c13 = 1.0 / 6227020800
	)
	m = math.FMA(c13, t, c12)
	m = math.FMA(m, t, c11)
	m = math.FMA(m, t, c10)
	m = math.FMA(m, t, c9)
	m = math.FMA(m, t, c8)
	m = math.FMA(m, t, c7)
	m = math.FMA(m, t, c6)
	m = math.FMA(m, t, c5)
	m = math.FMA(m, t, c4)
	m = math.FMA(m, t, c3)
	m = math.FMA(m, t, c2)
	m = math.FMA(m, t, 1)
	m = math.FMA(m, t, 1)
	return m, k
}

// TimesPow2 returns m 2^-k for 0 <= k <= 1160 and m of ordinary size
// (2^-300 < m < 2): exact if the result is normal, else rounded once to
// nearest, an error of at most eta/2.
func TimesPow2(m float64, k int) float64 {
	if k > 1000 {
		m *= 0x1p-200 // exact: still far above the subnormals
		k -= 200
	}
	return m * math.Float64frombits(uint64(1023-k)<<52)
}

// ExpDown returns a lower bound of min(1, e^logP): the probability belonging
// to a lower bound logP of its logarithm. It is 0 where e^logP underflows and
// for NaN, and never above 1. Relative looseness below 3e-15.
func ExpDown(logP float64) float64 {
	if logP >= 0 {
		return 1
	}
	if !(logP >= -expNegMax) {
		return 0
	}
	m, k := ExpNeg(-logP)
	// 2 more units: rounding of the product itself.
	return min(1, max(0, Down(TimesPow2(m*(1-ExpNegErr-2*Unit), k))))
}

// ExpUp returns an upper bound of min(1, e^logP). It is 1 for NaN, and 0 only
// for -Inf, which stands for a probability proved to be 0.
func ExpUp(logP float64) float64 {
	switch {
	case math.IsNaN(logP) || logP >= 0:
		return 1
	case math.IsInf(logP, -1):
		return 0
	case logP < -expNegMax:
		return Eta
	}
	m, k := ExpNeg(-logP)
	return min(1, Up(TimesPow2(m*(1+ExpNegErr+2*Unit), k)))
}

// lnMantissaDown returns a lower bound of ln m for 0.5 <= m <= 1.
//
// math.Log only proposes; a candidate c is returned once the proved ExpUp
// shows e^c <= m, so nothing is assumed about math.Log. The loop ends because
// ExpUp(-1) < 0.5.
func lnMantissaDown(m float64) float64 {
	if m == 1 {
		return 0
	}
	guess := math.Log(m)
	for slack := 0x1p-52; slack < 1; slack *= 2 {
		if c := guess - slack; ExpUp(c) <= m {
			return c
		}
	}
	return -1
}

// lnMantissaUp returns an upper bound, at most 0, of ln m for 0.5 <= m <= 1;
// confirmed by ExpDown as in lnMantissaDown.
func lnMantissaUp(m float64) float64 {
	guess := math.Log(m)
	for slack := 0x1p-52; slack < 1; slack *= 2 {
		if c := guess + slack; c < 0 && ExpDown(c) >= m {
			return c
		}
	}
	return 0
}

// LnScaledDown returns a lower bound of ln(m 2^e), for 0.5 <= m <= 1; -Inf for
// m = 0. The exponent's share is one product rounded down with the
// neighbour of ln 2 that makes it smaller.
func LnScaledDown(m float64, e int) float64 {
	if !(m > 0) {
		return math.Inf(-1)
	}
	l := lnMantissaDown(m)
	switch {
	case e > 0:
		l = Down(l + Down(float64(e)*ln2Down))
	case e < 0:
		l = Down(l + Down(float64(e)*ln2Up))
	}
	return l
}

// LnScaledUp returns an upper bound of ln(m 2^e), for 0.5 <= m <= 1; -Inf for
// m = 0.
func LnScaledUp(m float64, e int) float64 {
	if m == 0 {
		return math.Inf(-1)
	}
	l := lnMantissaUp(m)
	switch {
	case e > 0:
		l = Up(l + Up(float64(e)*ln2Up))
	case e < 0:
		l = Up(l + Up(float64(e)*ln2Down))
	}
	return l
}

// LogUp returns an upper bound of ln x for a finite x > 0, -Inf for 0 and +Inf for what is neither.
func LogUp(x float64) float64 {
	if !(x >= 0 && x <= math.MaxFloat64) {
		return Inf
	}
	m, e := math.Frexp(x)
	return LnScaledUp(m, e)
}

// LogDown returns a lower bound of ln x for a finite x > 0, and -Inf for others.
func LogDown(x float64) float64 {
	if !(x >= 0 && x <= math.MaxFloat64) {
		return -Inf
	}
	m, e := math.Frexp(x)
	return LnScaledDown(m, e)
}

// The float64 neighbours of log10(e) = 0.43429448190325182765...
const (
	log10EDown = 0x1.bcb7b1526e50ep-2
	log10EUp   = 0x1.bcb7b1526e50fp-2
)

// Log10Down converts a lower bound of a natural logarithm into one of the
// decimal logarithm, rounded down. NaN gives -Inf; -Inf stays.
func Log10Down(logP float64) float64 {
	switch {
	case math.IsNaN(logP) || math.IsInf(logP, -1):
		return math.Inf(-1)
	case logP == 0 || math.IsInf(logP, 1):
		return logP
	case logP > 0:
		return Down(logP * log10EDown)
	}
	return Down(logP * log10EUp)
}

// Log10Up converts an upper bound of a natural logarithm into one of the
// decimal logarithm, rounded up. NaN gives +Inf; -Inf and +Inf stay.
func Log10Up(logP float64) float64 {
	if math.IsNaN(logP) {
		return math.Inf(1)
	}
	return -Log10Down(-logP)
}

// LogComplementUp returns an upper bound, at most 0, of ln(1 - p) for p in [0, 1]; 0 for NaN.
func LogComplementUp(p float64) float64 {
	switch {
	case p >= 1:
		return math.Inf(-1)
	case !(p > 0):
		return 0
	case p < 0x1p-30:
		return -p // ln(1-p) <= -p
	}
	return LogUp(Up(1 - p))
}

// LogComplementDown returns a lower bound of ln(1 - p) for p in [0, 1]; -Inf for
// p >= 1 and NaN.
func LogComplementDown(p float64) float64 {
	switch {
	case !(p < 1):
		return math.Inf(-1)
	case p <= 0:
		return 0
	case p < 0x1p-30:
		// ln(1-p) >= -p - p^2 for p <= 1/2.
		return Down(-p - Up(p*p))
	}
	return LogDown(Down(1 - p))
}
