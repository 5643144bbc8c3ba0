package bound

import "fmt"

// refine bounds the rows that query.Refine asks for, given all bounds so far.
func (p *pass) refine(k int) error {
	if p.query.Refine == nil {
		return nil
	}
	more, items := p.query.Refine(&p.margins), p.query.Batch.Items
	if more == nil {
		return nil
	}
	if len(more.Rows) != items || p.query.Batch.Inputs != items || len(more.Slope) != k || !p.refines() {
		panic(fmt.Sprintf("bound: Refine: rows of %d items and slopes of %d layers for batch %+v and %d layers, of a network that may be refined: %v",
			len(more.Rows), len(more.Slope), p.query.Batch, k, p.refines()))
	}
	rows, err := p.UploadRows(more.Rows)
	if err != nil {
		return err
	}
	defer p.ReleaseRows(rows)
	of := p.query.Rows
	p.query.Rows = rows
	f := p.merged(k, p.mergeRows(k), form{})
	p.query.Rows = of
	for _, slope := range more.Slope {
		f.own = append(f.own, splitLists{slope: slope})
	}
	bound := p.backSubstitute(k, f)
	p.observe("margin.refined", k, bound)
	p.margins.Refined, err = p.read(bound)
	return err
}

// refines reports what CanRefine says of the network.
func (m *Model) refines() bool {
	for k := range m.layers[:len(m.layers)-1] {
		if !cutsAtZero(m.layers[k].facts) {
			return false
		}
	}
	return m.chain
}
