package clbp

import (
	"psafe/host/bound"
	"psafe/host/prove/ontop"
)

// features is the network below a layer on a device: its rows are over what feeds that layer.
type features struct {
	Model   *bound.Model
	certain *bound.Certain
}

// Lines bounds rows over the features by functions of the input.
func (f *features) Lines(in *bound.Inputs, rows *bound.Rows) (*bound.InputLines, error) {
	return f.certain.Lines(in, rows)
}

func (f *features) release() {
	if f.certain != nil {
		f.certain.Release()
	}
	f.Model.Release()
}

// onTop is the last layer of a posterior that is random in it alone, once; nil of others.
func (p *prepared) onTop() *ontop.Top {
	if !p.topAsked {
		p.topAsked = true
		if top, err := ontop.New(p.e.Posterior); err == nil {
			top.Ended = p.e.Over
			p.top = top
		}
	}
	return p.top
}

// topInputs is how many numbers feed the last layer.
func (p *prepared) topInputs() int { return p.e.Normal.Layers[len(p.e.Normal.Layers)-1].Inputs() }

// mask are the layers of a posterior of dropout from the lowest on of which inputs are dropped, once; nil
// of others.
func (p *prepared) mask() *ontop.Masked {
	if !p.maskedAsked {
		p.maskedAsked = true
		if masked, err := ontop.NewMasked(p.e.Posterior); err == nil {
			masked.Ended = p.e.Over
			p.masked = masked
		}
	}
	return p.masked
}

// linearised returns what bounds rows of a posterior of KindLinearised, once; nil of others.
func (p *prepared) linearised() (*ontop.Linearised, error) {
	if p.linear == nil {
		l, err := ontop.NewLinearised(p.e.Posterior, p.e.Over)
		if err != nil {
			return nil, err
		}
		p.linear = l
	}
	return p.linear, nil
}

// linearisedOn prepares the mean network beside a model, once: below each layer but the first, and all of it.
func (p *prepared) linearisedOn(m *bound.Model) ([]*features, *bound.Certain, error) {
	if f := p.means[m]; f != nil {
		return f.below, f.certain, nil
	}
	f := &meanOn{}
	var err error
	for k := 1; k < len(p.e.Posterior.Layers) && err == nil; k++ {
		var below *features
		if below, err = p.featuresOf(m, k); err == nil {
			f.below = append(f.below, below)
		}
	}
	if err == nil {
		f.certain, err = m.NewCertain(p.e.Normal)
	}
	if err != nil {
		f.release()
		return nil, nil, err
	}
	if p.means == nil {
		p.means = map[*bound.Model]*meanOn{}
	}
	p.means[m] = f
	return f.below, f.certain, nil
}

// meanOn is the mean network on a device.
type meanOn struct {
	below   []*features
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

// featuresOn prepares the network below the last layer beside a model, once, or of dropout that below all
// that is dropped.
func (p *prepared) featuresOn(m *bound.Model) (*features, error) {
	if f := p.features[m]; f != nil {
		return f, nil
	}
	top := len(p.e.Posterior.Layers) - 1
	if masked := p.mask(); masked != nil {
		top = masked.First
	}
	f, err := p.featuresOf(m, top)
	if err != nil {
		return nil, err
	}
	if p.features == nil {
		p.features = map[*bound.Model]*features{}
	}
	p.features[m] = f
	return f, nil
}

// featuresOf is the network below a layer, of its means, beside a model.
func (p *prepared) featuresOf(m *bound.Model, layer int) (*features, error) {
	post := p.e.Posterior.Features(layer)
	model, err := bound.NewModel(m.Device(), post, 0)
	if err != nil {
		return nil, err
	}
	f := &features{Model: model}
	if f.certain, err = model.NewCertain(post); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}
