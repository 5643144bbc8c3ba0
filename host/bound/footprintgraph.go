package bound

// What networks that are no chains take: most of it are rows on their way down, of as many units
// at a time as planRows says.

// chunkNumbers is about how many numbers of an item a flight of a chunk of units may take.
const chunkNumbers = 1 << 22

// On a wide device it is a share of the memory, for as many items, and so many numbers at most: places of
// those of all items are counted by 32-bit numbers.
const (
	flightShare = 32
	mostFlight  = 1 << 27
)

// flightOn is chunkNumbers on a device.
func flightOn(dev Device) int {
	if !Wide(dev) {
		return chunkNumbers
	}
	return int(max(chunkNumbers, min(dev.MemoryLimit()/int64(dev.Precision().Bytes())/flightShare, mostFlight)))
}

// leastChunk is the least number of units that are taken down together.
const leastChunk = 8

// planRows chooses how many rows are taken down at a time.
func (m *Model) planRows() {
	forked := 0
	for k := range m.layers {
		l := &m.layers[k]
		l.perRow = 6*l.in + forked
		for b, met := range m.met(k) {
			if met {
				l.perRow = max(l.perRow, 4*l.in+m.layers[b].rowNumbers()+forked)
			}
		}
		if len(l.fed) > 1 {
			forked += 2 * l.out
		}
		units, least := m.cuts.numbers/l.perRow, leastChunk
		if l.pool {
			units = m.cuts.numbers / m.layers[m.start(k)].perRow / l.window
			least = max(1, leastChunk/l.window)
		}
		l.chunk = min(max(units, least), l.out)
		if v := l.view; v != nil {
			v.plan(m.cuts.numbers, l.pool)
		}
	}
}

// plan chooses how many starts are taken down at a time, in runs of one length but for the last.
func (v *view) plan(chunk int, pool bool) {
	perRow, zeros, copies, widest, under := 0, 0, 0, 0, 0
	for l := range v.layers {
		if v.Maps[l] == nil {
			continue
		}
		lay := &v.layers[l]
		taps, matrix := lay.positions*lay.taps, lay.taps*lay.channels
		// Rows arrive, are relaxed, have their noise or their factors, and go on to the inputs.
		perRow = max(perRow, 3*lay.out+lay.in, lay.out+3*matrix+lay.channels+lay.in, lay.out+2*lay.in)
		if len(lay.fed) > 1 {
			zeros += 2 * lay.out // what waits at a fork
		}
		zeros += 3*lay.positions + lay.channels
		copies += 10*lay.out + 6*lay.in + 2*taps
		widest, under = max(widest, lay.in, lay.out, taps, matrix), max(under, taps)
	}
	v.part = v.perStart
	most := chunk / (perRow + zeros)
	if most < v.part { // not even those of one start
		v.part = min(max(most/leastChunk*leastChunk, leastChunk), v.perStart)
	}
	rows := v.part
	if v.both = !pool && v.perStart <= wholeVectors && 2*v.perStart <= most; v.both {
		rows *= 2
	}
	v.flight, v.widest, v.under = rows*(perRow+zeros)+copies, rows*widest, rows*under
	n := v.starts[0] * v.starts[1]
	runs := max(1, (n*v.flight+chunk-1)/chunk)
	v.each = (n + runs - 1) / runs
	if v.part < v.perStart {
		v.each = 1
	}
}

// rowNumbers returns how many numbers one row takes on its way through the layer, its noise
// included.
func (l *layer) rowNumbers() int {
	if l.pool {
		return 6*l.out + 2*l.in
	}
	return 6*l.out + 4*l.in + 4*l.taps*l.channels + 3*l.positions
}

// mostRows is the largest number of rows of layer k that go down together.
func (m *Model) mostRows(k, rows int) int {
	l := &m.layers[k]
	switch {
	case k == len(m.layers)-1:
		return rows
	case l.pool:
		return l.chunk * l.window
	}
	return l.chunk
}

// start is the layer over whose inputs rows of layer k start: of a pool that of the differences.
func (m *Model) start(k int) int {
	if m.layers[k].pool {
		return m.layers[k].feed[0]
	}
	return k
}

// graphFootprint is Footprint of a network that is no chain, of rows some of which go by (29) or of such
// as do not.
func (m *Model) graphFootprint(method Propagation, rows int, shared bool) (perBox, perItem int64) {
	weights, item, most := 0, 3*m.layers[0].in, 0
	for k := range m.layers {
		l := &m.layers[k]
		weights += 2 * (m.arrays[2*k].n + m.arrays[2*k+1].n + 2*l.taps*l.channels)
		item += 12*l.out + 2*l.in
		if !l.dense {
			item += 4 * l.positions * l.taps // under taps, and across for factors
		}
		if l.pool {
			item += 14*l.out + 8*len(l.hostMembers)
		}
		if v := l.view; v != nil {
			if most = max(most, v.each*v.flight+6*l.out); shared {
				most = max(most, v.each*(v.flight+v.under)+6*l.out)
			}
		} else if k < len(m.layers)-1 && !l.pool && !(l.needed && (l.opens || l.meetsClosed)) {
			most = max(most, 4*l.out) // no rows
		} else if method == LBP || l.opens {
			perRow := m.layers[m.start(k)].perRow
			if shared {
				perRow += m.mostUnder(m.start(k))
			}
			most = max(most, m.mostRows(k, rows)*perRow+4*l.out)
		} else {
			most = max(most, 4*l.in*rows)
		}
	}
	size := m.dev.Precision().Bytes()
	return int64(weights * size), int64((item + most) * size)
}

// mostUnder is the largest number of coefficients under taps that a row of layer k has on its way down.
func (m *Model) mostUnder(k int) (most int) {
	for b, met := range m.met(k) {
		if met {
			most = max(most, m.layers[b].positions*m.layers[b].taps)
		}
	}
	return most
}

// graphCLBPFootprint is CLBPFootprint of a network that is no chain.
func (m *Model) graphCLBPFootprint(rows int) int64 {
	_, item := m.graphFootprint(LBP, rows, false)
	more := 0
	for k := range m.layers {
		more += 13*m.layers[k].out + 3*m.layers[k].in + 4*rows
	}
	return item + int64(more*m.dev.Precision().Bytes())
}

// MostItems is the largest number of items in one batch: indices of neurons and
// rows of all items are 32-bit numbers on devices.
func (m *Model) MostItems(rows int) int {
	widest := rows
	for _, l := range m.layers {
		widest = max(widest, 2*l.out)
	}
	if !m.chain {
		for k := range m.layers {
			l, r := &m.layers[k], m.mostRows(k, max(1, rows))
			if l.view != nil {
				widest = max(widest, l.view.each*l.view.widest)
				continue
			}
			widest = max(widest, r*m.layers[m.start(k)].in, l.positions*l.taps, len(l.hostMembers))
			for b := range m.layers[:m.start(k)] {
				a := &m.layers[b]
				widest = max(widest, r*max(a.in, a.out, a.positions*a.taps, a.taps*a.channels))
			}
		}
	}
	return max(1, (1<<31-1<<16)/widest)
}
