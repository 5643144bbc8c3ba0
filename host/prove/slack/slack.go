// Package slack sets what claims hold back for psafe check. That proves them again by code of its
// own, which cuts distributions at other places, rounds otherwise and has limits (docs/results.md),
// so that its bounds may be a little worse. What it could not prove again is not claimed: every
// number here makes claims weaker or leaves them out, and no bound rests on one.
package slack

import "math"

// Limits of check.
const (
	// GridPoints is how many points the grids of a claim may have, and GridAxes across how many axes of
	// a box their planes may lie: check takes no more.
	GridPoints, GridAxes = 4096, 4
	// LeastSpread is below which a standard deviation, unless it is 0, has no claim by grids: check cuts
	// such weights elsewhere.
	LeastSpread = 0x1p-500
	// PhaseProblems is how many sub-problems the trees of a claim by phases may have been looked for with,
	// two for each cut: check takes no more cuts.
	PhaseProblems = 1 << 14
	// LeafNodes is how many nodes the trees of a claim by sums over leaves may have: check takes no more cuts
	// than half of it.
	LeafNodes = 1 << 12
	// LeastTau is below which a failure budget, unless it is 0, has no claim: check takes none of which a
	// small share might be subnormal.
	LeastTau = 1e-300

	// Check's bound of a grid was found to be up to a hundredth above, of many neurons up to a few, and
	// with fewer than manyNeurons in the hidden layer, in far tails, up to 7e-7 a point.
	manyNeurons = 64
	gridFactor  = 1.04
	fewMore     = 5e-6
)

// GridUp is the probability of failure to claim, rounded up, where grids of so many points show failUp
// for a hidden layer of so many neurons.
func GridUp(failUp float64, points, neurons int) float64 {
	more := 0.0
	if neurons < manyNeurons {
		more = fewMore * float64(points)
	}
	return math.Nextafter(math.Nextafter(gridFactor*failUp, math.Inf(1))+more, math.Inf(1))
}

// LeastLost is the least that a random neuron adds to a bound by sums, a little below what is beyond
// the reach of one weight (law.Reach). Where standard deviations are below the spacing of float64
// nothing is beyond, and the bound would be finer than check's, which cuts distributions elsewhere.
const LeastLost = 0x1p-44

// A network is claimed to fail at a witness only with a margin above roundings of this size, relative
// to the sums of a layer, and above this: some thousand roundings of float64, and numbers that are
// nearly subnormal. Check keeps intervals of float64 between layers.
const (
	WitnessRounding = 0x1p-40
	WitnessMargin   = 1e-290
)

// decisionShare is the share of what is missing to certainty that is kept of probabilities of the
// posterior predictive: check has the same grids, from other bounds of hidden layers. decisionMore is
// kept too, as check's bounds of the sigmoid have absolute errors.
const (
	decisionShare = 0x1p-9
	decisionMore  = 0x1p-40
)

// PredictiveDown returns what to claim of a lower bound, at most 1, of a probability of the predictive
// or of a difference of two.
func PredictiveDown(p float64) float64 { return PredictiveBelow(p, 1) }

// PredictiveBelow is PredictiveDown of the mean of something that is most at the most.
func PredictiveBelow(p, most float64) float64 {
	return math.Nextafter(p-decisionKept(most-p), math.Inf(-1))
}

// PredictiveUp returns what to claim of an upper bound of a probability: at most 1.
func PredictiveUp(p float64) float64 {
	return min(1, math.Nextafter(p+decisionKept(p), math.Inf(1)))
}

// QuantileDown is the probability of failure that the claim of a quantile may have, less than p whatever it is rounded
// from.
func QuantileDown(p float64) float64 { return p * (1 - 0x1p-10) }

// EachPredictiveUp returns PredictiveUp of each number, in their place.
func EachPredictiveUp(list []float64) []float64 {
	for k, p := range list {
		list[k] = PredictiveUp(p)
	}
	return list
}

// decisionKept is at least 0 for what is missing to certainty.
func decisionKept(missing float64) float64 { return max(0, missing)*decisionShare + decisionMore }

// ChanceDown and ChanceUp are what to claim of a number in [-1, 1] that follows from the probability of one event:
// check's sigmoid has absolute errors.
func ChanceDown(p float64) float64 { return math.Nextafter(p-decisionMore, math.Inf(-1)) }

func ChanceUp(p float64) float64 { return min(1, math.Nextafter(p+decisionMore, math.Inf(1))) }

// Mean returns what to claim of a mean that is between two bounds: check has them from other
// roundings, and of networks that were bounded by lines, from other lines.
func Mean(lo, hi float64, byLines bool) (float64, float64) {
	share := 0x1p-30
	if byLines {
		share = 0x1p-12
	}
	kept := max(math.Abs(lo), math.Abs(hi))*0x1p-30 + (hi-lo)*share
	if !(kept <= math.MaxFloat64) {
		return math.Inf(-1), math.Inf(1)
	}
	return math.Nextafter(lo-kept, math.Inf(-1)), math.Nextafter(hi+kept, math.Inf(1))
}

// Deviation returns what to claim of the root of a variance between two bounds, of a number whose square is at
// most size on average: what is left of differences is off by roundings of that size.
func Deviation(varLo, varHi, size float64) (float64, float64) {
	kept := size * 0x1p-40
	hi := math.Nextafter(math.Sqrt(varHi+varHi*0x1p-30+kept), math.Inf(1))
	if !(hi <= math.MaxFloat64) {
		return 0, math.Inf(1)
	}
	return max(0, math.Nextafter(math.Sqrt(max(0, varLo-varLo*0x1p-30-kept)), 0)), hi
}

// DeviationOfSet returns what to claim of a deviation between two bounds, of numbers that were bounded by
// lines and are as large as size on average.
func DeviationOfSet(lo, hi, size float64) (float64, float64) {
	kept := size*0x1p-30 + (hi-lo)*0x1p-10 + hi*0x1p-30
	if !(kept <= math.MaxFloat64) {
		return 0, math.Inf(1)
	}
	return max(0, math.Nextafter(lo-kept, math.Inf(-1))), math.Nextafter(hi+kept, math.Inf(1))
}

// FormUp returns what to claim of the largest value of a quadratic form over a box, where a dual shows formUp >= 0:
// check looks for a dual of its own, which was found to be up to a thousandth worse.
func FormUp(formUp float64) float64 { return math.Nextafter(formUp*1.01, math.Inf(1)) }

// LeavesUp is the probability of failure to claim, rounded up, where sums over leaves of phases show failUp:
// check's hidden bounds and lines have other roundings, in every leaf.
func LeavesUp(failUp float64) float64 {
	return min(1, math.Nextafter(failUp*(1+0x1p-8), math.Inf(1)))
}

// PointLaw is the factor of the tail to claim of a row of linearised networks at a point: check encloses its mean
// and variance by sums in another order, and where sums cancel 2^-45 did not suffice.
const PointLaw = 1 + 0x1p-36

// MaskPoints is the number of points of check's laws of rows of masks over their reach, which is that of certify.
const MaskPoints = 512

// MasksUp is the probability of failure to claim, rounded up, where lattices of masks above hidden bounds show
// failUp: check's lattices are finer, but its quantiles are at other points.
func MasksUp(failUp float64) float64 {
	return min(1, math.Nextafter(failUp*(1+0x1p-10), math.Inf(1)))
}

// ChernoffUp is the probability of failure to claim, rounded up, where exact moments show failUp: check has
// planes proved on cells of its own, and pieces of its own of what is not ReLU.
func ChernoffUp(failUp float64) float64 {
	return min(1, math.Nextafter(failUp*(1+0x1p-6), math.Inf(1)))
}
