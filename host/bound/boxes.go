package bound

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/posterior"
)

// Weight boxes: drawn on the device, or given.

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

// Enclose is a weight box with exactly one network in it, up to the device's roundings: weights[2k]
// are those of layer k and weights[2k+1] its biases.
func Enclose(weights [][]float64, p Precision) Explicit {
	var b Explicit
	for _, w := range weights {
		lo, hi := make([]float64, len(w)), make([]float64, len(w))
		p.enclose(w, lo, hi)
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// enclose writes the numbers of the precision that are next to those of w, below and above.
func (p Precision) enclose(w, lo, hi []float64) {
	if p == Float32 && !slices.ContainsFunc(w, math.IsNaN) {
		for j, x := range w {
			lo[j], hi[j] = float64(float32Down(x)), -float64(float32Down(-x))
		}
		return
	}
	for j, x := range w {
		lo[j], hi[j] = p.RoundLo(x), p.RoundHi(x)
	}
}

// meansOf encloses the means of a posterior in the device's numbers.
func (m *Model) meansOf(post *posterior.Posterior) Explicit {
	var means [][]float64
	for _, g := range post.Params() {
		means = append(means, g.Mean)
	}
	return Enclose(means, m.dev.Precision())
}

// Upload makes weight boxes of given end-points, numbers of the device's
// precision with Lo <= Hi.
func (m *Model) Upload(boxes []Explicit) (*Boxes, error) {
	return m.uploadBoxes(len(boxes), func(b, i int, lo, hi []float64) {
		copy(lo, boxes[b].Lo[i])
		copy(hi, boxes[b].Hi[i])
	})
}

// UploadNetworks is Upload of boxes with exactly one network in each, as Enclose makes them.
func (m *Model) UploadNetworks(weights [][][]float64) (*Boxes, error) {
	return m.uploadBoxes(len(weights), func(b, i int, lo, hi []float64) { m.dev.Precision().enclose(weights[b][i], lo, hi) })
}

// uploadBoxes uploads boxes whose end-points of array i ends writes.
func (m *Model) uploadBoxes(count int, ends func(b, i int, lo, hi []float64)) (*Boxes, error) {
	out := &Boxes{count: count}
	for i, d := range m.arrays {
		if d.n == 0 {
			out.add(i, Interval{}, false)
			continue
		}
		lo, hi := make([]float64, count*d.n), make([]float64, count*d.n)
		for b := range count {
			if err := Ended(m.dev); err != nil {
				m.ReleaseBoxes(out)
				return nil, err
			}
			ends(b, i, lo[b*d.n:(b+1)*d.n], hi[b*d.n:(b+1)*d.n])
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

// EndsOf reads the end-points of some boxes, given by number.
func (m *Model) EndsOf(b *Boxes, numbers []int) ([]Explicit, error) {
	s := scratch{owner: m.dev}
	defer s.free()
	at := s.listed(len(numbers), func(i int) int { return numbers[i] })
	var picked []Array
	for i, d := range m.arrays {
		box := b.w[i/2]
		if i%2 == 1 {
			box = b.b[i/2]
		}
		if d.n > 0 {
			pick := func(a Array) Array { return s.gathered(a, at, 1, b.count, len(numbers), d.n) }
			picked = append(picked, pick(box.Lo), pick(box.Hi))
		}
	}
	all, err := s.readEach(picked...)
	if err != nil {
		return nil, err
	}
	ends := make([]Explicit, len(numbers))
	for _, d := range m.arrays {
		for k := range ends {
			var lo, hi []float64
			if d.n > 0 {
				lo, hi = all[0][k*d.n:][:d.n], all[1][k*d.n:][:d.n]
			}
			ends[k].Lo, ends[k].Hi = append(ends[k].Lo, lo), append(ends[k].Hi, hi)
		}
		if d.n > 0 {
			all = all[2:]
		}
	}
	return ends, nil
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
			var n [4]float32
			for w := range lo {
				if spec.Sampled && w%4 == 0 {
					n = arith.Normals(spec.Seed, spec.First+uint64(b), uint32(2*k+what), uint32(w/4))
				}
				lo[w], hi[w] = p.boxEnds(ends.CentreLo[w], ends.CentreHi[w], ends.Unit[w], spec.Gamma[k][b], n[w%4])
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
