// Package claim holds what was proved of a task: the result, what psafe check needs to prove it
// again, and what follows from it. No number of a result may contradict another (Contradicts).
package claim

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Result holds what was proved for one task.
type Result struct {
	Task *property.Task
	// Method holds what gave the lower bound: "ibp", "lbp", "clbp", "neuronsum",
	// "finite" or, with none, "statistical".
	Method string
	// LogP is a lower bound of log P_safe, rounded down; -Inf if nothing was
	// proved.
	LogP float64
	// PLower is a lower bound of P_safe where it is known better than by LogP.
	PLower float64
	// UnsafeDown is a lower bound of 1 - P_safe: 0 says nothing.
	UnsafeDown float64
	// Proof says how LogP, PLower and UnsafeDown were shown, as far as no other field does.
	Proof Proof
	// Derived is there if asked for, of independent normal weights.
	Derived *Derived
	// Each, Quantile, Decision and Mean are there if asked for.
	Each     *Each
	Quantile *Quantile
	Decision *Decision
	Mean     *Mean
	// Statistic holds what Statistical says; it flows into no other field.
	Statistic *Statistic
	// Parent is about the posterior that a finite set was drawn from, if the file says so; it flows
	// into no other field.
	Parent *Parent
	// SafeSamples and UnsafeSamples are how many networks of a finite set were
	// proved safe and unsafe.
	SafeSamples, UnsafeSamples int
	// Boxes is how many weight boxes were tried, SafeBoxes how many verified
	// ones LogP chose from, Samples how many were drawn.
	Boxes, SafeBoxes, Samples int
	// Gamma is the half-width of the boxes.
	Gamma float64
	// Cells is how many cells T was cut into, Tau the largest failure budget of a
	// hidden bound, for methods without boxes.
	Cells int
	Tau   float64
	// Rule says how boxes were added up: one of package probability's for unions.
	Rule string
	// CeilingLog10 holds what the boxes could hold at most, log10; 0 otherwise.
	CeilingLog10 float64
	// Margin is the best lower bound of a margin over the boxes: how far from verified.
	Margin float64
	// Stopped says what ended the search before it was done: TimeLimit, Decided, or nothing. The
	// bounds are what was proved until then.
	Stopped string
	// Seconds is this task's share of the wall time.
	Seconds float64
	// Device is the device that did the work; it names the fallback too where
	// chunks had to be moved there; "host" for sums of neurons, whose Precision is
	// float64 whatever the device's is.
	Device, Precision string
}

// What Result.Stopped says.
const (
	// TimeLimit: the task's time was up.
	TimeLimit = "time limit"
	// Decided: the bounds are all that was asked for, and more was left to be tried.
	Decided = "require"
)

// NewResult is a result that says nothing yet.
func NewResult(t *property.Task, method string) *Result {
	return &Result{Task: t, Method: method, LogP: math.Inf(-1), Margin: math.NaN()}
}

// Lower is the certified lower bound of P_safe.
func (r *Result) Lower() float64 { return max(arith.ExpDown(r.LogP), r.PLower) }

// ShowUnsafe takes in a lower bound of 1 - P_safe if it is better than what there is.
func (r *Result) ShowUnsafe(unsafeDown float64, how UpperProof) {
	if unsafeDown > r.UnsafeDown {
		r.UnsafeDown, r.Proof.Upper = unsafeDown, &how
	}
}

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
