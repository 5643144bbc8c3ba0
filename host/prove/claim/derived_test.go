package claim

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// TestNorms: the norms bound what drawn networks show, and not by orders of magnitude
// where one layer makes them exact.
func TestNorms(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for n := range 40 {
		post := randomPosterior(r, []network.Kind{network.ReLU, network.Tanh, network.Sigmoid}[n%3], 1+n%3)
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		bound := normsUp(post, []property.Box{{Lo: x, Hi: x}})
		const draws = 4000
		square, fourth := make([]float64, post.Outputs()), make([]float64, post.Outputs())
		w := post.NewWeights()
		net := post.Network()
		for i := range draws {
			post.Draw(7, i, w)
			for k, y := range net.OutputsApprox(w, x) {
				square[k] += y * y / draws
				fourth[k] += y * y * y * y / draws
			}
		}
		for k, s := range square {
			slack := 6 * math.Sqrt(fourth[k]/draws)
			if s-slack > bound[k]*bound[k] {
				t.Errorf("network %d, logit %d: E y^2 about %v, bound %v", n, k, s, bound[k]*bound[k])
			}
			if len(post.Layers) == 1 && bound[k]*bound[k] > 30*(s+slack)+1 {
				t.Errorf("network %d, logit %d: bound %v, E y^2 about %v", n, k, bound[k]*bound[k], s)
			}
		}
	}
}

func randomPosterior(r *rand.Rand, kind network.Kind, layers int) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	in := 1 + r.IntN(3)
	for k := range layers {
		l := posterior.Layer{Layer: network.DenseLayer(in, 1+r.IntN(4), network.Activation{Kind: kind})}
		if k == layers-1 {
			l.Activation = network.Activation{}
		}
		draw := func(n int) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for i := range mean {
				mean[i], sd[i] = r.NormFloat64(), math.Abs(r.NormFloat64())
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		l.Weight, l.Bias = draw(l.Inputs()*l.Outputs()), draw(l.Outputs())
		p.Layers, in = append(p.Layers, l), l.Outputs()
	}
	return p
}

// TestDerived: nothing is claimed of a mean without a norm, and more with a better
// p_lower.
func TestDerived(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	post := randomPosterior(r, network.ReLU, 2)
	x := make([]float64, post.Inputs())
	task := &property.Task{T: []property.Box{{Lo: x, Hi: x}}, S: property.Safe{
		Rows: []property.Row{{CLo: make([]float64, post.Outputs()), CHi: make([]float64, post.Outputs()), D: 1, DHi: 1}}, Any: [][]int{{0}}}}
	last := math.Inf(-1)
	for _, p := range []float64{0, 0.5, 0.99, 1} {
		d := Derive(post, &Result{Task: task, LogP: arith.LogComplementDown(1 - p), PLower: p})
		if !(d.MeanLower <= 0 && d.MeanLower >= last && d.ProbLower <= p+1e-9 && d.ProbUpper == 1) {
			t.Errorf("p_lower %v: %+v", p, d)
		}
		if p == 0 && math.Abs(d.MeanLower+1) > 1e-9 { // the row is 1 everywhere
			t.Errorf("p_lower 0: %+v, want a norm of 1", d)
		}
		last = d.MeanLower
	}
	task.S.Any = [][]int{{0}, {0}}
	if d := Derive(post, &Result{Task: task}); !math.IsNaN(d.MeanLower) {
		t.Errorf("a disjunction: %+v", d)
	}
}
