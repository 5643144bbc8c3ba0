package relax

import (
	"psafe/host/arith"
	"psafe/host/read/property"
)

// Number returns the number of the weight from input j to output i of a dense layer.
func (l *Layer) Number(j, i int) int {
	out := l.Out
	return j*out + i
}

// Affine bounds the pre-activations of the layer, given its inputs: docs/theory.md (2).
func (l *Layer) Affine(z Span) Span {
	if l.At != nil {
		return l.affinePlaces(z)
	}
	lo, hi := make([]arith.Sum, l.Out), make([]arith.Sum, l.Out)
	for i := range l.Out {
		lo[i].Plus(l.B.Lo[i])
		hi[i].Plus(l.B.Hi[i])
	}
	for j := range l.In {
		zLo, zHi := z.Lo[j], z.Hi[j]
		if zLo == 0 && zHi == 0 {
			continue // weights are finite
		}
		wLo, wHi := l.W.Lo[j*l.Out:(j+1)*l.Out], l.W.Hi[j*l.Out:(j+1)*l.Out]
		for i := range lo {
			lo[i].Add(arith.LeastProduct(wLo[i], wHi[i], zLo, zHi))
			hi[i].Add(arith.MostProduct(wLo[i], wHi[i], zLo, zHi))
		}
	}
	pre := NewSpan(l.Out)
	for i := range lo {
		pre.Lo[i], pre.Hi[i] = lo[i].Lo(), hi[i].Hi()
	}
	return pre
}

// Merged multiplies a property row into the layer, the last one: the row is s z + c for
// coefficients s of the layer's inputs, at its least.
func (l *Layer) Merged(row *property.Row) (s Span, c arith.Sum) {
	s = NewSpan(l.In)
	for j := range l.In {
		var lo, hi arith.Sum
		for i := range l.Out {
			if cLo, cHi := row.CLo[i], row.CHi[i]; cLo != 0 || cHi != 0 {
				wLo, wHi := l.W.Lo[l.Number(j, i)], l.W.Hi[l.Number(j, i)]
				lo.Add(arith.LeastProduct(cLo, cHi, wLo, wHi))
				hi.Add(arith.MostProduct(cLo, cHi, wLo, wHi))
			}
		}
		s.Lo[j], s.Hi[j] = lo.Lo(), hi.Hi()
	}
	for i := range l.Out {
		c.Add(arith.LeastProduct(row.CLo[i], row.CHi[i], l.B.Lo[i], l.B.Hi[i]))
	}
	c.Plus(row.D)
	return s, c
}

// substitute replaces a zeta by s z, plus what it adds to c, for the layer's inputs z: s are
// the coefficients' exact ranges over the weights, rounded outward. Of coefficients that
// meet no negative z only the lower end is computed, and none of those that meet 0.
func (l *Layer) substitute(a []float64, z Span, c *arith.Sum) (s Span) {
	var above, below []int // where a > 0 and where a < 0 or a is NaN
	for i, v := range a {
		if v > 0 {
			above = append(above, i)
			c.Add(v, l.B.Lo[i])
		} else if v != 0 {
			below = append(below, i)
			c.Add(v, l.B.Hi[i])
		}
	}
	s = NewSpan(l.In)
	for j := range l.In {
		if z.Lo[j] == 0 && z.Hi[j] == 0 {
			continue
		}
		wLo, wHi := l.W.Lo[j*l.Out:(j+1)*l.Out], l.W.Hi[j*l.Out:(j+1)*l.Out]
		least := Dot(Dot(arith.Sum{}, a, wLo, above), a, wHi, below)
		s.Lo[j] = least.Lo()
		s.Hi[j] = s.Lo[j]
		if z.Lo[j] < 0 {
			most := Dot(Dot(arith.Sum{}, a, wHi, above), a, wLo, below)
			s.Hi[j] = most.Hi()
		}
	}
	return s
}

// Unit is sign times neuron i as a row over its inputs, at its least.
func (l *Layer) Unit(i int, sign float64) (s Span, c arith.Sum) {
	s = NewSpan(l.In)
	l.meets(i, func(j, w int) {
		if s.Lo[j], s.Hi[j] = l.W.Lo[w], l.W.Hi[w]; sign < 0 {
			s.Lo[j], s.Hi[j] = -l.W.Hi[w], -l.W.Lo[w]
		}
	})
	o := i % len(l.B.Lo)
	if sign < 0 {
		c.Plus(-l.B.Hi[o])
	} else {
		c.Plus(l.B.Lo[o])
	}
	return s, c
}

// wide reports whether the weights or biases are not all numbers. The coefficients of maps without
// weights count as numbers.
func (l *Layer) wide() bool {
	if l.Windows != nil || len(l.B.Lo) == 0 || l.At != nil && l.Fixed {
		return false
	}
	differ := func(s Span) bool {
		if len(s.Lo) > 0 && &s.Lo[0] == &s.Hi[0] {
			return false
		}
		for j := range s.Lo {
			if s.Lo[j] != s.Hi[j] {
				return true
			}
		}
		return false
	}
	return differ(l.W) || differ(l.B)
}

// Each calls f for each input that neuron i meets, with the greatest |weight|.
func (l *Layer) Each(i int, f func(j int, size float64)) {
	l.meets(i, func(j, w int) { f(j, Abs(l.W.Lo[w], l.W.Hi[w])) })
}

// meets calls f for each input that neuron i meets, with the number of the weight.
func (l *Layer) meets(i int, f func(j, w int)) {
	if l.At == nil {
		for j := range l.In {
			f(j, l.Number(j, i))
		}
		return
	}
	o, under := i%l.At.Channels, l.At.Under(i/l.At.Channels)
	for _, k := range l.At.Kernels[o] {
		if j := under[k]; j >= 0 {
			f(int(j), int(k)*l.At.Channels+o)
		}
	}
}

// Products are a W for each input of a linear map of numbers.
func (l *Layer) Products(a []float64) Span {
	s := NewSpan(l.In)
	if l.At == nil {
		for j := range s.Lo {
			var sum arith.Sum
			for i, w := range l.W.Lo[j*l.Out : (j+1)*l.Out] {
				sum.Add(a[i], w)
			}
			s.Lo[j], s.Hi[j] = sum.Lo(), sum.Hi()
		}
		return s
	}
	sums := make([]arith.Sum, l.In)
	for i, v := range a {
		p, o := i/l.At.Channels, i%l.At.Channels
		for _, k := range l.At.Kernels[o] {
			if j := l.At.Under(p)[k]; j >= 0 && v != 0 {
				sums[j].Add(v, l.W.Lo[int(k)*l.At.Channels+o])
			}
		}
	}
	for j := range sums {
		if sums[j].N > 0 {
			s.Lo[j], s.Hi[j] = sums[j].Lo(), sums[j].Hi()
		}
	}
	return s
}
