package format

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// Maps of graphs, such as convolutional networks of torch: layers as a header of version 2
// states them, with the names of their tensors. Sizes of kernels and numbers of filters and
// outputs are those of the tensors.

// isGraph says whether the map has more than dense layers, one after the other.
func (m *tensorMap) isGraph() bool {
	return m.Order != "" || m.Shape != nil || slices.ContainsFunc(m.Layers, func(l mapLayer) bool {
		return l.Name != "" || l.Kind != "" && l.Kind != graph.Dense || l.From != nil
	})
}

// kind is that of layer k.
func (l *mapLayer) kind() string {
	if l.Kind == "" {
		return graph.Dense
	}
	return l.Kind
}

// check refuses fields that layers of a graph do not have, and arrays that they lack.
func (m *tensorMap) check() error {
	for k := range m.Layers {
		l := &m.Layers[k]
		of := metaLayer{Kind: l.kind(), graphFields: l.graphFields}
		if err := of.check(); err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
		norm := l.RunningMean != "" || l.RunningVariance != "" || l.Eps != nil
		switch all := l.RunningMean != "" && l.RunningVariance != "" && l.Eps != nil; {
		case norm && (!all || l.kind() != graph.BatchNorm):
			return fmt.Errorf("layer %d: running_mean, running_variance and eps come together, in a layer of kind batch_norm", k)
		case weighted(l.kind()) && l.Weight == nil && !norm:
			return fmt.Errorf("layer %d has no weight", k)
		case !weighted(l.kind()) && (l.Weight != nil || l.Bias != nil || l.Layout != ""):
			return fmt.Errorf("layer %d: a layer of kind %s has no arrays: leave weight, bias and layout out", k, l.kind())
		}
	}
	return nil
}

// graph takes the tensors of all layers, makes the plan and returns what reads their numbers.
func (m *tensorMap) graph(t *taken, n *contents) (loads []func() error, err error) {
	stated, shapes := make([]graph.Layer, len(m.Layers)), make([][]int, len(m.Layers))
	n.plan, n.inputShape, n.normalise = &graph.Plan{Parameters: make([]graph.Parameters, len(m.Layers))}, m.Shape, map[int]*arrays{}
	rows := make([][]int32, len(m.Layers))
	for k := range m.Layers {
		l := &m.Layers[k]
		a := &n.layers[k]
		if l.Weight != nil {
			turn := func(a *npy.Array) *npy.Array { return inRows(transposeEach(a, n.plan.Parameters[k].Axes), rows[k]) }
			var more []func() error
			if shapes[k], more, err = m.array(l.Weight, fmt.Sprintf("layer %d weight", k), turn, t, &a.weight, &a.weightSpread, &a.weightScale); err != nil {
				return nil, err
			}
			loads = append(loads, more...)
		}
		if stated[k], err = m.stated(k, shapes[k]); err != nil {
			return nil, err
		}
		stated[k].Normalise = l.RunningMean != "" && l.Weight != nil && a.weightScale != posterior.ScaleNone
	}
	plan, err := graph.Lower(stated, m.Shape)
	if err != nil {
		return nil, &mapError{err}
	}
	n.plan = plan
	for _, l := range plan.Layers {
		if l.Of >= 0 {
			rows[l.Of] = l.Rows
		}
	}
	for k := range m.Layers {
		of := &plan.Parameters[k]
		if of.Weight == nil {
			continue
		}
		if shapes[k] != nil && !slices.Equal(shapes[k], of.FileShape()) {
			return nil, fmt.Errorf("%s: weight %.100q has shape %v, the layer needs %v: see to its kind, order, layout and groups", stated[k].Place(k), m.Layers[k].Weight.Mean, shapes[k], of.FileShape())
		}
		more, err := m.beside(k, t, n, of.Bias)
		if err != nil {
			return nil, err
		}
		loads = append(loads, more...)
	}
	return loads, t.count([]int{int(n.unitNumbers())})
}

// beside takes the bias of layer k and what else a batch norm has, of so many numbers each.
func (m *tensorMap) beside(k int, t *taken, n *contents, outputs int) (loads []func() error, err error) {
	l, a := &m.Layers[k], &n.layers[k]
	if l.Bias != nil {
		what := fmt.Sprintf("layer %d bias", k)
		shape, more, err := m.array(l.Bias, what, asIs, t, &a.bias, &a.biasSpread, &a.biasScale)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(shape, []int{outputs}) && !slices.Equal(shape, []int{1, outputs}) {
			return nil, fmt.Errorf("%s %.100q has shape %v: the layer needs %d numbers", what, l.Bias.Mean, shape, outputs)
		}
		loads = append(loads, more...)
	} else {
		if err := t.count([]int{2, outputs}); err != nil {
			return nil, err
		}
		loads = append(loads, func() error { a.without(outputs); return nil })
	}
	if l.RunningMean == "" {
		return loads, nil
	}
	of := &batchNorm{}
	for _, stat := range []struct {
		name, what string
		to         **npy.Array
	}{{l.RunningMean, "running mean", &of.mean}, {l.RunningVariance, "running variance", &of.variance}} {
		what := fmt.Sprintf("layer %d %s", k, stat.what)
		from, err := t.take(stat.name, what)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(from.shape, []int{outputs}) {
			return nil, fmt.Errorf("%s %.100q has shape %v: the layer needs %d numbers", what, stat.name, from.shape, outputs)
		}
		loads = append(loads, func() (err error) { *stat.to, err = from.load(); return err })
	}
	return append(loads, func() error {
		apart, err := a.norm(of, *l.Eps, a.weightScale == posterior.ScaleNone)
		if apart != nil {
			n.normalise[k] = apart
		}
		if err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
		return nil
	}), nil
}

// stated is layer k as package graph takes it, with the sizes of a weight of that shape.
func (m *tensorMap) stated(k int, shape []int) (s graph.Layer, err error) {
	l := &m.Layers[k]
	of := metaLayer{Name: l.Name, Kind: l.kind(), From: l.From, Activation: l.Activation, graphFields: l.graphFields}
	switch {
	case l.Activation == toFill || l.Activation == "" && weighted(of.Kind):
		return s, mapErrorf("layer %d: activation %q: write the one that it has: %s", k, l.Activation, network.Words())
	}
	layout := layoutIO
	if of.Kind == graph.Dense {
		if layout, err = m.layout(k); err != nil {
			return s, err
		}
	}
	if s, err = of.stated(m.Order, layout); err != nil {
		return s, mapErrorf("layer %d: %w", k, err)
	}
	axes := map[string]int{graph.Dense: 2, graph.Conv2D: 4, graph.Conv1D: 3, graph.DepthwiseConv2D: 4, graph.BatchNorm: 1}[of.Kind]
	if shape != nil && len(shape) != axes {
		return s, fmt.Errorf("layer %d weight is tensor %.100q of shape %v: a layer of kind %s needs %d axes", k, l.Weight.Mean, shape, of.Kind, axes)
	}
	var kernel []int
	switch of.Kind {
	case graph.Dense:
		if s.Filters = shape[1]; s.OutIn {
			s.Filters = shape[0]
		}
	case graph.Conv2D, graph.Conv1D, graph.DepthwiseConv2D:
		last := axes - 1
		switch {
		case s.First:
			s.Filters, kernel = shape[0], shape[2:]
		case of.Kind == graph.DepthwiseConv2D:
			s.Filters, kernel = shape[2]*shape[3], shape[:2]
		default:
			s.Filters, kernel = shape[last], shape[:last-1]
		}
		if l.Kernel != nil && !slices.Equal(l.Kernel, kernel) || l.Filters != 0 && l.Filters != s.Filters {
			return s, mapErrorf("layer %d: kernel %v and %d filters, but tensor %.100q has %v and %d: leave both out", k, l.Kernel, l.Filters, l.Weight.Mean, kernel, s.Filters)
		}
		s.Kernel = slices.Clone(kernel)
	}
	return s, nil
}
