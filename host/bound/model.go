package bound

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Model is a posterior on a device, ready to make weight boxes and propagate
// them. It is not safe for use by several goroutines at once.
type Model struct {
	cuts   cuts
	dev    Device
	layers []layer
	// arrays[2k] draws the weights of layer k, arrays[2k+1] its biases.
	arrays []drawn
	// chain says that the network is a chain of dense layers, which has no lists; held are the
	// arrays of those.
	chain bool
	held  []Array
	// before is layer.before of the network's input, and forks how many layers it feeds.
	before, forks int
	watch         func(share float64)
}

// drawn is one array of weights as DrawBox takes it.
type drawn struct {
	n      int
	centre Interval
	unit   Array
}

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

// cuts is how rows are cut: into flights of about so many numbers of an item, by windows where
// those leave at most so much of the work, and where they have passed so many closed layers, if
// that is not 0.
type cuts struct {
	numbers int
	windows float64
	depth   int
}

// NewModelCut is NewModelOfDepth with flights of about so many numbers, by windows where those leave at
// most so much of the work: 0 is never, and more than 1 also where they do not pay.
func NewModelCut(dev Device, post *posterior.Posterior, reach float64, depth, numbers int, windows float64) (*Model, error) {
	if err := post.RequireIndependent(); err != nil {
		return nil, err
	}
	m := &Model{dev: dev, cuts: cuts{numbers: numbers, windows: windows, depth: depth}}
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
	m.chain = post.Network().Chain()
	for k := range m.layers {
		if l := &m.layers[k]; slices.Contains(l.feed, -1) {
			m.before, m.forks = m.before+l.productsOf(-1), m.forks+1
		}
	}
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

// Release gives the device's memory back.
func (m *Model) Release() {
	for _, a := range m.arrays {
		m.dev.Release(a.centre.Lo)
		m.dev.Release(a.centre.Hi)
		m.dev.Release(a.unit)
	}
	for _, a := range m.held {
		m.dev.Release(a)
	}
	m.arrays, m.held = nil, nil
}

// Bytes is what the model's own arrays take on the device.
func (m *Model) Bytes() int64 {
	n := 0
	for _, a := range m.arrays {
		n += 3 * a.n
	}
	for _, a := range m.held {
		n += a.Len()
	}
	return int64(n * m.dev.Precision().Bytes())
}

// Device returns the device the model is on.
func (m *Model) Device() Device { return m.dev }

func deviceActivation(a network.Activation, p Precision) Activation {
	below, _ := a.Kinked()
	return Activation{Kind: a.Kind, SlopeLo: p.RoundLo(below), SlopeHi: p.RoundHi(below)}
}

// Ends is the description of the intervals of one array of weights, in a
// device's precision; BoxEnds says how end-points follow.
type Ends struct{ CentreLo, CentreHi, Unit []float64 }

// NewEnds prepares an array of weights: centres are means to nearest, units
// standard deviations, rounded up and at least four unit roundoffs of the mean, so
// that an interval is not a point where the standard deviation is too small for
// the format (any box may be chosen). Where the standard deviation is 0 the mean
// is enclosed, so that a deterministic weight is always inside its interval.
// An array without standard deviations, of a posterior of another kind, is an error.
func NewEnds(g *posterior.Params, p Precision, reach float64) (*Ends, error) {
	n := len(g.Mean)
	if len(g.SdHi) != n {
		return nil, Unfitf("%d weights have %d standard deviations: they are not independent normal ones", n, len(g.SdHi))
	}
	e := &Ends{make([]float64, n), make([]float64, n), make([]float64, n)}
	for j, mean := range g.Mean {
		c := p.Nearest(mean)
		e.CentreLo[j], e.CentreHi[j] = c, c
		if g.SdHi[j] == 0 {
			e.CentreLo[j], e.CentreHi[j] = p.RoundLo(mean), p.RoundHi(mean)
		} else {
			e.Unit[j] = p.RoundHi(max(g.SdHi[j], 4*p.Unit()*math.Abs(mean), 4*p.Eta()))
		}
		if far := math.Abs(mean) + (reach+7)*e.Unit[j]; !(far < p.Max()/4) {
			return nil, Unfitf("entry %d (mean %v, sd %v) does not fit %v: use --precision float64", j, mean, g.SdHi[j], p)
		}
	}
	return e, nil
}

// BoxSpec says which weight boxes to make.
type BoxSpec struct {
	// Gamma[k][b] is the half-width of box b in layer k, in standard deviations
	// (of Unit), a number of the device's precision.
	Gamma [][]float64
	// Sampled centres boxes First, First+1, ... on posterior samples drawn with
	// Seed, otherwise all are centred on the mean.
	Sampled     bool
	Seed, First uint64
}

// Count is the number of boxes.
func (s *BoxSpec) Count() int { return len(s.Gamma[0]) }

// Boxes are weight boxes on a device.
type Boxes struct {
	count int
	w, b  []Interval // by layer
	// wide[k] says that the weights of layer k may differ from each other's mean by more than
	// roundings: then it pays to remember where they are used in several places (29).
	wide []bool
}

// add appends array i of the weights.
func (b *Boxes) add(i int, box Interval, wide bool) {
	if i%2 == 0 {
		b.w, b.wide = append(b.w, box), append(b.wide, wide)
	} else {
		b.b = append(b.b, box)
	}
}

// isWide says that some interval is wider than what roundings make.
func isWide(lo, hi []float64) bool {
	for i, l := range lo {
		if hi[i]-l > 0x1p-12*max(math.Abs(l), math.Abs(hi[i])) {
			return true
		}
	}
	return false
}

// Count is the number of boxes.
func (b *Boxes) Count() int { return b.count }

// Draw makes weight boxes on the device.
func (m *Model) Draw(spec BoxSpec) (*Boxes, error) {
	if len(spec.Gamma) != len(m.layers) {
		panic(fmt.Sprintf("bound: Draw: gammas for %d layers, network has %d", len(spec.Gamma), len(m.layers)))
	}
	boxes := &Boxes{count: spec.Count()}
	for i, d := range m.arrays {
		if d.n == 0 {
			boxes.add(i, Interval{}, false)
			continue
		}
		box, err := m.newInterval(boxes.count * d.n)
		if err != nil {
			m.ReleaseBoxes(boxes)
			return nil, err
		}
		boxes.add(i, box, slices.ContainsFunc(spec.Gamma[i/2], positive))
		gamma, err := m.uploadOne(spec.Gamma[i/2])
		if err == nil {
			err = m.dev.Do(DrawBox{
				Box: box, Centre: d.centre, Unit: d.unit, Gamma: gamma, Boxes: boxes.count, N: d.n,
				Sampled: spec.Sampled, Seed: spec.Seed, First: spec.First, Stream: uint32(i),
			})
		}
		m.dev.Release(gamma)
		if err != nil {
			m.ReleaseBoxes(boxes)
			return nil, err
		}
	}
	return boxes, nil
}

// Explicit is a weight box by its end-points: Lo[i], Hi[i] for array i, which is
// the weights of layer i/2 if i is even, else its biases.
type Explicit struct{ Lo, Hi [][]float64 }

// Upload makes weight boxes of given end-points, numbers of the device's
// precision with Lo <= Hi.
func (m *Model) Upload(boxes []Explicit) (*Boxes, error) {
	out := &Boxes{count: len(boxes)}
	for i, d := range m.arrays {
		if d.n == 0 {
			out.add(i, Interval{}, false)
			continue
		}
		lo, hi := make([]float64, 0, len(boxes)*d.n), make([]float64, 0, len(boxes)*d.n)
		for _, b := range boxes {
			lo, hi = append(lo, b.Lo[i]...), append(hi, b.Hi[i]...)
		}
		box, err := m.uploadBox(lo, hi)
		if err != nil {
			m.ReleaseBoxes(out)
			return nil, err
		}
		out.add(i, box, isWide(lo, hi))
	}
	return out, nil
}

// uploadBox is upload, with one array for both ends if they are the same.
func (m *Model) uploadBox(lo, hi []float64) (Interval, error) {
	if !slices.Equal(lo, hi) {
		return m.upload(lo, hi)
	}
	a, err := m.uploadOne(lo)
	return Interval{a, a}, err
}

// ReleaseBoxes gives the memory of weight boxes back.
func (m *Model) ReleaseBoxes(b *Boxes) {
	for _, list := range [][]Interval{b.w, b.b} {
		for _, i := range list {
			m.dev.Release(i.Lo)
			if i.Hi != i.Lo {
				m.dev.Release(i.Hi)
			}
		}
	}
	b.w, b.b = nil, nil
}

// HostBox returns the end-points of box number b of spec, the same numbers that
// Draw writes on any device of that precision. Its errors are those of NewModel.
func HostBox(post *posterior.Posterior, p Precision, spec BoxSpec, b int) (Explicit, error) {
	var box Explicit
	if err := post.RequireIndependent(); err != nil {
		return box, err
	}
	for k, l := range post.Layers {
		for what, g := range []*posterior.Params{&l.Weight, &l.Bias} {
			ends, err := NewEnds(g, p, spec.Gamma[k][b])
			if err != nil {
				return box, err
			}
			lo, hi := make([]float64, len(ends.Unit)), make([]float64, len(ends.Unit))
			for w := range lo {
				var n float32
				if spec.Sampled {
					n = arith.Normal(spec.Seed, spec.First+uint64(b), uint32(2*k+what), uint32(w))
				}
				lo[w], hi[w] = p.boxEnds(ends.CentreLo[w], ends.CentreHi[w], ends.Unit[w], spec.Gamma[k][b], n)
			}
			box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, hi)
		}
	}
	return box, nil
}

func (p Precision) boxEnds(centreLo, centreHi, unit, gamma float64, n float32) (lo, hi float64) {
	if p == Float32 {
		l, h := BoxEnds(float32(centreLo), float32(centreHi), float32(unit), float32(gamma), n)
		return float64(l), float64(h)
	}
	return BoxEnds(centreLo, centreHi, unit, gamma, float64(n))
}

// uploadOne copies numbers to a new array. On an error nothing is left behind; so
// it is with all that follow.
func (m *Model) uploadOne(v []float64) (Array, error) {
	a, err := m.dev.NewArray(len(v))
	if err != nil {
		return nil, err
	}
	if err := m.dev.Write(a, v); err != nil {
		m.dev.Release(a)
		return nil, err
	}
	return a, nil
}

func (m *Model) upload(lo, hi []float64) (Interval, error) {
	l, err := m.uploadOne(lo)
	if err != nil {
		return Interval{}, err
	}
	h, err := m.uploadOne(hi)
	if err != nil {
		m.dev.Release(l)
		return Interval{}, err
	}
	return Interval{l, h}, nil
}

func (m *Model) newInterval(n int) (Interval, error) {
	l, err := m.dev.NewArray(n)
	if err != nil {
		return Interval{}, err
	}
	h, err := m.dev.NewArray(n)
	if err != nil {
		m.dev.Release(l)
		return Interval{}, err
	}
	return Interval{l, h}, nil
}

// Slice returns the spec of boxes from..to-1.
func (s *BoxSpec) Slice(from, to int) BoxSpec {
	part := *s
	part.First += uint64(from)
	part.Gamma = nil
	for _, g := range s.Gamma {
		part.Gamma = append(part.Gamma, g[from:to])
	}
	return part
}
