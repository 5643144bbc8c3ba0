package ontop

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// Dropout in several layers (docs/posteriors.md, section 4): each input of a layer is dropped with the
// layer's rate, else multiplied by 1/(1-rate), independently. Below the lowest such layer, First, the
// network is certain; from there on it is a chain of dense layers.

// Masked are those layers.
type Masked struct {
	// First is the number of the lowest in the network.
	First  int
	layers []maskedLayer
}

type maskedLayer struct {
	in, out int
	// weight [in x out], bias [out].
	weight, bias []float64
	// rate is with which probability inputs are dropped.
	rate       float64
	activation network.Activation
}

// NewMasked takes the layers of a posterior of dropout. The error is that of posterior.Masked, or says
// that numbers are out of range.
func NewMasked(post *posterior.Posterior) (*Masked, error) {
	first, err := post.Masked()
	if err != nil {
		return nil, err
	}
	m := &Masked{First: first}
	for k := first; k < len(post.Layers); k++ {
		l := &post.Layers[k]
		m.layers = append(m.layers, maskedLayer{l.Inputs(), l.Outputs(), l.Weight.Mean, l.Bias.Mean, post.Dropout()[k], l.Activation})
	}
	return m, nil
}

// Inputs is how many numbers feed the lowest of the layers.
func (m *Masked) Inputs() int { return m.layers[0].in }

// Events is how many bounds of hidden neurons may fail, each with probability tau.
func (m *Masked) Events() int {
	n := 0
	for _, l := range m.layers[:len(m.layers)-1] {
		n += 2 * l.out
	}
	return n
}

// MaskedCell is what is known of the layers on a cell.
type MaskedCell struct {
	*Masked
	cell *Cell
	// moves[j] >= |z_j(x) - z_j(centre)| for what feeds the lowest layer.
	moves []float64
	// laws of rows +e_i and -e_i of the lowest layer, if it is not the last one; they do not depend on tau.
	laws []law
}

// On prepares a cell; everything that the answers tell is a function of it.
func (m *Masked) On(c *Cell) *MaskedCell {
	p := &MaskedCell{Masked: m, cell: c, moves: c.moves()}
	if len(m.layers) > 1 {
		for r := range 2 * m.layers[0].out {
			p.laws = append(p.laws, p.lawOf(0, p.unit(0, r), nil))
		}
	}
	return p
}

// moves bounds how far each feature is from what it is at the centre, at any point of the cell.
func (c *Cell) moves() []float64 {
	moves := make([]float64, len(c.lower))
	point := true
	for _, radius := range c.radius {
		point = point && radius == 0
	}
	if point {
		return moves
	}
	for j := range moves {
		var rise, fall arith.Sum // of the upper line, and of the lower one
		for k, radius := range c.radius {
			if radius != 0 {
				rise.Add(math.Abs(c.upper[j].slope[k]), radius)
				fall.Add(math.Abs(c.lower[j].slope[k]), radius)
			}
		}
		for _, s := range []*arith.Sum{&rise, &fall} {
			s.Plus(c.upper[j].at)
			s.Plus(-c.lower[j].at)
		}
		moves[j] = max(0, min(max(rise.Hi(), fall.Hi()), arith.SumUp(c.hi[j], -c.lo[j])))
	}
	return moves
}

// hidden is what is known of the neurons of a layer, on the event that all bounds hold: value and
// activation's lines at + slope zeta, and how far each value is from that at the centre.
type hidden struct {
	lo, hi, moves []float64
	lower, upper  []chordal
}

// chordal is a line at + slope t.
type chordal struct{ at, slope float64 }

// maskedRow is a row over the inputs of a layer, at least sum_j a~_j z~_j + constant + the terms, with
// |a~_j - a_j| <= wrong_j, z~ being z with its masks.
type maskedRow struct {
	a, wrong []float64
	constant arith.Sum
	terms    []term
}

// unit is row r of the neurons of a layer: +e_i, and after these -e_i.
func (m *Masked) unit(k, r int) *maskedRow {
	l := &m.layers[k]
	row := &maskedRow{a: make([]float64, l.in), wrong: make([]float64, l.in)}
	i, sign := r%l.out, 1.0
	if r >= l.out {
		sign = -1
	}
	for j := range row.a {
		row.a[j] = sign * l.weight[j*l.out+i]
	}
	row.constant.Plus(sign * l.bias[i])
	return row
}

// merged is a row of a property over the inputs of the last layer.
func (m *Masked) merged(row *property.Row) *maskedRow {
	a, wrong := make([]float64, len(row.CLo)), make([]float64, len(row.CLo))
	for o := range a {
		a[o] = arith.Middle(row.CLo[o], row.CHi[o])
		wrong[o] = max(arith.SumUp(row.CHi[o], -a[o]), arith.SumUp(a[o], -row.CLo[o]))
	}
	next := m.substitute(len(m.layers)-1, a, wrong)
	next.constant.Plus(row.D)
	return next
}

// substitute takes coefficients of the pre-activations of layer k, wrong by so much each, to its inputs.
func (m *Masked) substitute(k int, a, wrong []float64) *maskedRow {
	l := &m.layers[k]
	row := &maskedRow{a: make([]float64, l.in), wrong: make([]float64, l.in)}
	u, g := covary.Unit(l.out), covary.Grow(2*l.out)
	for j := range row.a {
		sum, size, off := 0.0, 0.0, 0.0
		for o, w := range l.weight[j*l.out : (j+1)*l.out] {
			sum += float64(a[o] * w)
			size += math.Abs(float64(a[o] * w))
			off += math.Abs(float64(wrong[o] * w))
		}
		row.a[j], row.wrong[j] = sum, (float64(u*size)+off)*g+covary.Tiny
	}
	for o, b := range l.bias {
		row.constant.Add(a[o], b)
		row.constant.Add(-wrong[o], math.Abs(b))
	}
	return row
}

// mask adds the noise of the masks of layer k > 0, whose inputs are h: (94a).
func (m *Masked) mask(k int, row *maskedRow, h *hidden) {
	rate := m.layers[k].rate
	if rate == 0 {
		return
	}
	more, lean := odds(rate), arith.Difference(1, 2*rate)
	for j, a := range row.a {
		coefficient := arith.Of(arith.SumDown(a, -row.wrong[j]), arith.SumUp(a, row.wrong[j]))
		u := coefficient.Times(arith.Of(h.lo[j], h.hi[j]))
		if h.moves[j] != 0 {
			by := arith.ProductUp(coefficient.Size(), h.moves[j])
			row.constant.Add(-2*rate, by)
			u = u.Plus(arith.Exactly(by).Times(lean))
		}
		for _, end := range []float64{max(u.Hi, 0), min(u.Lo, 0)} {
			if end != 0 {
				row.terms = append(row.terms, term{-end, arith.Exactly(end).Times(more).Lo, rate})
			}
		}
	}
}

// odds are rate/(1-rate).
func odds(rate float64) arith.Interval {
	return arith.Exactly(rate).Over(arith.Difference(1, rate))
}

// through takes a row over the inputs of layer k > 0, the values of neurons h, to the inputs of the layer
// below, by the lines of h.
func (m *Masked) through(k int, row *maskedRow, h *hidden) *maskedRow {
	a, wrong := make([]float64, len(row.a)), make([]float64, len(row.a))
	constant := row.constant
	for j, c := range row.a {
		constant.Add(-row.wrong[j], max(-h.lo[j], h.hi[j]))
		line := h.lower[j]
		if c < 0 {
			line = h.upper[j]
		}
		constant.Add(c, line.at)
		a[j] = float64(c * line.slope)
		wrong[j] = float64(math.Abs(a[j])*0x1p-52) + covary.Tiny
	}
	next := m.substitute(k-1, a, wrong)
	next.constant.Plus(constant.Lo())
	next.terms = row.terms
	return next
}

// down takes a row of layer k to the features: what it is at least there on the mean, and the terms of the
// masks of the lowest layer and of those above.
func (p *MaskedCell) down(k int, row *maskedRow, below []*hidden) (mean float64, lowest, above []term) {
	for ; k > 0; k-- {
		p.mask(k, row, below[k-1])
		row = p.through(k, row, below[k-1])
	}
	return p.bottom(row)
}

// bottom is down for a row over the features (94): their masks' terms are as they are at some one point
// of the cell, whichever.
func (p *MaskedCell) bottom(row *maskedRow) (mean float64, lowest, above []term) {
	n := len(row.a)
	zeros := make([]float64, n+1)
	r := &Row{n: n, mean: make([]arith.Interval, n), constant: arith.Exactly(row.constant.Lo()), Row: &covary.Row{N: n, Delta: zeros, Spread: zeros, Marginal: zeros}}
	for j, a := range row.a {
		r.mean[j] = arith.Of(arith.SumDown(a, -row.wrong[j]), arith.SumUp(a, row.wrong[j]))
		if !(r.mean[j].Size() <= covary.Most) {
			return math.Inf(-1), nil, nil
		}
	}
	f := r.form(p.cell)
	if f == nil || !(math.Abs(r.constant.Lo) <= covary.Most) {
		return math.Inf(-1), nil, nil
	}
	rate := p.layers[0].rate
	more := odds(rate)
	for j, a := range r.mean {
		at := a.Times(arith.Exactly(f.at[j]))
		vary := arith.Exactly(a.Size()).Times(arith.Exactly(f.reach[j]))
		t := term{at.Negated().Minus(vary).Lo, at.Minus(vary).Times(more).Lo, rate}
		if t.dropped != 0 || t.kept != 0 {
			lowest = append(lowest, t)
		}
	}
	return r.meanDown(f), lowest, row.terms
}

// lawOf is the law of what a row of layer k is at least.
func (p *MaskedCell) lawOf(k int, row *maskedRow, below []*hidden) law {
	mean, lowest, above := p.down(k, row, below)
	return newLaw(mean, append(lowest, above...))
}

// Tails bounds, for each row of a property, the probability that it is negative, or 0, somewhere in the
// cell and that no bound of a hidden neuron fails, of which each may do so with probability tau. Coarse
// bounds are a little larger, and much cheaper.
func (p *MaskedCell) Tails(rows []property.Row, tau float64, coarse bool) []float64 {
	points := finePoints
	if coarse {
		points /= 8
	}
	tails := slices.Repeat([]float64{1}, len(rows))
	p.eachRow(rows, tau, func(r int, mean float64, lowest, above []term) {
		tails[r] = tailUp(mean, lowest, above, points)
	})
	return tails
}

// Laws are, for each row of a property, the law of its least value over the cell while no bound of a hidden
// neuron fails, of which each may do so with probability tau; and what Tails says, but coarser.
func (p *MaskedCell) Laws(rows []property.Row, tau float64) ([]*measure.MarginLaw, []float64) {
	laws, tails := make([]*measure.MarginLaw, len(rows)), slices.Repeat([]float64{1}, len(rows))
	for r := range laws {
		laws[r] = measure.NewMarginLaw(math.Inf(-1), nil)
	}
	p.eachRow(rows, tau, func(r int, mean float64, lowest, above []term) {
		laws[r], tails[r] = lawUp(mean, lowest, above)
	})
	return laws, tails
}

// eachRow takes down the rows whose numbers are in range.
func (p *MaskedCell) eachRow(rows []property.Row, tau float64, use func(r int, mean float64, lowest, above []term)) {
	var below []*hidden
	for k := range len(p.layers) - 1 {
		below = append(below, p.neurons(k, tau, below))
	}
	for r := range rows {
		if !covary.InRange(rows[r].CLo) || !covary.InRange(rows[r].CHi) || !covary.InRange([]float64{rows[r].D}) {
			continue
		}
		mean, lowest, above := p.down(len(p.layers)-1, p.merged(&rows[r]), below)
		use(r, mean, lowest, above)
	}
}

// neurons bounds layer k, of which below knows the inputs.
func (p *MaskedCell) neurons(k int, tau float64, below []*hidden) *hidden {
	l := &p.layers[k]
	lo := make([]float64, 2*l.out)
	for r := range lo {
		if k == 0 {
			lo[r] = p.laws[r].quantileDown(tau)
		} else {
			known := p.lawOf(k, p.unit(k, r), below)
			lo[r] = known.quantileDown(tau)
		}
	}
	moves := p.moves
	if k > 0 {
		moves = below[k-1].moves
	}
	h := &hidden{moves: l.movesUp(moves)}
	for i := range l.out {
		h.add(l.activation, lo[i], -lo[l.out+i])
	}
	return h
}

// movesUp bounds how far pre-activations are from what they are at the centre, whatever is dropped.
func (l *maskedLayer) movesUp(moves []float64) []float64 {
	list := make([]float64, l.out)
	least := arith.Down(1 - l.rate)
	for i := range list {
		var sum arith.Sum
		for j, by := range moves {
			if by != 0 {
				sum.Add(math.Abs(l.weight[j*l.out+i]), by)
			}
		}
		if by := sum.Hi(); by != 0 {
			list[i] = arith.Up(by / least)
		}
	}
	return list
}

// add appends a neuron whose pre-activation is in [lo, hi]. Of moves there is that of the pre-activation.
func (h *hidden) add(act network.Activation, lo, hi float64) {
	if !(lo <= hi) { // then no network is on the event, and every bound of these is right
		lo, hi = math.Inf(-1), math.Inf(1)
	}
	i := len(h.lo)
	zLo, zHi := act.ValueDown(lo), act.ValueUp(hi)
	h.lo, h.hi = append(h.lo, zLo), append(h.hi, zHi)
	h.moves[i] = max(0, min(arith.Up(h.moves[i]*act.Lipschitz()), arith.SumUp(zHi, -zLo)))
	lower, upper := chordal{at: zLo}, chordal{at: zHi}
	if below, kinked := act.Kinked(); kinked {
		lower, upper = kinkedLines(below, lo, hi)
	}
	h.lower, h.upper = append(h.lower, lower), append(h.upper, upper)
}

// kinkedLines are lines below and above max(below t, t) for t in [lo, hi].
func kinkedLines(below, lo, hi float64) (lower, upper chordal) {
	switch {
	case lo >= 0 || below == 1:
		return chordal{0, 1}, chordal{0, 1}
	case hi <= 0:
		return chordal{0, below}, chordal{0, below}
	}
	lower = chordal{0, below}
	if hi > -lo {
		lower.slope = 1
	}
	// The function less slope t is convex, and largest at an end.
	slope := min(max((hi-below*lo)/(hi-lo), below), 1)
	left := arith.Exactly(lo).Times(arith.Difference(below, slope)).Hi
	right := arith.Exactly(hi).Times(arith.Difference(1, slope)).Hi
	return lower, chordal{max(left, right), slope}
}
