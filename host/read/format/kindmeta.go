package format

import (
	"fmt"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// What the psafe format has for each kind of posterior: which arrays, of which
// shapes, and which fields of the header.

// part is one array of a layer: layers.K.NAME.
type part struct {
	name string
	// bias reports whether its shape is that of the bias, else that of the weight.
	bias bool
	// stacked reports whether there is an axis before it: samples, or columns of SWAG.
	stacked bool
}

// parts lists the arrays of a layer, in the order in which they are written.
func parts(k posterior.Kind) []part {
	switch k {
	case posterior.KindFinite:
		return []part{{"weight.samples", false, true}, {"bias.samples", true, true}}
	case posterior.KindSWAG:
		return []part{
			{"weight.mean", false, false}, {"weight.scale", false, false}, {"weight.deviations", false, true},
			{"bias.mean", true, false}, {"bias.scale", true, false}, {"bias.deviations", true, true},
		}
	case posterior.KindDropout, posterior.KindCorrelated, posterior.KindJoint:
		return []part{{"weight.mean", false, false}, {"bias.mean", true, false}}
	}
	return []part{
		{"weight.mean", false, false}, {"weight.scale", false, false},
		{"bias.mean", true, false}, {"bias.scale", true, false},
	}
}

// array is the name of the part of layer k.
func (t part) array(k int) string { return fmt.Sprintf("layers.%d.%s", k, t.name) }

// of gives the place of the part in a layer's arrays.
func (t part) of(a *arrays) **npy.Array {
	switch t.name {
	case "weight.mean":
		return &a.weight
	case "weight.scale":
		return &a.weightSpread
	case "bias.mean":
		return &a.bias
	case "bias.scale":
		return &a.biasSpread
	}
	if t.bias {
		return &a.biasStack
	}
	return &a.weightStack
}

// data gives the numbers of the part of layer k of p.
func (t part) data(p *posterior.Posterior, k int) []float64 {
	g, a := &p.Layers[k].Weight, 2*k
	if t.bias {
		g, a = &p.Layers[k].Bias, 2*k+1
	}
	switch {
	case t.stacked && p.Kind == posterior.KindFinite:
		return p.Finite().Stack[a]
	case t.stacked:
		return p.SWAG().Deviation[a]
	case t.name == "weight.mean" || t.name == "bias.mean":
		return g.Mean
	case p.Kind == posterior.KindSWAG:
		return p.SWAG().Spread[a]
	}
	return g.Spread
}

// shape returns what the header says of the part of a layer, with a stack of n: as the file has it,
// or as package network.
func (t part) shape(of *graph.Parameters, n int, file bool) []int {
	var shape []int
	if t.stacked {
		shape = append(shape, n)
	}
	switch {
	case t.bias:
		return append(shape, of.Bias)
	case file:
		return append(shape, of.FileShape()...)
	}
	return append(shape, of.Weight...)
}

// kind checks that the header has the fields of its kind and no other's.
func (m *meta) kind() (posterior.Kind, error) {
	kind, err := posterior.ParseKind(m.Kind)
	if err != nil {
		return 0, err
	}
	absent := func(field string, there bool) error {
		if there {
			return fmt.Errorf("field %q does not belong to a posterior of kind %v", field, kind)
		}
		return nil
	}
	missing := func(field string, there bool) error {
		if !there {
			return fmt.Errorf("field %q is missing: a posterior of kind %v needs it", field, kind)
		}
		return nil
	}
	if covaries(kind) && m.Version != metaCovariance {
		return kind, fmt.Errorf("a posterior of kind %v is one of version %d, this is version %d", kind, metaCovariance, m.Version)
	}
	if err == nil && kind != posterior.KindFinite {
		err = absent("draws_of", m.DrawsOf != "")
	}
	// Of gaussian, ParseScale reports a scale that is missing.
	if err == nil && !kind.HasSpread() {
		err = absent("scale", m.Scale != "")
	}
	for _, f := range []struct {
		field string
		owner posterior.Kind
		there bool
	}{{"counts", posterior.KindFinite, m.Counts != nil}, {"rank", posterior.KindSWAG, m.Rank != nil}} {
		check := absent
		if kind == f.owner {
			check = missing
		}
		if err == nil {
			err = check(f.field, f.there)
		}
	}
	for k, l := range m.Layers {
		check := absent
		if kind == posterior.KindDropout && l.parameters.Weight != nil {
			check = missing
		}
		e := check("rate", l.Rate != nil)
		if e == nil {
			e = l.checkCovariance(kind)
		}
		if err == nil && e != nil {
			err = fmt.Errorf("layer %d: %w", k, e)
		}
	}
	return kind, err
}

// stack is the length of the axis that stacked parts have in front.
func (m *meta) stack() int {
	if m.Rank != nil {
		return *m.Rank
	}
	return len(m.Counts)
}

// fill puts into the header what it says of the kind of p, which is valid.
func (m *meta) fill(p *posterior.Posterior) {
	if p.Kind != posterior.KindGaussian {
		m.Kind = p.Kind.String()
	}
	if p.Kind.HasSpread() {
		m.Scale = p.Scale.String()
	}
	switch p.Kind {
	case posterior.KindFinite:
		m.Counts, m.DrawsOf = p.Finite().Counts, p.Finite().DrawsOf
	case posterior.KindSWAG:
		m.Rank = &p.SWAG().Rank
	}
}

// posterior makes one of the arrays, which have the shapes that the kind needs;
// layers have shapes, activations and, except for samples, means.
func (n *contents) posterior(layers []posterior.Layer, scale posterior.Scale) (*posterior.Posterior, error) {
	var list struct{ spread, stack [][]float64 }
	add := func(to *[][]float64, arrays ...*npy.Array) {
		for _, a := range arrays {
			*to = append(*to, a.Data)
		}
	}
	var covariances []*posterior.Covariance
	for k := range n.layers {
		covariances = append(covariances, n.layers[k].covariance)
		switch a := &n.layers[k]; n.kind {
		case posterior.KindGaussian:
			if layers[k].Weights() == 0 {
				continue
			}
			layers[k].Weight = posterior.NewParams(a.weight.Data, a.weightSpread.Data, either(a.weightScale, scale))
			layers[k].Bias = posterior.NewParams(a.bias.Data, a.biasSpread.Data, either(a.biasScale, scale))
		case posterior.KindFinite:
			add(&list.stack, a.weightStack, a.biasStack)
		case posterior.KindSWAG:
			add(&list.spread, a.weightSpread, a.biasSpread)
			add(&list.stack, a.weightStack, a.biasStack)
		}
	}
	switch n.kind {
	case posterior.KindFinite:
		return posterior.FromFinite(layers, &posterior.Finite{Counts: n.counts, Stack: list.stack, DrawsOf: n.drawsOf})
	case posterior.KindSWAG:
		return posterior.FromSWAG(layers, scale, list.spread, n.rank, list.stack)
	case posterior.KindDropout:
		return posterior.FromDropout(layers, n.rates)
	case posterior.KindCorrelated:
		return posterior.FromCovariances(layers, covariances)
	case posterior.KindJoint:
		return posterior.FromJoint(layers, covariances)
	}
	p := &posterior.Posterior{Layers: layers, Scale: scale}
	return p, p.Validate()
}
