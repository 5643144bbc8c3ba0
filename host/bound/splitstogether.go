package bound

import (
	"slices"

	"psafe/internal/fault"
)

// Searches beside each other, each on Splits of its own: what they ask at the same time is one pass, whose items are
// blocks of rows, or one product, whose columns are all of theirs. No sum is over two items or columns, so that the
// numbers are those of each Splits alone.

// Turn is how one of several searches works on the device, on which nobody else does meanwhile. That of a search that
// goes on alone is nil.
type Turn struct{ ask func(*splitsAsked) }

// splitsAsked is what a search asks for: to have something done, a query, or columns to be taken forward.
type splitsAsked struct {
	do func() error
	// always says that it is to be done after a failure, too.
	always  bool
	of      *Splits
	query   *SplitQuery
	answer  SplitAnswer
	forward *forwardAsked
	err     error
}

// forwardAsked are r columns of inputs of a layer, z [in x R], what its weights make of them, pre, and its biases.
type forwardAsked struct {
	layer, r     int
	z, pre, bias []float64
}

// Do does f when it is the search's turn. Once something has failed that any of the searches asked for, nothing is
// done, and the error is that.
func (t *Turn) Do(f func() error) error {
	if t == nil {
		return f()
	}
	a := &splitsAsked{do: f}
	t.ask(a)
	return a.err
}

// Always is Do of what gives something back, and is done whatever has failed.
func (t *Turn) Always(f func()) {
	if t == nil {
		f()
		return
	}
	t.ask(&splitsAsked{do: func() error { f(); return nil }, always: true})
}

// Together runs n searches beside each other and waits. Each touches the device in its turn, and by Splits that are
// InTurn.
func (m *Model) Together(n int, search func(i int, turn *Turn)) {
	if n == 1 {
		search(0, nil)
		return
	}
	t := &together{m: m}
	defer t.free()
	fault.Gather(n, func(i int, ask func(*splitsAsked)) { search(i, &Turn{ask}) }, (*splitsAsked).rank, t.answer)
}

// InTurn has all that the Splits do on the device done in a search's turn.
func (s *Splits) InTurn(turn *Turn) { s.turn = turn }

// rank has what is asked at different steps of an ascent answered one after the other, so that searches go in step.
func (a *splitsAsked) rank() int {
	switch {
	case a.do != nil:
		return 0
	case a.forward != nil:
		return 1 + a.forward.layer
	}
	return 1 + len(a.of.pass.layers) + a.query.Layer
}

// together is a Model.Together under way, err what it has failed with.
type together struct {
	m   *Model
	err error
	// forward has weights for forwardAsked.
	forward *Splits
	// pass is about these items; nil: there is none.
	items []blockOf
	pass  *pass
}

// blockOf is an item: up to blockRows rows of a query, from row number from on, and what was known of its Splits.
type blockOf struct {
	asked   *splitsAsked
	from    int
	of      *Splits
	changes int
}

// blockRows is how many rows an item has. What fills up the last of a query is computed for nothing.
const blockRows = 8

func (t *together) free() {
	if t.forward != nil {
		t.forward.pass.free()
	}
	if t.pass != nil {
		t.pass.free()
	}
	t.forward, t.pass = nil, nil
}

// answer does what searches ask for at the same time.
func (t *together) answer(asked []*splitsAsked) {
	var alike [][]*splitsAsked
	for _, a := range asked {
		switch {
		case a.do != nil:
			if t.err == nil || a.always {
				if err := a.do(); t.err == nil {
					t.err = err
				}
			}
			continue
		case t.err != nil:
			continue
		}
		at := slices.IndexFunc(alike, func(b []*splitsAsked) bool { return a.joins(b[0]) })
		if at < 0 {
			at, alike = len(alike), append(alike, nil)
		}
		alike[at] = append(alike[at], a)
	}
	for _, some := range alike {
		switch {
		case t.err != nil:
		case some[0].forward != nil:
			t.err = t.takeForward(some)
		case len(some) == 1:
			some[0].answer, t.err = some[0].of.bound(some[0].query)
		default:
			t.err = t.bound(some)
		}
	}
	for _, a := range asked {
		a.err = t.err
	}
}

// joins reports whether two questions may be one: products with the weights of one layer, or rows of one layer of a
// chain whose layers have phases, and where the same kinds of numbers are known. (Nothing is assumed of the inputs of
// Splits that are not alone.)
func (a *splitsAsked) joins(b *splitsAsked) bool {
	p, q := a.of.pass, b.of.pass
	if p.query.Boxes != q.query.Boxes || (a.forward == nil) != (b.forward == nil) {
		return false
	}
	if a.forward != nil {
		return a.forward.layer == b.forward.layer
	}
	k := a.query.Layer
	if k != b.query.Layer || !p.chain || p.query.Inputs.nonNeg != q.query.Inputs.nonNeg {
		return false
	}
	for l := range k {
		if !p.layers[l].phases() || (a.of.off[l] == nil) != (b.of.off[l] == nil) {
			return false
		}
	}
	return true
}

// takeForward takes the columns of several searches forward as columns of one matrix.
func (t *together) takeForward(asked []*splitsAsked) error {
	if t.forward == nil || t.forward.pass.query.Boxes != asked[0].of.pass.query.Boxes {
		if t.forward != nil {
			t.forward.pass.free()
		}
		t.forward = t.m.NewSplits(asked[0].of.pass.query.Boxes, nil, nil)
	}
	all := forwardAsked{layer: asked[0].forward.layer}
	for _, a := range asked {
		all.r += a.forward.r
	}
	lay := &t.m.layers[all.layer]
	all.z = make([]float64, lay.in*all.r)
	columns := func(n int, all []float64, r int, f func(a *forwardAsked, whole []float64, own int)) {
		for j := range n {
			at := j * r
			for _, a := range asked {
				f(a.forward, all[at:at+a.forward.r], j*a.forward.r)
				at += a.forward.r
			}
		}
	}
	columns(lay.in, all.z, all.r, func(a *forwardAsked, whole []float64, own int) { copy(whole, a.z[own:]) })
	if err := t.forward.takeForward(&all); err != nil {
		return err
	}
	for _, a := range asked {
		a.forward.pre, a.forward.bias = make([]float64, lay.out*a.forward.r), all.bias
	}
	columns(lay.out, all.pre, all.r, func(a *forwardAsked, whole []float64, own int) { copy(a.pre[own:], whole) })
	return nil
}

// bound answers queries of one layer in one pass.
func (t *together) bound(asked []*splitsAsked) error {
	k := asked[0].query.Layer
	var items []blockOf
	start := map[*splitsAsked][2][]float64{}
	phases, wantRows := false, false
	for _, a := range asked {
		q := a.query
		a.of.check(q)
		coefficients, constants, err := a.of.startOf(q)
		if err != nil {
			return err
		}
		start[a] = [2][]float64{coefficients.lo, constants}
		for from := 0; from < len(q.Rows); from += blockRows {
			items = append(items, blockOf{a, from, a.of, a.of.changes})
		}
		phases, wantRows = phases || q.Phase != nil, wantRows || q.WantRows
	}
	p, err := t.about(items, k)
	if err != nil {
		return err
	}
	// What feeds the layer has phases, and is never negative: the lower ends of coefficients are the least.
	w := p.holding(blocks(items, p.layers[k].in, func(a *splitsAsked) []float64 { return start[a][0] }))
	c := p.holding(blocks(items, 1, func(a *splitsAsked) []float64 { return start[a][1] }))
	f := &flight{over: map[int]Interval{k - 1: {Lo: w}}, c: Interval{Lo: c}, perBox: 1, cols: blockRows}
	for l := range k {
		of := func(lists func(q *SplitQuery) [][]float64) []float64 {
			return blocks(items, p.layers[l].out, func(a *splitsAsked) []float64 {
				if all := lists(a.query); all != nil {
					return all[l]
				}
				return nil
			})
		}
		own := splitLists{slope: of(func(q *SplitQuery) [][]float64 { return q.Slope })}
		if phases {
			own.phase, own.beta = of(func(q *SplitQuery) [][]float64 { return q.Phase }), of(func(q *SplitQuery) [][]float64 { return q.Beta })
		}
		f.own = append(f.own, own)
	}
	s := make([][]float64, k+1)
	if wantRows {
		f.outputs = func(l int, of Interval) { p.readLater(of.Lo, &s[l+1]) }
	}
	lower := p.backSubstitute(k, f)
	bounds, err := p.read(lower)
	if err != nil {
		return err
	}
	p.release(lower)
	for _, a := range asked {
		a.answer.Bound = unblocked(items, 1, bounds, a)
		a.of.unitsLowered(k, a.query.Rows, a.answer.Bound)
		for _, of := range s {
			if a.query.WantRows {
				a.answer.S = append(a.answer.S, unblocked(items, len(of)/(len(items)*blockRows), of, a))
			}
		}
	}
	return nil
}

// about is a pass about these items, which has of inputs and of the layers below k what their Splits have.
func (t *together) about(items []blockOf, k int) (*pass, error) {
	same := slices.EqualFunc(t.items, items, func(a, b blockOf) bool { return a.of == b.of && a.changes == b.changes })
	if same && t.pass != nil && len(t.pass.hidden) == k {
		return t.pass, nil
	}
	if t.pass != nil {
		t.pass.free()
		t.pass = nil
	}
	for _, b := range items {
		if err := b.of.readKnown(k); err != nil {
			return nil, err
		}
	}
	p, n, q := &pass{Model: t.m, layers: t.m.layers, scratch: scratch{owner: t.m.dev}}, len(items), items[0].of.pass.query
	each := func(list func(s *Splits) []float64) Array {
		var all []float64
		for _, b := range items {
			all = append(all, list(b.of)...)
		}
		return p.holding(all)
	}
	known := func(l, i int) Array { return each(func(s *Splits) []float64 { return s.known[l+1][i] }) }
	x := &Inputs{count: n, x: Interval{known(-1, 0), known(-1, 1)}, nonNeg: q.Inputs.nonNeg}
	p.query = Query{Propagation: LBP, Boxes: q.Boxes, Inputs: x, Batch: Batch{Items: n, PerBox: n, Inputs: n}}
	for l := range k {
		p.hidden = append(p.hidden, hidden{z: Interval{known(l, 0), known(l, 1)}, hi: Line{known(l, 2), known(l, 3)}, mag: known(l, 4)})
		if items[0].of.off[l] != nil {
			once(&p.off, l, func() Interval {
				return Interval{each(func(s *Splits) []float64 { return negative(s.off[l]) }), each(func(s *Splits) []float64 { return s.off[l] })}
			})
		}
	}
	if p.err != nil {
		p.free()
		return nil, p.err
	}
	t.items, t.pass = items, p
	return p, nil
}

// readKnown reads what rows need to know of the inputs, both ends, and of the layers below k: both ends of z, the line
// above it and mag.
func (s *Splits) readKnown(k int) error {
	if s.known == nil {
		s.known = make([][][]float64, len(s.pass.layers))
	}
	for l := -1; l < k; l++ {
		if s.known[l+1] != nil {
			continue
		}
		x := s.pass.query.Inputs.x
		arrays := []Array{x.Lo, x.Hi}
		if l >= 0 {
			h := &s.pass.hidden[l]
			arrays = []Array{h.z.Lo, h.z.Hi, h.hi.A, h.hi.B, h.mag}
		}
		var err error
		if s.known[l+1], err = s.pass.readEach(arrays...); err != nil {
			return err
		}
	}
	return nil
}

// negative is a list times -1.
func negative(list []float64) []float64 {
	list = slices.Clone(list)
	for i := range list {
		list[i] = -list[i]
	}
	return list
}

// blocks are lists of queries, [n x rows], as [items x n x blockRows], filled up with 0; nil is a list of 0.
func blocks(items []blockOf, n int, list func(a *splitsAsked) []float64) []float64 {
	all := make([]float64, len(items)*n*blockRows)
	for p, b := range items {
		from, r := list(b.asked), len(b.asked.query.Rows)
		if from == nil {
			continue
		}
		for j := range n {
			copy(all[(p*n+j)*blockRows:], from[j*r+b.from:j*r+min(r, b.from+blockRows)])
		}
	}
	return all
}

// unblocked is the list of one query, [n x rows], in those of blocks.
func unblocked(items []blockOf, n int, all []float64, of *splitsAsked) []float64 {
	r := len(of.query.Rows)
	list := make([]float64, n*r)
	for p, b := range items {
		if b.asked != of {
			continue
		}
		for j := range n {
			copy(list[j*r+b.from:j*r+min(r, b.from+blockRows)], all[(p*n+j)*blockRows:])
		}
	}
	return list
}
