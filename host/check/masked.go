package check

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Dropout (docs/theory.md, section 5.4): units of what feeds a layer, single numbers or channels of images,
// are multiplied by masks, which are independent: 0 with the layer's rate, else 1/(1-rate).

// masks are the rates of a posterior of dropout, and which layers depend on any mask.
type masks struct {
	rates []float64
	// units[k][j] is what input j of layer k is dropped with, of counts[k] units.
	units  [][]int32
	counts []int
	// first is the layer from which on certify looks at masks: lines around curves there are flat, as its are.
	first int
	// fedRandom says that what feeds a layer depends on masks, random that its values do.
	fedRandom, random []bool
	// bounded says that rows bound a layer's neurons, each with two events if they are random.
	bounded []bool
}

// mostFeatures is the most numbers feeding layer first that certify has lines of; of more it begins at the input.
const mostFeatures = 1024

// newMasks is nil for other posteriors, and for those of which nothing is proved.
func newMasks(post *posterior.Posterior) *masks {
	first, err := post.Masked()
	if err != nil {
		return nil
	}
	if post.Layers[first].Inputs() > mostFeatures {
		first = 0
	}
	m := &masks{rates: post.Dropout(), first: first}
	n := post.Network()
	for k := range n {
		units, unit, _ := net.Dropped(n[k].Map)
		var list []int32
		if m.rates[k] > 0 {
			for j := range n[k].Inputs() {
				list = append(list, int32(unit(j)))
			}
		}
		_, dense := n[k].Map.(net.Dense)
		_, pool := n[k].Map.(net.MaxPool)
		fed := false
		for _, s := range n.Feed(k) {
			if s < 0 {
				continue
			}
			fed = fed || m.random[s]
			_, below := n[s].Map.(net.MaxPool)
			m.bounded[s] = m.bounded[s] || (pool || m.rates[k] > 0) && !below
		}
		m.units, m.counts = append(m.units, list), append(m.counts, units)
		m.fedRandom, m.random = append(m.fedRandom, fed), append(m.random, fed || m.rates[k] > 0)
		m.bounded = append(m.bounded, k < len(n)-1 && !pool && (dense || !isIdentity(n[k].Activation)))
	}
	return m
}

// maskPass is a pass of the means on a cell. Bounds of what depends on masks hold each but with probability
// tau.
type maskPass struct {
	*masks
	pass
	// moves[k+1][j] is how far number j of layer k, or of the input for -1, is at most from what it is at the
	// centre of the cell.
	moves  [][]float64
	tau    float64
	events int
}

func newMaskPass(of *masks, mean network, cell property.Box, tau float64) *maskPass {
	p := &maskPass{masks: of, pass: *mean.newPass(span{cell.Lo, cell.Hi}), tau: tau, moves: [][]float64{radiusOf(cell)}}
	for k := range len(mean.layers) - 1 {
		if p.by.flat = k >= p.first; p.by.flat {
			p.maskedLayer(k)
		} else {
			p.pass.hiddenLayer(k)
		}
		p.moves = append(p.moves, p.movesOf(k))
		if p.feedsRandom(k) {
			p.moves[k+1] = p.certainMoves(k, cell)
		}
	}
	return p
}

// movesOf bounds the moves of layer k by those of what feeds it, whatever is dropped.
func (p *maskPass) movesOf(k int) []float64 {
	l, h := &p.layers[k], &p.hidden[k]
	var fed []float64
	for _, s := range p.graph.from[k] {
		fed = append(fed, p.moves[s+1]...)
	}
	moves := make([]float64, l.out)
	for i := range moves {
		move := 0.0
		if l.windows != nil {
			for _, j := range l.windows[i] {
				move = max(move, fed[j])
			}
		} else {
			row, _ := l.unit(i, 1)
			var by arith.Sum
			for j, f := range fed {
				if f != 0 {
					by.Add(abs(row.lo[j], row.hi[j]), f)
				}
			}
			move = by.Hi()
		}
		if move != 0 {
			most := arith.Exactly(move).Over(arith.Difference(1, p.rates[k])).Times(arith.Exactly(l.act.Lipschitz()))
			moves[i] = max(0, min(most.Hi, arith.SumUp(h.z.hi[i], -h.z.lo[i])))
		}
	}
	return moves
}

// feedsRandom reports whether layer k is certain and feeds what is not.
func (p *maskPass) feedsRandom(k int) bool {
	for next, from := range p.graph.from {
		if p.random[next] && slices.Contains(from, k) {
			return !p.random[k]
		}
	}
	return false
}

// certainMoves are the moves of layer k, a certain function of x, by lines, which bound its values, too: those of
// what is linear were bounded by intervals.
func (p *maskPass) certainMoves(k int, cell property.Box) []float64 {
	radii, z, moves := radiusOf(cell), p.hidden[k].z, p.moves[k+1]
	if slices.Equal(cell.Lo, cell.Hi) {
		return moves
	}
	centre := make([]float64, len(cell.Lo))
	for i := range centre {
		centre[i] = centreOf(cell.Lo[i], cell.Hi[i])
	}
	for j := range moves {
		if moves[j] == 0 || !p.graph.used[k][j] {
			continue
		}
		lower, below := p.valueLine(k, j, 1, centre)
		upper, above := p.valueLine(k, j, -1, centre) // of -z
		up, down := arith.Sum{}, arith.Sum{}
		for _, s := range []*arith.Sum{&up, &down} {
			s.Plus(-lower)
			s.Plus(-upper)
		}
		var least, most arith.Sum // of z, and of -z
		least.Plus(lower)
		most.Plus(upper)
		for i, radius := range radii {
			up.Add(math.Abs(above[i]), radius)
			down.Add(math.Abs(below[i]), radius)
			least.Add(-math.Abs(below[i]), radius)
			most.Add(-math.Abs(above[i]), radius)
		}
		if lo, hi := max(z.lo[j], least.Lo()), min(z.hi[j], -most.Lo()); lo <= hi {
			z.lo[j], z.hi[j] = lo, hi
		}
		moves[j] = max(0, min(moves[j], arith.SumUp(z.hi[j], -z.lo[j]), max(up.Hi(), down.Hi())))
	}
	return moves
}

// valueLine is a function of x below sign z_j, z being the values of layer k: at + slope (x - centre).
func (p *maskPass) valueLine(k, j int, sign float64, centre []float64) (at float64, slope []float64) {
	s := newSpan(p.layers[k].out)
	s.lo[j], s.hi[j] = sign, sign
	slope = make([]float64, len(centre))
	var c arith.Sum
	a := p.hidden[k].through(s, p.hidden[k].lower, &c)
	p.down(k, p.substitute(k, a, &c, false), c, way{arrive: func(s span, c arith.Sum) {
		at = p.lineAt(s, c, centre, slope)
	}})
	return at, slope
}

// maskedLayer bounds layer k: intervals, or rows, twice for each neuron that something takes, but for tau each
// if it is random.
func (p *maskPass) maskedLayer(k int) {
	l := &p.layers[k]
	if l.windows != nil {
		p.hidden = append(p.hidden, l.stars(p.into(k), true, &p.by, nil))
		return
	}
	h := hidden{pre: l.affine(p.dropped(k)), z: newSpan(l.out)}
	for i := range l.out {
		lo, hi := h.pre.lo[i], h.pre.hi[i]
		if p.bounded[k] && p.graph.used[k][i] {
			if p.random[k] {
				lo, hi = -arith.Inf, arith.Inf
				p.events += 2
			}
			s, c := l.unit(i, 1)
			lo = max(lo, p.rowOf(k, s, c).quantileDown(p.tau))
			s, c = l.unit(i, -1)
			hi = min(hi, -p.rowOf(k, s, c).quantileDown(p.tau))
			if !(lo <= hi) || p.ctx != nil && p.ctx.Err() != nil {
				lo, hi = -arith.Inf, arith.Inf
			}
		}
		h.pre.lo[i], h.pre.hi[i] = lo, hi
		h.z.lo[i], h.z.hi[i] = curves.ValueDown(l.act, lo), curves.ValueUp(l.act, hi)
		lower, upper := relax(l.act, lo, hi, &p.by)
		h.lower, h.upper = append(h.lower, lower), append(h.upper, upper)
	}
	h.arg = h.pre
	p.hidden = append(p.hidden, h)
}

// dropped returns what feeds layer k with its masks.
func (p *maskPass) dropped(k int) span {
	z := p.into(k)
	if p.rates[k] == 0 {
		return z
	}
	all := newSpan(len(z.lo))
	for j := range z.lo {
		kept := arith.Of(z.lo[j], z.hi[j]).Over(arith.Difference(1, p.rates[k]))
		all.lo[j], all.hi[j] = min(0, kept.Lo), max(0, kept.Hi)
	}
	return all
}

// maskedRow holds a lower bound of a row: least, and independent numbers of two values. Of the first of these, exact,
// these are known; of the others only that means of convex functions that do not rise are not larger.
type maskedRow struct {
	least  arith.Sum
	exact  []mask
	convex []mask
}

// mask is a number: dropped with probability rate, else kept.
type mask struct{ dropped, kept, rate float64 }

// rowOf bounds s z~ + c, z~ being what feeds layer k with its masks.
func (p *maskPass) rowOf(k int, s span, c arith.Sum) *maskedRow {
	r := &maskedRow{}
	p.addMasks(r, k, s)
	least := p.down(k, s, c, way{visit: func(l int, a []float64) {
		if p.rates[l] > 0 {
			p.addMasks(r, l, p.layers[l].products(a))
		}
	}})
	r.least.Plus(least)
	return r
}

// products are a W for each input of a linear map of numbers.
func (l *layer) products(a []float64) span {
	s := newSpan(l.in)
	if l.at == nil {
		for j := range s.lo {
			var sum arith.Sum
			for i, w := range l.w.lo[j*l.out : (j+1)*l.out] {
				sum.Add(a[i], w)
			}
			s.lo[j], s.hi[j] = sum.Lo(), sum.Hi()
		}
		return s
	}
	sums := make([]arith.Sum, l.in)
	for i, v := range a {
		p, o := i/l.at.channels, i%l.at.channels
		for _, k := range l.at.kernels[o] {
			if j := l.at.under(p)[k]; j >= 0 && v != 0 {
				sums[j].Add(v, l.w.lo[int(k)*l.at.channels+o])
			}
		}
	}
	for j := range sums {
		if sums[j].N > 0 {
			s.lo[j], s.hi[j] = sums[j].Lo(), sums[j].Hi()
		}
	}
	return s
}

// addMasks adds what the masks of layer l do to a row of coefficients s over its inputs: (94) of what is
// certain, (94a) of others. What is dropped together is one number.
func (p *maskPass) addMasks(r *maskedRow, l int, s span) {
	rate := p.rates[l]
	if rate == 0 {
		return
	}
	odds := arith.Exactly(rate).Over(arith.Difference(1, rate))
	z := p.into(l)
	var fed []float64
	for _, f := range p.graph.from[l] {
		fed = append(fed, p.moves[f+1]...)
	}
	gives, moves := make([]arith.Interval, p.counts[l]), make([]float64, p.counts[l])
	for j, lo := range s.lo {
		if lo == 0 && s.hi[j] == 0 {
			continue
		}
		a, u := arith.Of(lo, s.hi[j]), p.units[l][j]
		gives[u] = gives[u].Plus(a.Times(arith.Of(z.lo[j], z.hi[j])))
		if fed[j] != 0 {
			moves[u] = arith.SumUp(moves[u], arith.ProductUp(a.Size(), fed[j]))
		}
	}
	for i, u := range gives {
		if !p.fedRandom[l] {
			r.exact = append(r.exact, mask{-u.Hi, arith.Exactly(u.Lo).Times(odds).Lo, rate})
			continue
		}
		if by := moves[i]; by != 0 {
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

// ofProperty is a row of a property.
func (p *maskPass) ofProperty(row *property.Row) *maskedRow {
	last := len(p.layers) - 1
	s, c := p.layers[last].merged(row)
	return p.rowOf(last, s, c)
}

// laws are those of the rows of a set, with what hidden bounds and the rows fail with.
func (p *maskPass) laws(s *property.Safe) (laws []*marginLaw, budget float64, fails []float64) {
	budget = p.budgetUp()
	fails = []float64{budget}
	for r := range s.Rows {
		law, fail := p.ofProperty(&s.Rows[r]).law()
		laws, fails = append(laws, law), append(fails, fail)
	}
	return laws, budget, fails
}

// budgetUp bounds the probability that a hidden bound fails.
func (p *maskPass) budgetUp() float64 { return arith.ProductUp(float64(p.events), p.tau) }

// tails bound the probability that rows of a set are negative, or 0, somewhere in the cell and all hidden bounds
// are right; with the budget of the hidden bounds.
func (p *maskPass) tails(s *property.Safe) (tails []float64, budget float64) {
	for r := range s.Rows {
		tails = append(tails, p.ofProperty(&s.Rows[r]).tailUp())
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
