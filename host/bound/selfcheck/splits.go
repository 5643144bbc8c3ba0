package selfcheck

import (
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
)

// splits bounds rows of a small network with slopes, phases and multipliers, of which some are
// not what they should be.
func splits(dev bound.Device, seed uint32) error {
	numbers := numbers{seed: seed}
	j := job{sizes: []int{35, 66, 37, 4}, activation: network.Activation{Kind: network.ReLU}, scale: 0.25, batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}, options: signed}
	m, err := bound.NewModel(dev, j.posterior(&numbers), 8)
	if err != nil {
		return err
	}
	spec := bound.BoxSpec{Gamma: [][]float64{{0.25}, {0.25}, {0}}}
	return j.asks(m, spec, &numbers, func(of bound.Query, _ []property.Box) error {
		s := m.NewSplits(of.Boxes, of.Inputs, of.Rows)
		defer s.Release()
		for range j.sizes[2:] {
			if _, _, err := s.Next(); err != nil {
				return err
			}
		}
		q := &bound.SplitQuery{Layer: 2}
		for r := range 41 {
			q.Rows = append(q.Rows, r%(j.sizes[3]-1))
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
		_, err := s.Bound(q)
		return err
	})
}
