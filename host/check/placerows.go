package check

import (
	"sync"

	"psafe/host/arith"
)

// Maps with a matrix at several positions: docs/theory.md, section 4.1.

// affinePlaces is affine for such a map.
func (l *layer) affinePlaces(z span) span {
	at, pre := l.at, newSpan(l.out)
	for p := range at.positions {
		under := at.under(p)
		for o, kernel := range at.kernels {
			var lo, hi arith.Sum
			lo.Plus(l.b.lo[o])
			hi.Plus(l.b.hi[o])
			for _, k := range kernel {
				j := under[k]
				if j < 0 || z.lo[j] == 0 && z.hi[j] == 0 {
					continue
				}
				wLo, wHi := l.w.lo[int(k)*at.channels+o], l.w.hi[int(k)*at.channels+o]
				lo.Add(arith.LeastProduct(wLo, wHi, z.lo[j], z.hi[j]))
				hi.Add(arith.MostProduct(wLo, wHi, z.lo[j], z.hi[j]))
			}
			i := p*at.channels + o
			pre.lo[i], pre.hi[i] = lo.Lo(), hi.Hi()
		}
	}
	return pre
}

// met lists for each channel the positions where a row has a coefficient of it.
func (at *places) met(a []float64) [][]int {
	counts, all := make([]int, at.channels), 0
	for p := range at.positions {
		for o, v := range a[p*at.channels : (p+1)*at.channels] {
			if v != 0 {
				counts[o]++
				all++
			}
		}
	}
	list, of := make([][]int, at.channels), make([]int, all)
	for o, n := range counts {
		list[o], of = of[:0:n], of[n:]
	}
	for p := range at.positions {
		for o, v := range a[p*at.channels : (p+1)*at.channels] {
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
	of       []arith.Sum
	from, to int
}

var freeSums = sync.Pool{New: func() any { return &windowSums{} }}

// newWindowSums are n sums of nothing; free gives them back.
func newWindowSums(n int) *windowSums {
	s := freeSums.Get().(*windowSums)
	if len(s.of) < n {
		s.of = make([]arith.Sum, n)
	}
	s.from, s.to = n, 0
	return s
}

func (s *windowSums) free() {
	if s.from < s.to {
		clear(s.of[s.from:s.to])
	}
	freeSums.Put(s)
}

// add adds x*y to sum j.
func (s *windowSums) add(j int32, x, y float64) {
	s.from, s.to = min(s.from, int(j)), max(s.to, int(j)+1)
	s.of[j] = s.of[j].With(x, y)
}

// substitutePlaces is substitute for such a map, each place of a weight (not of a bias) by itself: the
// transposed convolution.
func (l *layer) substitutePlaces(a []float64, z span, c *arith.Sum) span {
	at, number := l.at, &l.w.lo[0] == &l.w.hi[0]
	least := newWindowSums(l.in)
	defer least.free()
	most := least
	if !number {
		most = newWindowSums(l.in)
		defer most.free()
	}
	for o, met := range at.met(a) {
		kernel := at.kernels[o]
		// A bias is one number at all positions.
		once := l.b.lo[o] != l.b.hi[o] && len(met) > 1
		if once {
			lo, hi := at.alone(a, o, met)
			c.Add(arith.LeastProduct(l.b.lo[o], l.b.hi[o], lo, hi))
		}
		for _, p := range met {
			v, under := a[p*at.channels+o], at.under(p)
			wLo, wHi, bias := l.w.lo, l.w.hi, l.b.lo[o]
			if !(v > 0) {
				wLo, wHi, bias = wHi, wLo, l.b.hi[o]
			}
			if !once {
				c.Add(v, bias)
			}
			for _, k := range kernel {
				j := under[k]
				if j < 0 || z.lo[j] == 0 && z.hi[j] == 0 {
					continue
				}
				w := int(k)*at.channels + o
				least.add(j, v, wLo[w])
				if !number {
					most.add(j, v, wHi[w])
				}
			}
		}
	}
	return ranges(least, most, z)
}

// ranges are the coefficients between two sums: outward, but only the lower end of those that meet
// no negative z.
func ranges(least, most *windowSums, z span) span {
	s := newSpan(len(z.lo))
	for j := least.from; j < least.to; j++ { // those of most are the same
		if least.of[j].N == 0 {
			continue
		}
		s.lo[j] = least.of[j].Lo()
		if s.hi[j] = s.lo[j]; z.lo[j] < 0 {
			s.hi[j] = most.of[j].Hi()
		}
	}
	return s
}

// sums over the positions of one channel: under tap k lies a_p z summed over the positions p,
// between lo[k] and hi[k].
type tapSums struct{ lo, hi []arith.Sum }

// over sets the sums for channel o of a row.
func (t *tapSums) over(at *places, a []float64, o int, met []int, z span) {
	if t.lo == nil {
		t.lo, t.hi = make([]arith.Sum, at.taps), make([]arith.Sum, at.taps)
	}
	kernel := at.kernels[o]
	for _, k := range kernel {
		t.lo[k], t.hi[k] = arith.Sum{}, arith.Sum{}
	}
	for _, p := range met {
		v, under, lo, hi := a[p*at.channels+o], at.under(p), z.lo, z.hi
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

// of is the range of the sum under tap k.
func (t *tapSums) of(k int32) (lo, hi float64) {
	if t.lo[k].N == 0 {
		return 0, 0
	}
	return t.lo[k].Lo(), t.hi[k].Hi()
}

// alone is the range of the sum of the coefficients of channel o.
func (at *places) alone(a []float64, o int, met []int) (lo, hi float64) {
	var s arith.Sum
	for _, p := range met {
		s.Plus(a[p*at.channels+o])
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
func (l *layer) substituteShared(a []float64, z span, c *arith.Sum, by form) span {
	at := l.at
	var g tapSums
	slope, least := make([]float64, at.taps), newWindowSums(l.in)
	defer least.free()
	for o, met := range at.met(a) {
		kernel := at.kernels[o]
		if len(met) == 0 {
			continue
		}
		bLo, bHi := at.alone(a, o, met)
		c.Add(arith.LeastProduct(l.b.lo[o], l.b.hi[o], bLo, bHi))
		g.over(at, a, o, met, z)
		for _, k := range kernel {
			w := int(k)*at.channels + o
			gLo, gHi := g.of(k)
			var b float64
			if by == byChords {
				slope[k], b = chord(l.w.lo[w], l.w.hi[w], gLo, gHi)
			} else {
				slope[k], b = centred(l.w.lo[w], l.w.hi[w], gLo, gHi)
			}
			c.Plus(b)
		}
		for _, p := range met {
			v, under := a[p*at.channels+o], at.under(p)
			for _, k := range kernel {
				if j := under[k]; j >= 0 && !(z.lo[j] == 0 && z.hi[j] == 0) {
					least.add(j, v, slope[k])
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
	return a, -arith.Up(max(arith.SumUp(sHi, -a), arith.SumUp(a, -sLo)) * max(0, abs(gLo, gHi)))
}
