package check

import (
	"math"
	"slices"

	"psafe/host/property"
)

// Concentration LBP (docs/concentration.md): how likely rows of a property fail in one cell.

// radiusShare is the share of tau that a bound of the variation over the cell may fail with.
const radiusShare = 1.0 / 64

// cellPass bounds the hidden layers on one cell, on the event that none of these bounds fails:
// each neuron's lower and its upper bound may do so with probability tau, its radius with
// probability tau radiusShare (section 3). The pass is that of LBP with the means as weights.
type cellPass struct {
	*noisy
	pass
	tau float64
	// reach[k] is that of what feeds layer k; point says that the cell is one, so that every
	// radius is 0.
	reach []reach
	point bool
}

// newCellPass bounds the hidden layers. Tries other than 0 choose other lines.
func (n *noisy) newCellPass(cell property.Box, tau float64, try uint64) *cellPass {
	mean := network{layers: n.mean, lines: true, by: choice{try: try}}
	p := &cellPass{noisy: n, pass: pass{network: &mean, x: span{cell.Lo, cell.Hi}}, tau: tau,
		reach: []reach{reachOf(cell)}, point: slices.Equal(cell.Lo, cell.Hi)}
	for k := range len(n.mean) - 1 {
		p.hiddenLayer(k)
	}
	return p
}

// hiddenLayer bounds layer k: each neuron by intervals with the noise of its own weights, and
// by lines with that of all weights below (10); the better counts, which is known before any
// weight is drawn. Where nothing is left between both ends, nothing is known.
func (p *cellPass) hiddenLayer(k int) {
	l, in := &p.layers[k], &p.reach[k]
	h := hidden{pre: l.affine(p.into(k)), z: newSpan(l.out), lower: make([]line, l.out), upper: make([]line, l.out)}
	own, vary, out := p.deviations[k].own(in), p.deviations[k].variation(in), newReach(l.out)
	single, radius := p.quantile(p.tau, 1), p.quantile(p.tau*radiusShare, 1)
	for i := range l.out {
		by := own[i].byUp(single)
		lo, hi := sumDown(h.pre.lo[i], -by), sumUp(h.pre.hi[i], by)
		if k > 0 {
			lo, hi = max(lo, p.neuronLo(k, i, 1, own[i])), min(hi, -p.neuronLo(k, i, -1, own[i]))
		}
		if !(lo >= -math.MaxFloat64 && lo <= hi && hi <= math.MaxFloat64) {
			lo, hi = -inf, inf
		}
		zLo, zHi := valueDown(l.act, lo), valueUp(l.act, hi)
		h.pre.lo[i], h.pre.hi[i], h.z.lo[i], h.z.hi[i] = lo, hi, zLo, zHi
		h.lower[i], h.upper[i] = relax(l.act, lo, hi, &p.by)
		r := 0.0
		if !p.point {
			r = min(up(l.act.Lipschitz()*vary[i].byUp(radius)), sumUp(zHi, -zLo))
		}
		out.set(i, r, abs(zLo, zHi))
	}
	p.hidden, p.reach = append(p.hidden, h), append(p.reach, out)
}

// neuronLo is a lower bound of sign times the pre-activation of neuron i of layer k > 0, but for
// a probability of tau; own is the noise of its own weights.
func (p *cellPass) neuronLo(k, i int, sign float64, own noise) float64 {
	l := &p.layers[k]
	s := newSpan(l.in)
	for j := range l.in {
		s.lo[j] = sign * l.w.lo[j*l.out+i]
		s.hi[j] = s.lo[j]
	}
	var c sum
	c.add(sign, l.b.lo[i])
	lo, below := p.linesLo(k, s, c)
	for _, n := range below {
		own = own.plus(n)
	}
	return sumDown(lo, -own.byUp(p.quantile(p.tau, k+1)))
}

// linesLo bounds s z + c from below, z being what feeds layer k, but for the noise of the
// layers below k, which is listed from layer k-1 down: (10).
func (p *cellPass) linesLo(k int, s span, c sum) (lo float64, below []noise) {
	for l := k - 1; l >= 0; l-- {
		a := p.hidden[l].through(s, &c)
		below = append(below, p.deviations[l].ofRow(a, &p.reach[l]))
		s = p.layers[l].substitute(a, p.into(l), &c)
	}
	return intervalLo(s, p.x, c), below
}

// rowTailUp bounds the probability that the row is negative, or 0, somewhere in the cell and all
// hidden bounds are right. By intervals only the last layer's noise counts, by lines that of
// every layer; which of the two is better depends on no weight.
func (p *cellPass) rowTailUp(row *property.Row) float64 {
	last := len(p.layers) - 1
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = abs(row.CLo[i], row.CHi[i])
	}
	own := p.deviations[last].ofRow(most, &p.reach[last])
	s, c := p.layers[last].merged(row)
	tail := formTailUp(intervalLo(s, p.into(last), c), []noise{own})
	if last > 0 {
		lo, below := p.linesLo(last, s, c)
		tail = min(tail, formTailUp(lo, append([]noise{own}, below...)))
	}
	return tail
}

// formTailUp bounds the probability that lo plus the noise of these layers is at most 0.
func formTailUp(lo float64, layers []noise) float64 {
	var t sum
	t.plus(lo)
	variances := make([]float64, len(layers))
	for l, n := range layers {
		t.plus(-n.mean)
		variances[l] = n.variance
	}
	return noiseTailUp(t.lo(), variances)
}

// hiddenNeurons counts the neurons whose bounds may fail.
func (n *noisy) hiddenNeurons() float64 {
	neurons := 0
	for _, l := range n.mean[:len(n.mean)-1] {
		neurons += l.out
	}
	return float64(neurons)
}

// budgetUp bounds the probability that a hidden bound fails.
func (p *cellPass) budgetUp() float64 {
	events := 2 + radiusShare
	if p.point {
		events = 2
	}
	b, e := twoProduct(events*p.hiddenNeurons(), p.tau) // the first factor is exact: a multiple of 1/64
	if e > 0 || b < 0x1p-900 && b > 0 {
		return up(b)
	}
	return b
}

// cellFailUp is (14): it bounds the probability that the network leaves S in the cell, for the
// alternative that does so least.
func (p *cellPass) cellFailUp(s *property.Safe) float64 {
	tails, least := p.tails(s), 1.0
	for _, all := range s.Any {
		fails := []float64{p.budgetUp()}
		for _, r := range all {
			fails = append(fails, tails[r])
		}
		least = min(least, totalUp(fails))
	}
	return least
}

// holdsUp bounds the probability that S holds at some one point of the cell, given S with its
// rows negated: then an alternative holds there, and each of its rows (section 6).
func (p *cellPass) holdsUp(negated *property.Safe) float64 {
	tails, holds := p.tails(negated), []float64{p.budgetUp()}
	for _, all := range negated.Any {
		least := 1.0
		for _, r := range all {
			least = min(least, tails[r])
		}
		holds = append(holds, least)
	}
	return totalUp(holds)
}

func (p *cellPass) tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = p.rowTailUp(&s.Rows[r])
	}
	return tails
}
