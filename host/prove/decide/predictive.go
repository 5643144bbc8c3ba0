package decide

import (
	"context"
	"math"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// Attacks on the posterior predictive pi_k(x) = E_w softmax_k(f^w(x)). Points are found with a few
// networks in ordinary float64; what is claimed there is proved by others.

// ForRival is the task of another class, and the row of it that compares this class with the task's.
func ForRival(t *property.Task, rival, outputs int) (swapped *property.Task, row int) {
	of := *t
	of.S, of.Label = property.ArgmaxIs(rival, outputs), rival
	if row = t.Label; row > rival {
		row--
	}
	return &of, row
}

// predictiveSteps are the steps of an attack on the predictive, and predictiveWork about how many
// products it takes in all, of which the number of networks follows.
const (
	predictiveSteps = 12
	predictiveWork  = 1 << 27
	mostPredictive  = 64
	leastPredictive = 8
)

// predictiveApprox is the predictive of some networks of a posterior.
type predictiveApprox struct {
	net    network.Network
	passes []*network.Pass
	// shares holds what each network counts, 1 in all.
	shares []float64
	inputs int
	// mean holds what forward says of the predictive, softmax what it is made of.
	mean    []float64
	softmax [][]float64
}

// newPredictive takes networks of a finite set, or drawn ones.
func newPredictive(post *posterior.Posterior, seed uint64) *predictiveApprox {
	net := post.Network()
	n := int(min(max(predictiveWork/(4*predictiveSteps*max(1, net.Work())), leastPredictive), mostPredictive))
	p := &predictiveApprox{net: net, inputs: post.Inputs(), mean: make([]float64, post.Outputs())}
	if set := post.Networks(); set != nil {
		n = min(n, set.N())
		for i := range n {
			p.passes = append(p.passes, net.NewPass(set.Weights(i)))
			p.shares = append(p.shares, float64(set.Counts[i]))
		}
	} else {
		for i := range n {
			w := post.NewWeights()
			post.Draw(seed, i, w)
			p.passes, p.shares = append(p.passes, net.NewPass(w)), append(p.shares, 1)
		}
	}
	total := 0.0
	for _, s := range p.shares {
		total += s
	}
	for i := range p.shares {
		p.shares[i] /= total
		p.softmax = append(p.softmax, make([]float64, post.Outputs()))
	}
	return p
}

// forward evaluates the predictive at x.
func (p *predictiveApprox) forward(x []float64) []float64 {
	clear(p.mean)
	for i, pass := range p.passes {
		y, s := pass.Forward(x), p.softmax[i]
		most, sum := slices.Max(y), 0.0
		for k := range y {
			s[k] = math.Exp(y[k] - most)
			sum += s[k]
		}
		for k := range s {
			s[k] /= sum
			p.mean[k] += p.shares[i] * s[k]
		}
	}
	return p.mean
}

// towards is the gradient of sum_k v_k pi_k at the point of the last forward.
func (p *predictiveApprox) towards(v []float64) []float64 {
	g, row := make([]float64, p.inputs), make([]float64, len(p.mean))
	for i, pass := range p.passes {
		s, mean := p.softmax[i], 0.0
		for j, x := range v {
			mean += x * s[j]
		}
		for j, x := range v {
			row[j] = p.shares[i] * (x - mean) * s[j]
		}
		for j, d := range pass.Back(row) {
			g[j] += d
		}
	}
	return g
}

// contest returns for a predictive which rival is ahead of what a task is about, or nearest to that, by
// how much (above 0 if it is ahead), and which sums of the probabilities grow as it gets further ahead.
type contest func(pi []float64) (rival int, ahead float64, grows []float64)

// ofClasses is the contest of classes: that of log pi_k - log pi_c.
func ofClasses(c int) contest {
	return func(pi []float64) (int, float64, []float64) {
		k, v := rivalOf(pi, c), make([]float64, len(pi))
		v[k], v[c] = 1/max(pi[k], 1e-300), -1/max(pi[c], 1e-300)
		return k, pi[k] - pi[c], v
	}
}

// contest returns the contest of actions: by how much another one is cheaper.
func (p *Priced) contest(pi []float64) (rival int, ahead float64, grows []float64) {
	rival = -1
	for b := range p.costs.Actions() {
		if b == p.Action {
			continue
		}
		v, sum := p.costs.OverDown(p.Action, b), 0.0
		for k, x := range v {
			sum += x * pi[k]
		}
		if rival < 0 || sum > ahead {
			rival, ahead, grows = b, sum, v
		}
	}
	return rival, ahead, grows
}

// rivalOf is the class with the most of a predictive but for c.
func rivalOf(mean []float64, c int) int {
	best := -1
	for k, p := range mean {
		if k != c && (best < 0 || p > mean[best]) {
			best = k
		}
	}
	return best
}

// PredictiveWitness is the point of T, as it is written, that was found where a rival is furthest ahead by
// the posterior predictive, its witness box, that rival, and the class with the most there. Rivals are other
// classes than the task's or, of a priced task, other actions. rival is -1, and the box has no Lo, where no
// point was found at which one is ahead.
func PredictiveWitness(ctx context.Context, post *posterior.Posterior, t *property.Task, priced *Priced) (at claim.Witness, box property.Box, rival, class int) {
	p, of := newPredictive(post, uint64(t.Index)), ofClasses(t.Label)
	if priced != nil {
		of = priced.contest
	}
	mean := post.Mean()
	rival = -1
	most := 0.0
	for b := range t.T {
		region := t.T[b]
		consider := func(x []float64) (grows []float64) {
			pi := p.forward(x)
			k, ahead, grows := of(pi)
			if ahead > most {
				if w, around := claim.NewWitness(t, b, x); around.Lo != nil {
					most, at, box, rival, class = ahead, w, around, k, largest(pi)
				}
			}
			return grows
		}
		within := Effort{Steps: predictiveSteps, Starts: 2, Thorough: true, Over: Over(ctx), Ball: t.Ball}
		start, _ := AttackApprox(Target{p.net, mean, region, &t.S}, within)
		walk := attack{Target: Target{Box: region}, Effort: within}
		for _, x := range [][]float64{walk.start(), start} {
			for j := range x {
				x[j] = min(max(x[j], region.Lo[j]), region.Hi[j])
			}
			grows := consider(x)
			for step := 1; step <= predictiveSteps && ctx.Err() == nil; step++ {
				walk.along(x, p.towards(grows), 1/float64(step+2))
				grows = consider(x)
			}
		}
	}
	return at, box, rival, class
}
