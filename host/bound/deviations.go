package bound

import (
	"context"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/bound/sharp"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Concentration is the posterior as concentration LBP needs it (docs/theory.md, section 3):
// the means as a weight box, and how far weights deviate from them. It belongs to
// the Model that made it.
type Deviations struct {
	model *Model
	mean  *Boxes
	// By layer: sqrt(2/pi) sd, sd^2 and E|W| of the matrix; sd^2 and 0 of biases. moveSq is what
	// variances of the inputs' variation are multiplied by where weights are certain.
	sdMean, variance, absMean, moveSq []Array
	biasVariance, zero                []Array
	// sharper is nil where it has nothing to say.
	sharper   *sharp.Network
	dependent []Dependent
	common    SharedNoise
	// together says that common is all the noise that there is.
	together bool
	post     *posterior.Posterior
}

// Model is the one that it is of.
func (c *Deviations) Model() *Model { return c.model }

// Moments are upper bounds that PropagateCLBP uses of each layer's weights:
// AbsMean[k][j] >= E|W_j|.
type Moments struct{ AbsMean [][]float64 }

// NewDeviations copies means and deviations to the device. Means are enclosed in
// intervals, deviations rounded up: all of docs/theory.md (10) to (12) grows with them.
func (m *Model) NewDeviations(post *posterior.Posterior, moments Moments) (*Deviations, error) {
	c := &Deviations{model: m, post: post, sharper: sharp.New(post, func() error { return Ended(m.dev) })}
	for k, l := range post.Layers {
		if err := c.addLayer(&m.layers[k], &l, moments.AbsMean[k]); err != nil {
			c.Release()
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
	}
	var err error
	if c.mean, err = m.Upload([]Explicit{m.meansOf(post)}); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// lookEvery is how many numbers the host computes between two looks whether to go on.
const lookEvery = 1 << 16

func (c *Deviations) addLayer(lay *layer, l *posterior.Layer, absMean []float64) error {
	p := c.model.dev.Precision()
	if len(absMean) != len(l.Weight.Mean) {
		panic(fmt.Sprintf("bound: NewDeviations: %d means of |W|, layer has %d weights", len(absMean), len(l.Weight.Mean)))
	}
	var failed error
	up := func(n int, f func(j int) float64) []float64 {
		v := make([]float64, n)
		for j := range v {
			if j%lookEvery == 0 && failed == nil {
				failed = Ended(c.model.dev)
			}
			if failed != nil {
				return v
			}
			if v[j] = p.RoundHi(f(j)); !(v[j] < p.Max()/4) {
				failed = Unfitf("entry %d: a standard deviation or its square does not fit %v: use --precision float64", j, p)
			}
		}
		return v
	}
	// The factors cover the roundings of normal numbers, the neighbour above that of a
	// subnormal one.
	above := func(product, enlarged float64) float64 {
		if product == 0 {
			return 0
		}
		return max(enlarged, math.Nextafter(product, math.Inf(1)))
	}
	mean := func(sd float64) float64 { return above(sd*arith.Sqrt2OverPiUp, sd*arith.Sqrt2OverPiUp*(1+0x1p-51)) }
	square := func(sd float64) float64 {
		return atLeast(above(sd*sd, sd*sd*(1+0x1p-52)*(1+0x1p-51)), sd)
	}
	sd, bias := l.Weight.SdHi, l.Bias.SdHi
	n := lay.taps * lay.channels
	// of is f of the parameter at entry e of the matrix, 0 where there is none.
	of := func(f func(j int) float64) []float64 {
		return up(n, func(e int) float64 {
			if j := lay.param(e); j >= 0 {
				return f(j)
			}
			return 0
		})
	}
	var move []float64
	if lay.weighted {
		move = of(func(j int) float64 { return absMean[j] })
	} else {
		move, sd, bias = up(n, func(t int) float64 { return lay.hostCoefficient[1][t] }), nil, make([]float64, lay.channels)
	}
	if lay.pool {
		n = 0
	}
	for _, a := range []struct {
		to *[]Array
		v  []float64
	}{
		{&c.sdMean, of(func(j int) float64 { return mean(sd[j]) })},
		{&c.variance, of(func(j int) float64 { return square(sd[j]) })},
		{&c.absMean, move},
		{&c.biasVariance, up(len(bias), func(j int) float64 { return square(bias[j]) })},
		{&c.zero, make([]float64, lay.channels)},
		{&c.moveSq, up(n, lay.moveSq(move))},
	} {
		if len(a.v) == 0 { // a pool's
			*a.to = append(*a.to, nil)
			continue
		}
		if failed != nil {
			return failed
		}
		array, err := c.model.uploadOne(a.v)
		if err != nil {
			return err
		}
		*a.to = append(*a.to, array)
	}
	return nil
}

// atLeast keeps a square of something that is not 0 from vanishing by underflow.
func atLeast(square, of float64) float64 {
	if of != 0 {
		return max(square, math.SmallestNonzeroFloat64)
	}
	return square
}

// Release gives the device's memory back.
func (c *Deviations) Release() {
	for _, list := range [][]Array{c.sdMean, c.variance, c.absMean, c.moveSq, c.biasVariance, c.zero} {
		for _, a := range list {
			c.model.dev.Release(a)
		}
	}
	if c.mean != nil {
		c.model.ReleaseBoxes(c.mean)
	}
}

// Quantiles say how many standard deviations of noise a hidden bound allows for:
// what the probability of more is, is the caller's affair (docs/theory.md (13), (13a)).
type Quantiles struct {
	// Single is for bounds with the noise of one layer, Many[k] for those of hidden
	// layer k by back-substitution, which have that of k+1 layers; Radius is for
	// how far neurons vary over T. Of a network that is no chain Many[l-1] is for rows that met the
	// noise of l levels, and Loose for bounds that only roundings need.
	Single, Radius float64
	Loose          float64
	Many           []float64
}

// CLBPQuery is one batch: Rows per input.
type CLBPQuery struct {
	Inputs    *Noisy
	Rows      *Rows
	Quantiles Quantiles
	// Sharp says that rows of hidden layers are bounded with the noise that CLBPMargins.Sharp has
	// of the property's rows: on the host, which takes longer than the rest.
	Sharp bool
	// Slopes says that rows of the property are bounded by lines with other lower slopes, too:
	// CLBPMargins.Others.
	Slopes bool
	// HiddenSlopes says that so are rows of hidden layers; the best of their bounds counts.
	HiddenSlopes bool
	// Splits, if it is not nil, is called at the end of a batch of one item, of a network of CanSplit's:
	// with nil if it is a point, or no weight that counts deviates.
	Splits  func(*CLBPSplits) error
	Observe func(what string, layer int, a Array) error
}

// Noisy are input boxes with what the noise needs of them.
type Noisy struct {
	*Inputs
	radius, radiusSq, maxSq Array
	// centre encloses the boxes' middles, of a chain of which not all are points.
	centre Interval
	// points says which boxes are one point, point that all are.
	points []bool
	point  bool
	// balls are what the boxes are cut to, nil if they are not.
	balls []*ballItem
}

// UploadNoisy copies input boxes to the device, with how far they reach from their
// centres and from 0, rounded up: +Inf, which makes bounds unknown, if that overflows.
func (m *Model) UploadNoisy(boxes []property.Box) (*Noisy, error) { return m.uploadNoisy(boxes, nil) }

func (m *Model) uploadNoisy(boxes []property.Box, balls []*ballItem) (*Noisy, error) {
	in, err := m.UploadInputs(boxes)
	if err != nil {
		return nil, err
	}
	p := m.dev.Precision()
	up := func(x float64) float64 { return p.RoundHi(math.Nextafter(x, math.Inf(1))) }
	numbers := func() []float64 { return make([]float64, len(boxes)*m.layers[0].in) }
	radius, radiusSq, maxSq, centreLo, centreHi := numbers(), numbers(), numbers(), numbers(), numbers()
	fault.OnCores(context.Background(), len(boxes), func(i int) {
		b := boxes[i]
		for j, lo := range b.Lo {
			at := i*len(b.Lo) + j
			// Any centre will do; this one is about the middle. A box without
			// width has no radius.
			hi := b.Hi[j]
			c, r := lo+(hi-lo)/2, 0.0
			if balls != nil {
				c = balls[i].centre[j]
			}
			if lo != hi {
				r = up(max(hi-c, c-lo))
			}
			most := max(math.Abs(lo), math.Abs(hi))
			if !m.chain { // factors of shared weights are made of the rounded ends
				most = max(math.Abs(p.RoundLo(lo)), math.Abs(p.RoundHi(hi)))
			}
			centreLo[at], centreHi[at] = p.RoundLo(c), p.RoundHi(c)
			radius[at], radiusSq[at], maxSq[at] = r, up(r*r), up(most*most)
		}
	})
	n := &Noisy{Inputs: in, point: true, balls: balls}
	for _, b := range boxes {
		n.points = append(n.points, slices.Equal(b.Lo, b.Hi))
		n.point = n.point && n.points[len(n.points)-1]
	}
	for _, a := range []struct {
		to *Array
		v  []float64
	}{{&n.radius, radius}, {&n.radiusSq, radiusSq}, {&n.maxSq, maxSq}, {&n.centre.Lo, centreLo}, {&n.centre.Hi, centreHi}} {
		if (a.to == &n.centre.Lo || a.to == &n.centre.Hi) && (n.point || !m.chain) {
			continue
		}
		if *a.to, err = m.uploadOne(a.v); err != nil {
			m.ReleaseNoisy(n)
			return nil, err
		}
	}
	return n, nil
}

// ReleaseNoisy gives the memory of input boxes back.
func (m *Model) ReleaseNoisy(n *Noisy) {
	m.ReleaseInputs(n.Inputs)
	for _, a := range []Array{n.radius, n.radiusSq, n.maxSq, n.centre.Lo, n.centre.Hi} {
		m.dev.Release(a)
	}
}

// CLBPMargins bounds the property rows of every input in the form of docs/theory.md (10):
// for all x in T, row r is at least Lo plus the noise of some layers, whose least
// value over T is on average at least -Mean and varies by Var.
type CLBPMargins struct {
	Items, Rows int
	// ByIntervals has the noise of the last layer only (and of those between it and closed
	// values), all others being in the bounds of the hidden neurons; ByLines has that of every
	// layer, by level. ByLines has no entries where there is no hidden layer.
	ByIntervals, ByLines Noises
	// Events counts, for each item, what may fail of the hidden bounds.
	Events []Events
	// Others are ByLines, and what Sharp says, with other lower slopes, and nothing else: which is
	// the best for a row depends on no weight.
	Others []*CLBPMargins
	sharp  *sharpMargins
}

// Noises are a lower bound [Items x Rows] and, for each layer that adds noise, its
// mean and variance [layers][Items x Rows], rounded up; +Inf where unknown.
type Noises struct {
	Lo        []float64
	Mean, Var [][]float64
}

// At returns what is known of row r of item p.
func (n *Noises) At(at int) (lo float64, mean, variance []float64) {
	for l := range n.Mean {
		mean, variance = append(mean, n.Mean[l][at]), append(variance, n.Var[l][at])
	}
	return n.Lo[at], mean, variance
}
