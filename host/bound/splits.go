package bound

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/network"
)

// Splits bounds rows of one network on one input box from below, each row with lower slopes, phases
// and multipliers of its own (SplitRows). The network is a chain of dense layers with ReLU; the rows
// are the units of a hidden layer, the same negated, or the property's rows.
//
// Layers are bounded one after the other by Next, as Propagate does, and may be tightened by Tighten
// before the next. What is proved of a layer's pre-activations there is used by everything above.
// Phases only say of which inputs a bound of a row is.
//
// It is not safe for use by several goroutines at once.
type Splits struct {
	pass *pass
	// lo and hi are the pre-activations of the layers that have been bounded, w and b the weight
	// box of layers whose units are rows, the last with the property merged in.
	lo, hi [][]float64
	w, b   []hostInterval
	// turned are the transposed weights for ForwardApprox, by layer, once they are asked for.
	turned, none []Array
	// below is what Allow has said of property rows.
	below []float64
	// assumed is the row that Assuming has been told of, if assumes.
	assumed int
	assumes bool
}

type hostInterval struct{ lo, hi []float64 }

// SplitQuery asks for lower bounds of R = len(Rows) rows of layer Layer.
type SplitQuery struct {
	// Layer is a hidden layer above the first that Next has bounded or will bound next, or the last
	// layer, if all others are bounded.
	Layer int
	// Rows: of a hidden layer of n units, i < n is unit i and n+i is unit i negated; of the last layer,
	// property rows.
	Rows []int
	// Slope, Phase and Beta are those of SplitRows by layer below Layer, [units x R] each, numbers of
	// the device's precision. Both of the last are nil where there are no phases.
	Slope, Phase, Beta [][]float64
	// WantRows asks for SplitAnswer.S.
	WantRows bool
}

// SplitAnswer is what a query is answered with.
type SplitAnswer struct {
	// Bound[r] is a lower bound of row r for all inputs of the box where the phases of row r hold,
	// and all weights of the weight box; any number if there are no such inputs.
	Bound []float64
	// S[l+1] are the coefficients of the outputs of layer l, [units x R], S[0] those of the network's
	// inputs, as rounded: bounds of nothing.
	S [][]float64
}

// CanSplit says whether the network is one that Splits serves.
func CanSplit(net network.Network) bool {
	if !net.Chain() || len(net) < 2 {
		return false
	}
	for _, l := range net[:len(net)-1] {
		if !cutsAtZero(l.Activation) {
			return false
		}
	}
	return true
}

// cutsAtZero says that the activation is max(t, 0).
func cutsAtZero(a network.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 0
}

// NewSplits begins with the first weight box, input box and set of rows. Release gives the memory
// back; the three must be there until then.
func (m *Model) NewSplits(boxes *Boxes, inputs *Inputs, rows *Rows) *Splits {
	for k := range m.layers[:len(m.layers)-1] {
		if !m.chain || !cutsAtZero(m.layers[k].facts) {
			panic("bound: NewSplits: not a chain of dense layers with ReLU")
		}
	}
	n := len(m.layers)
	return &Splits{
		pass: &pass{Model: m, layers: m.layers, scratch: scratch{owner: m.dev},
			query: Query{Propagation: LBP, Boxes: boxes, Inputs: inputs, Rows: rows, Batch: Batch{1, 1, 1}}},
		w: make([]hostInterval, n), b: make([]hostInterval, n), turned: make([]Array, n), none: make([]Array, n),
	}
}

// Release gives the memory on the device back.
func (s *Splits) Release() { s.pass.free() }

// Next bounds the next hidden layer by LBP and returns its pre-activations, which are the caller's
// to read.
func (s *Splits) Next() (lo, hi []float64, err error) {
	p, k := s.pass, len(s.lo)
	if k >= len(p.layers)-1 {
		panic("bound: Splits.Next: no hidden layer is left")
	}
	if err := p.hiddenLayer(k); err != nil {
		return nil, nil, err
	}
	if lo, hi, err = p.readPair(p.hidden[k].pre.Lo, p.hidden[k].pre.Hi); err != nil {
		return nil, nil, err
	}
	s.lo, s.hi = append(s.lo, lo), append(s.hi, hi)
	return lo, hi, nil
}

// Tighten intersects the pre-activations of the layer that Next came to last with the answer to a
// query about its units. That must have been without phases: it has to hold on the whole box. An
// empty intersection changes nothing.
func (s *Splits) Tighten(q *SplitQuery, bounds []float64) error {
	p, k := s.pass, len(s.lo)-1
	if q.Phase != nil || q.Layer != k {
		panic(fmt.Sprintf("bound: Splits.Tighten: layer %d, phases %v, by rows of layer %d", k, q.Phase != nil, q.Layer))
	}
	n := p.layers[k].out
	for r, i := range q.Rows {
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
	return s.replace(k)
}

// replace gives layer k the pre-activations that s has.
func (s *Splits) replace(k int) error {
	p := s.pass
	h := &p.hidden[k]
	p.do(func() error { return p.dev.Write(h.pre.Lo, s.lo[k]) })
	p.do(func() error { return p.dev.Write(h.pre.Hi, s.hi[k]) })
	p.release(h.lo.A, h.lo.B, h.hi.A, h.hi.B, h.err)
	p.activate(k)
	p.relax(k)
	return p.err
}

// rowsOf reads the weight box whose columns are the rows of layer k, once.
func (s *Splits) rowsOf(k int) (w, b hostInterval, err error) {
	p := s.pass
	if s.w[k].lo == nil {
		dw, db := p.query.Boxes.w[k], p.query.Boxes.b[k]
		if k == len(p.layers)-1 {
			m := p.mergeRows(k)
			dw, db = m.w, m.b
		}
		if w.lo, w.hi, err = p.readPair(dw.Lo, dw.Hi); err != nil {
			return hostInterval{}, hostInterval{}, err
		}
		if b.lo, b.hi, err = p.readPair(db.Lo, db.Hi); err != nil {
			return hostInterval{}, hostInterval{}, err
		}
		s.w[k], s.b[k] = w, b
	}
	return s.w[k], s.b[k], nil
}

// start are the coefficients of the rows of a query over what feeds its layer, and the constants.
// That is never negative, so the lower ends of the coefficients are the least.
func (s *Splits) start(q *SplitQuery) (coefficients, constants []float64, err error) {
	w, b, err := s.rowsOf(q.Layer)
	if err != nil {
		return nil, nil, err
	}
	in, n, r := s.pass.layers[q.Layer].in, len(b.lo), len(q.Rows)
	coefficients, constants = make([]float64, in*r), make([]float64, r)
	for c, i := range q.Rows {
		negated := i >= n
		if i %= n; negated {
			constants[c] = -b.hi[i]
		} else {
			constants[c] = b.lo[i]
		}
		if q.Layer == len(s.pass.layers)-1 {
			constants[c] = s.lowered(constants[c], i)
		}
		for j := range in {
			if negated {
				coefficients[j*r+c] = -w.hi[j*n+i]
			} else {
				coefficients[j*r+c] = w.lo[j*n+i]
			}
		}
	}
	return coefficients, constants, nil
}

// Bound answers a query.
func (s *Splits) Bound(q *SplitQuery) (SplitAnswer, error) {
	p, r := s.pass, len(q.Rows)
	if q.Layer < 1 || q.Layer > len(s.lo) || len(q.Slope) < q.Layer || q.Phase != nil && (len(q.Phase) < q.Layer || len(q.Beta) < q.Layer) {
		panic(fmt.Sprintf("bound: Splits.Bound: layer %d with %d layers bounded, %d lists of slopes", q.Layer, len(s.lo), len(q.Slope)))
	}
	answer := SplitAnswer{}
	if q.WantRows {
		answer.S = make([][]float64, q.Layer+1)
	}
	coefficients, constants, err := s.start(q)
	if err != nil {
		return SplitAnswer{}, err
	}
	a, c := Interval{Lo: s.write(coefficients)}, s.write(constants)
	for l := q.Layer - 1; l >= 0; l-- {
		if q.WantRows {
			if answer.S[l+1], err = p.read(a.Lo); err != nil {
				return SplitAnswer{}, err
			}
		}
		over, below, next := p.throughSplits(l, r, q.lists(l), a.Lo, c)
		p.release(over)
		a, c = below, next
	}
	bound := p.splitBound(r, a, c)
	if q.WantRows {
		if answer.S[0], err = p.read(a.Lo); err != nil {
			return SplitAnswer{}, err
		}
	}
	if answer.Bound, err = p.read(bound); err != nil {
		return SplitAnswer{}, err
	}
	p.release(a.Lo, a.Hi, c, bound)
	return answer, nil
}

// write makes an array of these numbers.
func (s *Splits) write(v []float64) Array {
	a := s.pass.array(len(v))
	s.pass.do(func() error { return s.pass.dev.Write(a, v) })
	return a
}

// lists are those for layer l.
func (q *SplitQuery) lists(l int) splitLists {
	if q.Phase == nil {
		return splitLists{slope: q.Slope[l]}
	}
	return splitLists{q.Slope[l], q.Phase[l], q.Beta[l]}
}

// Precision is the device's.
func (s *Splits) Precision() Precision { return s.pass.dev.Precision() }

// Assuming is a copy that is about the inputs of the box where property row number row is not
// positive: what TightenAiming then finds, and every bound after it, holds for those only. A bound
// >= 0 of that row, or an interval that TightenAiming finds empty, proves that the row is >= 0
// wherever the phases are. Release gives its memory back; s must be there until then.
func (s *Splits) Assuming(row int) (*Splits, error) {
	p := s.pass
	t := &Splits{pass: &pass{Model: p.Model, layers: p.Model.layers, scratch: scratch{owner: p.dev}, query: p.query}, w: s.w, b: s.b,
		turned: make([]Array, len(s.turned)), none: make([]Array, len(s.none)), below: s.below, assumed: row, assumes: true}
	for k := range s.lo {
		t.pass.addHidden(k)
		t.pass.hidden[k].mag = p.hidden[k].mag
		t.lo, t.hi = append(t.lo, slices.Clone(s.lo[k])), append(t.hi, slices.Clone(s.hi[k]))
		if err := t.replace(k); err != nil {
			t.Release()
			return nil, err
		}
	}
	return t, nil
}

// Aim is a hidden neuron that a row of TightenAiming bounds, from above if Upper.
type Aim struct {
	Layer, Unit int
	Upper       bool
}

// TightenAiming intersects pre-activations with what the answer to a query says of them: each row
// is the assumed one, without phases, with a Beta > 0 at its aim, or < 0 where that is bounded from
// above, and 0 elsewhere. As the row is at most 0, Beta zeta is at least the bound. It says whether
// an interval is empty: then there are no such inputs.
func (s *Splits) TightenAiming(q *SplitQuery, aims []Aim, bounds []float64) (empty bool, err error) {
	r, prec := len(aims), s.Precision()
	others := 0
	for l := range q.Layer {
		for at, f := range q.Phase[l] {
			if a := aims[at%r]; f != 0 || q.Beta[l][at] != 0 && (a.Layer != l || a.Unit != at/r) {
				others++
			}
		}
	}
	if others > 0 {
		panic(fmt.Sprintf("bound: Splits.TightenAiming: %d phases and multipliers beside the aims", others))
	}
	for c, a := range aims {
		if !s.assumes || q.Rows[c] != s.assumed || q.Layer != len(s.lo) {
			panic("bound: Splits.TightenAiming: another row than the assumed one")
		}
		beta := q.Beta[a.Layer][a.Unit*r+c]
		if !(math.Abs(beta) > 0) || a.Upper != (beta < 0) {
			continue
		}
		v := bounds[c] / beta
		if math.IsNaN(v) { // something has overflowed
			continue
		}
		if lo, hi := &s.lo[a.Layer][a.Unit], &s.hi[a.Layer][a.Unit]; a.Upper {
			*hi = min(*hi, prec.RoundHi(math.Nextafter(v, math.Inf(1))))
			empty = empty || *lo > *hi
		} else {
			*lo = max(*lo, prec.RoundLo(math.Nextafter(v, math.Inf(-1))))
			empty = empty || *lo > *hi
		}
	}
	for k := 0; k < len(s.lo) && !empty; k++ {
		if err := s.replace(k); err != nil {
			return false, err
		}
	}
	return empty, nil
}

// Ranges are the pre-activations of the layers that have been bounded, the caller's to read; they
// follow what is tightened.
func (s *Splits) Ranges() (lo, hi [][]float64) { return s.lo, s.hi }
