package grid

import (
	"math"

	"psafe/host/arith"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
)

// LargeNeurons hold which neurons are split off at the points of a grid, for one row: i with a_i < 0
// and -a_i t_i(At) > Above. That any of them is so large counts once, as failure, and points fail
// only where none is (docs/theory.md, (39)).
type LargeNeurons struct {
	// At is any point, Above > 0.
	At    []float64 `json:"at"`
	Above float64   `json:"above"`
}

// valid reports whether numbers are what they must be.
func (g *LargeNeurons) valid(inputs int) bool {
	if len(g.At) != inputs || !(g.Above > 0 && g.Above <= math.MaxFloat64) {
		return false
	}
	for _, x := range g.At {
		if !(math.Abs(x) <= math.MaxFloat64) {
			return false
		}
	}
	return true
}

// largeUp bounds the probability that any neuron is that large: for each bin of a_i that of t_i for
// the largest |a_i| in it.
func (n *sums) largeUp(g *LargeNeurons, w *rowWeights, b *normalBins) float64 {
	each := make([]float64, len(w.neurons))
	law.OnCores(len(each), func(i int) {
		a := &w.neurons[i]
		mean, sd := n.Preactivation(i, g.At)
		if !mean.Finite() || !sd.Finite() || !a.mean.Finite() || !a.sd.Finite() {
			each[i] = 1
			return
		}
		t := law.Normal(mean, sd)
		add := func(least, mass float64) {
			if least < 0 {
				each[i] = arith.Up(each[i] + arith.Up(mass*t.AboveUp(arith.Down(g.Above/-least))))
			}
		}
		if a.sd.Hi == 0 {
			add(a.mean.Lo, 1)
			return
		}
		x := b.at(a.mean, a.sd)
		for k := range b.mass {
			add(x[k].Lo, b.mass[k])
		}
		each[i] = arith.Up(each[i] + b.beyond)
	})
	sum := 0.0
	for _, p := range each {
		sum = arith.AddUp(sum, p)
	}
	return min(1, sum)
}

// large returns what is left out of the products of neuron i at a point: given u = t(v), which
// h.high is a value of, t(At) is normal.
func (n *sums) large(g *LargeNeurons, p *point, i int, h *pointNeuron) *probability.Large {
	q := n.Pair(p.x, g.At, i)
	if !q.Slope.Finite() || !q.Rest.Finite() || !q.Mean.Finite() || !q.MeanC.Finite() {
		return nil
	}
	l := &probability.Large{Above: g.Above, SdLo: max(0, q.Rest.Lo), SdHi: q.Rest.Hi, Mean: make([]float64, len(h.high.P))}
	for k, x := range h.high.Hi {
		l.Mean[k] = math.Inf(-1)
		// u was moved to x from at most so far; where it was positive it is the value.
		far := arith.Up(math.Sqrt(h.high.Square[k]) * (1 + 0x1p-50))
		if u := arith.Of(arith.Down(x-far), arith.Up(x+far)); u.Lo > 0 {
			if mean := q.Mean.Plus(q.Slope.Times(u.Minus(q.MeanC))); mean.Finite() {
				l.Mean[k] = mean.Lo
			}
		}
	}
	return l
}
