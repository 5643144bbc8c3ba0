package check

import (
	"context"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// network is a network whose weights are known to lie in intervals.
type network struct {
	layers []layer
	// graph says what feeds what; rowsLo reads it where it is nil.
	graph *graph
	// lines says that bounds are also computed by lines (LBP), not by intervals alone.
	lines bool
	// by chooses the lines.
	by choice
	// ctx, if it is not nil, ends what takes long: then nothing is known.
	ctx context.Context
}

// rowsLo bounds rows of a property from below, for every network of n and every input x of
// the box: lo[r] <= C_r f(x) + d_r in real arithmetic, -Inf where nothing is known. dead
// tells for each hidden layer which neurons have a pre-activation <= 0 for all of them.
// Intervals: docs/theory.md (2); lines: (3), (4), without a charge for roundings, since
// sums are known in twice the precision and coefficients are rounded to the safe side.
func (n *network) rowsLo(box property.Box, rows []property.Row) (lo []float64, dead [][]bool) {
	n.by.drawn = 0
	p := n.newPass(span{box.Lo, box.Hi})
	last := len(n.layers) - 1
	for k := range last {
		p.hiddenLayer(k)
		h := &p.hidden[k]
		never := make([]bool, len(h.pre.hi))
		for i, t := range h.pre.hi {
			never[i] = t <= 0
		}
		dead = append(dead, never)
	}
	for r := range rows {
		s, c := n.layers[last].merged(&rows[r])
		bound := intervalLo(s, p.into(last), c)
		for _, w := range p.ways(last) {
			bound = max(bound, p.down(last, s, c, w))
		}
		lo = append(lo, bound)
	}
	return lo, dead
}

// pass is a network with what is known of its hidden layers on the input box x.
type pass struct {
	*network
	x      span
	hidden []hidden
	// fed[k] is what into says of layer k, once it has been asked.
	fed []span
	// wide says which layers have weights that are no numbers.
	wide []bool
	// needed says of which layers bounds are worth rows of their own.
	needed []bool
	// off, if it is not nil, is by how much the pre-activations of a layer may be off, another number
	// for each input of the network; nil of layers that are not.
	off [][]float64
}

// hidden is a hidden layer: bounds of its pre-activations and of its values, and lines
// around the activation.
type hidden struct {
	pre, z       span
	lower, upper []line
	// pool is there for a max pool. Then the lines are of what stands in for the maximum, whose
	// range is arg; else arg is pre.
	pool *pool
	arg  span
}

func (n *network) newPass(x span) *pass {
	if n.graph == nil {
		g, err := graphOf(n.layers)
		if err != nil {
			panic("check: " + err.Error())
		}
		n.graph = g
	}
	wide := make([]bool, len(n.layers))
	for k := range n.layers {
		wide[k] = n.layers[k].wide()
	}
	return &pass{network: n, x: x, fed: make([]span, len(n.layers)), wide: wide, needed: n.graph.needed(n.layers, wide)}
}

// values returns the values of layer k, or of the input for -1.
func (p *pass) values(k int) span {
	if k < 0 {
		return p.x
	}
	return p.hidden[k].z
}

// into returns what feeds layer k.
func (p *pass) into(k int) span {
	from := p.graph.from[k]
	if len(from) == 1 {
		return p.values(from[0])
	}
	if p.fed[k].lo == nil {
		for _, s := range from {
			z := p.values(s)
			p.fed[k].lo, p.fed[k].hi = append(p.fed[k].lo, z.lo...), append(p.fed[k].hi, z.hi...)
		}
	}
	return p.fed[k]
}

// hiddenLayer bounds layer k, whose inputs are known.
func (p *pass) hiddenLayer(k int) {
	l := &p.layers[k]
	if l.windows != nil {
		p.hidden = append(p.hidden, p.pooled(k))
		return
	}
	h := hidden{pre: l.affine(p.into(k)), z: newSpan(l.out)}
	// By intervals alone the first layer is exact, and a dead neuron is dead.
	_, kinked := l.act.Kinked()
	ways := p.ways(k)
	for i := range l.out {
		if !p.graph.used[k][i] {
			h.pre.lo[i], h.pre.hi[i] = 0, 0 // it may be anything: nothing takes it
		} else if p.ctx != nil && p.ctx.Err() != nil {
			h.pre.lo[i], h.pre.hi[i] = -arith.Inf, arith.Inf
		} else if len(ways) > 0 && !(kinked && l.act.DeadBelow() && h.pre.hi[i] <= 0) {
			p.tighten(k, i, ways, &h.pre)
		}
	}
	for i := range l.out {
		h.z.lo[i], h.z.hi[i] = curves.ValueDown(l.act, h.pre.lo[i]), curves.ValueUp(l.act, h.pre.hi[i])
		if p.lines || p.graph.linear[k] {
			lower, upper := relax(l.act, h.pre.lo[i], h.pre.hi[i], &p.by)
			h.lower, h.upper = append(h.lower, lower), append(h.upper, upper)
		}
	}
	h.arg = h.pre
	p.hidden = append(p.hidden, h)
}

// tighten intersects the interval of neuron i of layer k with what rows say.
func (p *pass) tighten(k, i int, ways []way, pre *span) {
	l := &p.layers[k]
	s, c := l.unit(i, 1)
	mirrored, mc := l.unit(i, -1)
	lo, hi := pre.lo[i], pre.hi[i]
	for _, w := range ways {
		lo, hi = max(lo, p.down(k, s, c, w)), min(hi, -p.down(k, mirrored, mc, w))
	}
	if !(lo <= hi) {
		lo, hi = -arith.Inf, arith.Inf // one of them was wrong: then nothing is known
	}
	pre.lo[i], pre.hi[i] = lo, hi
}

// affine bounds the pre-activations of the layer, given its inputs: docs/theory.md (2).
func (l *layer) affine(z span) span {
	if l.at != nil {
		return l.affinePlaces(z)
	}
	lo, hi := make([]arith.Sum, l.out), make([]arith.Sum, l.out)
	for i := range l.out {
		lo[i].Plus(l.b.lo[i])
		hi[i].Plus(l.b.hi[i])
	}
	for j := range l.in {
		zLo, zHi := z.lo[j], z.hi[j]
		if zLo == 0 && zHi == 0 {
			continue // weights are finite
		}
		wLo, wHi := l.w.lo[j*l.out:(j+1)*l.out], l.w.hi[j*l.out:(j+1)*l.out]
		for i := range lo {
			lo[i].Add(arith.LeastProduct(wLo[i], wHi[i], zLo, zHi))
			hi[i].Add(arith.MostProduct(wLo[i], wHi[i], zLo, zHi))
		}
	}
	pre := newSpan(l.out)
	for i := range lo {
		pre.lo[i], pre.hi[i] = lo[i].Lo(), hi[i].Hi()
	}
	return pre
}

// merged multiplies a property row into the layer, the last one: the row is s z + c for
// coefficients s of the layer's inputs, at its least.
func (l *layer) merged(row *property.Row) (s span, c arith.Sum) {
	s = newSpan(l.in)
	for j := range l.in {
		var lo, hi arith.Sum
		for i := range l.out {
			if cLo, cHi := row.CLo[i], row.CHi[i]; cLo != 0 || cHi != 0 {
				wLo, wHi := l.w.lo[j*l.out+i], l.w.hi[j*l.out+i]
				lo.Add(arith.LeastProduct(cLo, cHi, wLo, wHi))
				hi.Add(arith.MostProduct(cLo, cHi, wLo, wHi))
			}
		}
		s.lo[j], s.hi[j] = lo.Lo(), hi.Hi()
	}
	for i := range l.out {
		c.Add(arith.LeastProduct(row.CLo[i], row.CHi[i], l.b.lo[i], l.b.hi[i]))
	}
	c.Plus(row.D)
	return s, c
}

// intervalLo is a lower bound of s z + c.
func intervalLo(s, z span, c arith.Sum) float64 {
	addLeast(&c, s, z)
	return c.Lo()
}

// addLeast adds the least of s z to c.
func addLeast(c *arith.Sum, s, z span) {
	for j, lo := range s.lo {
		if hi := s.hi[j]; lo != 0 || hi != 0 {
			c.Add(arith.LeastProduct(lo, hi, z.lo[j], z.hi[j]))
		}
	}
}

// through replaces s z by a zeta, plus what it adds to c: s z >= a zeta + (the addition),
// zeta being the pre-activations whose values are z, and lower lines below these.
func (h *hidden) through(s span, lower []line, c *arith.Sum) (a []float64) {
	a = make([]float64, len(s.lo))
	for j := range a {
		zLo, zHi := h.z.lo[j], h.z.hi[j]
		if zLo == 0 && zHi == 0 || s.lo[j] == 0 && s.hi[j] == 0 {
			continue
		}
		coefficient, intercept := chord(s.lo[j], s.hi[j], zLo, zHi)
		t := lower[j]
		if !(coefficient >= 0) {
			t = h.upper[j]
		}
		c.Plus(intercept)
		c.Add(coefficient, t.b)
		var rest float64
		a[j], rest = arith.TwoProduct(coefficient, t.a)
		if rest < 0 {
			c.Add(rest, h.arg.hi[j])
		} else if rest != 0 {
			c.Add(rest, h.arg.lo[j])
		}
		if math.Abs(a[j]) < 0x1p-960 && coefficient != 0 && t.a != 0 {
			c.Add(-arith.Eta, abs(h.arg.lo[j], h.arg.hi[j])) // rest has underflowed
		}
	}
	return a
}

// throughSigns is through where some neurons have signs, which is where the new row is below the
// old one: with a multiplier m >= 0,
//
//	active, t >= 0:      s z = s t >= (s - m) t, and any number up to s will do for s - m
//	not active, t <= 0:  s z = 0 >= m t
func (h *hidden) throughSigns(s span, lower []line, signs []int, multipliers []float64, c *arith.Sum) (a []float64) {
	free := span{slices.Clone(s.lo), slices.Clone(s.hi)}
	for j, sign := range signs {
		if sign != 0 {
			free.lo[j], free.hi[j] = 0, 0
		}
	}
	a = h.through(free, lower, c)
	for j, sign := range signs {
		switch {
		case sign > 0: // z >= 0, so that s is at its least
			a[j] = s.lo[j] - multipliers[j]
		case sign < 0:
			a[j] = multipliers[j]
		}
	}
	return a
}

// chord is a line a z + b at or below s z for all s in [sLo, sHi] and z in [zLo, zHi]. Where
// z changes sign, that is the chord of min(sLo z, sHi z), which is concave, so that any line
// below it at both ends will do.
func chord(sLo, sHi, zLo, zHi float64) (a, b float64) {
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
func (l *layer) substitute(a []float64, z span, c *arith.Sum) (s span) {
	var above, below []int // where a > 0 and where a < 0 or a is NaN
	for i, v := range a {
		if v > 0 {
			above = append(above, i)
			c.Add(v, l.b.lo[i])
		} else if v != 0 {
			below = append(below, i)
			c.Add(v, l.b.hi[i])
		}
	}
	s = newSpan(l.in)
	for j := range l.in {
		if z.lo[j] == 0 && z.hi[j] == 0 {
			continue
		}
		wLo, wHi := l.w.lo[j*l.out:(j+1)*l.out], l.w.hi[j*l.out:(j+1)*l.out]
		least := dot(dot(arith.Sum{}, a, wLo, above), a, wHi, below)
		s.lo[j] = least.Lo()
		s.hi[j] = s.lo[j]
		if z.lo[j] < 0 {
			most := dot(dot(arith.Sum{}, a, wHi, above), a, wLo, below)
			s.hi[j] = most.Hi()
		}
	}
	return s
}

// dot adds a_i w_i to s for the i listed in at.
func dot(s arith.Sum, a, w []float64, at []int) arith.Sum {
	w = w[:len(a)]
	for _, i := range at {
		s = s.With(a[i], w[i])
	}
	return s
}

// span is a list of intervals: coordinate j is in [lo[j], hi[j]].
type span struct{ lo, hi []float64 }

// newSpan is n intervals [0, 0].
func newSpan(n int) span { return span{make([]float64, n), make([]float64, n)} }

// abs is the greatest |t| for t in [lo, hi].
func abs(lo, hi float64) float64 { return max(-lo, hi) }
