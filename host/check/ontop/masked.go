package ontop

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Dropout (docs/theory.md, section 5.4): units of what feeds a layer, single numbers or channels of images,
// are multiplied by masks, which are independent: 0 with the layer's rate, else 1/(1-rate).

// Masks are the rates of a posterior of dropout, and which layers depend on any mask.
type Masks struct {
	rates []float64
	// units[k][j] is what input j of layer k is dropped with, of counts[k] units.
	units  [][]int32
	counts []int
	// first is the layer from which on certify looks at masks: lines around curves there are flat, as its are.
	first int
	// fedRandom reports whether what feeds a layer depends on masks, random whether its values do.
	fedRandom, random []bool
	// bounded reports whether rows bound a layer's neurons, each with two events if they are random.
	bounded []bool
}

// mostFeatures is the most numbers feeding layer first that certify has lines of; of more it begins at the input.
const mostFeatures = 1024

// NewMasks is nil for other posteriors, and for those of which nothing is proved.
func NewMasks(post *posterior.Posterior) *Masks {
	first, err := post.Masked()
	if err != nil {
		return nil
	}
	if post.Layers[first].Inputs() > mostFeatures {
		first = 0
	}
	m := &Masks{rates: post.Dropout(), first: first}
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
		m.bounded = append(m.bounded, k < len(n)-1 && !pool && (dense || !relax.IsIdentity(n[k].Activation)))
	}
	return m
}

// MaskPass is a pass of the means on a cell. Bounds of what depends on masks hold each but with probability
// tau.
type MaskPass struct {
	*Masks
	relax.Pass
	// moves[k+1][j] is how far number j of layer k, or of the input for -1, is at most from what it is at the
	// centre of the cell.
	moves  [][]float64
	tau    float64
	Events int
}

func NewMaskPass(of *Masks, mean relax.Network, cell property.Box, tau float64) *MaskPass {
	p := &MaskPass{Masks: of, Pass: *mean.NewPass(relax.Span{Lo: cell.Lo, Hi: cell.Hi}), tau: tau, moves: [][]float64{relax.RadiusOf(cell)}}
	for k := range len(mean.Layers) - 1 {
		if p.By.Flat = k >= p.first; p.By.Flat {
			p.maskedLayer(k)
		} else {
			p.Pass.HiddenLayer(k)
		}
		p.moves = append(p.moves, p.movesOf(k))
		if p.feedsRandom(k) {
			p.moves[k+1] = p.certainMoves(k, cell)
		}
	}
	return p
}

// movesOf bounds the moves of layer k by those of what feeds it, whatever is dropped.
func (p *MaskPass) movesOf(k int) []float64 {
	l, h := &p.Layers[k], &p.Hidden[k]
	var fed []float64
	for _, s := range p.Graph.From[k] {
		fed = append(fed, p.moves[s+1]...)
	}
	moves := make([]float64, l.Out)
	for i := range moves {
		move := 0.0
		if l.Windows != nil {
			for _, j := range l.Windows[i] {
				move = max(move, fed[j])
			}
		} else {
			row, _ := l.Unit(i, 1)
			var by arith.Sum
			for j, f := range fed {
				if f != 0 {
					by.Add(relax.Abs(row.Lo[j], row.Hi[j]), f)
				}
			}
			move = by.Hi()
		}
		if move != 0 {
			most := arith.Exactly(move).Over(arith.Difference(1, p.rates[k])).Times(arith.Exactly(l.Act.Lipschitz()))
			moves[i] = max(0, min(most.Hi, arith.SumUp(h.Z.Hi[i], -h.Z.Lo[i])))
		}
	}
	return moves
}

// feedsRandom reports whether layer k is certain and feeds what is not.
func (p *MaskPass) feedsRandom(k int) bool {
	for next, from := range p.Graph.From {
		if p.random[next] && slices.Contains(from, k) {
			return !p.random[k]
		}
	}
	return false
}

// certainMoves are the moves of layer k, a certain function of x, by lines, which bound its values, too: those of
// what is linear were bounded by intervals.
func (p *MaskPass) certainMoves(k int, cell property.Box) []float64 {
	radii, z, moves := relax.RadiusOf(cell), p.Hidden[k].Z, p.moves[k+1]
	if slices.Equal(cell.Lo, cell.Hi) {
		return moves
	}
	centre := relax.CentresOf(cell)
	for j := range moves {
		if moves[j] == 0 || !p.Graph.Used[k][j] {
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
		if lo, hi := max(z.Lo[j], least.Lo()), min(z.Hi[j], -most.Lo()); lo <= hi {
			z.Lo[j], z.Hi[j] = lo, hi
		}
		moves[j] = max(0, min(moves[j], arith.SumUp(z.Hi[j], -z.Lo[j]), max(up.Hi(), down.Hi())))
	}
	return moves
}

// valueLine is a function of x below sign z_j, z being the values of layer k: at + slope (x - centre).
func (p *MaskPass) valueLine(k, j int, sign float64, centre []float64) (at float64, slope []float64) {
	s := relax.NewSpan(p.Layers[k].Out)
	s.Lo[j], s.Hi[j] = sign, sign
	slope = make([]float64, len(centre))
	var c arith.Sum
	a := p.Hidden[k].Through(s, p.Hidden[k].Lower, &c)
	p.Down(k, p.Substitute(k, a, &c, false), c, relax.Way{Arrive: func(s relax.Span, c arith.Sum) {
		at = p.LineAt(s, c, centre, slope)
	}})
	return at, slope
}

// maskedLayer bounds layer k: intervals, or rows, twice for each neuron that something takes, but for tau each
// if it is random.
func (p *MaskPass) maskedLayer(k int) {
	l := &p.Layers[k]
	if l.Windows != nil {
		p.Hidden = append(p.Hidden, l.Stars(p.Into(k), true, &p.By, nil))
		return
	}
	pre := l.Affine(p.dropped(k))
	for i := range l.Out {
		lo, hi := pre.Lo[i], pre.Hi[i]
		if p.bounded[k] && p.Graph.Used[k][i] {
			if p.random[k] {
				lo, hi = -arith.Inf, arith.Inf
				p.Events += 2
			}
			s, c := l.Unit(i, 1)
			lo = max(lo, p.rowOf(k, s, c).quantileDown(p.tau))
			s, c = l.Unit(i, -1)
			hi = min(hi, -p.rowOf(k, s, c).quantileDown(p.tau))
			if !(lo <= hi) || p.Ctx != nil && p.Ctx.Err() != nil {
				lo, hi = -arith.Inf, arith.Inf
			}
		}
		pre.Lo[i], pre.Hi[i] = lo, hi
	}
	p.Hidden = append(p.Hidden, relax.HiddenOf(l.Act, pre, &p.By))
}

// dropped returns what feeds layer k with its masks.
func (p *MaskPass) dropped(k int) relax.Span {
	z := p.Into(k)
	if p.rates[k] == 0 {
		return z
	}
	all := relax.NewSpan(len(z.Lo))
	for j := range z.Lo {
		kept := arith.Of(z.Lo[j], z.Hi[j]).Over(arith.Difference(1, p.rates[k]))
		all.Lo[j], all.Hi[j] = min(0, kept.Lo), max(0, kept.Hi)
	}
	return all
}

// rowOf bounds s z~ + c, z~ being what feeds layer k with its masks.
func (p *MaskPass) rowOf(k int, s relax.Span, c arith.Sum) *maskedRow {
	r := &maskedRow{}
	p.addMasks(r, k, s)
	least := p.Down(k, s, c, relax.Way{Visit: func(l int, a []float64) {
		if p.rates[l] > 0 {
			p.addMasks(r, l, p.Layers[l].Products(a))
		}
	}})
	r.least.Plus(least)
	return r
}

// addMasks adds what the masks of layer l do to a row of coefficients s over its inputs: (94) of what is
// certain, (94a) of others. What is dropped together is one number.
func (p *MaskPass) addMasks(r *maskedRow, l int, s relax.Span) {
	rate := p.rates[l]
	if rate == 0 {
		return
	}
	odds := arith.Exactly(rate).Over(arith.Difference(1, rate))
	z := p.Into(l)
	var fed []float64
	for _, f := range p.Graph.From[l] {
		fed = append(fed, p.moves[f+1]...)
	}
	gives, moves := make([]arith.Interval, p.counts[l]), make([]float64, p.counts[l])
	for j, lo := range s.Lo {
		if lo == 0 && s.Hi[j] == 0 {
			continue
		}
		a, u := arith.Of(lo, s.Hi[j]), p.units[l][j]
		gives[u] = gives[u].Plus(a.Times(arith.Of(z.Lo[j], z.Hi[j])))
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
func (p *MaskPass) ofProperty(row *property.Row) *maskedRow {
	last := len(p.Layers) - 1
	s, c := p.Layers[last].Merged(row)
	return p.rowOf(last, s, c)
}

// Laws returns the laws of the rows of a set, with what hidden bounds and the rows fail with.
func (p *MaskPass) Laws(s *property.Safe) (laws []*law.MarginLaw, budget float64, fails []float64) {
	budget = p.budgetUp()
	fails = []float64{budget}
	for r := range s.Rows {
		law, fail := p.ofProperty(&s.Rows[r]).law()
		laws, fails = append(laws, law), append(fails, fail)
	}
	return laws, budget, fails
}

// budgetUp bounds the probability that a hidden bound fails.
func (p *MaskPass) budgetUp() float64 { return arith.ProductUp(float64(p.Events), p.tau) }

// tails bound the probability that rows of a set are negative, or 0, somewhere in the cell and all hidden bounds
// are right; with the budget of the hidden bounds.
func (p *MaskPass) tails(s *property.Safe) (tails []float64, budget float64) {
	for r := range s.Rows {
		tails = append(tails, p.ofProperty(&s.Rows[r]).tailUp())
	}
	return tails, p.budgetUp()
}

// CellFailUp bounds the probability that the network leaves S in the cell.
func (p *MaskPass) CellFailUp(s *property.Safe) float64 {
	tails, budget := p.tails(s)
	return cases.ImpliedUp(s, tails, budget)
}

// HoldsUp bounds the probability that S holds at some one point of the cell, given S with its rows negated.
func (p *MaskPass) HoldsUp(negated *property.Safe) float64 {
	tails, budget := p.tails(negated)
	return cases.RefutedUp(negated, tails, budget)
}
