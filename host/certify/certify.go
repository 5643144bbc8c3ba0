// Package certify chooses weight boxes, has them verified, and measures how much
// probability the verified ones hold.
//
// A result is a lower bound of P_safe(T, S) = Prob_w(for all x in T: f^w(x) in S)
// (theory (1)), whatever the search did: a weight box counts only if
// bound.Propagate proved S on it for every input box of T, and what is measured
// is the set of exactly the end-points that were propagated.
package certify

import (
	"context"
	"fmt"
	"math"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/property"
)

// Strategy is how weight boxes are chosen.
type Strategy int

const (
	// Centred is one box around the mean, as wide as verifies.
	Centred Strategy = iota
	// Sampled is Algorithm 1 of Wicker et al. (UAI 2020): boxes of fixed
	// half-width around posterior samples.
	Sampled
	// CLBP is concentration LBP: no boxes at all.
	CLBP
	// NeuronSums is for one hidden layer: a sum of independent terms, one a neuron.
	NeuronSums
	// Auto is the best of what is cheap first.
	Auto
	// Statistical decides drawn networks: a statement with a confidence.
	Statistical
	// Finite decides every network of a posterior that is a finite set of them.
	Finite
)

// String returns the word for the strategy: for boxes, the value of --boxes.
func (s Strategy) String() string {
	return [...]string{"centred", "sampled", "clbp", "neuronsum", "auto", "statistical", "samples"}[s]
}

// ParseStrategy reads centred or sampled.
func ParseStrategy(word string) (Strategy, error) {
	switch word {
	case "centred":
		return Centred, nil
	case "sampled":
		return Sampled, nil
	}
	return 0, fmt.Errorf("boxes %q is neither centred nor sampled", word)
}

// Config says how to certify.
type Config struct {
	Method   bound.Method
	Strategy Strategy
	// Samples and Seed are for Sampled, where Task.Samples replaces a Samples of 0,
	// and for Statistical; with other strategies Samples above 0 asks for the
	// Statistic beside the certified bounds.
	Samples int
	Seed    uint64
	// Gamma is the half-width in standard deviations: required for Sampled
	// (Task.Gamma replaces 0); for Centred, 0 searches for the largest.
	Gamma float64
	// Uniform keeps one gamma for all layers of a centred box.
	Uniform bool
	// Splits is how many times a centred box may be cut.
	Splits int
	// Cells is how many cells T may be cut into; 0 leaves it to the method.
	Cells int
	// Derived asks for Result.Derived.
	Derived bool
	// NoUpper leaves upper bounds out.
	NoUpper bool
	// Confidence is for Statistical, in (0, 1).
	Confidence float64
}

// Result is what was proved for one task.
type Result struct {
	Task *property.Task
	// Method is what gave the lower bound: "ibp", "lbp", "clbp", "neuronsum",
	// "samples" or, with none, "statistical". Boxing is "centred" or "sampled" for the
	// first two.
	Method, Boxing string
	// LogP is a lower bound of log P_safe, rounded down; -Inf if nothing was
	// proved.
	LogP float64
	// PLower is a lower bound of P_safe where it is known better than by LogP.
	PLower float64
	// UnsafeDown is a lower bound of 1 - P_safe: 0 says nothing.
	UnsafeDown float64
	// Derived is there if asked for, of independent normal weights.
	Derived *Derived
	// Statistic is what Statistical says; it flows into no other field.
	Statistic *Statistic
	// SafeSamples and UnsafeSamples are how many networks of a finite set were
	// proved safe and unsafe.
	SafeSamples, UnsafeSamples int
	// Boxes is how many weight boxes were tried, SafeBoxes how many verified
	// ones LogP counts on or chose from, Samples how many were drawn.
	Boxes, SafeBoxes, Samples int
	// Gamma is the half-width, per layer, of the box (Centred) or of all boxes.
	Gamma []float64
	// Cells is how many cells T was cut into, Tau the largest failure budget of a
	// hidden bound, for methods without boxes.
	Cells int
	Tau   float64
	// Rule says how boxes were added up: "one box", "disjoint" (splits), or one of
	// package measure's for unions.
	Rule string
	// CeilingLog10 is what Sampled boxes could hold at most, log10; 0 otherwise.
	CeilingLog10 float64
	// Margin is the least lower bound of a margin at the final box (Centred) or
	// the best over the boxes (Sampled): how far from verified.
	Margin float64
	// Seconds is this task's share of the wall time.
	Seconds float64
	// Device is the device that did the work; it names the fallback too where
	// chunks had to be moved there; "host" for sums of neurons, whose Precision is
	// float64 whatever the device's is.
	Device, Precision string
}

// newResult is a result that says nothing yet.
func newResult(t *property.Task, method string) *Result {
	return &Result{Task: t, Method: method, LogP: minusInf, Margin: math.NaN()}
}

// Lower is the certified lower bound of P_safe.
func (r *Result) Lower() float64 { return max(measure.ExpDown(r.LogP), r.PLower) }

// Upper is the certified upper bound of P_safe, 1 if nothing is known.
func (r *Result) Upper() float64 {
	switch {
	case !(r.UnsafeDown > 0):
		return 1
	case r.UnsafeDown >= 0.5 && r.UnsafeDown <= 1:
		return 1 - r.UnsafeDown // exact (Sterbenz)
	}
	return min(1, math.Nextafter(1-r.UnsafeDown, 2))
}

// Run certifies the tasks and calls emit once for each, in the order of the
// tasks, one call at a time. progress is called with the number of tasks done,
// one call at a time; either may be nil. A task's T must fit the network
// (property.Task.Check).
//
// Several engines, on several devices, share the work: whichever is free takes
// the next chunk. Results do not depend on how many there are, as all devices of
// one precision give the same bits.
//
// It stops early with ctx's error. Any other error is a device's; no result is
// emitted for work that it touched.
func Run(ctx context.Context, engines []*Engine, cfg Config, tasks []property.Task, progress func(done int), emit func(*Result) error) error {
	if len(engines) == 0 {
		panic("certify: Run: no engine")
	}
	if progress == nil {
		progress = func(int) {}
	}
	if err := engines[0].fits(cfg.Strategy); err != nil {
		return err
	}
	switch cfg.Strategy {
	case Sampled:
		return runSampled(ctx, engines, cfg, tasks, progress, emit)
	case Auto:
		return runGroups(ctx, engines, (*Engine).auto, cfg, tasks, progress, emit)
	case NeuronSums:
		return runGroups(ctx, engines, (*Engine).neuronSum, cfg, tasks, progress, emit)
	case Statistical:
		return runGroups(ctx, engines, (*Engine).statistical, cfg, tasks, progress, emit)
	case Finite:
		return runGroups(ctx, engines, (*Engine).finite, cfg, tasks, progress, emit)
	case CLBP:
		return runGroups(ctx, engines, (*Engine).clbp, cfg, tasks, progress, emit)
	}
	return runGroups(ctx, engines, (*Engine).centred, cfg, tasks, progress, emit)
}

// fits refuses strategies for another kind of posterior than the engine's: they would
// take its mean network, which has no deviations, for the posterior.
func (e *Engine) fits(s Strategy) error {
	switch s {
	case Statistical:
		return nil
	case Finite:
		if e.posterior.Samples() == nil {
			return fmt.Errorf("this posterior is %s, not a finite set of networks: use --method statistical", e.posterior.Describe())
		}
		return nil
	}
	return e.posterior.RequireIndependent()
}

// Ceiling returns log10, rounded up, of the most that n sampled boxes of half-width
// gamma can hold: n times the product over random weights of erf(g/sqrt2), theory
// section 5, g being the half-width of the weight's stored interval in standard
// deviations: gamma, and what rounding to precision p can add. At most 0; 0, which
// says nothing, for a posterior whose weights are not independent normal ones.
func Ceiling(post *posterior.Posterior, p bound.Precision, n int, gamma float64) float64 {
	if n == 0 {
		return minusInf
	}
	if !post.Independent() {
		return 0
	}
	plain, log := 0, measure.CeilingLog(n, gamma, 0)
	for _, g := range post.Params() {
		for j, sd := range g.SdLo {
			if g.SdHi[j] == 0 {
				continue
			}
			unit := max(g.SdHi[j], 4*p.Unit()*math.Abs(g.Mean[j]), 4*p.Eta())
			// Six roundings of numbers below |mean| + (gamma + 7) unit.
			slack := 8*p.Unit()*(math.Abs(g.Mean[j])+(gamma+8)*unit) + 8*p.Eta()
			if wide := (gamma*unit + slack) / sd; wide <= gamma*(1+2e-5) {
				plain++
			} else {
				log = math.Nextafter(log+measure.CeilingLog(1, wide*(1+0x1p-40), 1), math.Inf(1))
			}
		}
	}
	log = math.Nextafter(log+measure.CeilingLog(1, gamma*(1+3e-5), plain), math.Inf(1))
	return min(0, measure.Log10Up(log))
}

var minusInf = math.Inf(-1)
