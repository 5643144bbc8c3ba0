package bound

import (
	"psafe/host/bound/sharp"
	"psafe/host/model/posterior"
)

// What concentration LBP is asked and answers, and what one pass of it knows.

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
	// concave is nil without noise of the inputs.
	concave *concaveNet
}

// Model is the one that it is of.
func (c *Deviations) Model() *Model { return c.model }

// Moments are upper bounds that PropagateCLBP uses of each layer's weights:
// AbsMean[k][j] >= E|W_j|.
type Moments struct{ AbsMean [][]float64 }

// CLBPQuery is one batch: Rows per input.
type CLBPQuery struct {
	Inputs    *Noisy
	Rows      *Rows
	Quantiles Quantiles
	// Apart, if it is not nil, has the quantiles of each item, in the place of Quantiles.
	Apart []Quantiles
	// Sharp says that rows of hidden layers are bounded with the noise that CLBPMargins.Sharp has
	// of the property's rows: on the host, which takes longer than the rest.
	Sharp bool
	// Wanted, if it is not nil, is told all that the pass has found and returns the items, in order,
	// for which CLBPMargins.Sharp may have anything to say: rows of others are not read.
	Wanted func(*CLBPMargins) []int
	// Slopes says that rows of the property are bounded by lines with other lower slopes, too:
	// CLBPMargins.Others.
	Slopes bool
	// HiddenSlopes says that so are rows of hidden layers; the best of their bounds counts.
	HiddenSlopes bool
	// Features says that what feeds the last layer is bounded by functions of the input, too:
	// CLBPMargins.Features. No other layer has noise.
	Features bool
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
	// points says of which boxes one point is meant, as they are one or by UploadPointwise, point that of all.
	points []bool
	point  bool
	// balls are what the boxes are cut to, nil if they are not.
	balls []*ballItem
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
	// Features are rows of the numbers that feed the last layer, and then the same negated.
	Features *InputLines
	sharp    *sharpMargins
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

// Events counts what may fail of an item's hidden bounds: each of Ends with the probability that
// Quantiles.Single and Many stand for, Radii with that of Radius and Loose with that of Loose
// (docs/theory.md, section 4.3).
type Events struct{ Ends, Radii, Loose float64 }

// sharpMargins are the property's rows, as the sharper takes them, of the items that are read; items[p] is
// what it said.
type sharpMargins struct {
	sharper *sharp.Network
	kept    *keptRows
	points  []bool
	read    []*sharpRows
	items   []*sharp.Noise
}

// keptRows are rows of layer top that are kept on the device: their coefficients over the
// pre-activations of the layers below, and over the inputs.
type keptRows struct {
	top, rows int
	layers    []Array
	inputs    Interval
}

// sharpRows are those of one item, read, with what is known of the item.
type sharpRows struct {
	*sharp.Rows
	reach *sharp.Reach
}

// Fed holds what is known of the numbers z that feed a layer, for all x of a box and all weights with
// which the bounds below it are right: each is in [Lo, Hi], and off what it is at one point of the box
// by at most Radius.
type Fed struct{ Lo, Hi, Radius []float64 }

// Dependent is a layer whose weights depend on each other.
type Dependent interface{ Over(z Fed) NoiseOver }

// NoiseOver is its noise on one box, rounded up; +Inf where nothing is known.
type NoiseOver interface {
	// Unit bounds the variance of the noise of output i, for every z, and that of sum_j |W_ij| Radius_j.
	Unit(i int) (variance, varies float64)
	// Row bounds the noise of a row with coefficients in [lo, hi] of the outputs: minus the mean of its
	// least value, and its variance for every z.
	Row(lo, hi []float64) (mean, variance float64)
}

// SharedNoise is P z; rounded up, +Inf where nothing is known.
type SharedNoise interface {
	// Unit bounds what it does to output i of layer k alone, for all z in the box: minus the mean of the least
	// value and its variance; and the variance of what it adds to sum_j |W_ij| Radius_j.
	Unit(k, i int, z Fed) (mean, variance, varies float64)
	NewRow() SharedRow
}

// SharedRow adds up what the layers do to a row: not their variances, but the row itself.
type SharedRow interface {
	// Add adds layer k, of whose outputs the row has coefficients in [lo, hi].
	Add(k int, lo, hi []float64, z Fed)
	Clone() SharedRow
	Noise() (mean, variance float64)
}

// sharedLevel is below those of all layers.
const sharedLevel = 0

// CLBPSplits bounds rows of the property under phases of hidden neurons, with the noise that they
// meet (docs/theory.md (63)): what concentration LBP has proved of the hidden layers for all x of its one
// item serves every row, with lower slopes, phases and multipliers of its own. It is there while
// CLBPQuery.Splits is called.
type CLBPSplits struct {
	p *clbpPass
	// rows are so many of the property, of which squares is [outputs x rows]; reach is of the item.
	rows    int
	squares []float64
	reach   *sharp.Reach
	// w and b are the last layer with the property merged in, at their least.
	w, b   []float64
	lo, hi [][]float64
}

// clbpPass is one PropagateCLBP under way.
type clbpPass struct {
	*Deviations
	pass
	query CLBPQuery
	// radii[k] is what is known of the outputs of hidden layer k, moves[k] of how far its
	// pre-activations vary.
	radii []radiusArrays
	moves []noiseArrays
	// own is the noise of the layer in work, of its units; ownMean and ownVariance are its numbers, once
	// rows of some units need them.
	own                  noiseArrays
	ownMean, ownVariance []float64
	// varies is the variance of sum_j |W_ij| radius_j of that layer, if its weights depend on each other.
	varies Array
	// alone is own with the noise that all layers share; joint is what the rows in work have met of that,
	// top what the property's have met of the last layer.
	alone      noiseArrays
	joint, top []SharedRow
	// total is the noise of the rows on their way down, added up if they are of a
	// hidden layer and kept by level, in byLevel, if they are the property's; met are the levels.
	total   noiseArrays
	byLevel map[int]noiseArrays
	apart   bool
	met     map[int]bool
	// down are rows that are kept for the sharper.
	down   *keptRows
	result CLBPMargins
	share  passShare
	// quantiles are what prepareQuantiles has made.
	quantiles passQuantiles
	// ball is nil where T is made of boxes.
	ball *ballPass
	// points are what is known of each, by concave functions; nil where those say nothing.
	points []*concaveItem
}

type radiusArrays struct{ radius, radiusSq, maxSq Array }

// passShare measures how far a pass is, by the products that rows of hidden layers take on their way down.
type passShare struct {
	// rows are how many of all items each layer has to bound, in all their forms, and cost what they
	// take together.
	rows, cost []float64
	// layer is in work, of whose cost at is done; below is that of the layers before.
	layer            int
	at, below, total float64
}

// ballItem is a ball of float64 numbers around a centre in the box, and the box as the device has it.
type ballItem struct {
	norm           int
	centre, radius []float64
	// lo and hi are the device's ends; shutLo and shutHi say where no point of T is below, or above, the
	// centre; mostSq bounds squares of inputs.
	lo, hi         []float64
	shutLo, shutHi []bool
	mostSq         []float64
}

// ballPass holds what a pass over balls knows of the weights.
type ballPass struct {
	items []*ballItem
	post  *posterior.Posterior
	// units are those of the first layer, of each item.
	units []ballUnits
	// grow covers the roundings of sums over inputs and over neurons, as in package sharp.
	grow float64
	// down are rows on their way; own is what the last layer says if it is the second.
	down *ballDown
	own  *ballThrough
}

// ballUnits are, for each unit of the first layer: by how much it goes down, or up, from the centre over
// the ball in the mean at most, with the noise of its weights; size bounds the mean of |W u| over all u
// of the ball, boxed or not, and the same of the means; steep is the greatest r_j sd_j; sizeSq bounds E
// |(r_j W_j)|_2^2; variance is (12). most is size for the means as the device encloses them.
type ballUnits struct{ lower, upper, size, most, steep, sizeSq, variance []float64 }

// ballDown are rows on their way down, [Items x .. x rows] each.
type ballDown struct {
	top, rows int
	// spread are the variances of the inputs' coefficients, variance is (12) of the first layer; nil
	// where it has no noise.
	spread, variance []float64
	// second is the noise of the second layer, nil where it has none.
	second *ballThrough
	// lo and hi are the inputs' coefficients, nil where the rows end above: hi is nil where no
	// input is negative.
	lo, hi []float64
}

// ballThrough is the noise of the second layer in rows, [Items x rows] each: by (11), plain; or, in the
// L2 norm, through the first layer's weights: sq is added under the root, and moved to the deviation of
// the first layer's noise.
type ballThrough struct{ plain, sq, moved []float64 }

func (p *clbpPass) dropTotal() {
	if !p.total.kept {
		p.release(p.total.mean, p.total.variance)
	}
	p.total = noiseArrays{}
}

// before is the noise that that of layer l is added to.
func (p *clbpPass) before(l, rows int) noiseArrays {
	n := p.total
	if p.apart {
		n = p.byLevel[p.layers[l].depth]
	}
	if n.mean == nil {
		n.cols = rows
	}
	return n
}

// put replaces noise by the same with that of layer l.
func (p *clbpPass) put(l int, before, next noiseArrays) {
	if !before.kept {
		p.release(before.mean, before.variance)
	}
	p.observe("noise.mean", l, next.mean)
	p.observe("noise.variance", l, next.variance)
	if p.apart {
		p.byLevel[p.layers[l].depth] = next
		return
	}
	p.total, p.met[p.layers[l].depth] = next, true
}

// radiusOf returns what is known of the outputs of layer s, or of the network's input.
func (p *clbpPass) radiusOf(s int) radiusArrays {
	var r radiusArrays
	if s < 0 {
		in := p.query.Inputs
		r = radiusArrays{in.radius, in.radiusSq, in.maxSq}
	} else {
		r = p.radii[s]
	}
	if p.seen != nil {
		return radiusArrays{p.look(s, r.radius), nil, p.look(s, r.maxSq)}
	}
	return r
}

// joinRadius is the radius of what feeds layer k.
func (p *clbpPass) joinRadius(k int) Array {
	return p.join(k, func(s int) Array { return p.radiusOf(s).radius })
}

// joinMaxSq bounds the squares of what feeds layer k.
func (p *clbpPass) joinMaxSq(k int) Array {
	return p.join(k, func(s int) Array { return p.radiusOf(s).maxSq })
}

// tightens reports whether rows of layer k's units are taken down.
func (p *clbpPass) tightens(k int) bool {
	l := &p.layers[k]
	return (l.class == bounded || l.class == sure) && p.worthRows(l)
}
