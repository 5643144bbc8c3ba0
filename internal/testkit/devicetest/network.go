package devicetest

import (
	"fmt"
	"math"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// task is a small random network with weight boxes, input boxes and rows: one
// job of bound.Model.Propagate.
type task struct {
	post   *posterior.Posterior
	boxes  []bound.Explicit
	inputs []property.Box
	rows   [][]property.Row
	batch  bound.Batch
}

const networks = 500

// runNetworks propagates random networks by IBP and LBP, with a spy between the
// algorithm and the device, and demands of random weights in the boxes and inputs
// in theirs: pre-activations lie in the hidden bounds, every row of coefficients
// holds at every stage of back-substitution, and the margins are bounds.
func runNetworks(t *testing.T, dev bound.Device, o *options) {
	o.forSeeds(t, networks, func(seed uint64) bool {
		g := newGen(seed, dev.Precision())
		n := g.task()
		for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
			k := &checker{p: dev.Precision()}
			if err := n.propagate(dev, method, k, g); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if k.failure != "" {
				t.Errorf("seed %d, %v, layers %s: %s", seed, method, n.describe(), k.failure)
			}
		}
		return !t.Failed()
	})
}

func (n *task) describe() string {
	text := ""
	for _, l := range n.post.Layers {
		text += fmt.Sprintf("%dx%d %v, ", l.Inputs(), l.Outputs(), l.Activation)
	}
	return text + fmt.Sprintf("batch %+v", n.batch)
}

// task draws one: 1 to 4 layers, now and then one as wide as two blocks.
func (g *gen) task() *task {
	n := &task{post: &posterior.Posterior{}, batch: g.batch()}
	sizes := []int{1 + g.IntN(4)}
	for range 1 + g.IntN(4) {
		sizes = append(sizes, 1+g.IntN(5))
	}
	if g.oneIn(12) {
		sizes[g.IntN(len(sizes)-1)] = []int{31, 32, 33, 65}[g.IntN(4)]
	}
	const anyKind = network.Kinds
	kind := g.IntN(anyKind + 1) // of all layers
	for k := range len(sizes) - 1 {
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: zeros(sizes[k] * sizes[k+1]), Bias: zeros(sizes[k+1])}
		if k < len(sizes)-2 {
			l.Activation.Kind = network.Kind(kind)
			if kind == anyKind {
				l.Activation.Kind = network.Kind(g.IntN(network.Kinds))
			}
			if l.Activation.Check() != nil { // it has a slope
				l.Activation.Slope = []float64{0.1, 0.01, 0x1p-45, 0.999999999, g.Float64()}[g.IntN(5)]
			}
		}
		n.post.Layers = append(n.post.Layers, l)
	}
	g.fill(n)
	return n
}

func zeros(n int) posterior.Params {
	z := make([]float64, n)
	return posterior.Params{Mean: z, Spread: z, SdLo: z, SdHi: z}
}

// fill draws the boxes of weights and inputs, and the rows. Inputs and rows are
// float64 also for a float32 device, which must round them outward.
func (g *gen) fill(n *task) {
	layers := n.post.Layers
	width := math.Ldexp(g.Float64(), -g.IntN(12)) // of weight boxes, relative
	for range n.batch.Boxes() {
		var b bound.Explicit
		for _, l := range layers {
			for _, size := range []int{l.Inputs() * l.Outputs(), l.Outputs()} {
				e := g.weights(size, width)
				b.Lo, b.Hi = append(b.Lo, e.lo), append(b.Hi, e.hi)
			}
		}
		n.boxes = append(n.boxes, b)
	}
	fine := *g
	if g.flavour == ordinary {
		fine.p = bound.Float64
	}
	nonNegative, rows := g.oneIn(2), 1+g.IntN(3)
	for range n.batch.Inputs {
		e := fine.weights(layers[0].Inputs(), width)
		if nonNegative {
			e.nonNegative()
		}
		n.inputs = append(n.inputs, property.Box{Lo: e.lo, Hi: e.hi})
		var set []property.Row
		for range 1 + g.IntN(rows) {
			c := fine.intervals(n.post.Outputs())
			if g.oneIn(2) {
				c.hi = c.lo
			}
			d := fine.number()
			set = append(set, property.Row{CLo: c.lo, CHi: c.hi, D: d, DHi: d})
		}
		n.rows = append(n.rows, set)
	}
}

// weights are intervals of which most are narrow, so that bounds mean something
// after a few layers.
func (g *gen) weights(n int, width float64) ends {
	if g.oneIn(4) {
		return g.intervals(n)
	}
	var e ends
	for range n {
		c := g.number()
		r := math.Abs(c) * width * g.Float64()
		if g.oneIn(4) {
			r = 0
		}
		lo, hi := max(-g.p.Max(), g.p.RoundLo(c-r)), min(g.p.Max(), g.p.RoundHi(c+r))
		e.add(lo, hi)
	}
	return e
}

// propagate runs one job and checks everything that can be seen of it.
func (n *task) propagate(dev bound.Device, method bound.Propagation, k *checker, g *gen) error {
	w := &witness{task: n, samples: n.sample(g, 3), checker: k}
	m, err := bound.NewModel(&spy{Device: dev, w: w}, n.post, 0)
	if err != nil {
		return err
	}
	defer m.Release()
	boxes, err := m.Upload(n.boxes)
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	inputs, err := m.UploadInputs(n.inputs)
	if err != nil {
		return err
	}
	defer m.ReleaseInputs(inputs)
	rows, err := m.UploadRows(n.rows)
	if err != nil {
		return err
	}
	defer m.ReleaseRows(rows)
	margins, err := m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: inputs, Rows: rows, Batch: n.batch,
		Observe: func(what string, layer int, a bound.Array) error { return w.observe(dev, what, layer, a) }})
	if err != nil {
		return err
	}
	for p := range n.batch.Items {
		w.margins(p, margins.Lo(p), margins.Rows)
		if g.sane() && !allFinite(margins.IBP, margins.LBP) {
			k.failf("a margin is not finite, and nothing in the network is large")
		}
	}
	return nil
}

func allFinite(lists ...[]float64) bool {
	for _, v := range lists {
		for _, x := range v {
			if math.IsInf(x, 0) || math.IsNaN(x) {
				return false
			}
		}
	}
	return true
}
