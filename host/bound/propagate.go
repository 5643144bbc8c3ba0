package bound

import (
	"fmt"
)

// Method is how bounds are propagated.
type Method int

const (
	// IBP propagates intervals (docs/soundness.md, Affine).
	IBP Method = iota
	// LBP back-substitutes linear bounds (docs/soundness.md, section 3), every hidden bound
	// intersected with that of IBP.
	LBP
)

// String returns ibp or lbp.
func (m Method) String() string {
	if m == IBP {
		return "ibp"
	}
	return "lbp"
}

// ParseMethod reads ibp or lbp.
func ParseMethod(word string) (Method, error) {
	switch word {
	case "ibp":
		return IBP, nil
	case "lbp":
		return LBP, nil
	}
	return 0, fmt.Errorf("method %q is neither ibp nor lbp", word)
}

// Job is one batch to propagate. Rows are per input: item p uses rows p%Inputs.
type Job struct {
	Method Method
	Boxes  *Boxes
	Inputs *Inputs
	Rows   *Rows
	Batch  Batch
	// Observe, if set, is called with every bound as it is made, in order:
	// "pre.lo" and "pre.hi" of each layer, then "margin.ibp" and "margin.lbp".
	Observe func(what string, layer int, a Array) error
}

// Margins are lower bounds of the property rows, [Items x Rows] each.
type Margins struct {
	Items, Rows int
	// IBP is by intervals; LBP by linear bounds, nil for Method IBP.
	IBP, LBP []float64
}

// Lo returns the lower bounds of item p's rows, the better of both methods.
// A bound that is not a number is -Inf on every device already.
func (m *Margins) Lo(p int) []float64 {
	lo := append([]float64(nil), m.IBP[p*m.Rows:(p+1)*m.Rows]...)
	if m.LBP != nil {
		for r, v := range m.LBP[p*m.Rows : (p+1)*m.Rows] {
			lo[r] = max(lo[r], v)
		}
	}
	return lo
}

// Propagate bounds the property rows of every item of a job from below: for every
// w in the item's weight box and x in its input box, row r of C f^w(x) + d is at
// least Margins.Lo(p)[r].
func (m *Model) Propagate(job Job) (*Margins, error) {
	b := job.Batch
	if b.Items < 1 || b.Boxes() > job.Boxes.count || b.Inputs > job.Inputs.count || job.Rows.count != b.Inputs {
		panic(fmt.Sprintf("bound: Propagate: batch %+v with %d boxes, %d inputs, %d row sets", b, job.Boxes.count, job.Inputs.count, job.Rows.count))
	}
	p := &pass{Model: m, job: job, scratch: scratch{owner: m.dev}}
	defer p.free()
	if err := p.run(); err != nil {
		return nil, err
	}
	return &p.margins, nil
}

// pass is one Propagate under way.
type pass struct {
	*Model
	scratch
	job     Job
	hidden  []hidden
	margins Margins
	// onRows, if set, sees the rows over the pre-activations of each layer on
	// their way down.
	onRows func(layer int, a Array, rows int)
}

// hidden is what is known of a hidden layer.
type hidden struct {
	pre, z Interval
	mag    Array
	lo, hi Line
	err    Array
}

// mergedLayer is the last layer with the property merged in, one per item.
type mergedLayer struct{ w, b Interval }

func (p *pass) run() error {
	last := len(p.layers) - 1
	for k := range last {
		if err := p.hiddenLayer(k); err != nil {
			return err
		}
	}
	return p.lastLayer()
}

// input returns the interval that feeds layer k, whether it is never negative,
// and its batch: inputs are shared between items, hidden values are not.
func (p *pass) input(k int) (Interval, bool, Batch) {
	if k == 0 {
		return p.job.Inputs.x, p.job.Inputs.nonNeg, p.job.Batch
	}
	b := p.job.Batch
	b.Inputs = b.Items
	return p.hidden[k-1].z, p.layers[k-1].nonNeg(), b
}

// hiddenLayer bounds layer k's pre-activations and activations, and relaxes them.
func (p *pass) hiddenLayer(k int) error {
	l, items := p.layers[k], p.job.Batch.Items
	n := items * l.out
	h := hidden{pre: p.interval(n), z: p.interval(n), mag: p.array(n)}
	p.hidden = append(p.hidden, h)
	z, nonNeg, batch := p.input(k)
	p.do(func() error {
		return p.dev.Affine(p.affine(h, p.job.Boxes.w[k], p.job.Boxes.b[k], z, nonNeg, batch, l.in, l.out))
	})
	if p.job.Method == LBP && k > 0 {
		// A layer whose inputs are the network's is already exact.
		rows := rowsOf{s: p.job.Boxes.w[k], c: p.job.Boxes.b[k], perBox: batch.PerBox, cols: l.out, mirrored: true}
		bound := p.backSubstitute(k, rows)
		p.do(func() error { return p.dev.Intersect(Intersect{Pre: h.pre, Bound: bound, P: items, N: l.out}) })
		p.release(bound)
	}
	p.observe("pre.lo", k, h.pre.Lo)
	p.observe("pre.hi", k, h.pre.Hi)
	p.do(func() error {
		return p.dev.Activate(Activate{Z: h.z, Pre: h.pre, N: n, Activation: l.activation})
	})
	if p.job.Method == LBP {
		p.relax(k, n)
	}
	return p.err
}

func (p *pass) affine(h hidden, w, b, z Interval, nonNeg bool, batch Batch, in, out int) Affine {
	push, mag := p.dev.Precision().AffineRounding(in)
	return Affine{
		Pre: h.pre, Mag: h.mag, W: w, B: b, Z: z, NonNeg: nonNeg, Push: push, MagRound: mag,
		Batch: batch, In: in, Out: out,
	}
}

// relax prepares layer k for back-substitution.
func (p *pass) relax(k, n int) {
	l, h := p.layers[k], &p.hidden[k]
	h.lo, h.hi = Line{p.array(n), p.array(n)}, Line{p.array(n), p.array(n)}
	h.err = p.array(n)
	p.do(func() error {
		return p.dev.Relax(Relax{
			Lo: h.lo, Hi: h.hi, Err: h.err, Pre: h.pre, Mag: h.mag, N: n, Activation: l.activation,
			Charge: p.dev.Precision().RelaxCharge(l.out),
		})
	})
}

// rowsOf are rows over the outputs of a layer as RelaxRows takes them.
type rowsOf struct {
	s, c         Interval
	perBox, cols int
	mirrored     bool
}

// backSubstitute takes rows over z^(k-1), the inputs of layer k, down to the
// network's input and returns their lower bounds [Items x R].
func (p *pass) backSubstitute(k int, rows rowsOf) Array {
	items := p.job.Batch.Items
	r := rows.cols
	if rows.mirrored {
		r *= 2
	}
	first := true
	for l := k - 1; l >= 0; l-- {
		next := p.throughLayer(l, rows, r)
		if !first {
			p.release(rows.s.Lo, rows.s.Hi, rows.c.Lo)
		}
		rows, first = next, false
	}
	bound := p.array(items * r)
	p.do(func() error {
		return p.dev.Concretize(Concretize{
			Bound: bound, S: rows.s, C: rows.c.Lo, X: p.job.Inputs.x, NonNeg: p.job.Inputs.nonNeg,
			P: items, R: r, In: p.layers[0].in, Inputs: p.job.Batch.Inputs,
			Round: p.dev.Precision().ConcretizeRounding(p.layers[0].in, p.layers[0].out),
		})
	})
	p.release(rows.s.Lo, rows.s.Hi, rows.c.Lo)
	return bound
}

// throughLayer takes rows over z^l through the activation and the weights of
// layer l, giving rows over its inputs.
func (p *pass) throughLayer(l int, rows rowsOf, r int) rowsOf {
	lay, h, items := p.layers[l], &p.hidden[l], p.job.Batch.Items
	a, c := p.array(items*lay.out*r), p.array(items*r)
	p.do(func() error {
		return p.dev.RelaxRows(RelaxRows{
			A: a, C: c, S: rows.s, CIn: rows.c, PerBox: rows.perBox, Cols: rows.cols, Mirrored: rows.mirrored,
			NonNeg: lay.nonNeg(), Z: h.z, Lo: h.lo, Hi: h.hi, Err: h.err, Mag: h.mag, P: items, N: lay.out,
			Round: p.dev.Precision().RowsRounding(lay.out, p.layers[l+1].out),
		})
	})
	if p.onRows != nil {
		p.onRows(l, a, r)
	}
	_, nonNeg, batch := p.input(l)
	s := Interval{Lo: p.array(items * lay.in * r)}
	if !nonNeg {
		s.Hi = p.array(items * lay.in * r)
	}
	cOut := p.array(items * r)
	p.do(func() error {
		return p.dev.BackSubstitute(BackSubstitute{
			S: s, C: cOut, A: a, CIn: c, W: p.job.Boxes.w[l], B: p.job.Boxes.b[l],
			PerBox: batch.PerBox, P: items, R: r, In: lay.in, Out: lay.out,
		})
	})
	p.release(a, c)
	return rowsOf{s: s, c: Interval{Lo: cOut}, perBox: 1, cols: r}
}

// mergeRows merges the property into the last layer, k.
func (p *pass) mergeRows(k int) mergedLayer {
	l, items, rows := p.layers[k], p.job.Batch.Items, p.job.Rows
	r := rows.rows
	m := mergedLayer{w: p.interval(items * l.in * r), b: p.interval(items * r)}
	p.do(func() error {
		return p.dev.MergeRows(MergeRows{
			W: m.w, B: m.b, Weight: p.job.Boxes.w[k], Bias: p.job.Boxes.b[k], C: rows.c, D: rows.d,
			Round: rows.round, Abs: p.dev.Precision().MergeRounding(l.out, l.out).Abs,
			Batch: p.job.Batch, In: l.in, Out: l.out, Rows: r,
		})
	})
	return m
}

// lastLayer merges the property into the last layer and bounds the margins.
func (p *pass) lastLayer() error {
	k := len(p.layers) - 1
	l, items, r := p.layers[k], p.job.Batch.Items, p.job.Rows.rows
	p.margins = Margins{Items: items, Rows: r}
	m := p.mergeRows(k)
	h := hidden{pre: p.interval(items * r), mag: p.array(items * r)}
	z, nonNeg, batch := p.input(k)
	batch.PerBox = 1
	p.do(func() error { return p.dev.Affine(p.affine(h, m.w, m.b, z, nonNeg, batch, l.in, r)) })
	p.observe("margin.ibp", k, h.pre.Lo)
	p.margins.IBP = p.read(h.pre.Lo)
	if p.job.Method == LBP && k > 0 {
		bound := p.backSubstitute(k, rowsOf{s: m.w, c: m.b, perBox: 1, cols: r})
		p.observe("margin.lbp", k, bound)
		p.margins.LBP = p.read(bound)
	}
	return p.err
}
