package check

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Dropout (docs/posteriors.md, section 4): inputs of layers from first on are multiplied by masks, which are
// independent: 0 with the layer's rate, else 1/(1-rate).

// masks are the rates of a posterior of dropout.
type masks struct {
	first int
	rates []float64
}

// newMasks is nil for other posteriors, and for those of which nothing is proved.
func newMasks(post *posterior.Posterior) *masks {
	first, err := post.Masked()
	if err != nil {
		return nil
	}
	return &masks{first, post.Dropout()}
}

// maskPass is a pass of the means on a cell. From layer first on its bounds hold each but with probability
// tau.
type maskPass struct {
	*masks
	pass
	// moves[k][j] is how far input j of layer k is at most from what it is at the centre of the cell.
	moves  [][]float64
	tau    float64
	events int
}

func (n *noisy) newMaskPass(cell property.Box, tau float64, try uint64) *maskPass {
	mean := network{layers: n.mean, graph: n.graph, lines: true, by: choice{try: try}, ctx: n.ctx}
	p := &maskPass{masks: n.masks, pass: *mean.newPass(span{cell.Lo, cell.Hi}), tau: tau, moves: make([][]float64, len(n.mean))}
	for k := range len(n.mean) - 1 {
		if k < p.first {
			p.pass.hiddenLayer(k)
			continue
		}
		if k == p.first {
			p.moves[k] = p.featureMoves(cell)
		}
		p.maskedLayer(k)
	}
	return p
}

// featureMoves are the moves of layer first, whose inputs are certain functions of x.
func (p *maskPass) featureMoves(cell property.Box) []float64 {
	reach := reachOf(cell)
	if p.first == 0 {
		return reach.radius
	}
	z := p.into(p.first)
	moves := make([]float64, len(z.lo))
	if slices.Equal(cell.Lo, cell.Hi) {
		return moves
	}
	centre := make([]float64, len(cell.Lo))
	for k := range centre {
		centre[k] = centreOf(cell.Lo[k], cell.Hi[k])
	}
	for j := range moves {
		lower, below, _ := p.lineOf(p.first, j, 1, centre)
		upper, above, _ := p.lineOf(p.first, j, -1, centre) // of -z
		up, down := arith.Sum{}, arith.Sum{}
		for _, s := range []*arith.Sum{&up, &down} {
			s.Plus(-lower)
			s.Plus(-upper)
		}
		for k, radius := range reach.radius {
			up.Add(math.Abs(above[k]), radius)
			down.Add(math.Abs(below[k]), radius)
		}
		moves[j] = max(0, min(arith.SumUp(z.hi[j], -z.lo[j]), max(up.Hi(), down.Hi())))
	}
	return moves
}

// maskedLayer bounds layer k but for tau, twice for each neuron.
func (p *maskPass) maskedLayer(k int) {
	l := &p.layers[k]
	h := hidden{pre: newSpan(l.out), z: newSpan(l.out), lower: make([]line, l.out), upper: make([]line, l.out)}
	next := make([]float64, l.out)
	for i := range l.out {
		var ends [2]float64
		for side, sign := range []float64{1, -1} {
			s, c := l.unit(i, sign)
			ends[side] = -arith.Inf
			for _, w := range p.maskedWays(k) {
				ends[side] = max(ends[side], p.rowOf(k, s, c, w).quantileDown(p.tau))
			}
		}
		lo, hi := ends[0], -ends[1]
		if !(lo <= hi) || p.ctx != nil && p.ctx.Err() != nil {
			lo, hi = -arith.Inf, arith.Inf
		}
		h.pre.lo[i], h.pre.hi[i] = lo, hi
		h.z.lo[i], h.z.hi[i] = curves.ValueDown(l.act, lo), curves.ValueUp(l.act, hi)
		h.lower[i], h.upper[i] = relax(l.act, lo, hi, &p.by)
		var by arith.Sum
		for j, move := range p.moves[k] {
			if move != 0 {
				by.Add(math.Abs(l.w.lo[j*l.out+i]), move)
			}
		}
		if move := by.Hi(); move != 0 {
			most := arith.Exactly(move).Over(arith.Difference(1, p.rates[k])).Times(arith.Exactly(l.act.Lipschitz()))
			next[i] = max(0, min(most.Hi, arith.SumUp(h.z.hi[i], -h.z.lo[i])))
		}
		p.events += 2
	}
	h.arg = h.pre
	p.hidden = append(p.hidden, h)
	p.moves[k+1] = next
}

// maskedRow is what a row is at least: least, and independent numbers of two values. Of the first of these,
// exact, these are known; of the others only that means of convex functions that do not rise are not larger.
type maskedRow struct {
	least  arith.Sum
	exact  []mask
	convex []mask
}

// mask is a number: dropped with probability rate, else kept.
type mask struct{ dropped, kept, rate float64 }

// maskedWays are those of rows of layer k: down to the input, and to the first values on the way that are no
// kinked function of what has bounds that may fail. Which is better depends on no mask.
func (p *maskPass) maskedWays(k int) []way {
	for l := k - 1; l >= p.first; l-- {
		if _, kinked := p.layers[l].act.Kinked(); !kinked {
			return []way{{}, {stop: l == k-1, depth: k - 1 - l}}
		}
	}
	return []way{{}}
}

// rowOf bounds s z~ + c, z~ being what feeds layer k with its masks.
func (p *maskPass) rowOf(k int, s span, c arith.Sum, w way) *maskedRow {
	r := &maskedRow{}
	p.addMasks(r, k, s)
	w.visit = func(l int, a []float64) {
		if l >= p.first && p.rates[l] > 0 {
			p.addMasks(r, l, p.layers[l].products(a))
		}
	}
	least := p.down(k, s, c, w)
	r.least.Plus(least)
	return r
}

// products are a W for each input of a dense layer of numbers.
func (l *layer) products(a []float64) span {
	s := newSpan(l.in)
	for j := range s.lo {
		var sum arith.Sum
		for i, w := range l.w.lo[j*l.out : (j+1)*l.out] {
			sum.Add(a[i], w)
		}
		s.lo[j], s.hi[j] = sum.Lo(), sum.Hi()
	}
	return s
}

// addMasks adds what the masks of layer l do to a row of coefficients s over its inputs: (94) of the lowest
// layer, (94a) of others.
func (p *maskPass) addMasks(r *maskedRow, l int, s span) {
	rate := p.rates[l]
	if l < p.first || rate == 0 {
		return
	}
	odds := arith.Exactly(rate).Over(arith.Difference(1, rate))
	z := p.into(l)
	for j := range s.lo {
		a := arith.Of(s.lo[j], s.hi[j])
		if l == p.first {
			all := a.Times(arith.Of(z.lo[j], z.hi[j]))
			r.exact = append(r.exact, mask{-all.Hi, arith.Exactly(all.Lo).Times(odds).Lo, rate})
			continue
		}
		u := a.Times(arith.Of(z.lo[j], z.hi[j]))
		if p.moves[l][j] != 0 {
			by := arith.ProductUp(a.Size(), p.moves[l][j])
			r.least.Add(by, -2*rate)
			u = u.Plus(arith.Exactly(by).Times(arith.Difference(1, 2*rate)))
		}
		if !(u.Lo >= 0) {
			r.convex = append(r.convex, mask{-u.Lo, arith.Exactly(u.Lo).Times(odds).Lo, rate})
		}
		if !(u.Hi <= 0) {
			r.convex = append(r.convex, mask{-u.Hi, arith.Exactly(u.Hi).Times(odds).Lo, rate})
		}
	}
}

// rowTailUp bounds the probability that a row of a property is negative, or 0, somewhere in the cell and
// all hidden bounds are right.
func (p *maskPass) rowTailUp(row *property.Row) float64 {
	tail := 1.0
	for _, r := range p.formsOf(row) {
		tail = min(tail, r.tailUp())
	}
	return tail
}

// formsOf are what a row of a property is at least, in each way.
func (p *maskPass) formsOf(row *property.Row) (forms []*maskedRow) {
	last := len(p.layers) - 1
	s, c := p.layers[last].merged(row)
	for _, w := range p.maskedWays(last) {
		forms = append(forms, p.rowOf(last, s, c, w))
	}
	return forms
}

// predictive is what the pass proves of the class of S, or of an action.
func (p *maskPass) predictive(of *asked) *predictive {
	var laws []*marginLaw
	budget := p.budgetUp()
	fails := []float64{budget}
	for r := range of.task.S.Rows {
		var best *marginLaw
		tail, least := 1.0, 2.0
		for _, form := range p.formsOf(&of.task.S.Rows[r]) {
			law, fail := form.law()
			if share := law.shareUp(); share < least {
				best, least = law, share
			}
			tail = min(tail, fail)
		}
		laws, fails = append(laws, best), append(fails, tail)
	}
	return of.predictive(laws, budget, fails)
}

// budgetUp bounds the probability that a hidden bound fails.
func (p *maskPass) budgetUp() float64 { return arith.ProductUp(float64(p.events), p.tau) }

// tails are those of the rows of a set, and the budget of the hidden bounds.
func (p *maskPass) tails(s *property.Safe) (tails []float64, budget float64) {
	for r := range s.Rows {
		tails = append(tails, p.rowTailUp(&s.Rows[r]))
	}
	return tails, p.budgetUp()
}

// cellFailUp bounds the probability that the network leaves S in the cell.
func (p *maskPass) cellFailUp(s *property.Safe) float64 {
	tails, budget := p.tails(s)
	return impliedUp(s, tails, budget)
}

// holdsUp bounds the probability that S holds at some one point of the cell, given S with its rows negated.
func (p *maskPass) holdsUp(negated *property.Safe) float64 {
	tails, budget := p.tails(negated)
	return refutedUp(negated, tails, budget)
}
