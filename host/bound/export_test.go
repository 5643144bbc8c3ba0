package bound

// Windows counts the layers whose rows go down by windows.
func (m *Model) Windows() (n int) {
	for k := range m.layers {
		if m.layers[k].view != nil {
			n++
		}
	}
	return n
}

// BoundRows is Bound, with the coefficients of the pre-activations of each hidden layer, [units x R], and the ends of
// those of the inputs, [inputs x R], the upper one nil if they are numbers or no input is negative.
func (s *CLBPSplits) BoundRows(q *SplitQuery) (n SplitNoises, a [][]float64, lo, hi []float64, err error) {
	n, d, err := s.bound(q)
	if err != nil {
		return n, nil, nil, nil, err
	}
	return n, d.A, d.Lo, d.Hi, nil
}

// SetMostUnits sets how many coefficients of rows of units are read at a time, until it is undone.
func SetMostUnits(n int) (undo func()) {
	before := mostUnits
	mostUnits = n
	return func() { mostUnits = before }
}

// KeepSettled has rows of all units taken down, as if none were settled.
func (m *Model) KeepSettled() {
	for k := range m.layers {
		m.layers[k].settles = false
	}
}
