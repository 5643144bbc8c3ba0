package check

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/certify"
	net "psafe/host/network"
	"psafe/host/posterior"
	"psafe/host/property"
)

// certified is what certify says of the tasks on the fallback.
func certified(t *testing.T, p bound.Precision, post *posterior.Posterior, cfg certify.Config, tasks []property.Task) []*certify.Result {
	t.Helper()
	e, err := certify.NewEngine(fallback.New(p), nil, post, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var list []*certify.Result
	if err := certify.Run(context.Background(), []*certify.Engine{e}, cfg, tasks, nil, func(r *certify.Result) error {
		list = append(list, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// randomNoisy is a posterior of random normal weights of the given deviation.
func randomNoisy(rng *rand.Rand, act net.Activation, sd float64, sizes ...int) *posterior.Posterior {
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range len(sizes) - 1 {
		in, out := sizes[k], sizes[k+1]
		a := act
		if k == len(sizes)-2 {
			a = net.Activation{}
		}
		draw := func(n int, scale float64) posterior.Params {
			mean, dev := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j], dev[j] = scale*rng.NormFloat64(), sd*scale*(0.5+rng.Float64())
				if rng.IntN(20) == 0 {
					dev[j] = 0
				}
			}
			return posterior.NewParams(mean, dev, posterior.ScaleSD)
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: net.DenseLayer(in, out, a),
			Weight: draw(in*out, 1/math.Sqrt(float64(in))), Bias: draw(out, 0.3)})
	}
	return post
}

// randomTask asks whether the class of the mean network stays, or one of several others.
func randomTask(rng *rand.Rand, post *posterior.Posterior, index int) property.Task {
	task := property.Task{Index: index, Label: -1}
	n := post.Outputs()
	for range 1 + rng.IntN(2) {
		var b property.Box
		for range post.Inputs() {
			x, eps := rng.NormFloat64(), []float64{0, 0.02, 0.2}[rng.IntN(3)]
			b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
		}
		task.T = append(task.T, b)
	}
	task.Inner = task.T
	y := post.LogitsApprox(task.T[0].Lo)
	class := 0
	for c := range y {
		if y[c] > y[class] {
			class = c
		}
	}
	switch rng.IntN(4) {
	case 0:
		task.S = property.ArgmaxIsNever(rng.IntN(n), n)
	case 1:
		task.S = property.ArgmaxIs(rng.IntN(n), n)
	case 2:
		task.S = property.ArgmaxIs(class, n)
	default: // decimals: y_i + 0.1 >= 0.3 y_0 for each i
		task.S.Any = [][]int{nil}
		for i := 1; i < n; i++ {
			r := property.Row{CLo: make([]float64, n), CHi: make([]float64, n), D: 1.1, DHi: up(1.1)}
			r.CLo[i], r.CHi[i] = 1, 1
			r.CLo[0], r.CHi[0] = -0.3, up(-0.3)
			task.S.Any[0] = append(task.S.Any[0], len(task.S.Rows))
			task.S.Rows = append(task.S.Rows, r)
		}
	}
	return task
}

var activations = []net.Activation{{Kind: net.ReLU}, {Kind: net.LeakyReLU, Slope: 0.1}, {Kind: net.Tanh}, {Kind: net.Sigmoid}, {}}

// witnessOf is the box of a proof's witness.
func witnessOf(t *testing.T, task *property.Task, w certify.Witness) property.Box {
	t.Helper()
	x, err := task.T[w.Box].DecodePoint(w.At)
	if err != nil {
		t.Fatal(err)
	}
	return task.Witness(w.Box, x)
}

// TestGenuine: everything that certify claims by concentration LBP is proved again.
func TestGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	lower, upper, retried := 0, 0, 0
	for i := range testscale.N(t, 40) {
		act := activations[i%len(activations)]
		sizes := [][]int{{3, 4, 3}, {2, 8, 6, 3}, {10, 3}, {4, 6, 5, 4, 3}, {1, 6, 2}}[rng.IntN(5)]
		post := randomNoisy(rng, act, []float64{0.01, 0.1, 0.3}[rng.IntN(3)], sizes...)
		tasks := []property.Task{randomTask(rng, post, 0), randomTask(rng, post, 1)}
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, r := range certified(t, p, post, certify.Config{Strategy: certify.CLBP, Cells: []int{0, 1, 10}[i%3]}, tasks) {
				if r.Lower() > 0 {
					lower++
					enough := -math.Expm1(r.LogP)
					fail, err := n.failUp(r.Task, r.Proof.Cells, r.Proof.Tau, inf)
					if err != nil {
						t.Fatal(err)
					}
					if fail > enough {
						retried++
						before := fail
						fail, _ = n.failUp(r.Task, r.Proof.Cells, r.Proof.Tau, enough)
						t.Logf("%d %v %v %v: fail %v, retried %v, claimed %v", i, act, sizes, p, before, fail, enough)
					}
					if fail > enough {
						t.Errorf("%d %v %v %v: fails %v (%.3g more), certify says %v (%d cells)", i, act, sizes, p, fail, fail/enough-1, enough, r.Cells)
					}
				}
				if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
					upper++
					got, err := n.safeUp(r.Task, witnessOf(t, r.Task, u.Witness), u.Tau, r.Upper())
					if err != nil || got > r.Upper() {
						t.Errorf("%d %v %v %v: p_upper %v, certify says %v, %v", i, act, sizes, p, got, r.Upper(), err)
					}
				}
			}
		}
	}
	t.Logf("%d lower, %d upper bounds, %d retried", lower, upper, retried)
}
