package fallback

import "psafe/host/bound"

// PairNoise is defined in bound.PairNoise.
func (d *Device[T]) PairNoise(a bound.PairNoise) error {
	t := pairNoise[T]{a: a, d: d}
	sum, sumIn := d.data(a.Sum), d.data(a.SumIn)
	t.v, t.taps = d.data(a.V), d.data(a.Taps)
	t.zLo, t.zHi = d.interval(a.Z)
	unit, other := d.data(a.Unit), d.data(a.Other)
	return d.parallel(a.P*a.R, 16, func(from, to int) {
		for at := from; at < to; at++ {
			in := T(0)
			if sumIn != nil {
				in = sumIn[at]
			}
			by := T(t.pair(at/a.R, int(unit[at%a.R]), int(other[at])) * T(a.Round.Rel))
			sum[at] = d.upper(d.up(in + d.up(d.up(by)+T(a.Round.Abs))))
		}
	})
}

type pairNoise[T bound.Real] struct {
	a                 bound.PairNoise
	d                 *Device[T]
	v, zLo, zHi, taps []T
}

// pair is the sum over taps for pre-activations u and v of item p.
func (t *pairNoise[T]) pair(p, u, v int) (total T) {
	n, channels := t.a.K, t.a.Channels
	weights, o := t.v[p/t.a.PerBox*n*channels:], u%channels
	ofU, ofV := t.taps[u/channels*n:], t.taps[v/channels*n:]
	for k0 := 0; k0 < n; k0 += bound.Block {
		var block T
		for k := k0; k < min(k0+bound.Block, n); k++ {
			m := t.difference(p, int(ofU[k]), int(ofV[k]))
			if t.a.Squared {
				m = t.d.up(T(m * m))
			}
			block += T(weights[k*channels+o] * m)
		}
		total += block
	}
	return total
}

// difference is the greatest magnitude of input i minus input j of item p, -1 being 0.
func (t *pairNoise[T]) difference(p, i, j int) T {
	if i == j {
		return 0
	}
	var iLo, iHi, jLo, jHi T
	x := p % t.a.Inputs * t.a.In
	if i >= 0 {
		iLo, iHi = t.zLo[x+i], t.zHi[x+i]
	}
	if j >= 0 {
		jLo, jHi = t.zLo[x+j], t.zHi[x+j]
	}
	return max(iHi-jLo, jHi-iLo)
}
