package bound

// Watch has f told, while concentration LBP is under way, about which share of a pass is done: 0
// where one begins, 1 where it ends. f is called for every flight of rows, so it has to be quick. A
// nil f is told nothing.
func (m *Model) Watch(f func(share float64)) { m.watch = f }

// beginShare begins a pass.
func (p *clbpPass) beginShare() {
	if p.watch == nil {
		return
	}
	s, products := &p.share, make([]float64, len(p.layers)+1) // of the layers before each
	for k := range p.layers {
		l, rows, y := &p.layers[k], 0, k
		switch {
		case k == len(p.layers)-1:
		case l.pool:
			if y = l.feed[0]; l.oneChannel {
				rows = len(l.hostMembers) * len(p.leadForms(y))
			}
		case p.tightens(k):
			rows = 2 * l.out * len(p.forms(k))
		}
		products[k+1] = products[k] + float64(l.positions)*float64(l.taps)*float64(l.channels)
		row := products[y]
		if l.view != nil {
			row = l.view.rowWork()
		}
		s.rows, s.cost = append(s.rows, float64(rows)*float64(p.pass.query.Batch.Items)), append(s.cost, float64(rows)*row)
		s.total += s.cost[k]
	}
	p.watch(0)
}

// boundedRows counts rows that have been bounded.
func (p *clbpPass) boundedRows(bound Array) {
	s := &p.share
	if p.watch == nil || bound == nil || s.cost[s.layer] == 0 {
		return
	}
	s.at = min(s.at+float64(bound.Len())/s.rows[s.layer]*s.cost[s.layer], s.cost[s.layer])
	p.watch(min(1, (s.below+s.at)/s.total))
}

// endShare ends the layer in work, or with the last the pass.
func (p *clbpPass) endShare() {
	if p.watch == nil {
		return
	}
	s := &p.share
	s.below, s.at = s.below+s.cost[s.layer], 0
	if s.layer++; s.layer == len(s.rows) {
		p.watch(1)
	}
}
