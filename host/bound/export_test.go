package bound

import "psafe/host/model/posterior"

// NewModelCut is NewModelOfDepth with flights of about so many numbers, by windows where those leave at
// most so much of the work: 0 is never, and more than 1 also where they do not pay.
func NewModelCut(dev Device, post *posterior.Posterior, reach float64, depth, numbers int, windows float64) (*Model, error) {
	return newModel(dev, post, reach, cuts{numbers: numbers, windows: windows, depth: depth})
}

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
	return n, d.a, nil
}
