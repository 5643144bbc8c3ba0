package probability

import (
	"math"

	"psafe/host/arith"
)

// MarginLaw bounds the least value M of a margin over a cell from below, on the event that all hidden
// bounds are right (docs/theory.md (81)):
//
//	Prob(M < Top - i Step, hidden bounds right) <= Above[i],   i = 0, 1, ..., lawSteps
//
// Above falls with i. Of a margin without noise all are 0.
type MarginLaw struct {
	Top, Step float64
	Above     [lawSteps + 1]float64
}

// lawSteps is the number of steps of a law, and lawReach how many standard deviations they reach.
const (
	lawSteps = convolutionSteps
	lawReach = 8
)

// NewMarginLaw is the law of a margin that is at least top less the noise of layers with these
// variances: top + sum_l min(G_l, 0), G_l ~ N(0, v_l) independent (13a). What is no number, or no
// variance, gives a law that says nothing.
func NewMarginLaw(top float64, variances []float64) *MarginLaw {
	nothing := &MarginLaw{Top: math.Inf(-1)}
	sum, v := 0.0, make([]float64, 0, len(variances))
	for _, x := range variances {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return nothing
		}
		if x > 0 {
			v, sum = append(v, x), up(sum+x)
		}
	}
	if !(top >= -math.MaxFloat64 && top <= math.MaxFloat64) {
		return nothing
	}
	l := &MarginLaw{Top: top}
	if len(v) == 0 {
		return l
	}
	l.Step = lawStep(lawReach * math.Sqrt(sum))
	if !(l.Step > 0x1p-900 && l.Step < 0x1p900) {
		return nothing
	}
	last := 1.0
	for i, p := range convolvedUp(l.Step, v) {
		if i > 0 {
			x := l.Step * float64(i)
			p = min(p, herbstUp(x, sum), subsetsUp(x, sum, v))
		}
		last = min(last, p)
		l.Above[i] = last
	}
	return l
}

// lawStep is the step of a law of so long a reach: of 40 bits, so that all its multiples are exact.
func lawStep(reach float64) float64 {
	m, e := math.Frexp(reach / lawSteps)
	return math.Ldexp(math.Ceil(math.Ldexp(m, 40)), e-40)
}

// MarginLawOf is the law of a margin from top down to about top - reach, by belowUp(x), at least the
// probability that the margin is below x while all hidden bounds are right.
func MarginLawOf(top, reach float64, belowUp func(x float64) float64) *MarginLaw {
	l := &MarginLaw{Top: top, Step: lawStep(reach)}
	if !(math.Abs(top) <= math.MaxFloat64 && l.Step > 0x1p-900 && l.Step < 0x1p900) {
		return &MarginLaw{Top: math.Inf(-1)}
	}
	last := 1.0
	for i := range l.Above {
		last = min(last, belowUp(up(l.Top-l.Step*float64(i))))
		l.Above[i] = last
	}
	return l
}

// at is a lower bound of Top - i Step.
func (l *MarginLaw) at(i int) float64 { return down(l.Top - l.Step*float64(i)) }

// SigmoidMeanUp returns an upper bound of I = E 1/(1 + e^M) on the event that all hidden bounds
// are right, at most 1: with s_i = 1/(1 + e^(Top - i Step)), which grow with i,
//
//	I <= s_0 + sum_i (s_(i+1) - s_i) Above[i] + (1 - s_last) Above[last]                      (82)
//
// by the layer cake of 1/(1 + e^M), which is at most s_(i+1) where M >= Top - (i+1) Step. The
// sum is taken as sum_i s_i (Above[i-1] - Above[i]), so that only upper bounds of s_i are needed.
func (l *MarginLaw) SigmoidMeanUp() float64 {
	sum, before := 0.0, 1.0
	for i, above := range l.Above {
		if above < before {
			sum = up(sum + up(arith.SigmoidUp(l.at(i))*up(before-above)))
			before = above
		}
	}
	return min(1, up(sum+before))
}
