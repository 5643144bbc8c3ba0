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

// BoundRows is Bound, with the coefficients of the pre-activations of each hidden layer, [units x R].
func (s *CLBPSplits) BoundRows(q *SplitQuery) (SplitNoises, [][]float64, error) {
	n, d, err := s.bound(q)
	if err != nil {
		return n, nil, err
	}
	return n, d.A, nil
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
