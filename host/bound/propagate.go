package bound

import "fmt"

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
	if p.mayLeaveOut() {
		p.only = byOneWeight
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	if p.only == byOneWeight {
		if err := p.leftOut(); err != nil {
			return nil, err
		}
	}
	return &p.margins, nil
}

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
	p.within(k)
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

// worthRows reports whether rows of layer l's units are taken down: if bounds of them are needed
// and rows may tell more than the intervals of what feeds it. (Of a layer whose inputs are the
// network's, those tell all; means of closed values gain little.)
func (p *pass) worthRows(l *layer) bool {
	if p.query.Propagation == IBP {
		return l.needed && l.opens
	}
	return l.needed && (l.weighted || l.opens) && (l.opens || l.meetsClosed)
}

// tighten bounds layer k's pre-activations by rows, in every form that there is.
func (p *pass) tighten(k int) {
	for _, f := range p.forms(k) {
		if v := p.layers[k].view; v != nil && v.both {
			p.tightenEnds(k, f, bothEnds)
			continue
		} else if !p.chain {
			p.tightenEnds(k, f, upperEnds)
			p.tightenEnds(k, f, lowerEnds)
			continue
		}
		bound := p.descend(k, p.denseRows(k), nil, f)
		p.launch(Intersect{Pre: p.hidden[k].pre, Bound: bound, P: p.query.Batch.Items, N: p.layers[k].out})
		p.release(bound)
	}
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

// lastLayer merges the property into the last layer and bounds the margins.
func (p *pass) lastLayer() error {
	k := len(p.layers) - 1
	l, m := &p.layers[k], p.mergeRows(k)
	p.margins = Margins{Items: p.query.Batch.Items, Rows: p.query.Rows.rows}
	lo := p.marginsByIntervals(k, m)
	p.observe("margin.ibp", k, lo)
	var err error
	if p.margins.IBP, err = p.read(lo); err != nil {
		return err
	}
	if p.query.Propagation == IBP && !l.opens || !l.opens && !l.meetsClosed {
		return nil
	}
	if err := p.lastRows(k, m); err != nil {
		return err
	}
	return p.refine(k)
}

// lastRows bounds the margins by rows of the last layer, k.
func (p *pass) lastRows(k int, m mergedLayer) error {
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
	return nil
}

// greater is the greater of two lists of lower bounds, entry by entry; old may be nil.
func greater(old, next []float64) []float64 {
	for i, v := range old {
		next[i] = max(v, next[i])
	}
	return next
}
