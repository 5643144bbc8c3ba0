package bound

import "psafe/host/model/network"

// selfSplits bounds rows of a small network with slopes, phases and multipliers, of which some are
// not what they should be.
func selfSplits(dev Device, seed uint32) error {
	numbers := selfNumbers{seed: seed}
	j := selfJob{sizes: []int{35, 66, 37, 4}, activation: network.Activation{Kind: network.ReLU}, scale: 0.25, batch: Batch{1, 1, 1}, options: signed}
	m, err := NewModel(dev, j.posterior(&numbers), 8)
	if err != nil {
		return err
	}
	defer m.Release()
	boxes, err := m.Draw(BoxSpec{Gamma: [][]float64{{0.25}, {0.25}, {0}}})
	if err != nil {
		return err
	}
	defer m.ReleaseBoxes(boxes)
	regions, sets := j.questions(&numbers)
	in, err := m.UploadInputs(regions)
	if err != nil {
		return err
	}
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows(sets)
	if err != nil {
		return err
	}
	defer m.ReleaseRows(rows)
	s := m.NewSplits(boxes, in, rows)
	defer s.Release()
	for range j.sizes[2:] {
		if _, _, err := s.Next(); err != nil {
			return err
		}
	}
	q := &SplitQuery{Layer: 2}
	for r := range 41 {
		q.Rows = append(q.Rows, r%len(sets[0]))
	}
	list := func(n int, make func(x float64) float64) (all []float64) {
		for range n * len(q.Rows) {
			all = append(all, make(numbers.number()))
		}
		return all
	}
	for _, n := range j.sizes[1:3] {
		q.Slope = append(q.Slope, list(n, func(x float64) float64 { return x + 0.5 }))
		q.Phase = append(q.Phase, list(n, func(x float64) float64 { return float64(int(3 * x)) }))
		q.Beta = append(q.Beta, list(n, func(x float64) float64 { return x }))
	}
	_, err = s.Bound(q)
	return err
}
