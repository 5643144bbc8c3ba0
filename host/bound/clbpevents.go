package bound

// MostEvents is the largest number of ends of hidden bounds that may fail for any item.
func (m *Model) MostEvents() float64 {
	n := 0.0
	for k := range m.layers {
		e := m.layerEvents(k, false)
		n += e.Ends
		if m.layers[k].pool {
			n += float64(m.layers[k].out)
		}
	}
	return n
}

// layerEvents counts those of hidden layer k, but for the lower ends of stars.
func (m *Model) layerEvents(k int, point bool) (e Events) {
	l := &m.layers[k]
	if k == len(m.layers)-1 {
		return e
	}
	switch l.class {
	case loose:
		e.Loose = 2 * float64(l.out)
	case bounded:
		e.Ends, e.Radii = 2*float64(l.used), float64(l.used)
		if l.poolsOnly {
			e.Ends = float64(l.used) // the upper ends
		}
		if point {
			e.Radii = 0
		}
	case ofPool:
		if l.oneChannel && m.layers[l.feed[0]].class == bounded {
			for _, j := range l.hostMembers {
				if j >= 0 {
					e.Ends++
				}
			}
			e.Ends -= float64(l.out) // no star leads itself
		}
	}
	return e
}

// countEvents counts the events of every item.
func (p *clbpPass) countEvents() error {
	items := p.pass.query.Batch.Items
	p.result.Events = make([]Events, items)
	for k := range p.layers {
		l := &p.layers[k]
		for i := range p.result.Events {
			e := p.layerEvents(k, p.query.Inputs.points[i])
			all := &p.result.Events[i]
			all.Ends, all.Radii, all.Loose = all.Ends+e.Ends, all.Radii+e.Radii, all.Loose+e.Loose
		}
		if l.pool && p.layers[l.feed[0]].class == bounded && p.layers[l.feed[0]].poolsOnly {
			units, err := p.read(p.hidden[k].pool.unit)
			if err != nil {
				return err
			}
			for i, unit := range chunks(units, l.out) {
				p.result.Events[i].Ends += float64(distinct(unit))
			}
		}
	}
	return p.err
}

// chunks cuts a list into lists of n.
func chunks(list []float64, n int) [][]float64 {
	var all [][]float64
	for at := 0; at < len(list); at += n {
		all = append(all, list[at:at+n])
	}
	return all
}

func distinct(list []float64) int {
	seen := map[float64]bool{}
	for _, v := range list {
		seen[v] = true
	}
	return len(seen)
}
