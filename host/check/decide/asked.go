package decide

import (
	"math"
	"slices"

	"psafe/host/check/law"
	"psafe/host/read/property"
)

// Predictive holds what is proved of a class on some cells, at every x: pi_c >= lower, pi_k <=
// Rivals[k] and pi_c - pi_k >= Gaps[k] for the other classes in their order, and that a share of at
// least vote of the networks says c.
type Predictive struct {
	Lower, Vote  float64
	Rivals, Gaps []float64
}

// unknownPredictive returns what is known of everything.
func unknownPredictive(rows int) *Predictive {
	return &Predictive{Rivals: slices.Repeat([]float64{1}, rows), Gaps: slices.Repeat([]float64{-1}, rows)}
}

func (p *Predictive) MostRival() float64 { return slices.Max(p.Rivals) }

func (p *Predictive) LeastGap() float64 { return slices.Min(p.Gaps) }

// Better takes in what is also proved of the same cell, and worse what is proved of another one.
func (p *Predictive) Better(o *Predictive) { p.with(o, math.Max, math.Min) }

func (p *Predictive) worse(o *Predictive) { p.with(o, math.Min, math.Max) }

func (p *Predictive) with(o *Predictive, lower, upper func(a, b float64) float64) {
	p.Lower, p.Vote = lower(p.Lower, o.Lower), lower(p.Vote, o.Vote)
	for k := range p.Rivals {
		p.Rivals[k] = upper(p.Rivals[k], o.Rivals[k])
	}
	for k := range p.Gaps {
		p.Gaps[k] = lower(p.Gaps[k], o.Gaps[k])
	}
}

// Asked is a task about a class or, with priced, about an action.
type Asked struct {
	Task   *property.Task
	priced *priced
	// Ball holds what the one cell is cut to, nil if it is not.
	Ball *property.Ball
	// Probit reports whether the predictive is that of the probit rule.
	Probit bool
}

// priced is a task about an action: what other actions cost more, as sums of the probabilities of
// classes, and those for the probability of the task's class and, negated, of the others.
type priced struct {
	r    int
	gaps int
	sums [][]float64
}

// farAway is a margin that is taken for large enough: the law is asked where it is at least that.
const farAway = 12

// levelsOfLaws is the number of the last level of the longest law.
func levelsOfLaws(laws []*law.MarginLaw) int {
	longest := 1
	for _, l := range laws {
		longest = max(longest, len(l.At))
	}
	return longest - 1
}
