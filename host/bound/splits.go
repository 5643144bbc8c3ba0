package bound

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
)

// Splits bounds rows of one network on one input box from below, each row with lower slopes, phases
// and multipliers of its own (SplitRows) at the neurons that have phases: those of layers for which
// HasPhases. At all others it has the lines of LBP. The rows are the units of a hidden layer, the
// same negated, or the property's rows and mixtures of them.
//
// Layers are bounded one after the other by Next, as Propagate does, and may be tightened by Tighten
// before the next. What is proved of a layer's pre-activations there is used by everything above.
// Phases only say of which inputs a bound of a row is.
//
// It is not safe for use by several goroutines at once.
type Splits struct {
	pass *pass
	// lo and hi are the pre-activations of the layers that have been bounded, w and b the matrices
	// of dense layers whose units are rows, the last with the property merged in.
	lo, hi [][]float64
	w, b   []hostInterval
	// turned are the transposed weights for ForwardApprox, and bias the biases, by layer, once they are
	// asked for.
	turned []Array
	bias   [][]float64
	// off and below are what Allow has said of the units of layers and of property rows.
	off   [][]float64
	below []float64
	// assumed are the rows that Assuming has been told of, and held the phases of neurons, by layer,
	// 0 where there is none; nil: none.
	assumed []int
	held    [][]float64
	// turn is nil for Splits that are alone on the device. known is what others are told of the inputs, 0, and of
	// layer l, l+1, once it is asked for (readKnown), and changes how often that has become wrong.
	turn    *Turn
	known   [][][]float64
	changes int
}

type hostInterval struct{ lo, hi []float64 }

// SplitQuery asks for lower bounds of R = len(Rows) rows of layer Layer.
type SplitQuery struct {
	// Layer is a hidden layer above the first that Next has bounded or will bound next, or the last
	// layer, if all others are bounded.
	Layer int
	// Rows: of a hidden layer of n units, some i < n, and then n+i for each of these in the same
	// order, which is unit i negated; of the last layer, property rows.
	Rows []int
	// Theta, if it is not nil, makes row r of the last layer the sum over all property rows i of
	// Theta[r][i] times row i. Factors are >= 0.
	Theta [][]float64
	// Slope, Phase and Beta are those of SplitRows by layer below Layer, [units x R] each, numbers of
	// the device's precision; of layers without phases they are not read. Both of the last are nil
	// where there are no phases.
	Slope, Phase, Beta [][]float64
	// WantRows asks for SplitAnswer.S.
	WantRows bool
	begun    begun
}

// begun holds what a query has begun with last: the rows of a layer of by, without a mixture.
type begun struct {
	by           *Splits
	layer        int
	rows         []int
	coefficients hostInterval
	constants    []float64
}

// SplitAnswer holds what a query is answered with.
type SplitAnswer struct {
	// Bound[r] is a lower bound of row r for all inputs of the box where the phases of row r hold,
	// and all weights of the weight box; any number if there are no such inputs.
	Bound []float64
	// S[l+1] are the coefficients of the outputs of layer l, [units x R], S[0] those of the network's
	// inputs, as rounded: bounds of nothing. Those of a layer without phases are nil.
	S [][]float64
}

// CanSplit reports whether the network is one that Splits serves: hidden layers have ReLU or no
// activation, and some have phases.
func CanSplit(net network.Network) bool {
	phases := false
	for _, l := range net[:len(net)-1] {
		if l.Activation.Kind != network.Identity && !cutsAtZero(l.Activation) {
			return false
		}
		phases = phases || HasPhases(l)
	}
	return phases
}

// HasPhases reports of a hidden layer whether its neurons may be taken to be active or not: they
// are max(t, 0) of linear maps.
func HasPhases(l network.Layer) bool {
	_, pool := l.Map.(network.MaxPool)
	return !pool && cutsAtZero(l.Activation)
}

// CanRefine reports whether rows of the network may be refined (Query.Refine): it is a chain of
// dense layers with ReLU.
func CanRefine(net network.Network) bool {
	return net.Chain() && len(net) > 1 && !slices.ContainsFunc(net[:len(net)-1], func(l network.Layer) bool { return !cutsAtZero(l.Activation) })
}

// NewSplits begins with the first weight box, input box and set of rows. Release gives the memory
// back; the three must be there until then.
func (m *Model) NewSplits(boxes *Boxes, inputs *Inputs, rows *Rows) *Splits {
	for k := range m.layers[:len(m.layers)-1] {
		if a := m.layers[k].facts; a.Kind != network.Identity && !cutsAtZero(a) {
			panic("bound: NewSplits: a network with other activations than ReLU")
		}
	}
	n := len(m.layers)
	return &Splits{
		pass: &pass{Model: m, layers: m.layers, scratch: scratch{owner: m.dev},
			query: Query{Propagation: LBP, Boxes: boxes, Inputs: inputs, Rows: rows, Batch: Batch{1, 1, 1}}},
		off: make([][]float64, n), w: make([]hostInterval, n), b: make([]hostInterval, n), turned: make([]Array, n), bias: make([][]float64, n),
	}
}

// Release gives the memory on the device back.
func (s *Splits) Release() { s.turn.Always(s.pass.free) }

// Next bounds the next hidden layer by LBP and returns its pre-activations, which are the caller's
// to read.
func (s *Splits) Next() (lo, hi []float64, err error) {
	p, k := s.pass, len(s.lo)
	if k >= len(p.layers)-1 {
		panic("bound: Splits.Next: no hidden layer is left")
	}
	if err := s.turn.Do(func() error {
		if err := p.hiddenLayer(k); err != nil {
			return err
		}
		lo, hi, err = p.readPair(p.hidden[k].pre.Lo, p.hidden[k].pre.Hi)
		return err
	}); err != nil {
		return nil, nil, err
	}
	s.lo, s.hi = append(s.lo, lo), append(s.hi, hi)
	return lo, hi, nil
}

// Tighten intersects the pre-activations of a layer that Next has come to with the answer to a query
// about its units. That must have been without phases: it has to hold on the whole box. An empty
// intersection changes nothing.
func (s *Splits) Tighten(q *SplitQuery, bounds []float64) error {
	if q.Phase != nil {
		panic(fmt.Sprintf("bound: Splits.Tighten: layer %d, with phases", q.Layer))
	}
	return s.TightenTo(q.Layer, q.Rows, bounds)
}

// TightenTo intersects the pre-activations of a layer that Next has come to with lower bounds of rows, as
// SplitQuery has them, that the caller has for all inputs of the box: such as the least of several
// answers whose phases leave no input out. An empty intersection changes nothing, and so does a bound
// that is NaN.
func (s *Splits) TightenTo(layer int, rows []int, bounds []float64) error {
	p, k := s.pass, layer
	if k >= len(s.lo) || !p.layers[k].phases() {
		panic(fmt.Sprintf("bound: Splits.Tighten: layer %d of %d that are bounded", k, len(s.lo)))
	}
	n := p.layers[k].out
	for r, i := range rows {
		lo, hi := s.lo[k][i%n], s.hi[k][i%n]
		if i < n {
			lo = max(lo, bounds[r])
		} else {
			hi = min(hi, -bounds[r])
		}
		if lo <= hi {
			s.lo[k][i%n], s.hi[k][i%n] = lo, hi
		}
	}
	return s.turn.Do(func() error { return s.replace(k) })
}

// replace gives layer k the pre-activations that s has.
func (s *Splits) replace(k int) error {
	p := s.pass
	if s.changes++; s.known != nil {
		s.known[k+1] = nil
	}
	h := &p.hidden[k]
	p.write(h.pre.Lo, s.lo[k])
	p.write(h.pre.Hi, s.hi[k])
	p.release(h.lo.A, h.lo.B, h.hi.A, h.hi.B, h.err)
	p.activate(k)
	p.relax(k)
	return p.err
}

// Precision is the device's.
func (s *Splits) Precision() Precision { return s.pass.dev.Precision() }

// Ranges are the pre-activations of the layers that have been bounded, the caller's to read; they
// follow what is tightened.
func (s *Splits) Ranges() (lo, hi [][]float64) { return s.lo, s.hi }
