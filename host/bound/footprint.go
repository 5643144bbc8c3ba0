package bound

// Footprint estimates the bytes of arrays that Propagate needs on the device:
// perBox for a weight box, perItem for each item with rows property rows.
func (m *Model) Footprint(method Propagation, rows int) (perBox, perItem int64) {
	rows = max(1, rows)
	if !m.chain {
		return m.graphFootprint(method, rows, method == LBP)
	}
	var weights, item, temporary int
	for k, l := range m.layers {
		weights += l.in*l.out + l.out
		hidden := k < len(m.layers)-1
		r := rows
		if hidden {
			item += 5 * l.out
			r = 2 * l.out
		} else {
			item += 2*l.in*rows + 5*rows
		}
		if method == IBP || k == 0 {
			continue
		}
		item += 5 * l.out
		// Rows of this layer on their way down: A of one layer, S of two.
		for below, met := range m.met(k) {
			if b := m.layers[below]; met {
				temporary = max(temporary, r*(b.out+2*b.in+2*b.out))
			}
		}
	}
	size := m.dev.Precision().Bytes()
	return int64(2 * weights * size), int64((item + temporary + 2*m.layers[0].in) * size)
}

// CLBPFootprint estimates the bytes that PropagateCLBP needs for each input
// with rows property rows: those of LBP, the squared rows and their way down.
func (m *Model) CLBPFootprint(rows int) int64 {
	rows = max(1, rows)
	if !m.chain {
		return m.graphCLBPFootprint(rows)
	}
	_, item := m.Footprint(LBP, rows)
	more := 0
	for k, l := range m.layers {
		r := 2 * l.out
		if k == len(m.layers)-1 {
			r = rows
		}
		if k > 0 {
			more = max(more, r*l.in)
		}
		for below, met := range m.met(k) {
			if b := m.layers[below]; met {
				more = max(more, r*(b.out+b.in))
			}
		}
	}
	for _, l := range m.layers {
		more += 9*l.out + rows*4
	}
	kept := rows * m.keptBelow(len(m.layers)-1) // until it is known of which items less noise is wanted
	if more += kept; m.Bends() {
		more += len(slopeRules) * kept
	}
	return item + int64((more+3*m.layers[0].in)*m.dev.Precision().Bytes())
}

// MostCLBP is the largest number of inputs in one PropagateCLBP: coefficients of
// all inputs are counted by 32-bit numbers on devices.
func (m *Model) MostCLBP(rows int) int {
	rows = max(1, rows) // UploadRows makes one where there is none
	most := m.MostItems(rows)
	if !m.chain {
		return max(1, most)
	}
	for k, l := range m.layers {
		r := 2 * l.out
		if k == len(m.layers)-1 {
			r = rows
		}
		for below := range k {
			most = min(most, (1<<31-1<<16)/(m.layers[below].out*r))
		}
	}
	return max(1, most)
}

// CLBPBytes returns what a Deviations' own arrays take on the device.
func (m *Model) CLBPBytes() int64 {
	n := 0
	if !m.chain {
		for i := range m.layers {
			l := &m.layers[i]
			n += 5*l.taps*l.channels + 4*l.channels
		}
		return int64(n * m.dev.Precision().Bytes())
	}
	for _, l := range m.layers {
		n += 5*l.in*l.out + 4*l.out
	}
	return int64(n * m.dev.Precision().Bytes())
}
