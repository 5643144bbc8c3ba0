package devicetest

import (
	"math"

	"psafe/host/bound"
)

// sample is a point of the weight box and of the input box of an item, carried
// through the network: values a device's bounds must respect.
type sample struct {
	zeta, z [][]ball // by layer; z[k] are the inputs of layer k
	rows    []ball   // C f(x) + D
}

// sample draws count samples for each item.
func (n *task) sample(g *gen, count int) [][]sample {
	all := make([][]sample, n.batch.Items)
	for p := range all {
		for range count {
			all[p] = append(all[p], n.draw(g, p))
		}
	}
	return all
}

// inside is a point of [lo, hi]: an end two times in three.
func (g *gen) inside(lo, hi float64) ball {
	switch g.IntN(3) {
	case 0:
		return point(lo)
	case 1:
		return point(hi)
	}
	// The product is below hi - lo however it is rounded, so a rounded sum cannot
	// leave the interval; it is rounded once and then a point.
	width := loNum().Sub(point(hi).lo, point(lo).lo)
	x := loNum().Add(point(lo).lo, loNum().Mul(width, loNum().SetFloat64(float64(g.IntN(64))/64)))
	return ball{x, x}
}

func (n *task) draw(g *gen, p int) sample {
	box, x := n.boxes[p/n.batch.PerBox], p%n.batch.Inputs
	var s sample
	var z []ball
	for j, lo := range n.inputs[x].Lo {
		z = append(z, g.inside(lo, n.inputs[x].Hi[j]))
	}
	for k, l := range n.post.Layers {
		s.z = append(s.z, z)
		zeta := make([]ball, l.Outputs())
		for i := range zeta {
			zeta[i] = g.inside(box.Lo[2*k+1][i], box.Hi[2*k+1][i])
			for j := range l.Inputs() {
				at := j*l.Outputs() + i
				zeta[i] = zeta[i].add(z[j].mul(g.inside(box.Lo[2*k][at], box.Hi[2*k][at])))
			}
		}
		s.zeta = append(s.zeta, zeta)
		z = make([]ball, l.Outputs())
		for i, t := range zeta {
			z[i] = t.activate(l.Activation.Kind, point(l.Activation.Slope))
		}
	}
	for _, row := range n.rows[x] {
		v := point(row.D)
		for i, y := range z {
			v = v.add(y.mul(g.inside(row.CLo[i], row.CHi[i])))
		}
		s.rows = append(s.rows, v)
	}
	return s
}

// witness compares what a device computed with the samples.
type witness struct {
	*task
	*checker
	samples [][]sample
}

// observe checks hidden bounds and margins as the propagation shows them.
func (w *witness) observe(dev bound.Device, what string, layer int, a bound.Array) error {
	v, err := bound.ReadAll(dev, a)
	if err != nil {
		return err
	}
	if what == "margin.ibp" || what == "margin.lbp" {
		rows := len(v) / w.batch.Items
		for p := range w.batch.Items {
			w.margins(p, v[p*rows:(p+1)*rows], rows)
		}
		return nil
	}
	out := w.post.Layers[layer].Outputs()
	for i, b := range v {
		for _, s := range w.samples[i/out] {
			if what == "pre.lo" {
				w.below(what, i, b, s.zeta[layer][i%out])
			} else {
				w.below(what, i, -b, s.zeta[layer][i%out].neg())
			}
		}
	}
	return nil
}

func (w *witness) margins(p int, lo []float64, rows int) {
	if len(lo) != rows {
		w.failf("item %d has %d margins of %d", p, len(lo), rows)
		return
	}
	for _, s := range w.samples[p] {
		for r, v := range s.rows {
			w.below("margin", p*rows+r, lo[r], v)
		}
	}
}

// below demands that a bound is not provably above a value.
func (w *witness) below(what string, i int, bound float64, v ball) {
	if math.IsNaN(bound) || math.IsInf(bound, 1) {
		w.failf("%s[%d] is %v", what, i, bound)
	} else if !math.IsInf(bound, -1) && loNum().SetFloat64(bound).Cmp(v.hi) > 0 {
		w.failf("%s[%d] is %x, beyond the value %s of a sample", what, i, bound, v.hi.Text('p', 40))
	}
}

// holds demands that the row sum_j worst(lo_j, hi_j) v_j + c, less allowed, is not
// provably above the value it bounds. Rows with infinities say nothing.
func (w *witness) holds(what string, p, r int, lo, hi func(j int) float64, v []ball, c float64, allowed, value ball) {
	if math.IsNaN(c) || math.IsInf(c, -1) {
		return
	}
	sum := point(c).add(allowed.neg())
	for j, x := range v {
		a, b := lo(j), hi(j)
		if math.IsNaN(a-a) || math.IsNaN(b-b) {
			return
		}
		term := x.mul(point(a))
		if a != b {
			if other := x.mul(point(b)); other.lo.Cmp(term.lo) < 0 {
				term = other
			}
		}
		sum = sum.add(term)
	}
	if sum.lo.Cmp(value.hi) > 0 {
		w.failf("%s: row %d of item %d is above what it bounds: %s against %s", what, r, p, sum.lo.Text('p', 40), value.hi.Text('p', 40))
	}
}
