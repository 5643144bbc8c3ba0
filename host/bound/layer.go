package bound

import "psafe/host/model/network"

// What a model knows of its network: the layers, the lists and the windows, which the files above make.

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
	// shifts says that layer 0 adds a normal number of mean 0 to each input, which feeds nothing else.
	shifts bool
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

// cuts is how rows are cut: into flights of about so many numbers of an item, by windows where
// those leave at most so much of the work, and where they have passed so many closed layers, if
// that is not 0.
type cuts struct {
	numbers int
	windows float64
	depth   int
}

// Device returns the device the model is on.
func (m *Model) Device() Device { return m.dev }

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

// layer is what the propagation knows of a layer: facts of the network, of which those of
// docs/theory.md, sections 4.3 and 4.7, decide what is bounded how.
type layer struct {
	in, out int
	// facts is the activation as package network has it, activation as devices do.
	facts      network.Activation
	activation Activation
	// feed lists the layers whose outputs are this one's inputs, -1 for the network's input;
	// those of feed[i] begin at first[i], and first[len(feed)] is in. fed lists the layers that this
	// one feeds.
	feed, first, fed []int
	// A map is a max pool with units of at most window members, or it is linear: at each of
	// positions places a matrix of taps x channels. dense says that there is one place, which every
	// input meets in its order.
	pool, dense bool
	window      int
	// oneChannel says of a pool that its source is linear and the members of a window are of one
	// channel of it: that their differences can be bounded.
	oneChannel                bool
	positions, taps, channels int
	// meets says that at some position two taps have one input.
	meets           bool
	weighted, noisy bool
	// before bounds how many products a coefficient of a row over the outputs is the sum of;
	// longest is the longest list of a GatherSum on the way to the inputs, and forks how often a
	// coefficient there is added to others.
	before, longest, forks int
	// closed says that a row may stop here: the outputs are not linear in what is below.
	closed bool
	class  class
	// depth is the number of noisy layers on the longest way down, this one included.
	depth int
	// opens says that a source is not closed, so that rows may go further than one step without
	// meeting a relaxation; meetsClosed that they meet one before the input.
	opens, meetsClosed bool
	// loud are the noisy layers with whose weights the pre-activations vary beside what is closed;
	// apart says that each source brings others, and each output takes one number of each.
	loud  []int
	apart bool
	// settles says that units whose pre-activations are never positive give 0.
	settles bool
	// needed says that something uses bounds of the pre-activations but for roundings.
	needed bool
	// poolsOnly says that the layer feeds max pools and nothing else; used are the outputs
	// that something uses.
	poolsOnly bool
	used      int
	// chunk is how many rows are taken down at a time, or of a pool of how many units; perRow estimates the numbers
	// that a row of this layer needs on its way.
	chunk, perRow int
	// view is how rows of the layer, or of differences of a pool, go down by windows; nil if they
	// do not.
	view *view
	lists
}

// nonNeg says that the activation's values are never negative.
func (l *layer) nonNeg() bool { return l.facts.NonNeg() }

// phases says that the outputs are max(t, 0) of linear maps.
func (l *layer) phases() bool { return !l.pool && cutsAtZero(l.facts) }

// shared says that weights are used in several places.
func (l *layer) shared() bool { return l.weighted && !l.dense }

// class says how concentration LBP bounds a layer, and what events that costs each unit.
type class int

const (
	// bounded: by intervals and by lines, one event each for the lower and the upper end, and a
	// small one for the radius.
	bounded class = iota
	// loose: linear in noise, and nothing needs bounds but the roundings: by intervals, two very
	// small events.
	loose
	// plain: of closed values only, without noise of its own: no event.
	plain
	// sure: there is no noise at all below: no event.
	sure
	// ofPool: a max pool, whose events are those of its source and of the differences.
	ofPool
)

// charge is what Relax charges rows for that pass the layer: the sum over its neurons, the
// roundings of coefficients on the way to its inputs, and those of adding what arrived from
// several layers (docs/theory.md, section 4).
func (l *layer) charge(p Precision) Charge {
	sums := SumRoundings(l.longest, false) + l.forks
	if !l.pool {
		if !l.dense { // biases add up over all positions
			sums = max(sums, SumRoundings(l.positions, false))
		}
		sums += roundings(l.channels)
	}
	return p.rowsCharge(l.out, sums, l.joins())
}

// rowsRounding is that of RelaxRows and SplitRows at the layer.
func (l *layer) rowsRounding(p Precision) RowsRounding {
	return p.rowsRounding(l.out, l.before, l.joins())
}

// joins is how often coefficients of the layer's outputs are added to what has arrived.
func (l *layer) joins() int { return max(len(l.fed)-1, 0) }

// cutsAtZero reports whether the activation is max(t, 0).
func cutsAtZero(a network.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 0
}

// mostNumber is what the whole numbers on devices are below: float32 has all of those.
const mostNumber = 1 << 24

// lists are the places that a layer's numbers are taken from, and what of its matrix is no
// parameter. First as whole numbers, then on the device; nil where a layer does without.
type lists struct {
	hostTap, hostWeight, hostMembers []int32
	hostCoefficient                  [2][]float64

	// tap is [positions x taps], across the same by [taps x positions]; weight is [taps x
	// channels], the parameter there; matrix and noBias are those of a map without parameters,
	// [taps] and one 0, and negative is the matrix negated.
	tap, across, weight Array
	matrix, negative    Interval
	noBias              Interval
	// parts[i] are the inputs that source i gives, locals[i] as many numbers from 0; sums[i] takes coefficients of taps to its
	// outputs, and of places to nothing where all of them are one row's: atPlaces.
	parts    []list
	locals   []list
	sums     []sumList
	atPlaces sumList
	// members is [units x window], slots the place in the window of each entry of sums.
	members, slots Array
	leads          []run
}

// list is an array of whole numbers.
type list struct {
	at Array
	n  int
}

// sumList is the lists of one GatherSum: for each of places those of entries.
type sumList struct {
	start, entry    Array
	places, entries int
}

// run is a piece of the members of all windows, whose rows are taken down together: number at and
// the next n.
type run struct {
	at, n int
	// unit are the members; window the unit whose window each is in; local counts from 0.
	unit, window, local Array
}

// inputUnder is the input under tap t of position q, -1 for none.
func (l *layer) inputUnder(q, t int) int {
	if l.hostTap == nil {
		return t
	}
	return int(l.hostTap[q*l.taps+t])
}

// member is member e of all windows, and where there is none the first of its window.
func (l *layer) member(e int) int32 {
	if j := l.hostMembers[e]; j >= 0 {
		return j
	}
	for _, j := range l.hostMembers[e/l.window*l.window:][:l.window] {
		if j >= 0 {
			return j
		}
	}
	return 0
}

// param is the parameter at entry e of the matrix, -1 for none.
func (l *layer) param(e int) int {
	switch {
	case !l.weighted:
		return -1
	case l.hostWeight == nil:
		return e
	}
	return int(l.hostWeight[e])
}

// view is the network below a layer as the windows of its positions have it.
type view struct {
	*network.Windows
	// starts are the positions that rows start at, [rows, columns]; perStart are the rows of each,
	// before they are mirrored.
	starts   [2]int
	perStart int
	// layers are as in Model, those on the way by their windows; width is the numbers of the input's.
	layers []layer
	width  int
	// each is how many starts are taken down at a time, part how many rows of a start at most: all,
	// unless each is 1.
	each, part int
	// both says that rows of the upper and of the lower ends of all units of a start are taken down together.
	both bool
	// flight is about how many numbers the rows of a start take on their way down, widest the most
	// in one array, and under those under taps that (29) makes of them.
	flight, widest, under int
	sights                []sight
}

// sight is a view for some of the starts, number at and the next n, and for some of the rows of each,
// number row and the next rows.
type sight struct {
	at, n, row, rows int
	// units are their rows among those of all starts, which are one after the other from first on; seen, by layer and for
	// the input, what their windows have of it: positions, or numbers of an input with channels
	// first.
	first int
	units Array
	seen  []list
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

// lineForm is the form of rows of layer k that do not stop at once: those of the property, of the
// last layer, go down to the input.
func (m *Model) lineForm(k int) form {
	if k == len(m.layers)-1 {
		return form{}
	}
	return form{most: m.cuts.depth}
}

// form describes how rows go down: whether they stop at the first closed values, whose intervals
// then bound them, or else through how many closed layers they go at most, on the longest way, 0
// for all; and whether they remember that weights are used in several places (29).
type form struct {
	stop, shared bool
	most         int
}

// stops reports whether rows of this form that have passed so many closed layers end at layer l.
func (f form) stops(l *layer, passed int) bool {
	return l.closed && (f.stop || f.most > 0 && passed >= f.most)
}
