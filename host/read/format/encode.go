package format

import (
	"encoding/json"
	"path/filepath"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// encode gives the header and the arrays of p. All arrays are float32 if that
// loses nothing, else float64. p must be valid.
func encode(p *posterior.Posterior) (header []byte, list []npy.Named, err error) {
	if err := p.Validate(); err != nil {
		return nil, nil, err
	}
	if p.Kind.HasSpread() && p.Scale == posterior.ScaleUnknown {
		panic("posterior: writing a posterior of unknown scale")
	}
	m := meta{Format: metaFormat, Version: metaChain, Layout: layoutIO, Note: p.Source.Note, Shape: p.Input.Shape, FeaturesOf: p.Input.FeaturesOf}
	m.fill(p)
	if o := origin(&p.Source); o != nil {
		// The last element only: where a file lay says nothing about it, and the
		// bytes written must not depend on it.
		m.Source = &metaSource{Path: filepath.Base(o.Path), Format: o.Format, SHA256: o.SHA256}
	}
	if p.Network().Chain() && !covaries(p.Kind) {
		m.chain(p)
	} else if err := m.graph(p); err != nil {
		return nil, nil, err
	}
	single := true
	for k, at := range m.of {
		l := &m.Layers[at]
		for _, t := range parts(p.Kind) {
			if l.parameters.Weight == nil || l.lacks(t) {
				continue
			}
			a := &npy.Array{Shape: t.shape(&l.parameters, m.stack(), false), Data: t.data(p, k), DType: "<f8"}
			if !t.bias { // kernels of channels first
				a = toFile(a, l.parameters.Axes)
			}
			list = append(list, npy.Named{Name: t.array(at), Array: a})
			single = single && isSingle(a.Data)
		}
		for _, a := range m.covarianceArrays(p, k, at) {
			list, single = append(list, a), single && isSingle(a.Array.Data)
		}
	}
	if single {
		for _, a := range list {
			a.Array.DType = "<f4"
		}
	}
	header, err = json.Marshal(m)
	return header, append(list, writeExtras(p)...), err
}

// chain states dense layers, one after the other, as version 1.
func (m *meta) chain(p *posterior.Posterior) {
	for k, l := range p.Layers {
		layer := metaLayer{Kind: graph.Dense, Activation: l.Activation.String(), In: l.Inputs(), Out: l.Outputs()}
		layer.parameters = graph.Parameters{Weight: []int{layer.In, layer.Out}, Bias: layer.Out}
		m.push(p, k, layer)
	}
}

// push adds a layer of the header that has the parameters of layer k of p.
func (m *meta) push(p *posterior.Posterior, k int, l metaLayer) {
	if l.parameters.Weight != nil {
		if p.Kind == posterior.KindDropout {
			l.Rate = &p.Dropout()[k]
		}
		if c := covariances(p); c != nil && c[k] != nil {
			l.Covariance = c[k].String()
		}
		l.layerArrays = arraysOf(p, k)
	}
	m.of = append(m.of, len(m.Layers))
	m.Layers = append(m.Layers, l)
}

// origin is the first file of the chain of conversions, nil if there is none.
func origin(s *posterior.Source) *posterior.Source {
	if s.Origin != nil {
		return s.Origin
	}
	if s.Format == "" {
		return nil
	}
	return s
}

func isSingle(data []float64) bool {
	for _, v := range data {
		if float64(float32(v)) != v {
			return false
		}
	}
	return true
}
