package record

import (
	"fmt"
	"hash/maphash"
	"math/big"
	"strings"

	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record/fields"
)

// Verdicts of decisions.
const (
	DecisionSafe    = claim.DecisionSafe
	DecisionUnsafe  = claim.DecisionUnsafe
	DecisionUnknown = claim.DecisionUnknown
)

// Decisions says what records say of decisions of posterior predictives. Its zero value is ready.
type Decisions struct {
	N int
	// Safe and Unsafe count verdicts, Vote those of which more than half of the networks are proved to
	// vote for the class at every x.
	Safe, Unsafe, Vote int
	// Actions count those by costs, Rejecting those with a threshold, and of the latter NoOther those where
	// no other class than that of the label has as much anywhere, Taken those where that class is taken
	// everywhere, Abstained those where none is taken anywhere, and NotTaken those where that class surely is not
	// taken everywhere.
	Actions, Rejecting, NoOther, Taken, Abstained, NotTaken int
	// Probit counts those by the probit rule, which is no average over the posterior.
	Probit int
	lower  Sum

	// of is the question of the first, but for the input and its class; mixed says that there were others,
	// again that an input was there twice or that there were too many.
	of           question
	mixed, again bool
	inputs       map[uint64]bool
}

// Inputs tells which inputs records are about, each as often: equal ones are about the same.
type Inputs struct {
	n   int
	sum uint64
}

// Add takes in a record.
func (s *Inputs) Add(r *Record) {
	s.n++
	s.sum += inputKey(r)
}

// question holds what shares of inputs have to have in common.
type question struct{ posterior, scale, inputs, eps, radii, clip, rule string }

// mostInputs is how many inputs are kept apart; shares of more are not told.
const mostInputs = 1 << 20

var hashSeed = maphash.MakeSeed()

// ruleFlags are the flags that say how the predictive decides.
var ruleFlags = func() (names []string) {
	for _, f := range fields.Flags {
		if f.Rule {
			names = append(names, f.Name)
		}
	}
	return names
}()

// RuleWords are the flags that say how the predictive decides, in one order; empty for the class of the average, and
// where nobody asked what it decides.
func (r *Record) RuleWords() string {
	var words []string
	for _, flag := range ruleFlags {
		if v := r.flag(flag); v != "" && flag+v != "--linkaverage" && flag+v != "--actiontaken" {
			words = append(words, flag+" "+v)
		}
	}
	return strings.Join(words, " ")
}

// ByProbit reports whether the decision of a record is that of the probit rule.
func (r *Record) ByProbit() bool { return r.flag("--link") == "probit" }

// Add takes in a record.
func (d *Decisions) Add(r *Record) {
	if r.Decision == nil {
		return
	}
	d.N++
	if r.Decision.Action != nil {
		d.Actions++
	}
	if r.ByProbit() {
		d.Probit++
	}
	if threshold, err := property.NewExact(r.flag("--reject")); err == nil {
		d.reject(r, threshold)
	}
	switch r.Decision.Verdict {
	case DecisionSafe:
		d.Safe++
	case DecisionUnsafe:
		d.Unsafe++
	}
	if r.Decision.Vote > 0.5 {
		d.Vote++
	}
	d.lower.Add(float64(r.Decision.Lower))
	d.about(r)
}

// reject takes in a record with a threshold: an action is a class, or, as the last one, to abstain. If that is taken
// everywhere that is not the label's class, and no other class anywhere, it is to abstain.
func (d *Decisions) reject(r *Record, threshold property.Exact) {
	d.Rejecting++
	noOther := new(big.Rat).SetFloat64(float64(r.Decision.RivalUpper)).Cmp(threshold.Rat()) < 0
	if noOther {
		d.NoOther++
	}
	of := r.Decision
	if of.Action == nil || r.Label == nil {
		return
	}
	switch own := *of.Action == *r.Label; {
	case own && of.Verdict == DecisionSafe:
		d.Taken++
	case own && of.Verdict == DecisionUnsafe:
		d.NotTaken++
	case of.Verdict == DecisionSafe:
		d.NotTaken++
		if noOther {
			d.Abstained++
		}
	}
}

// about notes which input a record is about.
func (d *Decisions) about(r *Record) {
	of := question{r.PosteriorSHA256, r.PosteriorScale + r.Functions(), r.InputsSHA256, r.Eps, r.EpsSHA256, fmt.Sprint(r.Clip, r.ClipSHA256), r.RuleWords()}
	if d.inputs == nil {
		d.of, d.inputs = of, map[uint64]bool{}
	}
	input := inputKey(r)
	d.mixed = d.mixed || of != d.of
	d.again = d.again || d.inputs[input] || len(d.inputs) >= mostInputs
	if !d.again {
		d.inputs[input] = true
	}
}

// inputKey tells inputs apart.
func inputKey(r *Record) uint64 {
	return maphash.String(hashSeed, fmt.Sprint(r.InputsSHA256, " ", r.Index))
}

// DataSet reports whether they are about different inputs of one file with one posterior and radius: then
// shares of them are shares of a data set, and with true labels its robust accuracy.
func (d *Decisions) DataSet() bool { return d.N > 0 && !d.mixed && !d.again }

// Unknown counts the decisions that are not known.
func (d *Decisions) Unknown() int { return d.N - d.Safe - d.Unsafe }

// Robust bounds the share of the decisions whose class is that of the predictive everywhere on T; with a threshold,
// of those whose class is taken everywhere, and by other costs whose action is.
func (d *Decisions) Robust() (Down, Up) {
	if d.Rejecting > 0 {
		return d.share(d.Taken), Up(-d.share(d.NotTaken - d.N))
	}
	return d.share(d.Safe), Up(-d.share(d.Unsafe - d.N))
}

// RobustVote is a lower bound of the share of those for which a majority of the networks votes for the
// class at every x of T.
func (d *Decisions) RobustVote() Down { return d.share(d.Vote) }

// share is n of all, rounded down.
func (d *Decisions) share(n int) Down { return ratDown(big.NewRat(int64(n), int64(max(1, d.N)))) }

// MeanLower is the mean of the lower bounds of the class's probability, rounded down.
func (d *Decisions) MeanLower() Down { return Down(d.lower.MeanDown()) }

// Words say in a line what they are, empty if there are none.
func (d *Decisions) Words() string {
	if d.N == 0 {
		return ""
	}
	return fmt.Sprintf("decision of the posterior predictive: of %d, %d decision_safe, %d decision_unsafe, %d unknown; the probability of the class is at least %s on average; the vote is proved for %d",
		d.N, d.Safe, d.Unsafe, d.Unknown(), FormatDown(d.MeanLower(), 4), d.Vote) + d.noOther() + d.ProbitWords()
}

// ProbitWords say of how many the predictive is that of the probit rule, empty if of none.
func (d *Decisions) ProbitWords() string {
	if d.Probit == 0 {
		return ""
	}
	return fmt.Sprintf("; the predictive of %d is the probit approximation, no average over the posterior", d.Probit)
}

// noOther says of how many no other class has the probability from which on classes are taken.
func (d *Decisions) noOther() string {
	if d.Rejecting == 0 {
		return ""
	}
	return fmt.Sprintf("; the class itself is taken everywhere for %d of those that are safe, and no other class for %d of all; for %d none is taken anywhere: abstained", d.Taken, d.NoOther, d.Abstained)
}
