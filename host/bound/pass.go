package bound

import (
	"fmt"

	"psafe/host/read/property"
)

// What a pass over a network is asked, what it knows and what goes down in it.

// Propagation names how bounds are propagated.
type Propagation int

const (
	// IBP propagates intervals (docs/theory.md, Affine), through several linear layers behind
	// each other (batch norms, joins) in one step.
	IBP Propagation = iota
	// LBP back-substitutes linear bounds (docs/theory.md, section 2.3), every hidden bound
	// intersected with that of IBP.
	LBP
)

// String returns ibp or lbp.
func (m Propagation) String() string {
	if m == IBP {
		return "ibp"
	}
	return "lbp"
}

// ParsePropagation reads ibp or lbp.
func ParsePropagation(word string) (Propagation, error) {
	switch word {
	case "ibp":
		return IBP, nil
	case "lbp":
		return LBP, nil
	}
	return 0, fmt.Errorf("method %q is neither ibp nor lbp", word)
}

// Query is one batch to propagate. Rows are per input: item p uses rows p%Inputs.
type Query struct {
	Propagation Propagation
	Boxes       *Boxes
	Inputs      *Inputs
	Rows        *Rows
	Batch       Batch
	// Observe, if set, is called with every bound as it is made, in order:
	// "pre.lo" and "pre.hi" of each layer, then "margin.ibp" and "margin.lbp"; of a max pool
	// "pool.star" before them, the unit that is each window's star, which is no bound, and
	// "pool.lead", how far the others are above it.
	Observe func(what string, layer int, a Array) error
	// Enough, if set, says whether lower bounds of the rows of an item are as high as they need be. They may be
	// lower then than they could: rows of weights that are used in several places know of that, by (29), and
	// those that take each place by itself, and seldom gain anything, are left out.
	Enough func(item int, lo []float64) bool
	// Refine, if set, is called at the end, by LBP, with all bounds, and says which rows to bound
	// beside the others, nil none. Batch.Inputs is Batch.Items then.
	Refine func(*Margins) *Refinement
}

// Margins are lower bounds of the property rows, [Items x Rows] each.
type Margins struct {
	Items, Rows int
	// IBP is by intervals; LBP by linear bounds, nil for IBP.
	IBP, LBP []float64
	// Refined are those of the rows that Query.Refine asked for, [Items x R]; nil if it did not.
	Refined []float64
}

// Lo returns the lower bounds of item p's rows, the better of both methods.
// A bound that is not a number is -Inf on every device already.
func (m *Margins) Lo(p int) []float64 {
	lo := append([]float64(nil), m.IBP[p*m.Rows:(p+1)*m.Rows]...)
	if m.LBP != nil {
		for r, v := range m.LBP[p*m.Rows : (p+1)*m.Rows] {
			lo[r] = max(lo[r], v)
		}
	}
	return lo
}

// Refinement are more rows for the items of a Job, each with lower slopes of its own: what is proved
// of the hidden layers serves them too. The network is one of CanRefine's.
type Refinement struct {
	// Rows are those of each item. They may be fewer than R, the most that an item has.
	Rows [][]property.Row
	// Slope are the lower slopes of the neurons of each hidden layer, [Items x units x R], numbers of
	// the device's precision in [0, 1]; any others count as 0 (SplitRows).
	Slope [][]float64
}

// pass is one Propagate under way.
type pass struct {
	*Model
	scratch
	query Query
	// layers are the model's, or as the windows that seen tells of have them.
	layers  []layer
	seen    *seen
	hidden  []hidden
	margins Margins
	hooks   *hooks
	cache   passCache
	// off is by how much pre-activations of layers may be off, whatever the weights (Splits.Allow).
	off map[int]Interval
	// only says which forms of rows are taken down.
	only ways
	// outer are bounds of pre-activations that hold on a box around the input box, by layer (Splits.Within).
	outer []hostInterval
	// shift says that weights are those of the mean network, whose layer 0 hands the inputs on.
	shift bool
}

// hooks hold what concentration LBP does beside a pass.
type hooks struct {
	// start sees a flight of the rows of layer k's units before it goes down; u says which units,
	// nil all of them.
	start func(k int, u *endRows)
	// watch is that of all flights that have none.
	watch
	// differences sees a flight of differences of units before it goes down.
	differences func(d *difference)
	// bound sees the lower bounds of a flight of the rows of layer k.
	bound func(k int, bound Array, rows int)
}

// hidden holds what is known of a hidden layer.
type hidden struct {
	// in is what feeds it, all sources one after the other.
	in     Interval
	pre, z Interval
	mag    Array
	lo, hi Line
	err    Array
	pool   poolValues
}

// mergedLayer is the last layer with the property merged in, one per item.
type mergedLayer struct{ w, b Interval }

// poolValues holds what is known of a max pool.
type poolValues struct {
	slot, unit   Array // of the stars
	lower, upper Line  // of v, in y_*
	err          Array
	v            Interval
	lead         Array    // how far the star leads, nil if that is not known, or not needed any more
	star         Interval // of the star: where the lower line of the activation has to hold
	above        Interval // and where the upper line has to
	radius       Array
}

// passCache holds what a pass makes once.
type passCache struct {
	// x are the input boxes, one for each item.
	x Interval
	// matrices are the weight boxes of layers as matrices, negated the same times -1.
	matrices, negated map[int]Interval
	// opposite are biases times -1.
	opposite map[int]Interval
	filled   map[filling]Array
	// across are the inputs of layers under their taps, for factors.
	across map[int]Interval
	// Of (29): squares of what feeds layers, and weight boxes as centres and half-widths.
	mostSquares map[int]Array
	centres     map[int]centred
}

type filling struct {
	value float64
	n     int
}

// centred is the centres of a weight box as a matrix, times -1, and its half-widths.
type centred struct{ minus, half Array }

// seen holds what a pass knows of the windows that it sees: arrays of whole maps, gathered.
type seen struct {
	*view
	*sight
	images int
	inputs Interval
	copies map[Array]Array
	hidden map[int]*hidden
	joined map[int]Interval
}

// difference are rows of differences of two units of a layer, other minus unit: other is
// [Items x n].
type difference struct {
	layer       int
	unit, other Array
	n           int
	// noise is that of the layer itself, once somebody asked.
	noise noiseArrays
}

// flight are rows on their way down: coefficients over the outputs of some layers, and
// constants. All rows go down by backSubstitute: those of units, of differences, of the property,
// and those that have lower slopes of their own.
type flight struct {
	// over has the coefficients by layer, -1 for the network's input: [.. x outputs x rows].
	// Hi is nil where the outputs are never negative, and Lo where coefficients are numbers.
	over map[int]Interval
	// c.Hi is there only if rows are mirrored.
	c Interval
	// How the coefficients lie, as RelaxRows takes them; after the first step there are rows of
	// each item.
	perBox, cols int
	mirrored     bool
	// kept are arrays that are not the flight's to release.
	kept []Array
	// own are what rows have of their own at each layer that has phases, and sent the same on the device; nil: the
	// lines of all.
	own  []splitLists
	sent [][3]Array
	form form
	watch
}

// splitLists are the slopes, phases and multipliers of SplitRows for one layer, [Items x units x
// rows]; without phases the last two are nil.
type splitLists struct{ slope, phase, beta []float64 }

// watch sees rows on their way down, where its functions are set: over the outputs of each layer that they
// reach, -1 for the network's input, and over the pre-activations of each that they go through.
type watch struct {
	outputs        func(layer int, s Interval)
	preActivations func(layer int, a Array, rows int)
}

// noiseArrays are mean and variance of rows; cols of them, repeated. Those that are kept are
// not released when more is added to them.
type noiseArrays struct {
	mean, variance Array
	cols           int
	kept           bool
}

func (p *pass) observe(what string, layer int, a Array) {
	if p.query.Observe != nil && p.err == nil {
		p.err = p.query.Observe(what, layer, a)
	}
}

// rows is the number of rows of an item.
func (f *flight) rows() int {
	if f.mirrored {
		return 2 * f.cols
	}
	return f.cols
}
