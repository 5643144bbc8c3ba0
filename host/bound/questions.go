package bound

import (
	"context"
	"fmt"
	"math"

	"psafe/host/read/property"
	"psafe/internal/fault"
)

// Inputs are input boxes on a device, rounded outward to its precision.
type Inputs struct {
	count int
	x     Interval
	// nonNegs says which boxes have no negative number, nonNeg that all are such.
	nonNegs []bool
	nonNeg  bool
}

// UploadInputs copies input boxes to the device.
func (m *Model) UploadInputs(boxes []property.Box) (*Inputs, error) {
	in := &Inputs{count: len(boxes), nonNeg: true}
	p, n := m.dev.Precision(), m.layers[0].in
	lo, hi := make([]float64, len(boxes)*n), make([]float64, len(boxes)*n)
	in.nonNegs = make([]bool, len(boxes))
	for _, b := range boxes {
		if len(b.Lo) != n || len(b.Hi) != n {
			panic(fmt.Sprintf("bound: UploadInputs: box of %d, network takes %d", len(b.Lo), n))
		}
	}
	errs := make([]error, len(boxes))
	fault.OnCores(context.Background(), len(boxes), func(i int) {
		in.nonNegs[i], errs[i] = p.roundBox(lo[i*n:(i+1)*n], hi[i*n:(i+1)*n], boxes[i])
	})
	for i, err := range errs {
		if err != nil {
			return nil, err
		}
		in.nonNeg = in.nonNeg && in.nonNegs[i]
	}
	var err error
	if in.x, err = m.upload(lo, hi); err != nil {
		return nil, err
	}
	return in, nil
}

// roundBox rounds a box outward to the precision and says whether its coordinates are all >= 0.
func (p Precision) roundBox(lo, hi []float64, b property.Box) (nonNeg bool, err error) {
	nonNeg = true
	for j := range lo {
		l, h := p.RoundLo(b.Lo[j]), p.RoundHi(b.Hi[j])
		if !(l >= -p.Max() && h <= p.Max() && l <= h) {
			return false, Unfitf("input box [%v, %v] at coordinate %d is empty or does not fit %v", b.Lo[j], b.Hi[j], j, p)
		}
		lo[j], hi[j] = l, h
		nonNeg = nonNeg && l >= 0
	}
	return nonNeg, nil
}

// ReleaseInputs gives the memory of input boxes back.
func (m *Model) ReleaseInputs(in *Inputs) {
	m.dev.Release(in.x.Lo)
	m.dev.Release(in.x.Hi)
}

// Rows are property rows on a device, one set of R rows for each input.
type Rows struct {
	count, rows int
	c, d        Interval
	round       Array
	// square holds squares of coefficients, rounded up, [count x out x rows].
	square Array
}

// UploadRows copies rows to the device: sets[x] are the rows of input x. Sets
// shorter than the longest are filled with rows that are 0, and so is one without rows.
func (m *Model) UploadRows(sets [][]property.Row) (*Rows, error) {
	// At least one, also for properties without any: no operation has to do with none.
	rows := &Rows{count: len(sets), rows: 1}
	for _, s := range sets {
		rows.rows = max(rows.rows, len(s))
	}
	p, out := m.dev.Precision(), m.layers[len(m.layers)-1].out
	n := len(sets) * rows.rows
	cLo, cHi := make([]float64, n*out), make([]float64, n*out)
	dLo, dHi, round := make([]float64, n), make([]float64, n), make([]float64, n)
	square := make([]float64, n*out)
	for x, set := range sets {
		for r, row := range set {
			if len(row.CLo) != out || len(row.CHi) != out {
				panic(fmt.Sprintf("bound: UploadRows: row of %d, network has %d outputs", len(row.CLo), out))
			}
			at, nonZero := x*rows.rows+r, 0
			for i := range out {
				l, h := p.RoundLo(row.CLo[i]), p.RoundHi(row.CHi[i])
				cLo[at*out+i], cHi[at*out+i] = l, h
				if l != 0 || h != 0 {
					nonZero++
					most := max(-l, h)
					square[(x*out+i)*rows.rows+r] = p.RoundHi(max(math.Nextafter(most*most, math.Inf(1)), p.Eta()))
				}
			}
			dLo[at], dHi[at] = p.RoundLo(row.D), p.RoundHi(row.D)
			round[at] = p.MergeRounding(nonZero, out).Rel
		}
	}
	var err error
	if rows.c, err = m.upload(cLo, cHi); err == nil {
		if rows.d, err = m.upload(dLo, dHi); err == nil {
			rows.round, err = m.uploadOne(round)
		}
		if err == nil {
			rows.square, err = m.uploadOne(square)
		}
	}
	if err != nil {
		m.ReleaseRows(rows)
		return nil, err
	}
	return rows, nil
}

// ReleaseRows gives the memory of rows back.
func (m *Model) ReleaseRows(r *Rows) {
	for _, a := range []Array{r.c.Lo, r.c.Hi, r.d.Lo, r.d.Hi, r.round, r.square} {
		m.dev.Release(a)
	}
}
