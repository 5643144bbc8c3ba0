//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// mergeRowsF32x16 is mergeRows.item for rows whose coefficients are points, lanes being rows,
// at least a vector of them. It returns false, and what it wrote is to be written again, if a
// product is not finite.
func mergeRowsF32x16(m *mergeRows[numF32x16], p int) bool {
	a := &m.a
	box, x := p/a.PerBox, p%a.Inputs*a.Rows
	var finite vecF32x16
	for first := 0; first < a.Rows; first += widthF32x16 {
		r := min(first, a.Rows-widthF32x16)
		m.transpose(x+r, widthF32x16)
		round := m.round[x+r : x+r+widthF32x16]
		for j := range a.In {
			v, at := (box*a.In+j)*a.Out, (p*a.In+j)*a.Rows+r
			f := mergeDotF32x16(m, m.weightLo[v:v+a.Out], m.weightHi[v:v+a.Out], m.zeros[:], m.zeros[:], round, m.wLo[at:], m.wHi[at:])
			finite = finite.Add(f)
		}
		at := p*a.Rows + r
		f := mergeDotF32x16(m, m.biasLo[box*a.Out:(box+1)*a.Out], m.biasHi[box*a.Out:(box+1)*a.Out], m.dLo[x+r:], m.dHi[x+r:], round, m.bLo[at:], m.bHi[at:])
		finite = finite.Add(f)
	}
	return finiteF32x16(finite)
}

// mergeDotF32x16 is mergeRows.dot for a vector of rows, whose coefficients are in m.columns. A
// zero among them adds a zero to every sum.
func mergeDotF32x16(m *mergeRows[numF32x16], vLo, vHi, dLo, dHi, round, outLo, outHi []numF32x16) (finite vecF32x16) {
	signs := signsF32x16()
	var lo, hi, mag vecF32x16
	for i0 := 0; i0 < len(vLo); i0 += bound.Block {
		var sLo, sHi, sMag vecF32x16
		for i := i0; i < min(i0+bound.Block, len(vLo)); i++ {
			l, h := fillF32x16(vLo[i]), fillF32x16(vHi[i])
			c := atF32x16(m.columns, i*widthF32x16)
			atLo, atHi := c.Mul(l), c.Mul(h)
			sLo, sHi = sLo.Add(atLo.Min(atHi)), sHi.Add(atLo.Max(atHi))
			sMag = sMag.Add(absF32x16(c, signs).Mul(flipF32x16(l, signs).Max(h)))
			finite = atLo.MulAdd(atHi, finite)
		}
		lo, hi, mag = lo.Add(sLo), hi.Add(sHi), mag.Add(sMag)
	}
	l, h := loadF32x16(dLo), loadF32x16(dHi)
	lo, hi, mag = lo.Add(l), hi.Add(h), mag.Add(flipF32x16(l, signs).Max(h))
	finite = l.MulAdd(h, finite).Add(mag)
	push := mag.Mul(loadF32x16(round)).Add(fillF32x16(m.abs))
	storeLowerF32x16(outLo, downF32x16(m.d, lo.Sub(push)), m.d)
	storeUpperF32x16(outHi, upF32x16(m.d, hi.Add(push)), m.d)
	return finite
}
