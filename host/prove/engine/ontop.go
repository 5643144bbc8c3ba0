package engine

import (
	"psafe/host/bound"
	"psafe/host/prove/ontop"
)

// Features is the network below a layer on a device: its rows are over what feeds that layer.
type Features struct {
	Model   *bound.Model
	certain *bound.Certain
}

// Lines bounds rows over the features by functions of the input.
func (f *Features) Lines(in *bound.Inputs, rows *bound.Rows) (*bound.InputLines, error) {
	return f.certain.Lines(in, rows)
}

func (f *Features) release() {
	if f.certain != nil {
		f.certain.Release()
	}
	f.Model.Release()
}

// OnTop is the last layer of a posterior that is random in it alone, once; nil of others.
func (e *Engine) OnTop() *ontop.Top {
	if !e.topAsked {
		e.topAsked = true
		if top, err := ontop.New(e.Posterior); err == nil {
			e.top = top
		}
	}
	return e.top
}

// Masked are the layers of a posterior of dropout from the lowest on of which inputs are dropped, once; nil
// of others.
func (e *Engine) Masked() *ontop.Masked {
	if !e.maskedAsked {
		e.maskedAsked = true
		if masked, err := ontop.NewMasked(e.Posterior); err == nil {
			e.masked = masked
		}
	}
	return e.masked
}

// FeaturesOn prepares the network below the last layer beside a model, once, or of dropout that below all
// that is dropped.
func (e *Engine) FeaturesOn(m *bound.Model) (*Features, error) {
	if f := e.features[m]; f != nil {
		return f, nil
	}
	top := len(e.Posterior.Layers) - 1
	if masked := e.Masked(); masked != nil {
		top = masked.First
	}
	post := e.Posterior.Features(top)
	model, err := bound.NewModel(m.Device(), post, 0)
	if err != nil {
		return nil, err
	}
	f := &Features{Model: model}
	if f.certain, err = model.NewCertain(post); err != nil {
		f.release()
		return nil, err
	}
	if e.features == nil {
		e.features = map[*bound.Model]*Features{}
	}
	e.features[m] = f
	return f, nil
}
