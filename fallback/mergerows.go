package fallback

import "psafe/host/bound"

// MergeRows is defined in bound.MergeRows.
func (d *Device[T]) MergeRows(a bound.MergeRows) error {
	rows := mergeRows[T]{d: d, abs: T(a.Abs)}
	wLo, wHi := d.interval(a.W, a.Items*a.In*a.Rows, "MergeRows.W")
	bLo, bHi := d.interval(a.B, a.Items*a.Rows, "MergeRows.B")
	weightLo, weightHi := d.interval(a.Weight, a.Boxes()*a.In*a.Out, "MergeRows.Weight")
	biasLo, biasHi := d.interval(a.Bias, a.Boxes()*a.Out, "MergeRows.Bias")
	cLo, cHi := d.interval(a.C, a.Inputs*a.Rows*a.Out, "MergeRows.C")
	dLo, dHi := d.interval(a.D, a.Inputs*a.Rows, "MergeRows.D")
	round := d.data(a.Round, a.Inputs*a.Rows, "MergeRows.Round")
	d.parallel(a.Items*a.Rows, 1, func(from, to int) {
		m := rows
		for t := from; t < to; t++ {
			p, r := t/a.Rows, t%a.Rows
			box, row := p/a.PerBox, p%a.Inputs*a.Rows+r
			m.gather(cLo[row*a.Out:(row+1)*a.Out], cHi[row*a.Out:(row+1)*a.Out])
			for j := range a.In {
				at := (box*a.In + j) * a.Out
				wLo[(p*a.In+j)*a.Rows+r], wHi[(p*a.In+j)*a.Rows+r] = m.dot(weightLo[at:], weightHi[at:], 0, 0, round[row])
			}
			bLo[t], bHi[t] = m.dot(biasLo[box*a.Out:], biasHi[box*a.Out:], dLo[row], dHi[row], round[row])
		}
	})
	return nil
}

type mergeRows[T bound.Real] struct {
	d     *Device[T]
	abs   T
	terms []term[T]
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
