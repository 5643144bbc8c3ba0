// Code generated from lanes_mergerows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// mergeRowsF64x4 is mergeRows.item for rows whose coefficients are points, lanes being rows,
// at least a vector of them. It returns false, and what it wrote is to be written again, if a
// product is not finite.
func mergeRowsF64x4(m *mergeRows[numF64x4], p int) bool {
	a := &m.a
	box, x := p/a.PerBox, p%a.Inputs*a.Rows
	var finite vecF64x4
	for first := 0; first < a.Rows; first += widthF64x4 {
		r := min(first, a.Rows-widthF64x4)
		m.transpose(x+r, widthF64x4)
		round := m.round[x+r : x+r+widthF64x4]
		for j := range a.In {
			v, at := (box*a.In+j)*a.Out, (p*a.In+j)*a.Rows+r
			f := mergeDotF64x4(m, m.weightLo[v:v+a.Out], m.weightHi[v:v+a.Out], m.zeros[:], m.zeros[:], round, m.wLo[at:], m.wHi[at:])
			finite = finite.Add(f)
		}
		at := p*a.Rows + r
		f := mergeDotF64x4(m, m.biasLo[box*a.Out:(box+1)*a.Out], m.biasHi[box*a.Out:(box+1)*a.Out], m.dLo[x+r:], m.dHi[x+r:], round, m.bLo[at:], m.bHi[at:])
		finite = finite.Add(f)
	}
	return finiteF64x4(finite)
}

// mergeDotF64x4 is mergeRows.dot for a vector of rows, whose coefficients are in m.columns. A
// zero among them adds a zero to every sum.
func mergeDotF64x4(m *mergeRows[numF64x4], vLo, vHi, dLo, dHi, round, outLo, outHi []numF64x4) (finite vecF64x4) {
	signs := signsF64x4()
	var lo, hi, mag vecF64x4
	for i0 := 0; i0 < len(vLo); i0 += bound.Block {
		var sLo, sHi, sMag vecF64x4
		for i := i0; i < min(i0+bound.Block, len(vLo)); i++ {
			l, h := fillF64x4(vLo[i]), fillF64x4(vHi[i])
			c := atF64x4(m.columns, i*widthF64x4)
			atLo, atHi := c.Mul(l), c.Mul(h)
			sLo, sHi = sLo.Add(atLo.Min(atHi)), sHi.Add(atLo.Max(atHi))
			sMag = sMag.Add(absF64x4(c, signs).Mul(flipF64x4(l, signs).Max(h)))
			finite = atLo.MulAdd(atHi, finite)
		}
		lo, hi, mag = lo.Add(sLo), hi.Add(sHi), mag.Add(sMag)
	}
	l, h := loadF64x4(dLo), loadF64x4(dHi)
	lo, hi, mag = lo.Add(l), hi.Add(h), mag.Add(flipF64x4(l, signs).Max(h))
	finite = l.MulAdd(h, finite).Add(mag)
	push := mag.Mul(loadF64x4(round)).Add(fillF64x4(m.abs))
	storeLowerF64x4(outLo, downF64x4(m.d, lo.Sub(push)), m.d)
	storeUpperF64x4(outHi, upF64x4(m.d, hi.Add(push)), m.d)
	return finite
}
