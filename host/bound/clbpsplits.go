package bound

import (
	"fmt"
	"slices"

	"psafe/host/bound/sharp"
)

// SplitNoises are lower bounds of R rows without their noise and, for each layer from the last down to
// the first with noise, mean and variance of that, [layers][R], rounded up: for all x where the
// phases of row r hold, it is at least Lo[r] plus the noise, of which (13a) says what it is.
// Those of the last layer are the same for all rows that are the same of the property.
type SplitNoises struct {
	Lo        []float64
	Mean, Var [][]float64
}

// newSplits is nil where nothing varies or deviates.
func (p *clbpPass) newSplits(k int, m mergedLayer) (s *CLBPSplits, err error) {
	if p.pass.query.Batch.Items != 1 || !p.refines() {
		panic(fmt.Sprintf("bound: CLBPQuery.Splits: %d items, of a network that may be refined: %v", p.pass.query.Batch.Items, p.refines()))
	}
	s = &CLBPSplits{p: p}
	if !p.sharpens(k) {
		return nil, p.err
	}
	of, err := p.readKept([]int{0}, &keptRows{top: k, rows: p.query.Rows.rows})
	if err != nil {
		return nil, err
	}
	s.rows, s.squares, s.reach = of[0][0].Rows.Rows, of[0][0].Squares, of[0][0].reach
	if s.w, s.b, err = p.readPair(m.w.Lo, m.b.Lo); err != nil {
		return nil, err
	}
	for l := range k {
		lo, hi, err := p.readPair(p.hidden[l].pre.Lo, p.hidden[l].pre.Hi)
		if err != nil {
			return nil, err
		}
		s.lo, s.hi = append(s.lo, lo), append(s.hi, hi)
	}
	return s, nil
}

// Precision is the device's.
func (s *CLBPSplits) Precision() Precision { return s.p.dev.Precision() }

// Ranges are the pre-activations of the hidden layers for all x of the item, the caller's to read.
func (s *CLBPSplits) Ranges() (lo, hi [][]float64) { return s.lo, s.hi }

// Reach returns for what feeds each layer how far it varies over the item, its squares, and what does
// not vary at all; the caller's to read.
func (s *CLBPSplits) Reach() (radius, maxSq [][]float64, still [][]bool) {
	return s.reach.Radius, s.reach.MaxSq, s.reach.Still
}

// Row is property row number row over what feeds the last layer, at its least; square are the squares of
// its coefficients over the outputs, rounded up.
func (s *CLBPSplits) Row(row int) (coefficients []float64, constant float64, square []float64) {
	return column(s.w, row, s.rows), s.b[row], column(s.squares, row, s.rows)
}

// column is column c of a matrix of so many.
func column(m []float64, c, columns int) []float64 {
	list := make([]float64, 0, len(m)/columns)
	for at := c; at < len(m); at += columns {
		list = append(list, m[at])
	}
	return list
}

// Bound bounds rows of the last layer: q is a SplitQuery with phases.
func (s *CLBPSplits) Bound(q *SplitQuery) (SplitNoises, error) {
	n, _, err := s.bound(q)
	return n, err
}

// bound is Bound, and the coefficients that rows have on their way down.
func (s *CLBPSplits) bound(q *SplitQuery) (n SplitNoises, d *sharp.Rows, err error) {
	p, k, r := s.p, len(s.lo), len(q.Rows)
	if q.Layer != k || len(q.Slope) < k || len(q.Phase) < k || len(q.Beta) < k {
		panic(fmt.Sprintf("bound: CLBPSplits.Bound: layer %d of %d, %d lists of slopes", q.Layer, k, len(q.Slope)))
	}
	d = &sharp.Rows{Top: k, Rows: r, A: make([][]float64, k), Squares: gathered(s.squares, q.Rows, s.rows), NonNeg: p.query.Inputs.nonNegs}
	// What feeds the last layer is never negative: the lower ends of coefficients are the least.
	f := &flight{
		over: map[int]Interval{k - 1: {Lo: p.holding(gathered(s.w, q.Rows, s.rows))}},
		c:    Interval{Lo: p.holding(gathered(s.b, q.Rows, s.rows))}, perBox: 1, cols: r, own: q.lists(k),
		watch: watch{func(l int, a Interval) {
			if l >= 0 {
				return
			}
			if p.readLater(a.Lo, &d.Lo); a.Hi != a.Lo && a.Hi != nil { // of inputs that may be negative
				p.readLater(a.Hi, &d.Hi)
			}
		}, func(l int, a Array, _ int) { p.readLater(a, &d.A[l]) }},
	}
	bound := p.backSubstitute(k, f)
	if n.Lo, err = p.read(bound); err != nil {
		return SplitNoises{}, nil, err
	}
	p.release(bound)
	// Reaches are those of the whole item: phases say something of the weights that the noise is of.
	all, err := p.sharper.Noise([]*sharp.Rows{d}, s.reach, 0)
	if err != nil {
		return SplitNoises{}, nil, err
	}
	n.Mean, n.Var = all[0].Mean, all[0].Variance
	return n, d, nil
}

// gathered are columns of a matrix of so many, [.. x len(list)].
func gathered(m []float64, list []int, columns int) []float64 {
	out := make([]float64, 0, len(m)/columns*len(list))
	for row := range slices.Chunk(m, columns) {
		for _, c := range list {
			out = append(out, row[c])
		}
	}
	return out
}
