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
			top.Ended = e.timing.over
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
			masked.Ended = e.timing.over
			e.masked = masked
		}
	}
	return e.masked
}

// Linearised is what bounds rows of a posterior of KindLinearised, once; nil of others.
func (e *Engine) Linearised() (*ontop.Linearised, error) {
	if e.linear == nil {
		l, err := ontop.NewLinearised(e.Posterior, e.timing.over)
		if err != nil {
			return nil, err
		}
		e.linear = l
	}
	return e.linear, nil
}

// LinearisedOn prepares the mean network beside a model, once: below each layer but the first, and all of it.
func (e *Engine) LinearisedOn(m *bound.Model) ([]*Features, *bound.Certain, error) {
	if f := e.means[m]; f != nil {
		return f.below, f.certain, nil
	}
	f := &meanOn{}
	var err error
	for k := 1; k < len(e.Posterior.Layers) && err == nil; k++ {
		var below *Features
		if below, err = e.featuresOf(m, k); err == nil {
			f.below = append(f.below, below)
		}
	}
	if err == nil {
		f.certain, err = m.NewCertain(e.Normal)
	}
	if err != nil {
		f.release()
		return nil, nil, err
	}
	if e.means == nil {
		e.means = map[*bound.Model]*meanOn{}
	}
	e.means[m] = f
	return f.below, f.certain, nil
}

// meanOn is the mean network on a device.
type meanOn struct {
	below   []*Features
	certain *bound.Certain
}

func (f *meanOn) release() {
	for _, b := range f.below {
		b.release()
	}
	if f.certain != nil {
		f.certain.Release()
	}
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
	f, err := e.featuresOf(m, top)
	if err != nil {
		return nil, err
	}
	if e.features == nil {
		e.features = map[*bound.Model]*Features{}
	}
	e.features[m] = f
	return f, nil
}

// featuresOf is the network below a layer, of its means, beside a model.
func (e *Engine) featuresOf(m *bound.Model, layer int) (*Features, error) {
	post := e.Posterior.Features(layer)
	model, err := bound.NewModel(m.Device(), post, 0)
	if err != nil {
		return nil, err
	}
	f := &Features{Model: model}
	if f.certain, err = model.NewCertain(post); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}
