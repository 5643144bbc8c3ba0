package clbp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/prove/engine"
	"psafe/host/prove/ontop"
	"psafe/internal/fault"
)

// prepared holds what the method has made of an engine's posterior, each part once it has been asked for.
type prepared struct {
	e *engine.Engine
	// deviations is the posterior as concentration LBP needs it, by model; moments is what they are made of.
	deviations map[*bound.Model]*bound.Deviations
	*shared
	// somewhere are those that prepareNoise made.
	somewhere *bound.Deviations
	// dependent are the layers of weights that depend on each other, common is what all layers have in common.
	dependent []bound.Dependent
	common    *covary.Shared
	// top is the last layer, if it alone is random; features are the network below it, by model.
	top      *ontop.Top
	topAsked bool
	features map[*bound.Model]*features
	// masked are the layers from the lowest on of which inputs are dropped.
	masked      *ontop.Masked
	maskedAsked bool
	// linear holds what bounds linearised networks, and means the mean network by model.
	linear *ontop.Linearised
	means  map[*bound.Model]*meanOn
}

// shared is what lanes of an engine have in common: that of the posterior of independent weights.
type shared struct {
	sync.Mutex
	moments *bound.Moments
	// lent are the deviations of lanes, made by the first to ask.
	lent *bound.Deviations
}

var keep = engine.Keep[prepared]{Release: (*prepared).release}

func init() { keep.New = prepare }

// prepare begins with what other lanes have prepared.
func prepare(e *engine.Engine) *prepared {
	if of := e.Of(); of != nil {
		return &prepared{e: e, shared: keep.Of(of).shared}
	}
	return &prepared{e: e, shared: new(shared)}
}

// of returns what is prepared of an engine's posterior.
func of(e *engine.Engine) *prepared { return keep.Of(e) }

// release gives the memory of devices back.
func (p *prepared) release() {
	for m, c := range p.deviations {
		if p.lends(m) {
			continue
		}
		if c.Release(); c.Model() != m {
			c.Model().Release()
		}
	}
	if p.lent != nil && p.e.Of() == nil {
		p.lent.On(p.e.Model).Release()
	}
	for _, f := range p.features {
		f.release()
	}
	for _, f := range p.means {
		f.release()
	}
}

// DeviationsOn prepares an engine's posterior on a model once.
func DeviationsOn(e *engine.Engine, m *bound.Model) (*bound.Deviations, error) {
	return of(e).deviationsOn(m)
}

// Moments returns the moments of an engine's posterior, once; the error is that of bound.Ended on the model.
func Moments(e *engine.Engine, m *bound.Model) (*bound.Moments, error) { return of(e).momentsOn(m) }

// depends reports whether weights depend on each other in layers, or in all of them.
func (p *prepared) depends() bool {
	return (p.e.Posterior.Covariances() != nil || p.e.Posterior.SWAG() != nil || p.e.Posterior.Joint() != nil) && p.onTop() == nil
}

// prepareNoise has to be called before noisy of a posterior of KindCorrelated, KindSWAG or KindJoint.
func (p *prepared) prepareNoise() error {
	if !p.depends() {
		return nil
	}
	c, err := engine.Somewhere(p.e, "preparing noise", p.dependentOn)
	p.somewhere = c
	return err
}

// noisy is the model that deviationsOn(p.e.Model) is of: p.e.Model, or of weights that depend on each other one
// of their marginals, on the device that it was prepared on.
func (p *prepared) noisy() *bound.Model {
	if !p.depends() {
		return p.e.Model
	}
	if c := p.deviations[p.e.Model]; c != nil {
		return c.Model()
	}
	return p.somewhere.Model() // on the spare device
}

// dependentOn prepares a posterior of weights that depend on each other beside a model, once: a model of
// their marginals, as all that may move makes noise, with what depends on what.
func (p *prepared) dependentOn(m *bound.Model) (*bound.Deviations, error) {
	if c := p.deviations[m]; c != nil {
		return c, nil
	}
	if err := p.e.Posterior.RequireRows(); err != nil {
		return nil, err
	}
	ended := func() error { return bound.Ended(m.Device()) }
	if err := p.prepareDependent(ended); err != nil {
		return nil, err
	}
	marginals, err := p.e.Posterior.Marginals(ended)
	if err != nil {
		return nil, err
	}
	moments, err := noiseMoments(marginals, ended)
	if err != nil {
		return nil, err
	}
	model, err := bound.NewDependentModel(m.Device(), marginals, 0, p.e.Depth())
	if err != nil {
		return nil, err
	}
	own := marginals
	switch {
	case p.e.Posterior.Joint() != nil: // nothing is a weight's own
		own = p.e.Normal
	case p.common != nil:
		own = p.e.Posterior.Diagonal()
	}
	c, err := model.NewDeviations(own, moments)
	if err != nil {
		model.Release()
		return nil, err
	}
	if p.common != nil {
		c.Share(p.common, p.e.Posterior.Joint() != nil)
	} else {
		c.Depend(p.dependent)
	}
	p.keepDeviations(m, c)
	return c, nil
}

// prepareDependent works out, once, what weights depend on. It may have to stop (ended), and is begun anew then.
func (p *prepared) prepareDependent(ended func() error) (err error) {
	switch {
	case p.common != nil || p.dependent != nil:
		return nil
	case p.e.Posterior.SWAG() != nil || p.e.Posterior.Joint() != nil:
		p.common, err = covary.NewShared(p.e.Posterior)
		return err
	}
	all := p.e.Posterior.Covariances()
	p.dependent = make([]bound.Dependent, len(all))
	for k, c := range all {
		if c == nil {
			continue
		}
		l, err := covary.NewDependent(&p.e.Posterior.Layers[k], c, ended)
		if err != nil {
			p.dependent = nil
			return fmt.Errorf("layer %d: %w", k, err)
		}
		p.dependent[k] = l
	}
	return nil
}

func (p *prepared) keepDeviations(m *bound.Model, c *bound.Deviations) {
	if p.deviations == nil {
		p.deviations = map[*bound.Model]*bound.Deviations{}
	}
	p.deviations[m] = c
}

// deviationsOn prepares the posterior on a model once.
func (p *prepared) deviationsOn(m *bound.Model) (*bound.Deviations, error) {
	if p.depends() {
		return p.dependentOn(m)
	}
	if c := p.deviations[m]; c != nil {
		return c, nil
	}
	if !p.e.Posterior.Independent() { // whose mean network has no deviations, and would be taken for it
		return nil, fmt.Errorf("deviations of %s are not those of independent weights: this is a mistake in psafe, please report it", p.e.Posterior.Describe())
	}
	moments, err := p.momentsOn(m)
	if err != nil {
		return nil, err
	}
	c, err := p.borrowed(m, moments)
	if err != nil {
		return nil, err
	}
	p.keepDeviations(m, c)
	return c, nil
}

// lends reports whether all lanes of an engine have the deviations on m from one of them.
func (p *prepared) lends(m *bound.Model) bool { return p.e.Of() != nil && m == p.e.Model }

// borrowed makes deviations, or on a lane takes those of the first that has made them.
func (p *prepared) borrowed(m *bound.Model, moments *bound.Moments) (*bound.Deviations, error) {
	if !p.lends(m) {
		return m.NewDeviations(p.e.Normal, *moments)
	}
	p.Lock()
	defer p.Unlock()
	if p.lent == nil {
		c, err := m.NewDeviations(p.e.Normal, *moments)
		if err != nil {
			return nil, err
		}
		p.lent = c
	}
	return p.lent.On(m), nil
}

// momentsOn returns the moments of the posterior's weights, once; the error is that of bound.Ended on the model.
func (p *prepared) momentsOn(m *bound.Model) (*bound.Moments, error) {
	p.Lock()
	defer p.Unlock()
	if p.moments == nil {
		moments, err := noiseMoments(p.e.Normal, func() error { return bound.Ended(m.Device()) })
		if err != nil {
			return nil, err
		}
		p.moments = &moments
	}
	return p.moments, nil
}

// NoiseMoments returns what bound.NewDeviations wants to know of a posterior of independent normal
// weights.
func NoiseMoments(post *posterior.Posterior) bound.Moments {
	m, _ := noiseMoments(post, func() error { return nil })
	return m
}

// noiseMoments is NoiseMoments for work that may have to stop, which is the error.
func noiseMoments(post *posterior.Posterior, ended func() error) (bound.Moments, error) {
	const each = 1 << 12 // weights that a core takes at a time
	var m bound.Moments
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		parts := (len(v) + each - 1) / each
		errs := make([]error, parts)
		fault.OnCores(context.Background(), parts, func(i int) {
			if errs[i] = ended(); errs[i] != nil {
				return
			}
			for j := i * each; j < min((i+1)*each, len(v)); j++ {
				v[j] = gauss.AbsMeanUp(l.Weight.Mean[j], l.Weight.SdHi[j])
			}
		})
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return m, errs[i]
		}
		m.AbsMean = append(m.AbsMean, v)
	}
	return m, nil
}
