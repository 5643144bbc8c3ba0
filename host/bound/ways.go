package bound

import "slices"

// Passes that may end early. Rows that take each place of a weight by itself hardly ever tell more than those
// that know it is one weight (29), and take as long: where bounds by the latter are high enough, they are left out.

// mayLeaveOut reports whether a pass has rows in both ways, and may leave out one.
func (p *pass) mayLeaveOut() bool {
	return p.query.Enough != nil && p.query.Propagation == LBP && p.hooks == nil && p.sharedUpTo(len(p.layers)-1)
}

// leftOut takes down the rows that a pass byOneWeight has left out, if its bounds of an item are not enough:
// they are then what they are in both ways. Nothing is done again up to the first layer whose bounds get better.
func (p *pass) leftOut() error {
	first, enough := p.margins, make([]bool, p.margins.Items)
	for i := range enough {
		enough[i] = p.query.Enough(i, first.Lo(i))
	}
	if !slices.Contains(enough, false) {
		return nil
	}
	p.only = byPlaces
	last := len(p.layers) - 1
	for k := range last {
		if p.only == bothWays {
			if err := p.hiddenLayer(k); err != nil {
				return err
			}
		} else if p.gains(k) {
			p.goOnFrom(k)
		}
	}
	if p.err != nil {
		return p.err
	}
	if p.only == bothWays {
		if err := p.lastLayer(); err != nil {
			return err
		}
	} else if err := p.lastRows(last, p.mergeRows(last)); err != nil {
		return err
	}
	for i, is := range enough { // whatever other items are in the batch
		if is {
			from, to := i*first.Rows, (i+1)*first.Rows
			copy(p.margins.IBP[from:to], first.IBP[from:to])
			copy(p.margins.LBP[from:to], first.LBP[from:to])
		}
	}
	return nil
}

// gains bounds layer k by what was left out, and reports whether the network above notices.
func (p *pass) gains(k int) bool {
	l, h := &p.layers[k], &p.hidden[k]
	if l.pool && h.pool.lead == nil || !l.pool && (!p.worthRows(l) || len(p.forms(k)) == 0) {
		return false
	}
	before, err := p.readEach(p.noticed(k)...)
	if err != nil {
		return false
	}
	if l.pool {
		p.leadMore(k)
	} else {
		p.tighten(k)
	}
	p.follow(k)
	after, err := p.readEach(p.noticed(k)...)
	return err == nil && !slices.EqualFunc(before, after, slices.Equal)
}

// leadMore bounds the differences of pool k by what was left out.
func (p *pass) leadMore(k int) {
	lead := p.hidden[k].pool.lead
	leads := p.leads(k)
	if old, next, err := p.readPair(lead, leads); err == nil {
		p.write(lead, greater(old, next))
	}
	p.release(leads)
}

// noticed are the arrays by which the layers above know layer k: a max pool by the bounds of pre-activations, whose
// activation is the identity then.
func (p *pass) noticed(k int) []Array {
	h := &p.hidden[k]
	v := &h.pool
	all := []Array{h.z.Lo, h.z.Hi, h.mag, h.lo.A, h.lo.B, h.hi.A, h.hi.B, h.err}
	if p.layers[k].pool {
		all = append(all, v.lower.A, v.lower.B, v.upper.A, v.upper.B, v.err, v.v.Lo, v.v.Hi)
	}
	return all
}

// follow makes anew what follows from the bounds of layer k.
func (p *pass) follow(k int) {
	h := &p.hidden[k]
	p.release(h.lo.A, h.lo.B, h.hi.A, h.hi.B, h.err)
	if p.layers[k].pool {
		p.poolLines(k, nil)
		return
	}
	p.activate(k)
	p.relax(k)
}

// goOnFrom has all that is above layer k done again, in both ways.
func (p *pass) goOnFrom(k int) {
	p.only = bothWays
	for j := range p.layers[k+1:] {
		p.forget(k + 1 + j)
	}
	p.hidden = p.hidden[:k+1]
}

// forget gives back what is known of layer k.
func (p *pass) forget(k int) {
	across := p.cache.across[k]
	p.release(across.Lo, across.Hi, p.cache.mostSquares[k])
	delete(p.cache.across, k)
	delete(p.cache.mostSquares, k)
	if k < len(p.hidden) {
		h := &p.hidden[k]
		p.release(h.pre.Lo, h.pre.Hi, h.z.Lo, h.z.Hi, h.mag, h.lo.A, h.lo.B, h.hi.A, h.hi.B, h.err)
		v := &h.pool
		p.release(v.slot, v.unit, v.lower.A, v.lower.B, v.upper.A, v.upper.B, v.err, v.above.Lo, v.above.Hi, v.star.Lo, v.star.Hi, v.lead)
	}
}
