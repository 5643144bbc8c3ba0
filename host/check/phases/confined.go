package phases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// The network of the means with biases that are off by noise, and the trees of its rows.

// confined is the network of the means on a box, whose pre-activations are off by the noise, which is
// at most what ByUp of it says but for the event. That of a unit is by itself: weights that are used in
// several places make one event for each.
type confined struct {
	*clbp.Noisy
	relax.Pass
	tau float64
	// box and outputs are the reach of the input and of the layers so far.
	box     clbp.Reach
	outputs []clbp.Reach
	how     *Proof
}

// newConfined bounds the hidden layers. What is said of layer k rests on bounds of layers below it that
// hold for all x of the box, so that (11) and (12) are about noise of layer k alone, given those
// layers.
func newConfined(ctx context.Context, n *clbp.Noisy, box property.Box, tau float64, how *Proof, try uint64) *confined {
	net := relax.Network{Layers: slices.Clone(n.Mean), Graph: n.Graph, Lines: true, By: relax.Choice{Try: try}, Ctx: ctx}
	p := &confined{Noisy: n, Pass: *net.NewPass(relax.Span{Lo: box.Lo, Hi: box.Hi}), tau: tau, box: clbp.ReachOf(box), how: how}
	p.Off = make([][]float64, len(n.Mean))
	slopes := how.Slopes
	for k := range len(n.Mean) - 1 {
		if random(p.Noisy, k) {
			p.Off[k] = p.unitsUp(k)
		}
		slopes = p.hiddenLayer(k, slopes)
		p.outputs = append(p.outputs, p.reachOf(k))
	}
	return p
}

// in is the reach of what feeds layer k.
func (p *confined) in(k int) *clbp.Reach {
	return clbp.ReachOfFed(p.Pass.Graph.From[k], &p.box, p.outputs)
}

// unitsUp bounds the noise of each unit of layer k.
func (p *confined) unitsUp(k int) (by []float64) {
	for _, noise := range p.Deviations[k].Own(p.in(k), p.Into(k)) {
		by = append(by, noise.ByUp(p.Quantile(p.tau, 1)))
	}
	return by
}

// rowUp bounds the noise of a row from below, given its coefficients of the last layer: 0 for sure
// where nothing deviates there.
func (p *confined) rowUp(row []float64) float64 {
	last := len(p.Mean) - 1
	if !random(p.Noisy, last) {
		return 0
	}
	return p.Deviations[last].OfRow(row, p.in(last), p.Into(last)).ByUp(p.Quantile(p.tau, 1))
}

// hiddenLayer bounds layer k: by intervals and by lines, of neurons that were raised with the
// slopes of the proof, the first of those given. It returns the rest of them.
func (p *confined) hiddenLayer(k int, slopes []byte) []byte {
	l := &p.Pass.Layers[k]
	if l.Windows != nil {
		p.Hidden = append(p.Hidden, p.Pooled(k))
		return slopes
	}
	pre := l.Affine(p.Into(k))
	for i := range l.Out {
		slopes = p.unit(k, i, &pre, slopes)
	}
	p.Hidden = append(p.Hidden, relax.HiddenOf(l.Act, pre, &p.By))
	return slopes
}

// unit intersects the interval of neuron i of layer k with what rows say, and moves it outward by its
// noise.
func (p *confined) unit(k, i int, pre *relax.Span, slopes []byte) []byte {
	ways := p.Ways(k)
	sides := [2][]relax.Way{ways, ways} // of the lower and of the upper end
	if _, raised := slices.BinarySearch(p.how.Raised[k], i); raised {
		for side := range sides {
			var lower [][]relax.Line
			lower, slopes = p.lowers(k, slopes)
			sides[side] = slices.Clone(ways)
			for w := range ways {
				if !ways[w].Stop {
					sides[side][w].Lower = lower
				}
			}
		}
	}
	lo, hi := pre.Lo[i], pre.Hi[i]
	if len(ways) > 0 {
		s, c := p.Pass.Layers[k].Unit(i, 1)
		mirrored, mc := p.Pass.Layers[k].Unit(i, -1)
		for w := range ways {
			lo, hi = max(lo, p.Down(k, s, c, sides[0][w])), min(hi, -p.Down(k, mirrored, mc, sides[1][w]))
		}
	}
	if by := p.Off[k]; by != nil {
		lo, hi = arith.SumDown(lo, -by[i]), arith.SumUp(hi, by[i])
	}
	if !arith.Finite(lo, hi) || p.Pass.Ctx != nil && p.Pass.Ctx.Err() != nil {
		lo, hi = -arith.Inf, arith.Inf
	}
	pre.Lo[i], pre.Hi[i] = lo, hi
	return slopes
}

// lowers are lower lines of the layers below k with the first of these slopes, one for each open
// neuron; and the rest of them.
func (p *confined) lowers(k int, slopes []byte) ([][]relax.Line, []byte) {
	lowers := make([][]relax.Line, k)
	for l := range k {
		lowers[l] = slices.Clone(p.Hidden[l].Lower)
		for _, j := range p.how.Open[l] {
			setLower(&p.Hidden[l], lowers[l], j, slopes[0])
			slopes = slopes[1:]
		}
	}
	return lowers, slopes
}

// setLower gives neuron j a line of a slope in 128ths, if that is in [0, 1] and the neuron may be on
// both sides of its kink.
func setLower(h *relax.Hidden, lower []relax.Line, j int, slope byte) {
	if h.Pre.Lo[j] < 0 && h.Pre.Hi[j] > 0 && slope <= slopesIn {
		lower[j] = relax.Line{A: float64(slope) / slopesIn, B: 0}
	}
}

// reachOf is the reach of the outputs of layer k: an activation varies by no more than what it is of,
// and by no more than the interval that holds it is wide.
func (p *confined) reachOf(k int) clbp.Reach {
	h := &p.Hidden[k]
	r := clbp.NewReach(len(h.Z.Lo))
	for i, vary := range p.varies(k) {
		lo, hi := h.Z.Lo[i], h.Z.Hi[i]
		r.Set(i, min(vary, arith.SumUp(hi, -lo)), relax.Abs(lo, hi))
	}
	return r
}

// varies bounds how far the pre-activations of layer k vary over the box, with the event if its weights
// deviate, else for sure.
func (p *confined) varies(k int) []float64 {
	l, in := &p.Pass.Layers[k], p.in(k)
	list := make([]float64, l.Out)
	switch {
	case l.Windows != nil: // a greatest by no more than any
		for v, members := range l.Windows {
			for _, j := range members {
				list[v] = max(list[v], in.Radius[j])
			}
		}
	case l.Fixed:
		for i := range list {
			var sum arith.Sum
			l.Each(i, func(j int, size float64) { sum.Add(size, in.Radius[j]) })
			list[i] = max(0, sum.Hi())
		}
	default:
		for i, vary := range p.Deviations[k].Variation(in) {
			if !random(p.Noisy, k) {
				vary.Variance = 0
			}
			list[i] = vary.ByUp(p.Quantile(p.tau*clbp.RadiusShare, 1))
		}
	}
	return list
}

// clauseHolds returns why it is not proved that one of the rows of a clause is at least 0 everywhere on the box, be
// it another one at every point; nil if it is. In each leaf a sum of them is, each less its noise, with factors
// that are not negative and not all 0: where all rows are negative so is every such sum.
func (p *confined) clauseHolds(ctx context.Context, safe *property.Safe, clause []int, tree *Tree) error {
	mixtures, each := tree.Mixtures, 0
	if len(clause) > 1 {
		each = 2 * len(clause)
	}
	noise := make([]float64, len(clause))
	for i, r := range clause {
		noise[i] = p.rowUp(clbp.SizesOf(&safe.Rows[r]))
	}
	leaves := 0
	err := walk(ctx, &p.Pass, p.how.Open, tree, func(w relax.Way) error {
		if len(mixtures) < each {
			return fmt.Errorf("its leaf %d has %d bytes of mixtures left, it needs %d", leaves, len(mixtures), each)
		}
		row, off, err := mixtureLess(safe, clause, noise, mixtures[:each])
		if err != nil {
			return fmt.Errorf("its leaf %d: %w", leaves, err)
		}
		mixtures = mixtures[each:]
		last := len(p.Mean) - 1
		s, c := p.Pass.Layers[last].Merged(row)
		c.Plus(-off)
		if lo := p.Down(last, s, c, w); !(lo >= 0) {
			return &unprovedLeaf{leaves, lo}
		}
		leaves++
		return nil
	})
	if err == nil && len(mixtures) > 0 {
		err = fmt.Errorf("its mixtures go on after the end: %d more bytes", len(mixtures))
	}
	return err
}

// mixtureLess is the sum of the rows of a clause with the factors of a leaf, in 2^15ths, and what to take off it at
// most for their noise: of a single row, the row and its noise.
func mixtureLess(safe *property.Safe, clause []int, noise []float64, factors []byte) (*property.Row, float64, error) {
	if len(clause) == 1 {
		return &safe.Rows[clause[0]], noise[0], nil
	}
	var rows []property.Row
	var theta []float64
	var off arith.Sum
	for i, r := range clause {
		f := math.Ldexp(float64(uint(factors[2*i])<<8|uint(factors[2*i+1])), -15)
		rows, theta = append(rows, safe.Rows[r]), append(theta, f)
		off.Add(f, noise[i])
	}
	row, err := cases.MixtureOf(rows, theta)
	return &row, off.Hi(), err
}

// walk walks through the tree of a row, in which slopes and cuts are about these neurons, and says what is
// wrong with it, or what judge says of a leaf.
func walk(ctx context.Context, p *relax.Pass, open [][]int, tree *Tree, judge func(relax.Way) error) error {
	w := &treeWalk{Pass: p, judge: judge, cuts: tree.Cuts, bytes: tree.Leaves}
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
	*relax.Pass
	judge func(relax.Way) error
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

// node returns why a sub-problem is not proved: the next one of the tree. Each node that is no leaf
// has both signs of one neuron, so that the leaves cover all x, whatever the weights are.
func (w *treeWalk) node(ctx context.Context) error {
	if len(w.cuts) == 0 {
		return errors.New("its tree ends before all of its parts are there")
	}
	at := w.cuts[0]
	w.cuts = w.cuts[1:]
	switch {
	case at == cases.Leaf:
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

// leaf returns why the row is not proved where neurons have their signs.
func (w *treeWalk) leaf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lower, multipliers := make([][]relax.Line, len(w.Hidden)), make([][]float64, len(w.Hidden))
	for l := range lower {
		lower[l], multipliers[l] = slices.Clone(w.Hidden[l].Lower), make([]float64, len(w.Hidden[l].Lower))
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
			setLower(&w.Hidden[o.layer], lower[o.layer], o.unit, w.bytes[0])
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
	return w.judge(relax.Way{Lower: lower, Signs: w.signs(), Multipliers: multipliers})
}

// signs returns the signs of all neurons, by hidden layer; nil where none has one.
func (w *treeWalk) signs() [][]int {
	signs := make([][]int, len(w.Hidden))
	for _, o := range w.open {
		if o.sign != 0 {
			if signs[o.layer] == nil {
				signs[o.layer] = make([]int, len(w.Hidden[o.layer].Lower))
			}
			signs[o.layer][o.unit] = o.sign
		}
	}
	return signs
}
