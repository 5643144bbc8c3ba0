package bound

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
)

// How Splits bounds rows: they go down as those of Propagate do, but through layers with phases by
// SplitRows.

// rowsOf reads the matrix whose columns are the rows of layer k, once: that of a dense hidden layer, or
// of the last one with the property merged in.
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

// hostRows are the rows of a query over what feeds its layer, which is dense: coefficients, [in x R],
// and lower bounds of the constants.
func (s *Splits) hostRows(q *SplitQuery) (coefficients hostInterval, constants []float64, err error) {
	w, b, err := s.rowsOf(q.Layer)
	if err != nil {
		return hostInterval{}, nil, err
	}
	in, n, r, last := s.pass.layers[q.Layer].in, len(b.lo), len(q.Rows), q.Layer == len(s.pass.layers)-1
	coefficients, constants = hostInterval{make([]float64, in*r), make([]float64, in*r)}, make([]float64, r)
	for c, i := range q.Rows {
		switch negated := i >= n; {
		case q.Theta != nil:
			constants[c] = s.mixed(q.Theta[c], c, r, w, b, coefficients)
		case negated:
			i -= n
			constants[c] = -b.hi[i]
			for j := range in {
				coefficients.lo[j*r+c], coefficients.hi[j*r+c] = -w.hi[j*n+i], -w.lo[j*n+i]
			}
		default:
			constants[c] = b.lo[i]
			if last {
				constants[c] = s.lowered(b.lo[i], i)
			}
			for j := range in {
				coefficients.lo[j*r+c], coefficients.hi[j*r+c] = w.lo[j*n+i], w.hi[j*n+i]
			}
		}
	}
	return coefficients, constants, nil
}

// mixed makes column c of r that of a mixture of the property rows, which are w and b, rounded outward,
// and returns its constant: -Inf if no factor is above 0.
func (s *Splits) mixed(theta []float64, c, r int, w, b, coefficients hostInterval) float64 {
	prec, n, constant := s.Precision(), len(b.lo), 0.0
	if !slices.ContainsFunc(theta, func(f float64) bool { return f > 0 }) {
		return math.Inf(-1) // 0 >= 0 says nothing of any row
	}
	for i, f := range theta {
		if !(f > 0) {
			continue
		}
		constant = arith.SumDown(constant, arith.ProductDown(f, s.lowered(b.lo[i], i)))
		for at := c; at < len(coefficients.lo); at += r {
			lo, hi := &coefficients.lo[at], &coefficients.hi[at]
			*lo, *hi = arith.SumDown(*lo, arith.ProductDown(f, w.lo[at/r*n+i])), arith.SumUp(*hi, arith.ProductUp(f, w.hi[at/r*n+i]))
		}
	}
	for at := c; at < len(coefficients.lo); at += r {
		coefficients.lo[at], coefficients.hi[at] = prec.RoundLo(coefficients.lo[at]), prec.RoundHi(coefficients.hi[at])
	}
	return prec.RoundLo(constant)
}

// startOf is hostRows, which an ascent asks for many times: of the same rows the answer is kept.
func (s *Splits) startOf(q *SplitQuery) (coefficients hostInterval, constants []float64, err error) {
	if q.Theta != nil {
		return s.hostRows(q)
	}
	if b := &q.begun; b.by != s || b.layer != q.Layer || !slices.Equal(b.rows, q.Rows) {
		if coefficients, constants, err = s.hostRows(q); err != nil {
			return hostInterval{}, nil, err
		}
		*b = begun{s, q.Layer, slices.Clone(q.Rows), coefficients, constants}
	}
	return q.begun.coefficients, q.begun.constants, nil
}

// start are the rows of a query over what feeds its layer.
func (s *Splits) start(q *SplitQuery) (*flight, error) {
	p, r := s.pass, len(q.Rows)
	if l := &p.layers[q.Layer]; !l.dense {
		units := q.Rows[:r/2]
		if !slices.EqualFunc(units, q.Rows[r/2:], func(i, negated int) bool { return i < l.out && negated == l.out+i }) {
			panic(fmt.Sprintf("bound: Splits.Bound: rows %v of %d units: not some and the same negated", q.Rows, l.out))
		}
		return p.unitRows(q.Layer, &endRows{ends: bothEnds, n: len(units), unit: units}), p.err
	}
	coefficients, constants, err := s.startOf(q)
	if err != nil {
		return nil, err
	}
	w := Interval{Lo: s.pass.holding(coefficients.lo)}
	switch _, nonNeg, _ := p.input(q.Layer); {
	case nonNeg: // the lower ends are the least
	case slices.Equal(coefficients.lo, coefficients.hi):
		w.Hi = w.Lo
	default:
		w.Hi = s.pass.holding(coefficients.hi)
	}
	f := &flight{over: map[int]Interval{}, c: Interval{Lo: s.pass.holding(constants)}, perBox: 1, cols: r}
	p.part(f, q.Layer, w)
	return f, p.err
}

// Bound answers a query.
func (s *Splits) Bound(q *SplitQuery) (SplitAnswer, error) {
	if s.turn == nil {
		return s.bound(q)
	}
	a := &splitsAsked{of: s, query: q}
	s.turn.ask(a)
	return a.answer, a.err
}

// check panics at a query that is none.
func (s *Splits) check(q *SplitQuery) {
	p := s.pass
	if q.Layer < 1 || q.Layer > len(s.lo) || len(q.Slope) < q.Layer || q.Phase != nil && (len(q.Phase) < q.Layer || len(q.Beta) < q.Layer) ||
		q.Theta != nil && (len(q.Theta) != len(q.Rows) || q.Layer < len(p.layers)-1) {
		panic(fmt.Sprintf("bound: Splits.Bound: layer %d with %d layers bounded, %d lists of slopes, %d mixtures", q.Layer, len(s.lo), len(q.Slope), len(q.Theta)))
	}
}

// bound is Bound by Splits that are alone on the device.
func (s *Splits) bound(q *SplitQuery) (SplitAnswer, error) {
	p := s.pass
	s.check(q)
	f, err := s.start(q)
	if err != nil {
		return SplitAnswer{}, err
	}
	f.own = q.lists(q.Layer)
	answer := SplitAnswer{}
	if q.WantRows {
		answer.S = make([][]float64, q.Layer+1)
		f.outputs = func(l int, of Interval) {
			if l < 0 || p.layers[l].phases() {
				p.readLater(of.Lo, &answer.S[l+1])
			}
		}
	}
	bound := p.backSubstitute(q.Layer, f)
	if answer.Bound, err = p.read(bound); err != nil {
		return SplitAnswer{}, err
	}
	s.unitsLowered(q.Layer, q.Rows, answer.Bound)
	p.release(bound)
	for l, of := range answer.S { // 0 of what rows do not reach
		switch {
		case of != nil:
		case l == 0:
			answer.S[l] = make([]float64, p.layers[0].in*len(q.Rows))
		case p.layers[l-1].phases():
			answer.S[l] = make([]float64, p.layers[l-1].out*len(q.Rows))
		}
	}
	return answer, nil
}

// lists are what rows have of their own at the layers below layer k.
func (q *SplitQuery) lists(k int) (lists []splitLists) {
	for l := range k {
		if q.Phase == nil {
			lists = append(lists, splitLists{slope: q.Slope[l]})
		} else {
			lists = append(lists, splitLists{q.Slope[l], q.Phase[l], q.Beta[l]})
		}
	}
	return lists
}
