// Code generated from lanes_mergerows_f32x16.go by TestLanesGenerated -update. DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fallback

import "psafe/host/bound"

// mergeRowsF32x8 is mergeRows.item for rows whose coefficients are points, lanes being rows,
// at least a vector of them. It returns false, and what it wrote is to be written again, if a
// product is not finite.
func mergeRowsF32x8(m *mergeRows[numF32x8], p int) bool {
	a := &m.a
	box, x := p/a.PerBox, p%a.Inputs*a.Rows
	var finite vecF32x8
	for first := 0; first < a.Rows; first += widthF32x8 {
		r := min(first, a.Rows-widthF32x8)
		m.transpose(x+r, widthF32x8)
		round := m.round[x+r : x+r+widthF32x8]
		for j := range a.In {
			v, at := (box*a.In+j)*a.Out, (p*a.In+j)*a.Rows+r
			f := mergeDotF32x8(m, m.weightLo[v:v+a.Out], m.weightHi[v:v+a.Out], m.zeros[:], m.zeros[:], round, m.wLo[at:], m.wHi[at:])
			finite = finite.Add(f)
		}
		at := p*a.Rows + r
		f := mergeDotF32x8(m, m.biasLo[box*a.Out:(box+1)*a.Out], m.biasHi[box*a.Out:(box+1)*a.Out], m.dLo[x+r:], m.dHi[x+r:], round, m.bLo[at:], m.bHi[at:])
		finite = finite.Add(f)
	}
	return finiteF32x8(finite)
}

// mergeDotF32x8 is mergeRows.dot for a vector of rows, whose coefficients are in m.columns. A
// zero among them adds a zero to every sum.
func mergeDotF32x8(m *mergeRows[numF32x8], vLo, vHi, dLo, dHi, round, outLo, outHi []numF32x8) (finite vecF32x8) {
	signs := signsF32x8()
	var lo, hi, mag vecF32x8
	for i0 := 0; i0 < len(vLo); i0 += bound.Block {
		var sLo, sHi, sMag vecF32x8
		for i := i0; i < min(i0+bound.Block, len(vLo)); i++ {
			l, h := fillF32x8(vLo[i]), fillF32x8(vHi[i])
			c := atF32x8(m.columns, i*widthF32x8)
			atLo, atHi := c.Mul(l), c.Mul(h)
			sLo, sHi = sLo.Add(atLo.Min(atHi)), sHi.Add(atLo.Max(atHi))
			sMag = sMag.Add(absF32x8(c, signs).Mul(flipF32x8(l, signs).Max(h)))
			finite = atLo.MulAdd(atHi, finite)
		}
		lo, hi, mag = lo.Add(sLo), hi.Add(sHi), mag.Add(sMag)
	}
	l, h := loadF32x8(dLo), loadF32x8(dHi)
	lo, hi, mag = lo.Add(l), hi.Add(h), mag.Add(flipF32x8(l, signs).Max(h))
	finite = l.MulAdd(h, finite).Add(mag)
	push := mag.Mul(loadF32x8(round)).Add(fillF32x8(m.abs))
	storeLowerF32x8(outLo, downF32x8(m.d, lo.Sub(push)), m.d)
	storeUpperF32x8(outHi, upF32x8(m.d, hi.Add(push)), m.d)
	return finite
}
