package fallback

import (
	"slices"

	"psafe/host/bound"
)

// widest is the most lanes of any vector.
const widest = 16

// MergeRows is defined in bound.MergeRows.
func (d *Device[T]) MergeRows(a bound.MergeRows) error {
	all := mergeRows[T]{a: a, d: d, abs: T(a.Abs)}
	all.wLo, all.wHi = d.interval(a.W)
	all.bLo, all.bHi = d.interval(a.B)
	all.weightLo, all.weightHi = d.interval(a.Weight)
	all.biasLo, all.biasHi = d.interval(a.Bias)
	all.cLo, all.cHi = d.interval(a.C)
	all.dLo, all.dHi = d.interval(a.D)
	all.round = d.data(a.Round)
	all.points = slices.Equal(all.cLo, all.cHi)
	return d.parallel(a.Items, 1, func(from, to int) {
		m := all
		m.zeros, m.columns = make([]T, widest), make([]T, widest*a.Out)
		for p := from; p < to; p++ {
			if !mergeRowsLanes(&m, p) {
				m.item(p)
			}
		}
	})
}

type mergeRows[T bound.Real] struct {
	a                                  bound.MergeRows
	d                                  *Device[T]
	wLo, wHi, bLo, bHi                 []T
	weightLo, weightHi, biasLo, biasHi []T
	cLo, cHi, dLo, dHi, round          []T
	abs                                T
	// points: all coefficients are numbers.
	points bool
	terms  []term[T]
	// What the vector loops need: zeros, and coefficients by columns.
	zeros, columns []T
}

// item computes all rows of item p.
func (m *mergeRows[T]) item(p int) {
	a := &m.a
	box, out := p/a.PerBox, a.Out
	for r := range a.Rows {
		row := p%a.Inputs*a.Rows + r
		m.gather(m.cLo[row*out:(row+1)*out], m.cHi[row*out:(row+1)*out])
		for j := range a.In {
			at, to := (box*a.In+j)*out, (p*a.In+j)*a.Rows+r
			m.wLo[to], m.wHi[to] = m.dot(m.weightLo[at:], m.weightHi[at:], 0, 0, m.round[row])
		}
		to := p*a.Rows + r
		m.bLo[to], m.bHi[to] = m.dot(m.biasLo[box*out:], m.biasHi[box*out:], m.dLo[row], m.dHi[row], m.round[row])
	}
}

// term is a coefficient C_i that is not zero: [lo, hi], and the larger magnitude of the two.
type term[T bound.Real] struct {
	i            int
	lo, hi, size T
}

// gather lists the coefficients of a row but for zeros, which add a zero to every sum: weight
// boxes are finite. Most rows have two.
func (m *mergeRows[T]) gather(cLo, cHi []T) {
	m.terms = m.terms[:0]
	for i, lo := range cLo {
		if hi := cHi[i]; !(lo == 0 && hi == 0) {
			m.terms = append(m.terms, term[T]{i, lo, hi, max(-lo, hi)})
		}
	}
}

// dot bounds sum_i C_i V_i + D for intervals C, V and D.
func (m *mergeRows[T]) dot(vLo, vHi []T, dLo, dHi, round T) (T, T) {
	var lo, hi, mag, sLo, sHi, sMag T
	block := 0
	for _, c := range m.terms {
		if b := c.i / bound.Block; b != block {
			lo, hi, mag = lo+sLo, hi+sHi, mag+sMag
			sLo, sHi, sMag, block = 0, 0, 0, b
		}
		l, h := vLo[c.i], vHi[c.i]
		if c.lo == c.hi && l <= h { // the other two products are the same two
			atLo, atHi := T(c.lo*l), T(c.lo*h)
			if c.lo < 0 {
				atLo, atHi = atHi, atLo
			}
			sLo += atLo
			sHi += atHi
		} else {
			sLo += min4(c.lo, c.hi, l, h)
			sHi += max4(c.lo, c.hi, l, h)
		}
		sMag -= T(c.size * min(l, -h)) // max(-l, h)
	}
	lo, hi, mag = lo+sLo, hi+sHi, mag+sMag
	lo, hi, mag = lo+dLo, hi+dHi, mag+max(-dLo, dHi)
	push := T(mag*round) + m.abs
	return m.d.lower(m.d.down(lo - push)), m.d.upper(m.d.up(hi + push))
}
