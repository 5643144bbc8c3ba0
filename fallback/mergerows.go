package fallback

import "psafe/host/bound"

// MergeRows is defined in bound.MergeRows.
func (d *Device[T]) MergeRows(a bound.MergeRows) error {
	m := mergeRows[T]{d: d, out: a.Out, abs: T(a.Abs)}
	wLo, wHi := d.interval(a.W, a.Items*a.In*a.Rows, "MergeRows.W")
	bLo, bHi := d.interval(a.B, a.Items*a.Rows, "MergeRows.B")
	weightLo, weightHi := d.interval(a.Weight, a.Boxes()*a.In*a.Out, "MergeRows.Weight")
	biasLo, biasHi := d.interval(a.Bias, a.Boxes()*a.Out, "MergeRows.Bias")
	cLo, cHi := d.interval(a.C, a.Inputs*a.Rows*a.Out, "MergeRows.C")
	dLo, dHi := d.interval(a.D, a.Inputs*a.Rows, "MergeRows.D")
	round := d.data(a.Round, a.Inputs*a.Rows, "MergeRows.Round")
	d.parallel(a.Items*a.Rows, 1, func(from, to int) {
		for t := from; t < to; t++ {
			p, r := t/a.Rows, t%a.Rows
			box, row := p/a.PerBox, p%a.Inputs*a.Rows+r
			cl, ch := cLo[row*a.Out:(row+1)*a.Out], cHi[row*a.Out:(row+1)*a.Out]
			for j := range a.In {
				at := (box*a.In + j) * a.Out
				wLo[(p*a.In+j)*a.Rows+r], wHi[(p*a.In+j)*a.Rows+r] = m.dot(cl, ch, weightLo[at:], weightHi[at:], 0, 0, round[row])
			}
			bLo[t], bHi[t] = m.dot(cl, ch, biasLo[box*a.Out:], biasHi[box*a.Out:], dLo[row], dHi[row], round[row])
		}
	})
	return nil
}

type mergeRows[T bound.Real] struct {
	d   *Device[T]
	out int
	abs T
}

// dot bounds sum_i C_i V_i + D for intervals C, V and D.
func (m *mergeRows[T]) dot(cLo, cHi, vLo, vHi []T, dLo, dHi, round T) (T, T) {
	var lo, hi, mag T
	for i0 := 0; i0 < m.out; i0 += bound.Block {
		var sLo, sHi, sMag T
		for i := i0; i < min(i0+bound.Block, m.out); i++ {
			if cLo[i] == 0 && cHi[i] == 0 {
				continue // adds a zero to every sum: weight boxes are finite
			}
			sLo += min4(cLo[i], cHi[i], vLo[i], vHi[i])
			sHi += max4(cLo[i], cHi[i], vLo[i], vHi[i])
			sMag += T(max(-cLo[i], cHi[i]) * max(-vLo[i], vHi[i]))
		}
		lo, hi, mag = lo+sLo, hi+sHi, mag+sMag
	}
	lo, hi, mag = lo+dLo, hi+dHi, mag+max(-dLo, dHi)
	push := T(mag*round) + m.abs
	return m.d.lower(m.d.down(lo - push)), m.d.upper(m.d.up(hi + push))
}
