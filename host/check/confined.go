package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// The network of the means with biases that are off by noise, and the trees of its rows.

// confined is the network of the means on a box, with biases that are off by the noise, which is at
// most what byUp of it says but for the event.
type confined struct {
	*noisy
	pass
	tau float64
	// in is the reach of what feeds the next layer.
	in  reach
	how *phaseProof
}

// confine bounds the hidden layers. What is said of layer k rests on bounds of layers below it that
// hold for all x of the box, so that (11) and (12) are about noise of layer k alone, given those
// layers.
func (n *noisy) confine(ctx context.Context, box property.Box, tau float64, how *phaseProof, try uint64) *confined {
	net := network{layers: slices.Clone(n.mean), graph: n.graph, lines: true, by: choice{try: try}, ctx: ctx}
	p := &confined{noisy: n, pass: *net.newPass(span{box.Lo, box.Hi}), tau: tau, in: reachOf(box), how: how}
	slopes := how.Slopes
	for k := range len(n.mean) - 1 {
		l := &p.pass.layers[k]
		l.b = l.b.off(p.noiseUp(k, nil))
		slopes = p.hiddenLayer(k, slopes)
		p.in = p.outputs(k)
	}
	return p
}

// off is the intervals moved outward by as much.
func (s span) off(by []float64) span {
	wider := newSpan(len(by))
	for i, v := range by {
		wider.lo[i], wider.hi[i] = arith.SumDown(s.lo[i], -v), arith.SumUp(s.hi[i], v)
	}
	return wider
}

// noiseUp bounds the noise of layer k: of each neuron or, given the coefficients of a row over
// them, of the row from below; 0 for sure where nothing deviates.
func (p *confined) noiseUp(k int, row []float64) []float64 {
	z := p.quantile(p.tau, 1)
	d := &p.deviations[k]
	switch {
	case !p.random(k) && row != nil:
		return []float64{0}
	case !p.random(k):
		return make([]float64, p.mean[k].out)
	case row != nil:
		return []float64{d.ofRow(row, &p.in, p.into(k)).byUp(z)}
	}
	var by []float64
	for _, noise := range d.own(&p.in) {
		by = append(by, noise.byUp(z))
	}
	return by
}

// hiddenLayer bounds layer k: by intervals and by lines, of neurons that were raised with the
// slopes of the proof, the first of those given. It returns the rest of them.
func (p *confined) hiddenLayer(k int, slopes []byte) []byte {
	l := &p.pass.layers[k]
	h := hidden{pre: l.affine(p.into(k)), z: newSpan(l.out), lower: make([]line, l.out), upper: make([]line, l.out)}
	for i := range l.out {
		if k == 0 {
			break
		}
		lo, hi := h.pre.lo[i], h.pre.hi[i]
		var ways [2]way // of the lower and of the upper end
		if _, raised := slices.BinarySearch(p.how.Raised[k], i); raised {
			for side := range ways {
				ways[side].lower, slopes = p.lowers(k, slopes)
			}
		}
		s, c := l.unit(i, 1)
		mirrored, mc := l.unit(i, -1)
		lo, hi = max(lo, p.down(k, s, c, ways[0])), min(hi, -p.down(k, mirrored, mc, ways[1]))
		if !arith.Finite(lo, hi) || p.pass.ctx != nil && p.pass.ctx.Err() != nil {
			lo, hi = -arith.Inf, arith.Inf
		}
		h.pre.lo[i], h.pre.hi[i] = lo, hi
	}
	for i := range l.out {
		lo, hi := h.pre.lo[i], h.pre.hi[i]
		h.z.lo[i], h.z.hi[i] = curves.ValueDown(l.act, lo), curves.ValueUp(l.act, hi)
		h.lower[i], h.upper[i] = relax(l.act, lo, hi, &p.by)
	}
	h.arg = h.pre
	p.hidden = append(p.hidden, h)
	return slopes
}

// lowers are lower lines of the layers below k with the first of these slopes, one for each open
// neuron; and the rest of them.
func (p *confined) lowers(k int, slopes []byte) ([][]line, []byte) {
	lowers := make([][]line, k)
	for l := range k {
		lowers[l] = slices.Clone(p.hidden[l].lower)
		for _, j := range p.how.Open[l] {
			p.hidden[l].setLower(lowers[l], j, slopes[0])
			slopes = slopes[1:]
		}
	}
	return lowers, slopes
}

// setLower gives neuron j a line of a slope in 128ths, if that is in [0, 1] and the neuron may be on
// both sides of its kink.
func (h *hidden) setLower(lower []line, j int, slope byte) {
	if h.pre.lo[j] < 0 && h.pre.hi[j] > 0 && slope <= slopesIn {
		lower[j] = line{float64(slope) / slopesIn, 0}
	}
}

// outputs is the reach of the outputs of layer k, whose inputs reach as far as p.in.
func (p *confined) outputs(k int) reach {
	h, radius := &p.hidden[k], p.quantile(p.tau*radiusShare, 1)
	r := newReach(len(h.z.lo))
	for i, vary := range p.deviations[k].variation(&p.in) {
		if !p.random(k) {
			vary.variance = 0
		}
		lo, hi := h.z.lo[i], h.z.hi[i]
		r.set(i, min(vary.byUp(radius), arith.SumUp(hi, -lo)), abs(lo, hi))
	}
	return r
}

// rowHolds says why a row is not proved to be at least 0 on the box; nil if it is.
func (p *confined) rowHolds(ctx context.Context, row *property.Row, tree *phaseTree) error {
	last := len(p.mean) - 1
	most := make([]float64, len(row.CLo))
	for i := range most {
		most[i] = abs(row.CLo[i], row.CHi[i])
	}
	s, c := p.pass.layers[last].merged(row)
	c.Plus(-p.noiseUp(last, most)[0])
	leaves := 0
	return p.pass.walk(ctx, p.how.Open, tree, func(by leafLines) error {
		if lo := p.rowLo(s, c, by, nil); !(lo >= 0) {
			return &unprovedLeaf{leaves, lo}
		}
		leaves++
		return nil
	})
}

// leafLines are those of a leaf of a tree, by hidden layer: lower lines and, where the neurons of a layer
// have signs, these with multipliers; nil of others.
type leafLines struct {
	lower       [][]line
	signs       [][]int
	multipliers [][]float64
}

// walk walks through the tree of a row, in which slopes and cuts are about these neurons, and says what is
// wrong with it, or what judge says of a leaf.
func (p *pass) walk(ctx context.Context, open [][]int, tree *phaseTree, judge func(leafLines) error) error {
	w := &treeWalk{pass: p, judge: judge, cuts: tree.Cuts, bytes: tree.Leaves}
	for l, list := range open {
		for _, j := range list {
			w.open = append(w.open, openNeuron{layer: l, unit: j})
		}
	}
	if err := w.node(ctx); err != nil {
		return err
	}
	if len(w.cuts) > 0 || len(w.bytes) > 0 {
		return fmt.Errorf("its tree goes on after the end: %d more nodes, %d more bytes of leaves", len(w.cuts), len(w.bytes))
	}
	return nil
}

// treeWalk is a walk through the tree of a row.
type treeWalk struct {
	*pass
	judge func(leafLines) error
	open  []openNeuron
	// cuts and bytes are what is left of the proof.
	cuts  []int
	bytes []byte
	// leaves is how many there were.
	leaves int
}

// openNeuron is one that may be on both sides of its kink; sign is 1 where it is taken to be
// active, -1 where not, and 0 where nothing is assumed.
type openNeuron struct {
	layer, unit int
	sign        int
}

// node says why a sub-problem is not proved: the next one of the tree. Each node that is no leaf
// has both signs of one neuron, so that the leaves cover all x, whatever the weights are.
func (w *treeWalk) node(ctx context.Context) error {
	if len(w.cuts) == 0 {
		return errors.New("its tree ends before all of its parts are there")
	}
	at := w.cuts[0]
	w.cuts = w.cuts[1:]
	switch {
	case at == leaf:
		return w.leaf(ctx)
	case at < 0 || at >= len(w.open) || w.open[at].sign != 0:
		return fmt.Errorf("its tree is cut at neuron %d of %d, or twice", at, len(w.open))
	}
	for _, sign := range []int{1, -1} {
		w.open[at].sign = sign
		if err := w.node(ctx); err != nil {
			return err
		}
	}
	w.open[at].sign = 0
	return nil
}

// leaf says why the row is not proved where neurons have their signs.
func (w *treeWalk) leaf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lower, multipliers := make([][]line, len(w.hidden)), make([][]float64, len(w.hidden))
	for l := range lower {
		lower[l], multipliers[l] = slices.Clone(w.hidden[l].lower), make([]float64, len(w.hidden[l].lower))
	}
	need := len(w.open)
	for _, o := range w.open {
		if o.sign != 0 {
			need++
		}
	}
	if len(w.bytes) < need {
		return fmt.Errorf("its leaf %d has %d bytes left, it needs %d", w.leaves, len(w.bytes), need)
	}
	for _, o := range w.open {
		if o.sign == 0 {
			w.hidden[o.layer].setLower(lower[o.layer], o.unit, w.bytes[0])
			w.bytes = w.bytes[1:]
		}
	}
	for _, o := range w.open {
		if o.sign != 0 {
			m := float64(math.Float32frombits(uint32(w.bytes[0])<<24 | uint32(w.bytes[1])<<16))
			w.bytes = w.bytes[2:]
			if !(m >= 0 && m <= math.MaxFloat32) {
				return fmt.Errorf("its leaf %d has the multiplier %v", w.leaves, m)
			}
			multipliers[o.layer][o.unit] = m
		}
	}
	w.leaves++
	return w.judge(leafLines{lower, w.signs(), multipliers})
}

// signs are those of all neurons, by hidden layer; nil where none has one.
func (w *treeWalk) signs() [][]int {
	signs := make([][]int, len(w.hidden))
	for _, o := range w.open {
		if o.sign != 0 {
			if signs[o.layer] == nil {
				signs[o.layer] = make([]int, len(w.hidden[o.layer].lower))
			}
			signs[o.layer][o.unit] = o.sign
		}
	}
	return signs
}

// rowLo is a lower bound of s z + c, z being what feeds the last layer, wherever neurons have the signs
// of a leaf. f, if it is not nil, is told what the row meets.
func (p *pass) rowLo(s span, c arith.Sum, by leafLines, f *fall) float64 {
	for l := len(by.lower) - 1; l >= 0; l-- {
		a := p.hidden[l].throughSigns(s, by.lower[l], by.signs[l], by.multipliers[l], &c)
		if f != nil {
			f.a[l] = a
		}
		s = p.substitute(l, a, &c, false)
	}
	if f != nil {
		f.inputs = s
	}
	return intervalLo(s, p.x, c)
}

// throughSigns is through where some neurons have signs, which is where the new row is below the
// old one: with a multiplier m >= 0,
//
//	active, t >= 0:      s z = s t >= (s - m) t, and any number up to s will do for s - m
//	not active, t <= 0:  s z = 0 >= m t
func (h *hidden) throughSigns(s span, lower []line, signs []int, multipliers []float64, c *arith.Sum) (a []float64) {
	if signs == nil {
		return h.through(s, lower, c)
	}
	free := span{slices.Clone(s.lo), slices.Clone(s.hi)}
	for j, sign := range signs {
		if sign != 0 {
			free.lo[j], free.hi[j] = 0, 0
		}
	}
	a = h.through(free, lower, c)
	for j, sign := range signs {
		switch {
		case sign > 0: // z >= 0, so that s is at its least
			a[j] = s.lo[j] - multipliers[j]
		case sign < 0:
			a[j] = multipliers[j]
		}
	}
	return a
}
