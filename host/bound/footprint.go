package bound

// Footprint estimates the bytes of arrays that Propagate needs on the device:
// perBox for a weight box, perItem for each item with rows property rows.
func (m *Model) Footprint(method Method, rows int) (perBox, perItem int64) {
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
		for below := range k {
			b := m.layers[below]
			temporary = max(temporary, r*(b.out+2*b.in+2*b.out))
		}
	}
	size := m.dev.Precision().Bytes()
	return int64(2 * weights * size), int64((item + temporary + 2*m.layers[0].in) * size)
}
