package bound

import (
	"fmt"
	"slices"

	"psafe/host/model/posterior"
)

// NewModel copies what is needed of the posterior to the device. It is an error
// if the posterior's weights are not independent normal ones
// (posterior.Posterior.RequireIndependent), or if a weight box of half-width reach standard
// deviations, or a sample and a box around it, could overflow the device's
// precision.
func NewModel(dev Device, post *posterior.Posterior, reach float64) (*Model, error) {
	return NewModelOfDepth(dev, post, reach, 0)
}

// NewModelOfDepth is NewModel for passes in which rows of hidden neurons, and of differences of
// such, go down through at most depth activations or max pools, and end at the intervals of what
// is below (docs/theory.md, section 2.4); if depth is 0, down to the input. Rows of the property
// always do.
func NewModelOfDepth(dev Device, post *posterior.Posterior, reach float64, depth int) (*Model, error) {
	return NewModelCut(dev, post, reach, depth, flightOn(dev), worthWindows)
}

// NewDependentModel is NewModelOfDepth for Deviations that Depend: rows go down by whole maps and not by
// windows, as the host bounds what they do to layers.
func NewDependentModel(dev Device, post *posterior.Posterior, reach float64, depth int) (*Model, error) {
	return NewModelCut(dev, post, reach, depth, flightOn(dev), 0)
}

// NewModelCut is NewModelOfDepth with flights of about so many numbers, by windows where those leave at
// most so much of the work: 0 is never, and more than 1 also where they do not pay.
func NewModelCut(dev Device, post *posterior.Posterior, reach float64, depth, numbers int, windows float64) (*Model, error) {
	if err := post.RequireIndependent(); err != nil {
		return nil, err
	}
	m := &Model{dev: dev, cuts: cuts{numbers: numbers, windows: windows, depth: depth}, chain: post.Network().Chain()}
	if !m.chain {
		if err := dev.TestForGraphs(); err != nil {
			return nil, err
		}
	}
	if err := m.load(post, reach); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

func (m *Model) load(post *posterior.Posterior, reach float64) error {
	p := m.dev.Precision()
	for k, l := range post.Layers {
		if most := p.longestSum(); l.Inputs() > most || l.Outputs() > most {
			return Unfitf("layer %d is %d x %d: sums of more than %d terms have no useful error bound in %v: use --precision float64", k, l.Inputs(), l.Outputs(), most, p)
		}
	}
	var err error
	if m.layers, err = newLayers(post, p); err != nil {
		return err
	}
	for k := range m.layers {
		if l := &m.layers[k]; slices.Contains(l.feed, -1) {
			m.before, m.forks = m.before+l.productsOf(-1), m.forks+1
		}
	}
	m.shifts = post.Shifts()
	for k, l := range post.Layers {
		for what, g := range []*posterior.Params{&l.Weight, &l.Bias} {
			ends, err := NewEnds(g, p, reach)
			if err != nil {
				return fmt.Errorf("layer %d %s: %w", k, []string{"weight", "bias"}[what], err)
			}
			if err := m.addArray(ends); err != nil {
				return err
			}
		}
	}
	if m.chain {
		return nil
	}
	m.planViews(post.Network())
	m.planRows()
	return m.uploadLists()
}

// addArray uploads what draws one array of weights.
func (m *Model) addArray(ends *Ends) error {
	if len(ends.Unit) == 0 { // a map without parameters
		m.arrays = append(m.arrays, drawn{})
		return nil
	}
	centre, err := m.upload(ends.CentreLo, ends.CentreHi)
	if err != nil {
		return err
	}
	unit, err := m.uploadOne(ends.Unit)
	if err != nil {
		m.dev.Release(centre.Lo)
		m.dev.Release(centre.Hi)
		return err
	}
	m.arrays = append(m.arrays, drawn{len(ends.Unit), centre, unit})
	return nil
}

// uploadLists copies the lists of all layers of a network that is no chain.
func (m *Model) uploadLists() error {
	for k := range m.layers {
		l := &m.layers[k]
		u := uploader{m: m}
		u.sources(l)
		if l.pool {
			u.pool(l)
		} else {
			u.linear(l)
		}
		if l.view != nil {
			u.view(l.view, l.pool)
		}
		if u.err != nil {
			return u.err
		}
	}
	return nil
}
