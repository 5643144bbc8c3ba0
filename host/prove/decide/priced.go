package decide

import (
	"math/big"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// Rule describes how the posterior predictive decides: for its largest probability or, with Costs, for the
// action of least expected cost. Then the question is about the best action for the class of the task
// (ByLabel), or about the one that is taken at the centre of T.
type Rule struct {
	Costs   *property.Costs
	ByLabel bool
	// Probit has the class of the largest logit by the probit rule (docs/theory.md, section 9.6) in the
	// place of that of the average; there are no costs then.
	Probit bool
}

// Priced is a task about an action: that it is the cheapest everywhere on T (docs/theory.md, section 9.4).
type Priced struct {
	// Task has, in the place of the safe set, differences of outputs: f_r - f_k for all classes k but
	// the reference r, and then f_k - f_r.
	Task      *property.Task
	Action, R int
	// sums holds what means are bounded of: what every other action costs more, the probability of the
	// task's class and, negated, those of the others.
	sums  [][]float64
	costs *property.Costs
}

// Priced is the task of an action and a reference class.
func (r Rule) Priced(t *property.Task, action, reference int) *Priced {
	p := &Priced{Action: action, R: reference, costs: r.Costs}
	for b := range r.Costs.Actions() {
		if b != action {
			p.sums = append(p.sums, r.Costs.OverDown(b, action))
		}
	}
	n := r.Costs.Classes()
	for k := range n + 1 {
		if unit := make([]float64, n); k == 0 {
			unit[t.Label] = 1
			p.sums = append(p.sums, unit)
		} else if k-1 != t.Label {
			unit[k-1] = -1
			p.sums = append(p.sums, unit)
		}
	}
	of := *t
	of.S = property.ArgmaxIs(reference, n)
	for i := range n - 1 {
		of.S.Any[0] = append(of.S.Any[0], len(of.S.Rows))
		of.S.Rows = append(of.S.Rows, of.S.Rows[i].Negated())
	}
	p.Task = &of
	return p
}

// Asked is the priced task that a rule makes of a task.
func (r Rule) Asked(post *posterior.Posterior, t *property.Task) *Priced {
	centre := t.T[0].CentreApprox()
	if t.Ball != nil {
		centre = t.Ball.CentreApprox()
	}
	pi := newPredictive(post, uint64(t.Index)).forward(centre)
	action := r.Costs.CheapestApprox(pi)
	if r.ByLabel {
		action = r.Costs.BestFor(t.Label)
	}
	return r.Priced(t, action, largest(pi))
}

// largest is the class with the most.
func largest(pi []float64) int { return rivalOf(pi, -1) }

// rivals returns how many other actions there are.
func (p *Priced) rivals() int { return p.costs.Actions() - 1 }

// Unknown returns what is known before anything is proved.
func (p *Priced) Unknown() *probability.Predictive {
	list := make([]float64, len(p.sums))
	for i := range list {
		list[i] = -1
	}
	return p.predictive(list)
}

// predictive returns what follows from lower bounds of the means of all sums. Of gaps it is what is claimed (GapDown).
func (p *Priced) predictive(down []float64) *probability.Predictive {
	n := p.rivals()
	is := &probability.Predictive{LowerDown: max(0, down[n])}
	for i, x := range down[:n] {
		is.GapsDown = append(is.GapsDown, slack.PredictiveBelow(x, slices.Max(p.sums[i])))
	}
	for _, x := range down[n+1:] {
		is.RivalsUp = append(is.RivalsUp, min(1, -x))
	}
	return is
}

// ByLaws returns what the laws of the rows of Task say of the predictive, GapsDown of what other actions
// cost more; hidden bounds fail with at most budget.
func (p *Priced) ByLaws(laws []*probability.MarginLaw, budget float64) *probability.Predictive {
	n := p.costs.Classes()
	s := &probability.SoftmaxLaw{R: p.R, Below: make([]*probability.MarginLaw, n), Above: make([]*probability.MarginLaw, n), Budget: budget}
	p.eachRow(func(k, row int) { s.Below[k], s.Above[k] = laws[row], laws[n-1+row] })
	down := make([]float64, len(p.sums))
	for i, u := range p.sums {
		down[i] = s.ContrastDown(u)
	}
	return p.predictive(down)
}

// eachRow calls f with every class but the reference and the number of its row.
func (p *Priced) eachRow(f func(k, row int)) {
	row := 0
	for k := range p.costs.Classes() {
		if k != p.R {
			f(k, row)
			row++
		}
	}
}

// byNetworks is ByLaws for networks with these shares, of each of which lower bounds of the rows of Task
// are known: means of sums of softmaxes, as rational numbers.
func (p *Priced) byNetworks(margins [][]float64, shares []*big.Rat) *probability.Predictive {
	n := p.costs.Classes()
	lo, hi := make([]float64, n), make([]float64, n)
	means := make([]big.Rat, len(p.sums))
	for i, t := range margins {
		p.eachRow(func(k, row int) { lo[k], hi[k] = t[n-1+row], -t[row] })
		for s, u := range p.sums {
			x := new(big.Rat).SetFloat64(probability.FractionDown(u, lo, hi))
			means[s].Add(&means[s], x.Mul(x, shares[i]))
		}
	}
	down := make([]float64, len(means))
	for s := range means {
		down[s] = ratDown(&means[s])
	}
	return p.predictive(down)
}

// GapDown returns what is claimed of a gap that was bounded: a little less, of which that of an
// action has been taken off already, as its costs may differ by little.
func (p *Priced) GapDown(gap float64) float64 {
	if p != nil {
		return gap
	}
	return slack.PredictiveDown(gap)
}

// Note adds to a decision which action it is about; of classes there is nothing to add.
func (p *Priced) Note(r *claim.Decision) {
	if p != nil {
		r.Action, r.Proof.Reference = &p.Action, &p.R
	}
}

// NoteWitness adds the reference class of the rival's task at the witness.
func (p *Priced) NoteWitness(r *claim.Decision) {
	if p != nil {
		r.Proof.WitnessReference = &p.R
	}
}

// ForRival is the task of another action, with another reference class, and the number among its gaps of
// that to the task's action.
func (r Rule) ForRival(p *Priced, rival, reference int) (*Priced, int) {
	k := p.Action
	if k > rival {
		k--
	}
	return r.Priced(p.Task, rival, reference), k
}
