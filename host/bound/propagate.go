package bound

import (
	"fmt"
)

// Propagation names how bounds are propagated.
type Propagation int

const (
	// IBP propagates intervals (docs/theory.md, Affine), through several linear layers behind
	// each other (batch norms, joins) in one step.
	IBP Propagation = iota
	// LBP back-substitutes linear bounds (docs/theory.md, section 2.3), every hidden bound
	// intersected with that of IBP.
	LBP
)

// String returns ibp or lbp.
func (m Propagation) String() string {
	if m == IBP {
		return "ibp"
	}
	return "lbp"
}

// ParsePropagation reads ibp or lbp.
func ParsePropagation(word string) (Propagation, error) {
	switch word {
	case "ibp":
		return IBP, nil
	case "lbp":
		return LBP, nil
	}
	return 0, fmt.Errorf("method %q is neither ibp nor lbp", word)
}

// Query is one batch to propagate. Rows are per input: item p uses rows p%Inputs.
type Query struct {
	Propagation Propagation
	Boxes       *Boxes
	Inputs      *Inputs
	Rows        *Rows
	Batch       Batch
	// Observe, if set, is called with every bound as it is made, in order:
	// "pre.lo" and "pre.hi" of each layer, then "margin.ibp" and "margin.lbp"; of a max pool
	// "pool.star" before them, the unit that is each window's star, which is no bound, and
	// "pool.lead", how far the others are above it.
	Observe func(what string, layer int, a Array) error
	// Refine, if set, is called at the end, by LBP, with all bounds, and says which rows to bound
	// beside the others, nil none. Batch.Inputs is Batch.Items then.
	Refine func(*Margins) *Refinement
}

// Margins are lower bounds of the property rows, [Items x Rows] each.
type Margins struct {
	Items, Rows int
	// IBP is by intervals; LBP by linear bounds, nil for IBP.
	IBP, LBP []float64
	// Refined are those of the rows that Query.Refine asked for, [Items x R]; nil if it did not.
	Refined []float64
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

// Propagate bounds the property rows of every item of a query from below: for every
// w in the item's weight box and x in its input box, row r of C f^w(x) + d is at
// least Margins.Lo(p)[r].
func (m *Model) Propagate(query Query) (*Margins, error) {
	b := query.Batch
	if b.Items < 1 || b.Boxes() > query.Boxes.count || b.Inputs > query.Inputs.count || query.Rows.count != b.Inputs {
		panic(fmt.Sprintf("bound: Propagate: batch %+v with %d boxes, %d inputs, %d row sets", b, query.Boxes.count, query.Inputs.count, query.Rows.count))
	}
	p := &pass{Model: m, layers: m.layers, query: query, scratch: scratch{owner: m.dev}}
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
	query Query
	// layers are the model's, or as the windows that seen tells of have them.
	layers  []layer
	seen    *seen
	hidden  []hidden
	margins Margins
	hooks   *hooks
	cache   passCache
	// off is by how much pre-activations of layers may be off, whatever the weights (Splits.Allow).
	off map[int]Interval
}

// hooks hold what concentration LBP does beside a pass.
type hooks struct {
	// start sees a flight of the rows of layer k's units before it goes down; u says which units,
	// nil all of them.
	start func(k int, u *run)
	// watch is that of all flights that have none.
	watch
	// differences sees a flight of differences of units before it goes down.
	differences func(d *difference)
	// bound sees the lower bounds of a flight of the rows of layer k.
	bound func(k int, bound Array, rows int)
}

// hidden holds what is known of a hidden layer.
type hidden struct {
	// in is what feeds it, all sources one after the other.
	in     Interval
	pre, z Interval
	mag    Array
	lo, hi Line
	err    Array
	pool   poolValues
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

// hiddenLayer bounds layer k's pre-activations and activations, and relaxes them.
func (p *pass) hiddenLayer(k int) error {
	l := &p.layers[k]
	p.addHidden(k)
	if l.pool {
		p.poolLayer(k, nil)
		return p.err
	}
	h := p.hidden[k]
	w, b, perBox := p.matrix(k)
	p.affineOf(k, h, w, b, perBox)
	if p.worthRows(l) {
		p.tighten(k)
	}
	p.widen(k)
	p.activate(k)
	if p.query.Propagation == LBP || !l.closed {
		p.relax(k)
	}
	return p.err
}

// addHidden makes room for layer k, and joins what feeds it.
func (p *pass) addHidden(k int) {
	n := p.query.Batch.Items * p.layers[k].out
	z, _, _ := p.input(k)
	p.hidden = append(p.hidden, hidden{in: z, pre: p.interval(n), z: p.interval(n), mag: p.array(n)})
}

// worthRows reports whether rows of layer l's units are taken down: if bounds of them are needed
// and rows may tell more than the intervals of what feeds it. (Of a layer whose inputs are the
// network's, those tell all; means of closed values gain little.)
func (p *pass) worthRows(l *layer) bool {
	if p.query.Propagation == IBP {
		return l.needed && l.opens
	}
	return l.needed && (l.weighted || l.opens) && (l.opens || l.meetsClosed)
}

func (p *pass) activate(k int) {
	h, n := p.hidden[k], p.query.Batch.Items*p.layers[k].out
	p.observe("pre.lo", k, h.pre.Lo)
	p.observe("pre.hi", k, h.pre.Hi)
	p.launch(Activate{Z: h.z, Pre: h.pre, N: n, Activation: p.layers[k].activation})
}

// relax prepares layer k for back-substitution.
func (p *pass) relax(k int) {
	l, h, n := &p.layers[k], &p.hidden[k], p.query.Batch.Items*p.layers[k].out
	h.lo, h.hi = Line{p.array(n), p.array(n)}, Line{p.array(n), p.array(n)}
	h.err = p.array(n)
	r := Relax{
		Lo: h.lo, Hi: h.hi, Err: h.err, Pre: h.pre, Mag: h.mag, N: n, Activation: l.activation,
		Charge: l.charge(p.dev.Precision()),
	}
	if l.pool {
		r.Pre, r.Upper = h.pool.star, h.pool.above
	}
	p.launch(r)
}

// tighten bounds layer k's pre-activations by rows, in every form that there is.
func (p *pass) tighten(k int) {
	for _, bound := range p.boundsOf(k, p.forms(k)) {
		p.launch(Intersect{Pre: p.hidden[k].pre, Bound: bound, P: p.query.Batch.Items, N: p.layers[k].out})
		p.release(bound)
	}
}

// form describes how rows go down: whether they stop at the first closed values, whose intervals
// then bound them, or else through how many closed layers they go at most, on the longest way, 0
// for all; and whether they remember that weights are used in several places (29).
type form struct {
	stop, shared bool
	most         int
}

// stops reports whether rows of this form that have passed so many closed layers end at layer l.
func (f form) stops(l *layer, passed int) bool {
	return l.closed && (f.stop || f.most > 0 && passed >= f.most)
}

// lineForm is the form of rows of layer k that do not stop at once: those of the property, of the
// last layer, go down to the input.
func (m *Model) lineForm(k int) form {
	if k == len(m.layers)-1 {
		return form{}
	}
	return form{most: m.cuts.depth}
}

// forms lists those in which the rows of layer k may gain by what the intervals of its inputs
// do not tell.
func (p *pass) forms(k int) []form {
	l := &p.layers[k]
	var forms []form
	if l.opens {
		forms = append(forms, form{stop: true})
	}
	if p.query.Propagation == IBP {
		return forms
	}
	if l.meetsClosed {
		forms = append(forms, p.lineForm(k))
	}
	return p.alsoShared(k, forms)
}

// mergeRows merges the property into the last layer, k.
func (p *pass) mergeRows(k int) mergedLayer {
	l, items, rows := &p.layers[k], p.query.Batch.Items, p.query.Rows
	r := rows.rows
	m := mergedLayer{w: p.interval(items * l.in * r), b: p.interval(items * r)}
	p.launch(MergeRows{
		W: m.w, B: m.b, Weight: p.query.Boxes.w[k], Bias: p.query.Boxes.b[k], C: rows.c, D: rows.d,
		Round: rows.round, Abs: p.dev.Precision().MergeRounding(l.out, l.out).Abs,
		Batch: p.query.Batch, In: l.in, Out: l.out, Rows: r,
	})
	return m
}

// marginsByIntervals is the Affine of the last layer with the property merged in.
func (p *pass) marginsByIntervals(k int, m mergedLayer) Array {
	l, r := &p.layers[k], p.query.Rows.rows
	n := p.query.Batch.Items * r
	h := hidden{pre: p.interval(n), mag: p.array(n)}
	z, nonNeg, batch := p.input(k)
	batch.PerBox = 1
	p.launch(p.affine(h, m.w, m.b, z, nonNeg, batch, l.in, r))
	return h.pre.Lo
}

// lastLayer merges the property into the last layer and bounds the margins.
func (p *pass) lastLayer() error {
	k := len(p.layers) - 1
	l, items, r := &p.layers[k], p.query.Batch.Items, p.query.Rows.rows
	p.margins = Margins{Items: items, Rows: r}
	m := p.mergeRows(k)
	lo := p.marginsByIntervals(k, m)
	p.observe("margin.ibp", k, lo)
	var err error
	if p.margins.IBP, err = p.read(lo); err != nil {
		return err
	}
	if p.query.Propagation == IBP && !l.opens || !l.opens && !l.meetsClosed {
		return nil
	}
	for _, f := range p.forms(k) {
		bound := p.backSubstitute(k, p.merged(k, m, f))
		better := &p.margins.IBP
		if p.query.Propagation == LBP {
			better = &p.margins.LBP
			p.observe("margin.lbp", k, bound)
		}
		next, err := p.read(bound)
		if err != nil {
			return err
		}
		*better = greater(*better, next)
	}
	return p.refine(k)
}

// greater is the greater of two lists of lower bounds, entry by entry; old may be nil.
func greater(old, next []float64) []float64 {
	for i, v := range old {
		next[i] = max(v, next[i])
	}
	return next
}
