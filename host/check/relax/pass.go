package relax

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// Pass is a network with what is known of its hidden layers on the input box x.
type Pass struct {
	*Network
	X      Span
	Hidden []Hidden
	// fed[k] is what into says of layer k, once it has been asked.
	fed []Span
	// wide says which layers have weights that are no numbers.
	wide []bool
	// needed says of which layers bounds are worth rows of their own.
	needed []bool
	// Off, if it is not nil, is by how much the pre-activations of a layer may be off, another number
	// for each input of the network; nil of layers that are not.
	Off [][]float64
}

// Hidden is a hidden layer: bounds of its pre-activations and of its values, and lines
// around the activation.
type Hidden struct {
	Pre, Z       Span
	Lower, Upper []Line
	// Pool is there for a max pool. Then the lines are of what stands in for the maximum, whose
	// range is arg; else arg is pre.
	Pool *pool
	Arg  Span
}

func (n *Network) NewPass(x Span) *Pass {
	if n.Graph == nil {
		g, err := graphOf(n.Layers)
		if err != nil {
			panic("check: " + err.Error())
		}
		n.Graph = g
	}
	wide := make([]bool, len(n.Layers))
	for k := range n.Layers {
		wide[k] = n.Layers[k].wide()
	}
	return &Pass{Network: n, X: x, fed: make([]Span, len(n.Layers)), wide: wide, needed: n.Graph.Needed(n.Layers, wide)}
}

// Values returns the values of layer k, or of the input for -1.
func (p *Pass) Values(k int) Span {
	if k < 0 {
		return p.X
	}
	return p.Hidden[k].Z
}

// Into returns what feeds layer k.
func (p *Pass) Into(k int) Span {
	from := p.Graph.From[k]
	if len(from) == 1 {
		return p.Values(from[0])
	}
	if p.fed[k].Lo == nil {
		for _, s := range from {
			z := p.Values(s)
			p.fed[k].Lo, p.fed[k].Hi = append(p.fed[k].Lo, z.Lo...), append(p.fed[k].Hi, z.Hi...)
		}
	}
	return p.fed[k]
}

// HiddenLayer bounds layer k, whose inputs are known.
func (p *Pass) HiddenLayer(k int) {
	l := &p.Layers[k]
	if l.Windows != nil {
		p.Hidden = append(p.Hidden, p.Pooled(k))
		return
	}
	h := Hidden{Pre: l.Affine(p.Into(k)), Z: NewSpan(l.Out)}
	// By intervals alone the first layer is exact, and a dead neuron is dead.
	_, kinked := l.Act.Kinked()
	ways := p.Ways(k)
	for i := range l.Out {
		if !p.Graph.Used[k][i] {
			h.Pre.Lo[i], h.Pre.Hi[i] = 0, 0 // it may be anything: nothing takes it
		} else if p.Ctx != nil && p.Ctx.Err() != nil {
			h.Pre.Lo[i], h.Pre.Hi[i] = -arith.Inf, arith.Inf
		} else if len(ways) > 0 && !(kinked && l.Act.DeadBelow() && h.Pre.Hi[i] <= 0) {
			p.tighten(k, i, ways, &h.Pre)
		}
	}
	for i := range l.Out {
		h.Z.Lo[i], h.Z.Hi[i] = curves.ValueDown(l.Act, h.Pre.Lo[i]), curves.ValueUp(l.Act, h.Pre.Hi[i])
		if p.Lines || p.Graph.Linear[k] {
			lower, upper := LinesAround(l.Act, h.Pre.Lo[i], h.Pre.Hi[i], &p.By)
			h.Lower, h.Upper = append(h.Lower, lower), append(h.Upper, upper)
		}
	}
	h.Arg = h.Pre
	p.Hidden = append(p.Hidden, h)
}

// tighten intersects the interval of neuron i of layer k with what rows say.
func (p *Pass) tighten(k, i int, ways []Way, pre *Span) {
	l := &p.Layers[k]
	s, c := l.Unit(i, 1)
	mirrored, mc := l.Unit(i, -1)
	lo, hi := pre.Lo[i], pre.Hi[i]
	for _, w := range ways {
		lo, hi = max(lo, p.Down(k, s, c, w)), min(hi, -p.Down(k, mirrored, mc, w))
	}
	if !(lo <= hi) {
		lo, hi = -arith.Inf, arith.Inf // one of them was wrong: then nothing is known
	}
	pre.Lo[i], pre.Hi[i] = lo, hi
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
				wLo, wHi := l.W.Lo[j*l.Out+i], l.W.Hi[j*l.Out+i]
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

// IntervalLo is a lower bound of s z + c.
func IntervalLo(s, z Span, c arith.Sum) float64 {
	addLeast(&c, s, z)
	return c.Lo()
}

// addLeast adds the least of s z to c.
func addLeast(c *arith.Sum, s, z Span) {
	for j, lo := range s.Lo {
		if hi := s.Hi[j]; lo != 0 || hi != 0 {
			c.Add(arith.LeastProduct(lo, hi, z.Lo[j], z.Hi[j]))
		}
	}
}

// Through replaces s z by a zeta, plus what it adds to c: s z >= a zeta + (the addition),
// zeta being the pre-activations whose values are z, and lower lines below these.
func (h *Hidden) Through(s Span, lower []Line, c *arith.Sum) (a []float64) {
	a = make([]float64, len(s.Lo))
	for j := range a {
		zLo, zHi := h.Z.Lo[j], h.Z.Hi[j]
		if zLo == 0 && zHi == 0 || s.Lo[j] == 0 && s.Hi[j] == 0 {
			continue
		}
		coefficient, intercept := Chord(s.Lo[j], s.Hi[j], zLo, zHi)
		t := lower[j]
		if !(coefficient >= 0) {
			t = h.Upper[j]
		}
		c.Plus(intercept)
		c.Add(coefficient, t.B)
		var rest float64
		a[j], rest = arith.TwoProduct(coefficient, t.A)
		if rest < 0 {
			c.Add(rest, h.Arg.Hi[j])
		} else if rest != 0 {
			c.Add(rest, h.Arg.Lo[j])
		}
		if math.Abs(a[j]) < 0x1p-960 && coefficient != 0 && t.A != 0 {
			c.Add(-arith.Eta, Abs(h.Arg.Lo[j], h.Arg.Hi[j])) // rest has underflowed
		}
	}
	return a
}

// throughSigns is through where some neurons have signs, which is where the new row is below the
// old one: with a multiplier m >= 0,
//
//	active, t >= 0:      s z = s t >= (s - m) t, and any number up to s will do for s - m
//	not active, t <= 0:  s z = 0 >= m t
func (h *Hidden) throughSigns(s Span, lower []Line, signs []int, multipliers []float64, c *arith.Sum) (a []float64) {
	free := Span{slices.Clone(s.Lo), slices.Clone(s.Hi)}
	for j, sign := range signs {
		if sign != 0 {
			free.Lo[j], free.Hi[j] = 0, 0
		}
	}
	a = h.Through(free, lower, c)
	for j, sign := range signs {
		switch {
		case sign > 0: // z >= 0, so that s is at its least
			a[j] = s.Lo[j] - multipliers[j]
		case sign < 0:
			a[j] = multipliers[j]
		}
	}
	return a
}

// Chord is a line a z + b at or below s z for all s in [sLo, sHi] and z in [zLo, zHi]. Where
// z changes sign, that is the chord of min(sLo z, sHi z), which is concave, so that any line
// below it at both ends will do.
func Chord(sLo, sHi, zLo, zHi float64) (a, b float64) {
	switch {
	case zLo >= 0:
		return sLo, 0
	case zHi <= 0:
		return sHi, 0
	}
	a = (float64(sLo*zHi) - float64(sHi*zLo)) / (zHi - zLo)
	if !(a >= sLo) {
		a = sLo
	} else if a > sHi {
		a = sHi
	}
	atLo := arith.Down(float64(arith.Up(sHi-a) * zLo))
	atHi := arith.Down(float64(arith.Down(sLo-a) * zHi))
	return a, min(atLo, atHi)
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

// Dot adds a_i w_i to s for the i listed in at.
func Dot(s arith.Sum, a, w []float64, at []int) arith.Sum {
	w = w[:len(a)]
	for _, i := range at {
		s = s.With(a[i], w[i])
	}
	return s
}

// Span is a list of intervals: coordinate j is in [Lo[j], Hi[j]].
type Span struct{ Lo, Hi []float64 }

// NewSpan is n intervals [0, 0].
func NewSpan(n int) Span { return Span{make([]float64, n), make([]float64, n)} }

// Abs is the greatest |t| for t in [lo, hi].
func Abs(lo, hi float64) float64 { return max(-lo, hi) }
