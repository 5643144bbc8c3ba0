package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
)

// maskedLayer is a layer of Masked. A linear map is one matrix at some positions (network.Lowered).
type maskedLayer struct {
	in, out int
	// sources are numbers of Masked's layers, -1 being the features.
	sources    []int
	activation network.Activation
	low        *network.Lowered
	// weight [taps x channels] is off by at most off [taps], nil where weights are numbers; bias [channels].
	weight, off, bias []float64
	// kernels are the taps of each channel whose weights are not 0.
	kernels [][]int32
	// sums is how many products a sum over what one input meets has at most.
	sums int
	// members of a max pool are the inputs under its windows, -1 where there is none.
	members []int32
	// rate is with which probability each unit is dropped: unit[j] is that of input j.
	rate  float64
	unit  []int32
	units int
	// fedRandom reports whether what feeds the layer depends on masks, random whether its values do.
	fedRandom, random bool
	// bounded reports whether rows bound its neurons, else intervals; used are those that something takes.
	bounded bool
	used    []bool
}

// newLayer is layer k of a posterior of dropout, from first on.
func newLayer(post *posterior.Posterior, first, k int) maskedLayer {
	l := &post.Layers[k]
	m := maskedLayer{in: l.Inputs(), out: l.Outputs(), activation: l.Activation, rate: post.Dropout()[k], used: make([]bool, l.Outputs())}
	for _, s := range post.Network().Feed(k) {
		m.sources = append(m.sources, max(s-first, -1))
	}
	switch of := l.Map.(type) {
	case network.Linear:
		m.low, m.bias = of.Lowered(), make([]float64, of.Biases())
		copy(m.bias, l.Bias.Mean)
		if m.weight = l.Weight.Mean; !m.low.Dense() {
			m.weight = make([]float64, m.low.Taps*m.low.Channels)
			for e := range m.weight {
				if w := m.low.Param(e/m.low.Channels, e%m.low.Channels); w >= 0 {
					m.weight[e] = l.Weight.Mean[w]
				}
			}
		}
	case network.Fixed:
		m.low = of.Lowered()
		m.bias = make([]float64, m.low.Channels)
		for t, lo := range m.low.CoefficientLo {
			hi := m.low.CoefficientHi[t]
			mid := arith.Middle(lo, hi)
			m.weight, m.off = append(m.weight, mid), append(m.off, max(arith.SumUp(hi, -mid), arith.SumUp(mid, -lo)))
		}
	case network.MaxPool:
		m.members = of.Members()
	}
	if m.rate > 0 {
		units, unit, _ := network.Dropped(l.Map)
		m.units = units
		for j := range m.in {
			m.unit = append(m.unit, int32(unit(j)))
		}
	}
	if m.low != nil {
		m.kernels = make([][]int32, m.low.Channels)
		for e, w := range m.weight {
			if o := e % m.low.Channels; w != 0 || m.off != nil {
				m.kernels[o] = append(m.kernels[o], int32(e/m.low.Channels))
			}
		}
		m.sums = m.low.Channels
		if m.low.Tap != nil {
			met := make([]int, m.in)
			for _, j := range m.low.Tap {
				if j >= 0 {
					met[j]++
					m.sums = max(m.sums, met[j]*m.low.Channels)
				}
			}
		}
	}
	return m
}

// pool reports whether the layer is a max pool.
func (l *maskedLayer) pool() bool { return l.low == nil }

// window is the members of output v of a max pool.
func (l *maskedLayer) window(v int) []int32 {
	n := len(l.members) / l.out
	return l.members[v*n : (v+1)*n]
}

// each calls visit for what meets output i: the input and the number of the weight. Groups of channels do not
// meet, and what is 0 does nothing.
func (l *maskedLayer) each(i int, visit func(j, w int)) {
	p, o := i/l.low.Channels, i%l.low.Channels
	for _, t := range l.kernels[o] {
		if j := l.low.Input(p, int(t)); j >= 0 {
			visit(j, int(t)*l.low.Channels+o)
		}
	}
}

// wrongBy is by how much weight w is off at most.
func (l *maskedLayer) wrongBy(w int) float64 {
	if l.off == nil {
		return 0
	}
	return l.off[w/l.low.Channels]
}

// takes marks which inputs something takes.
func (l *maskedLayer) takes(mark func(j int)) {
	switch {
	case l.pool():
		for _, j := range l.members {
			if j >= 0 {
				mark(int(j))
			}
		}
	case l.low.Tap == nil:
		for j := range l.in {
			mark(j)
		}
	default:
		for _, j := range l.low.Tap {
			if j >= 0 {
				mark(int(j))
			}
		}
	}
}

// coefficients hold the coefficients of a row over a list of numbers: a, each off by at most wrong.
type coefficients struct{ a, wrong []float64 }

func newCoefficients(n int) coefficients {
	return coefficients{make([]float64, n), make([]float64, n)}
}

// interval returns the interval of coefficient j.
func (c *coefficients) interval(j int) arith.Interval {
	if c.wrong[j] == 0 {
		return arith.Exactly(c.a[j])
	}
	return arith.Of(arith.SumDown(c.a[j], -c.wrong[j]), arith.SumUp(c.a[j], c.wrong[j]))
}

// substitute takes coefficients of the pre-activations of a linear map to its inputs, and biases to constant.
func (l *maskedLayer) substitute(c coefficients, constant *arith.Sum) coefficients {
	s := newCoefficients(l.in)
	u, g := covary.Unit(l.sums), covary.Grow(2*l.sums)
	channels := l.low.Channels
	if l.low.Dense() {
		for j := range s.a {
			sum, size, off := 0.0, 0.0, 0.0
			for o, w := range l.weight[j*channels : (j+1)*channels] {
				sum += float64(c.a[o] * w)
				size += math.Abs(float64(c.a[o] * w))
				off += math.Abs(float64(c.wrong[o] * w))
			}
			s.a[j], s.wrong[j] = sum, (float64(u*size)+off)*g+covary.Tiny
		}
		for o, b := range l.bias {
			constant.Add(c.a[o], b)
			constant.Add(-c.wrong[o], math.Abs(b))
		}
		return s
	}
	size := make([]float64, l.in)
	for i, a := range c.a {
		wrong := c.wrong[i]
		if a == 0 && wrong == 0 {
			continue
		}
		l.each(i, func(j, w int) {
			by := float64(a * l.weight[w])
			s.a[j] += by
			size[j] += math.Abs(by) + covary.Tiny // it is met
			s.wrong[j] += math.Abs(float64(wrong*l.weight[w])) + float64((math.Abs(a)+wrong)*l.wrongBy(w))
		})
		if b := l.bias[i%channels]; b != 0 {
			constant.Add(a, b)
			constant.Add(-wrong, math.Abs(b))
		}
	}
	for j, met := range size {
		if met != 0 {
			s.wrong[j] = (float64(u*met)+s.wrong[j])*g + covary.Tiny
		}
	}
	return s
}

// unitRow is sign times neuron i of a linear map, over its inputs.
func (l *maskedLayer) unitRow(i int, sign float64, constant *arith.Sum) coefficients {
	s := newCoefficients(l.in)
	l.each(i, func(j, w int) { s.a[j], s.wrong[j] = sign*l.weight[w], l.wrongBy(w) })
	constant.Plus(sign * l.bias[i%l.low.Channels])
	return s
}

// ranges bounds the pre-activations of a linear map by intervals, z being those of its inputs and any of
// these dropped.
func (l *maskedLayer) ranges(z *values) (lo, hi []float64) {
	lo, hi = make([]float64, l.out), make([]float64, l.out)
	zLo, zHi := z.lo, z.hi
	if l.rate > 0 {
		zLo, zHi = make([]float64, l.in), make([]float64, l.in)
		for j := range zLo {
			kept := arith.Of(z.lo[j], z.hi[j]).Over(arith.Difference(1, l.rate))
			zLo[j], zHi[j] = min(0, kept.Lo), max(0, kept.Hi)
		}
	}
	for i := range lo {
		var least, most arith.Sum
		least.Plus(l.bias[i%l.low.Channels])
		most.Plus(l.bias[i%l.low.Channels])
		l.each(i, func(j, w int) {
			if zLo[j] == 0 && zHi[j] == 0 {
				return
			}
			off := l.wrongBy(w)
			wLo, wHi := arith.SumDown(l.weight[w], -off), arith.SumUp(l.weight[w], off)
			least.Add(arith.LeastProduct(wLo, wHi, zLo[j], zHi[j]))
			most.Add(arith.MostProduct(wLo, wHi, zLo[j], zHi[j]))
		})
		lo[i], hi[i] = least.Lo(), most.Hi()
	}
	return lo, hi
}

// movesUp bounds how far pre-activations are from what they are at the centre, whatever is dropped, given how
// far what feeds them is.
func (l *maskedLayer) movesUp(moves []float64) []float64 {
	list := make([]float64, l.out)
	least := arith.Down(1 - l.rate)
	for i := range list {
		if l.pool() {
			for _, j := range l.window(i) {
				if j >= 0 {
					list[i] = max(list[i], moves[j])
				}
			}
			continue
		}
		var sum arith.Sum
		l.each(i, func(j, w int) {
			if by := moves[j]; by != 0 {
				sum.Add(arith.SumUp(math.Abs(l.weight[w]), l.wrongBy(w)), by)
			}
		})
		if by := sum.Hi(); by != 0 {
			list[i] = arith.Up(by / least)
		}
	}
	return list
}
