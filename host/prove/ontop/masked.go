package ontop

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Dropout (docs/theory.md, section 5.4): units of what feeds a layer, single numbers or whole channels of
// images, are dropped with the layer's rate, else multiplied by 1/(1-rate), independently. Below layer First
// the network is certain.

// Masked are the layers from First on.
type Masked struct {
	// First is the number of the lowest in the network.
	First  int
	layers []maskedLayer
	// fixed is how many layers have bounds that do not depend on tau: none below has one that may fail.
	fixed int
	// Ended, which may be set, says why work has to stop: then nothing is known of the neurons and rows that are
	// left.
	Ended covary.Ended
}

// mostFeatures is how many features a device is asked for lines of. With more of them all layers are
// bounded here, from the input on.
const mostFeatures = 1024

// NewMasked takes the layers of a posterior of dropout. The error is that of posterior.Masked, or says
// that numbers are out of range.
func NewMasked(post *posterior.Posterior) (*Masked, error) {
	first, err := post.Masked()
	if err != nil {
		return nil, err
	}
	if post.Layers[first].Inputs() > mostFeatures {
		first = 0
	}
	return newMasked(post, first)
}

func newMasked(post *posterior.Posterior, first int) (*Masked, error) {
	m := &Masked{First: first, fixed: -1, Ended: func() error { return nil }}
	for k := first; k < len(post.Layers); k++ {
		if !covary.InRange(post.Layers[k].Weight.Mean) || !covary.InRange(post.Layers[k].Bias.Mean) {
			return nil, bound.Unfitf("layer %d has weights above 2^200", k)
		}
		m.layers = append(m.layers, newLayer(post, first, k))
	}
	last := len(m.layers) - 1
	for k := range m.layers {
		l := &m.layers[k]
		below, kinked := l.activation.Kinked()
		l.bounded = !l.pool() && k < last && (l.low.Dense() || !kinked || below != 1)
		for _, s := range l.sources {
			if s < 0 {
				continue
			}
			l.fedRandom = l.fedRandom || m.layers[s].random
			m.layers[s].bounded = m.layers[s].bounded || (l.pool() || l.rate > 0) && !m.layers[s].pool()
		}
		l.random = l.fedRandom || l.rate > 0
		m.use(k)
	}
	m.fixed = last
	for k := range last {
		if l := &m.layers[k]; l.bounded && l.random {
			m.fixed = k
			break
		}
	}
	return m, nil
}

// use marks what layer k takes of others.
func (m *Masked) use(k int) {
	taken := make([]bool, m.layers[k].in)
	m.layers[k].takes(func(j int) { taken[j] = true })
	at := 0
	for _, s := range m.layers[k].sources {
		n := m.width(s)
		for i, t := range taken[at : at+n] {
			if s >= 0 && t {
				m.layers[s].used[i] = true
			}
		}
		at += n
	}
}

// width returns how many numbers a source gives.
func (m *Masked) width(s int) int {
	if s >= 0 {
		return m.layers[s].out
	}
	return m.Inputs()
}

// Inputs returns how many features there are.
func (m *Masked) Inputs() int { return m.layers[0].in }

// Events returns how many bounds of hidden neurons may fail, each with probability tau.
func (m *Masked) Events() int {
	n := 0
	for _, l := range m.layers[:len(m.layers)-1] {
		for _, used := range l.used {
			if l.bounded && l.random && used {
				n += 2
			}
		}
	}
	return n
}

// values are bounds of numbers, and how far each is at most from what it is at the centre of the cell.
type values struct{ lo, hi, moves []float64 }

// hidden holds what is known of the neurons of a layer, on the event that all bounds hold: their values, and the
// activation's lines. Of a max pool the lower line is one in the star of each window, the upper one in
// slope times the star, plus above.
type hidden struct {
	values
	lower, upper []chordal
	star         []int32
	slope, above []float64
}

// chordal is a line at + slope t.
type chordal struct{ at, slope float64 }

// MaskedCell holds what is known of the layers on a cell.
type MaskedCell struct {
	*Masked
	cell     *Cell
	features values
	// below are the layers whose bounds do not depend on tau, laws those of rows +e_i and -e_i of the next.
	below []*hidden
	laws  []law
}

// On prepares a cell; everything that the answers tell is a function of it.
func (m *Masked) On(c *Cell) *MaskedCell {
	p := &MaskedCell{Masked: m, cell: c, features: values{c.lo, c.hi, c.moves()}}
	for k := range m.fixed {
		p.below = append(p.below, p.neurons(k, 0, p.below))
	}
	if m.fixed < len(m.layers)-1 {
		p.laws = p.lawsOf(m.fixed, p.below)
	}
	return p
}

// into returns what feeds layer k.
func (p *MaskedCell) into(k int, below []*hidden) *values {
	of := func(s int) *values {
		if s < 0 {
			return &p.features
		}
		return &below[s].values
	}
	sources := p.layers[k].sources
	if len(sources) == 1 {
		return of(sources[0])
	}
	all := &values{}
	for _, s := range sources {
		z := of(s)
		all.lo, all.hi, all.moves = append(all.lo, z.lo...), append(all.hi, z.hi...), append(all.moves, z.moves...)
	}
	return all
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
func (p *MaskedCell) Laws(rows []property.Row, tau float64) ([]*probability.MarginLaw, []float64) {
	laws, tails := make([]*probability.MarginLaw, len(rows)), slices.Repeat([]float64{1}, len(rows))
	for r := range laws {
		laws[r] = probability.NewMarginLaw(math.Inf(-1), nil)
	}
	p.eachRow(rows, tau, func(r int, mean float64, lowest, above []term) {
		laws[r], tails[r] = lawUp(mean, lowest, above)
	})
	return laws, tails
}

// eachRow takes down the rows whose numbers are in range.
func (p *MaskedCell) eachRow(rows []property.Row, tau float64, use func(r int, mean float64, lowest, above []term)) {
	below := slices.Clone(p.below)
	last := len(p.layers) - 1
	for k := len(below); k < last; k++ {
		below = append(below, p.neurons(k, tau, below))
	}
	for r := range rows {
		if p.Ended() != nil || !covary.InRange(rows[r].CLo) || !covary.InRange(rows[r].CHi) || !covary.InRange([]float64{rows[r].D}) {
			continue
		}
		row := p.newRow()
		p.take(last, p.merged(&rows[r], row), row, below)
		use(r, p.down(row, below), row.lowest, row.above)
	}
}

// merged is a row of a property over the inputs of the last layer.
func (m *Masked) merged(row *property.Row, to *maskedRow) coefficients {
	c := newCoefficients(len(row.CLo))
	for o := range c.a {
		c.a[o] = arith.Middle(row.CLo[o], row.CHi[o])
		c.wrong[o] = max(arith.SumUp(row.CHi[o], -c.a[o]), arith.SumUp(c.a[o], -row.CLo[o]))
	}
	s := m.layers[len(m.layers)-1].substitute(c, &to.constant)
	to.constant.Plus(row.D)
	return s
}

// lawsOf returns the laws of rows +e_i and, after these, -e_i of layer k.
func (p *MaskedCell) lawsOf(k int, below []*hidden) []law {
	l := &p.layers[k]
	laws := make([]law, 2*l.out)
	fault.OnCores(context.Background(), len(laws), func(r int) {
		i, sign := r%l.out, 1.0
		if r >= l.out {
			sign = -1
		}
		if !l.used[i] || p.Ended() != nil {
			laws[r] = law{base: math.Inf(-1)}
			return
		}
		row := p.newRow()
		p.take(k, l.unitRow(i, sign, &row.constant), row, below)
		mean := p.down(row, below)
		laws[r] = newLaw(mean, slices.Concat(row.lowest, row.above))
	})
	return laws
}

// neurons bounds layer k, of which below knows the inputs.
func (p *MaskedCell) neurons(k int, tau float64, below []*hidden) *hidden {
	l, z := &p.layers[k], p.into(k, below)
	h := &hidden{values: values{moves: l.movesUp(z.moves)}}
	if l.pool() {
		h.pooled(l, z)
		return h
	}
	var lo, hi []float64
	if !l.bounded || !l.random {
		lo, hi = l.ranges(z)
	} else {
		lo, hi = slices.Repeat([]float64{math.Inf(-1)}, l.out), slices.Repeat([]float64{math.Inf(1)}, l.out)
	}
	if l.bounded {
		laws := p.laws
		if k != p.fixed {
			laws = p.lawsOf(k, below)
		}
		for i := range l.out {
			lo[i], hi[i] = max(lo[i], laws[i].quantileDown(tau)), min(hi[i], -laws[l.out+i].quantileDown(tau))
		}
	}
	for i := range l.out {
		h.add(l.activation, lo[i], hi[i])
	}
	return h
}

// add appends a neuron whose pre-activation is in [lo, hi]. Of moves there is that of the pre-activation.
func (h *hidden) add(act activation, lo, hi float64) {
	if !(lo <= hi) { // then no network is on the event, and every bound of these is right
		lo, hi = math.Inf(-1), math.Inf(1)
	}
	i := len(h.lo)
	zLo, zHi := act.ValueDown(lo), act.ValueUp(hi)
	h.lo, h.hi = append(h.lo, zLo), append(h.hi, zHi)
	h.moves[i] = max(0, min(arith.Up(h.moves[i]*act.Lipschitz()), arith.SumUp(zHi, -zLo)))
	lower, upper := linesOf(act, lo, hi)
	h.lower, h.upper = append(h.lower, lower), append(h.upper, upper)
}

// linesOf are lines below and above an activation on [lo, hi].
func linesOf(act activation, lo, hi float64) (lower, upper chordal) {
	if below, kinked := act.Kinked(); kinked {
		return kinkedLines(below, lo, hi)
	}
	return chordal{at: act.ValueDown(lo)}, chordal{at: act.ValueUp(hi)}
}

// pooled is a max pool of values z: (22), (23) and (25) of docs/theory.md.
func (h *hidden) pooled(l *maskedLayer, z *values) {
	for v := range l.out {
		star, others, least := int32(-1), math.Inf(-1), math.Inf(-1)
		for _, j := range l.window(v) {
			if j < 0 {
				continue
			}
			if least = max(least, z.lo[j]); star < 0 || z.lo[j]+z.hi[j] > z.lo[star]+z.hi[star] {
				star = j
			}
		}
		for _, j := range l.window(v) {
			if j >= 0 && j != star {
				others = max(others, z.hi[j])
			}
		}
		lo, hi := z.lo[star], z.hi[star]
		slope, above := upperOfMax(lo, hi, max(lo, others))
		h.star, h.slope, h.above = append(h.star, star), append(h.slope, slope), append(h.above, above)
		top := max(hi, others)
		h.add(l.activation, least, top)
		h.lower[v], _ = linesOf(l.activation, lo, hi)
		from := arith.Exactly(slope).Times(arith.Exactly(lo)).Plus(arith.Exactly(above)).Lo
		_, h.upper[v] = linesOf(l.activation, min(from, top), top)
	}
}

// upperOfMax is a line in y in [lo, hi] above max(y, c), which is convex: above it at both ends.
func upperOfMax(lo, hi, c float64) (slope, above float64) {
	if c >= hi {
		return 0, c
	}
	if slope = (hi - c) / (hi - lo); !(slope >= 0 && slope <= 1) {
		slope = 1
	}
	at := func(value, y float64) float64 { return arith.SumUp(value, -arith.ProductDown(slope, y)) }
	return slope, max(at(c, lo), at(hi, hi))
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
