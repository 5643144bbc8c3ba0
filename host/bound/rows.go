package bound

import "slices"

func (p *pass) drop(f *flight, arrays ...Array) {
	for _, a := range arrays {
		if !slices.Contains(f.kept, a) {
			p.release(a)
		}
	}
}

// left takes what the rows had of the outputs of layer l from the flight; c are its constants now. From
// the first step on there are rows of each item.
func (p *pass) left(f *flight, l int, c Array) {
	s := f.over[l]
	p.drop(f, s.Lo, s.Hi, f.c.Lo, f.c.Hi)
	delete(f.over, l)
	f.c, f.perBox, f.cols, f.mirrored = Interval{Lo: c}, 1, f.rows(), false
}

// backSubstitute takes rows of layer k, over what feeds it, down to the network's input, or to
// closed values where the form says so, and returns their lower bounds [Items x rows].
func (p *pass) backSubstitute(k int, f *flight) Array {
	if p.hooks != nil && f.outputs == nil {
		f.watch = p.hooks.watch
	}
	p.send(f)
	passed := make([]int, k)
	for l := k - 1; l >= -1; l-- {
		s, reached := f.over[l]
		if !reached {
			if l >= 0 && f.own != nil {
				p.unsend(f, l)
			}
			continue
		}
		if f.outputs != nil {
			f.outputs(l, s)
		}
		if l < 0 || f.form.stops(&p.layers[l], passed[l]) {
			p.concretize(f, l)
			continue
		}
		p.throughLayer(f, l)
		p.layers[l].pass(passed, l)
	}
	return f.c.Lo
}

// send writes what rows have of their own at layers, before anything is launched: a device hashes together what is
// written together.
func (p *pass) send(f *flight) {
	for l, by := range f.own {
		var sent [3]Array
		switch n := len(by.slope); {
		case !p.layers[l].phases():
		case by.phase == nil:
			none := p.filled(0, n)
			sent = [3]Array{p.holding(by.slope), none, none}
		default:
			sent = [3]Array{p.holding(by.slope), p.holding(by.phase), p.holding(by.beta)}
		}
		f.sent = append(f.sent, sent)
	}
}

// unsend gives back what was sent of layer l.
func (p *pass) unsend(f *flight, l int) {
	if p.release(f.sent[l][0]); f.own[l].phase != nil {
		p.release(f.sent[l][1], f.sent[l][2])
	}
}

// pass counts, for what feeds the layer, number k, how many closed layers rows have passed on the
// longest way there.
func (l *layer) pass(passed []int, k int) {
	n := passed[k]
	if l.closed {
		n++
	}
	for _, s := range l.feed {
		if s >= 0 {
			passed[s] = max(passed[s], n)
		}
	}
}

// met lists the layers that rows of layer k go through: all those below, of the property, and
// those on the way of rows of hidden layers otherwise.
func (m *Model) met(k int) []bool {
	met, reached, passed := make([]bool, k), make([]bool, k), make([]int, k)
	reach := func(l int) {
		for _, s := range m.layers[l].feed {
			if s >= 0 {
				reached[s] = true
			}
		}
	}
	reach(k)
	for l := k - 1; l >= 0; l-- {
		if reached[l] && !m.lineForm(k).stops(&m.layers[l], passed[l]) {
			met[l] = true
			reach(l)
			m.layers[l].pass(passed, l)
		}
	}
	return met
}

// concretize bounds what the rows have of the outputs of layer l by their intervals.
func (p *pass) concretize(f *flight, l int) {
	items, r := p.query.Batch.Items, f.rows()
	n, before, joins, inputs, x := p.width(), p.before, p.forks-1, p.query.Batch.Inputs, p.query.Inputs.x
	switch {
	case l >= 0:
		n, before, joins, inputs, x = p.layers[l].out, p.layers[l].before, p.layers[l].joins(), items, p.value(l)
	case p.seen != nil:
		x = p.value(-1)
	}
	bound := p.array(items * r)
	p.launch(Concretize{
		Bound: bound, S: f.over[l], C: f.c.Lo, X: x, NonNeg: p.nonNeg(l),
		P: items, R: r, In: n, Inputs: inputs, Round: p.dev.Precision().concretizeRounding(n, before, joins),
	})
	p.left(f, l, bound)
}

// throughLayer takes what the rows have of the outputs of layer l through its activation and
// its map, to its inputs.
func (p *pass) throughLayer(f *flight, l int) {
	lay, h, rounding := &p.layers[l], p.known(l), p.layers[l].rowsRounding(p.dev.Precision())
	var a Array
	if f.own != nil && lay.phases() {
		a = p.splitRows(f, l, rounding)
	} else {
		a = p.relaxRows(f, l, RelaxRows{
			NonNeg: lay.nonNeg(), Z: h.z, Lo: h.lo, Hi: h.hi, Err: h.err, Mag: h.mag, N: lay.out, Round: rounding,
		})
	}
	if lay.pool {
		p.throughPool(f, l, a)
		return
	}
	if f.preActivations != nil {
		f.preActivations(l, a, f.rows())
	}
	p.deviate(f, l, a)
	if p.shift && l == 0 && p.seen == nil { // coefficients of the inputs are those of their sums with noise of mean 0
		f.over[-1] = Interval{Lo: a}
		if !p.nonNeg(-1) {
			f.over[-1] = Interval{a, a}
		}
		return
	}
	if lay.dense || p.shares(f.form, l) {
		p.spread(f, l, p.products(f, l, a))
	} else {
		p.transposed(f, l, a)
	}
	p.release(a)
}

// relaxRows runs a RelaxRows on what the flight has of layer l, and returns its A.
func (p *pass) relaxRows(f *flight, l int, op RelaxRows) Array {
	items, r := p.query.Batch.Items, f.rows()
	op.A, op.C, op.S, op.CIn = p.array(items*op.N*r), p.array(items*r), f.over[l], f.c
	op.PerBox, op.Cols, op.Mirrored, op.P = f.perBox, f.cols, f.mirrored, items
	p.launch(op)
	p.left(f, l, op.C)
	return op.A
}

// splitRows runs a SplitRows on what the flight has of layer l, with what the rows have of their own there,
// and returns its A.
func (p *pass) splitRows(f *flight, l int, rounding RowsRounding) Array {
	lay, h, items, r := &p.layers[l], &p.hidden[l], p.query.Batch.Items, f.rows()
	sent := f.sent[l]
	op := SplitRows{
		A: p.array(items * lay.out * r), C: p.array(items * r), S: f.over[l].Lo, CIn: f.c.Lo, Slope: sent[0], Phase: sent[1], Beta: sent[2],
		Z: h.z, Hi: h.hi, Mag: h.mag, P: items, N: lay.out, R: r, Charge: lay.charge(p.dev.Precision()), Round: rounding,
	}
	p.launch(op)
	p.unsend(f, l)
	p.left(f, l, op.C)
	return op.A
}

// products takes rows a over the pre-activations of layer l through its matrix: to its inputs, if it is
// dense, or by (29) to what lies under each tap at each position.
func (p *pass) products(f *flight, l int, a Array) Interval {
	if p.shares(f.form, l) {
		return p.sharedProducts(f, l, a)
	}
	lay, items, r := &p.layers[l], p.query.Batch.Items, f.rows()
	_, nonNeg, _ := p.input(l)
	w, b, perBox := p.matrix(l)
	s := Interval{Lo: p.array(items * lay.in * r)}
	op := BackSubstitute{S: s}
	switch {
	case nonNeg:
	case w.Hi == w.Lo: // coefficients are numbers
		s.Hi = s.Lo
	default:
		s.Hi = p.array(items * lay.in * r)
		op.S.Hi = s.Hi
	}
	c := p.array(items * r)
	p.launch(BackSubstitute{
		S: op.S, C: c, A: a, CIn: f.c.Lo, W: w, B: b, PerBox: perBox, P: items, R: r, In: lay.in, Out: lay.out,
	})
	p.release(f.c.Lo)
	f.c.Lo = c
	return s
}

// transposed takes rows a over the pre-activations of layer l, which has a matrix at each position, to
// what feeds it.
func (p *pass) transposed(f *flight, l int, a Array) {
	lay := &p.layers[l]
	w, b, perBox := p.matrix(l)
	for i, source := range lay.feed {
		p.addSums(f, source, w.Lo == w.Hi, lay.sums[i].places, func(out Array, more, upper bool) {
			by := w
			if upper {
				by = Interval{w.Hi, w.Lo}
			}
			op := p.transpose(lay, lay.sums[i], out, a, by, perBox, f.rows(), more)
			op.Needed = p.positive(source)
			p.launch(op)
		})
	}
	if lay.weighted {
		p.addBiases(f, lay, a, b, perBox)
	}
}

// transpose is rows a over the pre-activations of layer l times a matrix w of its, over the places of lists.
func (p *pass) transpose(l *layer, lists sumList, out, a Array, w Interval, perBox, rows int, more bool) ConvTranspose {
	return ConvTranspose{
		Out: out, A: a, W: w, Start: lists.start, Entry: lists.entry, Add: more, PerBox: perBox,
		P: p.query.Batch.Items, R: rows, J: lists.places, E: lists.entries, Positions: l.positions, K: l.taps, Channels: l.channels,
	}
}

// positive is 0 of outputs of layer s that are 0: what rows have of those is never needed.
func (p *pass) positive(s int) Array {
	if s < 0 || !p.nonNeg(s) {
		return nil
	}
	return p.value(s).Hi
}

// addBiases adds to the constants of rows a over the pre-activations of layer l what its biases
// do. Each is one number wherever it is used: coefficients add up first.
func (p *pass) addBiases(f *flight, l *layer, a Array, b Interval, perBox int) {
	items, r := p.query.Batch.Items, f.rows()
	sums := p.array(items * l.channels * r)
	p.launch(GatherSum{
		Out: sums, In: a, Start: l.atPlaces.start, Entry: l.atPlaces.entry,
		P: items, N: l.positions, J: 1, E: l.atPlaces.entries, R: l.channels * r,
	})
	p.addConstants(f, sums, b, perBox, l.channels)
	p.release(sums)
}

// addConstants adds to the constants of rows a over n numbers what these do if they are in b, which
// perBox items have in common.
func (p *pass) addConstants(f *flight, a Array, b Interval, perBox, n int) {
	c := p.constants(a, f.c.Lo, b, perBox, n, f.rows())
	p.release(f.c.Lo)
	f.c.Lo = c
}

// constants is c and what numbers in b, n of them, do to rows a over them.
func (p *pass) constants(a, c Array, b Interval, perBox, n, rows int) Array {
	items := p.query.Batch.Items
	// A matrix for no input in particular; S is not used.
	none, s, sum := p.filled(0, boxesOf(items, perBox)*n), p.array(items*rows), p.array(items*rows)
	p.launch(BackSubstitute{
		S: Interval{Lo: s}, C: sum, A: a, CIn: c, W: Interval{none, none}, B: b,
		PerBox: perBox, P: items, R: rows, In: 1, Out: n,
	})
	p.release(s)
	return sum
}

// spread adds coefficients of what lies under the taps of layer l to those of what feeds it.
// It takes s over.
func (p *pass) spread(f *flight, l int, s Interval) {
	lay := &p.layers[l]
	if len(lay.feed) == 1 && lay.dense && p.forked(lay.feed[0]) == 1 {
		f.over[lay.feed[0]] = s
		return
	}
	for i, source := range lay.feed {
		p.addRows(f, source, s, sumRows{lists: lay.sums[i], n: lay.positions * lay.taps})
	}
	p.release(s.Lo, s.Hi)
}

// forked returns how many layers are fed by what feeds a layer.
func (p *pass) forked(source int) int {
	if source < 0 {
		return p.forks
	}
	return len(p.layers[source].fed)
}

// getsNumbers reports whether all that rows bring to a source are numbers if one of them is, and so
// their sum.
func (p *pass) getsNumbers(source int) bool {
	if p.forked(source) == 1 {
		return true
	}
	for k := range p.layers {
		if !p.layers[k].pool && slices.Contains(p.layers[k].feed, source) {
			if w, _, _ := p.matrix(k); w.Lo != w.Hi {
				return false
			}
		}
	}
	return true
}

// sumRows describes how coefficients are summed: over n places, by lists, of those that are selected.
type sumRows struct {
	lists           sumList
	n               int
	slots, selected Array
}

// addRows adds sums of coefficients s to those of a source.
func (p *pass) addRows(f *flight, source int, s Interval, by sumRows) {
	p.addSums(f, source, s.Hi == s.Lo, by.lists.places, func(out Array, more, upper bool) {
		in := s.Lo
		if upper {
			in = s.Hi
		}
		p.launch(GatherSum{
			Out: out, In: in, Start: by.lists.start, Entry: by.lists.entry, Slot: by.slots, Select: by.selected, Add: more,
			P: p.query.Batch.Items, N: by.n, J: by.lists.places, E: by.lists.entries, R: f.rows(),
		})
	})
}

// addSums has sum write coefficients of a source that has so many places, or add them to those that have
// arrived there (more): their lower ends, and the upper ones if they are needed and no numbers.
func (p *pass) addSums(f *flight, source int, numbers bool, places int, sum func(out Array, more, upper bool)) {
	to, more := f.over[source]
	end := func(out Array, upper bool) Array {
		if !more {
			out = p.array(p.query.Batch.Items * places * f.rows())
		}
		sum(out, more, upper)
		return out
	}
	lo := end(to.Lo, false)
	var hi Array
	switch {
	case p.nonNeg(source):
	case numbers && to.Hi == to.Lo && p.getsNumbers(source):
		hi = lo
	default:
		hi = end(to.Hi, true)
	}
	f.over[source] = Interval{lo, hi}
}

// deviate takes off the constants of rows a over the pre-activations of layer l what its units may be
// off. Unlike a bias, which is one number wherever it is used, that is another one for each unit.
func (p *pass) deviate(f *flight, l int, a Array) {
	by, is := p.off[l]
	if !is {
		return
	}
	if p.seen != nil {
		by = p.lookAt(l, by)
	}
	p.addConstants(f, a, by, 1, p.layers[l].out)
}

// throughPool takes rows over what the activation of pool l is of to its stars.
func (p *pass) throughPool(f *flight, l int, a Array) {
	lay, h := &p.layers[l], p.known(l)
	v := &h.pool
	f.over[l] = Interval{a, a}
	stars := p.relaxRows(f, l, RelaxRows{
		Z: v.v, Lo: v.lower, Hi: v.upper, Err: v.err, Mag: h.mag, N: lay.out,
		Round: p.dev.Precision().RowsRounding(lay.out, 1),
	})
	p.addRows(f, lay.feed[0], Interval{stars, stars}, sumRows{lists: lay.sums[0], n: lay.out, slots: lay.slots, selected: v.slot})
	p.release(stars)
}
