package relax

import (
	"sync"

	"psafe/host/arith"
)

// Maps with a matrix at several positions: docs/theory.md, section 4.1.

// affinePlaces is affine for such a map.
func (l *Layer) affinePlaces(z Span) Span {
	at, pre := l.At, NewSpan(l.Out)
	for p := range at.Positions {
		under := at.Under(p)
		for o, kernel := range at.Kernels {
			var lo, hi arith.Sum
			lo.Plus(l.B.Lo[o])
			hi.Plus(l.B.Hi[o])
			for _, k := range kernel {
				j := under[k]
				if j < 0 || z.Lo[j] == 0 && z.Hi[j] == 0 {
					continue
				}
				wLo, wHi := l.W.Lo[int(k)*at.Channels+o], l.W.Hi[int(k)*at.Channels+o]
				lo.Add(arith.LeastProduct(wLo, wHi, z.Lo[j], z.Hi[j]))
				hi.Add(arith.MostProduct(wLo, wHi, z.Lo[j], z.Hi[j]))
			}
			i := p*at.Channels + o
			pre.Lo[i], pre.Hi[i] = lo.Lo(), hi.Hi()
		}
	}
	return pre
}

// Met lists for each channel the positions where a row has a coefficient of it.
func (at *Places) Met(a []float64) [][]int {
	counts, all := make([]int, at.Channels), 0
	for p := range at.Positions {
		for o, v := range a[p*at.Channels : (p+1)*at.Channels] {
			if v != 0 {
				counts[o]++
				all++
			}
		}
	}
	list, of := make([][]int, at.Channels), make([]int, all)
	for o, n := range counts {
		list[o], of = of[:0:n], of[n:]
	}
	for p := range at.Positions {
		for o, v := range a[p*at.Channels : (p+1)*at.Channels] {
			if v != 0 {
				list[o] = append(list[o], p)
			}
		}
	}
	return list
}

// windowSums are sums by input, of which a row of windows meets only some: those from from up to to
// may be others than 0. They are used again, since clearing all takes as long as the rest.
type windowSums struct {
	Of       []arith.Sum
	From, To int
}

var freeSums = sync.Pool{New: func() any { return &windowSums{} }}

// NewWindowSums are n sums of nothing; free gives them back.
func NewWindowSums(n int) *windowSums {
	s := freeSums.Get().(*windowSums)
	if len(s.Of) < n {
		s.Of = make([]arith.Sum, n)
	}
	s.From, s.To = n, 0
	return s
}

func (s *windowSums) Free() {
	if s.From < s.To {
		clear(s.Of[s.From:s.To])
	}
	freeSums.Put(s)
}

// Add adds x*y to sum j.
func (s *windowSums) Add(j int32, x, y float64) {
	s.From, s.To = min(s.From, int(j)), max(s.To, int(j)+1)
	s.Of[j] = s.Of[j].With(x, y)
}

// substitutePlaces is substitute for such a map, each place of a weight (not of a bias) by itself: the
// transposed convolution.
func (l *Layer) substitutePlaces(a []float64, z Span, c *arith.Sum) Span {
	at, number := l.At, &l.W.Lo[0] == &l.W.Hi[0]
	least := NewWindowSums(l.In)
	defer least.Free()
	most := least
	if !number {
		most = NewWindowSums(l.In)
		defer most.Free()
	}
	for o, met := range at.Met(a) {
		kernel := at.Kernels[o]
		// A bias is one number at all positions.
		once := l.B.Lo[o] != l.B.Hi[o] && len(met) > 1
		if once {
			lo, hi := at.Alone(a, o, met)
			c.Add(arith.LeastProduct(l.B.Lo[o], l.B.Hi[o], lo, hi))
		}
		for _, p := range met {
			v, under := a[p*at.Channels+o], at.Under(p)
			wLo, wHi, bias := l.W.Lo, l.W.Hi, l.B.Lo[o]
			if !(v > 0) {
				wLo, wHi, bias = wHi, wLo, l.B.Hi[o]
			}
			if !once {
				c.Add(v, bias)
			}
			for _, k := range kernel {
				j := under[k]
				if j < 0 || z.Lo[j] == 0 && z.Hi[j] == 0 {
					continue
				}
				w := int(k)*at.Channels + o
				least.Add(j, v, wLo[w])
				if !number {
					most.Add(j, v, wHi[w])
				}
			}
		}
	}
	return ranges(least, most, z)
}

// ranges are the coefficients between two sums: outward, but only the lower end of those that meet
// no negative z.
func ranges(least, most *windowSums, z Span) Span {
	s := NewSpan(len(z.Lo))
	for j := least.From; j < least.To; j++ { // those of most are the same
		if least.Of[j].N == 0 {
			continue
		}
		s.Lo[j] = least.Of[j].Lo()
		if s.Hi[j] = s.Lo[j]; z.Lo[j] < 0 {
			s.Hi[j] = most.Of[j].Hi()
		}
	}
	return s
}

// sums over the positions of one channel: under tap k lies a_p z summed over the positions p,
// between lo[k] and hi[k].
type TapSums struct{ lo, hi []arith.Sum }

// Over sets the sums for channel o of a row.
func (t *TapSums) Over(at *Places, a []float64, o int, met []int, z Span) {
	if t.lo == nil {
		t.lo, t.hi = make([]arith.Sum, at.Taps), make([]arith.Sum, at.Taps)
	}
	kernel := at.Kernels[o]
	for _, k := range kernel {
		t.lo[k], t.hi[k] = arith.Sum{}, arith.Sum{}
	}
	for _, p := range met {
		v, under, lo, hi := a[p*at.Channels+o], at.Under(p), z.Lo, z.Hi
		if !(v > 0) {
			lo, hi = hi, lo
		}
		for _, k := range kernel {
			if j := under[k]; j >= 0 {
				t.lo[k], t.hi[k] = t.lo[k].With(v, lo[j]), t.hi[k].With(v, hi[j])
			}
		}
	}
}

// Of is the range of the sum under tap k.
func (t *TapSums) Of(k int32) (lo, hi float64) {
	if t.lo[k].N == 0 {
		return 0, 0
	}
	return t.lo[k].Lo(), t.hi[k].Hi()
}

// Alone is the range of the sum of the coefficients of channel o.
func (at *Places) Alone(a []float64, o int, met []int) (lo, hi float64) {
	var s arith.Sum
	for _, p := range met {
		s.Plus(a[p*at.Channels+o])
	}
	return s.Lo(), s.Hi()
}

// How a weight theta in [lo, hi] that meets the sum g = a_1 z_1 + a_2 z_2 + ... is replaced by a
// line in g: (29).
type form int

const (
	// byChords is a line below theta g at both ends of the range of g, and so in between.
	byChords form = iota
	// byCentres is the middle of [lo, hi], less what the most |g| makes of the half-width.
	byCentres
)

// substituteShared is substitute for such a map, each weight once: where a row meets it under
// several positions, it is the same weight.
func (l *Layer) substituteShared(a []float64, z Span, c *arith.Sum, by form) Span {
	at := l.At
	var g TapSums
	slope, least := make([]float64, at.Taps), NewWindowSums(l.In)
	defer least.Free()
	for o, met := range at.Met(a) {
		kernel := at.Kernels[o]
		if len(met) == 0 {
			continue
		}
		bLo, bHi := at.Alone(a, o, met)
		c.Add(arith.LeastProduct(l.B.Lo[o], l.B.Hi[o], bLo, bHi))
		g.Over(at, a, o, met, z)
		for _, k := range kernel {
			w := int(k)*at.Channels + o
			gLo, gHi := g.Of(k)
			var b float64
			if by == byChords {
				slope[k], b = Chord(l.W.Lo[w], l.W.Hi[w], gLo, gHi)
			} else {
				slope[k], b = centred(l.W.Lo[w], l.W.Hi[w], gLo, gHi)
			}
			c.Plus(b)
		}
		for _, p := range met {
			v, under := a[p*at.Channels+o], at.Under(p)
			for _, k := range kernel {
				if j := under[k]; j >= 0 && !(z.Lo[j] == 0 && z.Hi[j] == 0) {
					least.Add(j, v, slope[k])
				}
			}
		}
	}
	return ranges(least, least, z)
}

// centred is a line a g + b at or below s g for all s in [sLo, sHi] and g in [gLo, gHi], a being
// about the middle.
func centred(sLo, sHi, gLo, gHi float64) (a, b float64) {
	a = min(max(sLo/2+sHi/2, sLo), sHi)
	if sLo == sHi {
		return a, 0
	}
	return a, -arith.Up(max(arith.SumUp(sHi, -a), arith.SumUp(a, -sLo)) * max(0, Abs(gLo, gHi)))
}
