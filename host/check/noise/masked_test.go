package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestMasked: of small networks with dropout in some layers, what certify claims is proved again, and all masks
// together, by enumeration, are within the bounds of both.
func TestMasked(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 31))
	var seen maskedSeen
	for i := range testscale.Costly(t, 700) {
		act := checktest.Activations[i%len(checktest.Activations)]
		if i%2 == 0 {
			act = net.Activation{Kind: net.ReLU}
		}
		first := rng.IntN(3)
		sizes := [][]int{{2, 3, 3, 2}, {2, 4, 3, 3}, {2, 5, 4, 3}}[first]
		post := sumtest.RandomMasked(rng, act, first, sizes...)
		seen.again(t, i, post, checktest.RandomTask(rng, post, 0))
	}
	// Whatever a record says its budget is.
	for i := range testscale.Cases(t, 200) {
		post := sumtest.RandomMasked(rng, checktest.Activations[0], i%2, 2, 3, 3, 2)
		task := checktest.RandomTask(rng, post, 0)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		somewhere, _ := sumtest.MaskedUnsafe(post, &task, task.T[0].Lo, 1e-9)
		for _, tau := range []float64{0, 0.01, 0.05} {
			fail, err := n.FailUp(t.Context(), &task, nil, []float64{tau}, checktest.AtMost(1))
			if err != nil || fail < somewhere || fail < min(1, tau*float64(12-6*(i%2))) {
				t.Errorf("%d: with tau %v fails %v, the truth is %v, %v", i, tau, fail, somewhere, err)
			}
		}
	}
	seen.tell(t)
}

// TestMaskedGraph: the same for small networks of convolutions, pools and joins, of which single numbers and
// whole channels are dropped in front of any layers, and of DropConnect.
func TestMaskedGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	var seen maskedSeen
	for i := range testscale.Costly(t, 500/testscale.By(t, 2)) {
		act := checktest.Activations[i%len(checktest.Activations)]
		if i%2 == 0 {
			act = net.Activation{Kind: net.ReLU}
		}
		post := sumtest.RandomMaskedGraph(rng, act)
		if i%5 == 4 {
			post = sumtest.RandomDropConnect(rng, act)
		}
		task := checktest.RandomTask(rng, post, 0)
		seen.again(t, i, post, task)
	}
	seen.tell(t)
}

// TestMaskedCurves: rows end at a tanh above masks, and only there, as certify's do: not at a pool or a ReLU above
// it, and not at slopes of the tanh.
func TestMaskedCurves(t *testing.T) {
	var seen maskedSeen
	image, one := net.Image{Height: 2, Width: 2, Channels: 2}, net.Image{Height: 1, Width: 1, Channels: 2}
	window := net.Window{Size: [2]int{2, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	square := net.Conv{In: image, Window: net.Window{Size: [2]int{1, 1}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: 2, Groups: 1}
	layers := []net.Layer{
		{Map: sumtest.MaskOf(image, true)},
		{Map: square},
		{Map: net.MaxPool{In: image, Window: window}, Activation: net.Activation{Kind: net.Tanh}},
		{Map: sumtest.MaskOf(one, true)},
		{Map: net.Dense{In: 2, Out: 2}, Activation: net.Activation{Kind: net.ReLU}},
		{Map: sumtest.MaskOf(one, true)},
		{Map: net.Add{N: 2, Terms: 2}, Sources: []int{5, 3}},
		{Map: net.Dense{In: 2, Out: 2}},
	}
	for i := range testscale.Costly(t, 60) {
		rng := rand.New(rand.NewPCG(33, 108+uint64(i))) // the first is one that was refused
		var of []posterior.Layer
		for _, l := range layers {
			random := func(n int) posterior.Params {
				mean := make([]float64, n)
				for e := range mean {
					mean[e] = rng.NormFloat64()
				}
				return posterior.NewParams(mean, make([]float64, n), posterior.ScaleSD)
			}
			of = append(of, posterior.Layer{Layer: l, Weight: random(l.Map.Weights()), Bias: random(l.Map.Biases())})
		}
		post, err := posterior.FromDropout(of, []float64{0.25, 0, 0, 0.125, 0, 0.25, 0, 0.25})
		if err != nil {
			t.Fatal(err)
		}
		seen.again(t, i, post, checktest.RandomTask(rng, post, 0))
	}
	seen.tell(t)
}

// TestMaskedAboveSums: what is dropped may be linear in neurons of certain layers, of which a device has lines.
func TestMaskedAboveSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 35))
	var seen maskedSeen
	image := net.Image{Height: 3, Width: 3, Channels: 1}
	window := net.Window{Size: [2]int{2, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	conv := net.Conv{In: image, Window: window, Filters: 2, Groups: 1}
	maps := []net.Map{conv, net.AvgPool{In: conv.Out(), Window: window}, net.Dense{In: 2, Out: 3}}
	for i := range testscale.Costly(t, 300) {
		var layers []posterior.Layer
		for k, m := range maps {
			act := net.Activation{Kind: net.Identity}
			if k == 0 {
				act = net.Activation{Kind: net.LeakyReLU, Slope: 0.2}
			}
			random := func(n int) posterior.Params {
				mean := make([]float64, n)
				for e := range mean {
					mean[e] = rng.NormFloat64()
				}
				return posterior.NewParams(mean, make([]float64, n), posterior.ScaleSD)
			}
			layers = append(layers, posterior.Layer{Layer: net.Layer{Map: m, Activation: act}, Weight: random(m.Weights()), Bias: random(m.Biases())})
		}
		post, err := posterior.FromDropout(layers, []float64{0, 0, 0.25})
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.RandomTask(rng, post, 0)
		for k := range task.T[0].Lo { // ReLUs that do not keep their side
			task.T[0].Lo[k] -= 0.2
			task.T[0].Hi[k] += 0.2
		}
		seen.again(t, i, post, task)
		insideBounds(t, post, task.T[0], 2, rng)
	}
	seen.tell(t)
}

// insideBounds: what feeds layer k, which nothing below drops, is inside its bounds at corners of a box.
func insideBounds(t *testing.T, post *posterior.Posterior, box property.Box, k int, rng *rand.Rand) {
	t.Helper()
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	z := n.MaskPass(box, 0, 0).Hidden[k-1].Z
	for range 8 {
		x := slices.Clone(box.Lo)
		for j := range x {
			if rng.IntN(2) == 0 {
				x[j] = box.Hi[j]
			}
		}
		for j, v := range post.Network()[:k].OutputsApprox(post.Mean()[:2*k], x) {
			if v < z.Lo[j]-1e-9 || v > z.Hi[j]+1e-9 {
				t.Errorf("%v is outside of [%v, %v]", v, z.Lo[j], z.Hi[j])
			}
		}
	}
}

// maskedSeen counts bounds that were proved again.
type maskedSeen struct {
	lower, upper, between int
	above                 float64
}

// again certifies a task and proves the claim again, and holds both to all masks together.
func (s *maskedSeen) again(t *testing.T, i int, post *posterior.Posterior, task property.Task) {
	t.Helper()
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
	r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*2}, []property.Task{task})[0]
	at := task.T[0].Lo
	if u := r.Proof.Upper; u != nil {
		box := checktest.WitnessOf(t, r.Task, u.Witness)
		if at = box.Lo; u.Method == "clbp" {
			s.upper++
			if got, err := n.SafeUp(t.Context(), r.Task, box, u.Tau, checktest.AtMost(r.Upper())); err != nil || got > r.Upper() {
				t.Errorf("%d %v: p_upper %v, certify says %v, %v", i, post.Describe(), got, r.Upper(), err)
			}
		}
	}
	somewhere, _ := sumtest.MaskedUnsafe(post, &task, at, 1e-9)
	_, here := sumtest.MaskedUnsafe(post, &task, at, -1e-9)
	if 1-r.Lower() < somewhere {
		t.Errorf("%d %v: %v of networks are unsafe, p_lower is %v", i, post.Describe(), somewhere, r.Lower())
	}
	if 1-here > r.Upper() {
		t.Errorf("%d %v: %v of networks are safe at a point, p_upper is %v", i, post.Describe(), 1-here, r.Upper())
	}
	if r.Lower() == 0 {
		return
	}
	s.lower++
	if r.Lower() < 1 {
		s.between++
		s.above += 1 - r.Lower() - somewhere
	}
	enough := -math.Expm1(r.LogP)
	fail, err := n.FailUp(t.Context(), asProved(t, r), r.Proof.Cells, r.Proof.Tau, checktest.AtMost(enough))
	if err != nil || fail > enough {
		t.Errorf("%d %v: fails %v (%.3g more), certify says %v, %v", i, post.Describe(), fail, fail/enough-1, enough, err)
	}
	if fail < somewhere {
		t.Errorf("%d: %v of networks are unsafe, check says %v", i, somewhere, fail)
	}
}

func (s *maskedSeen) tell(t *testing.T) {
	t.Logf("%d lower bounds, %d upper; where below 1, on average %.3f below the truth", s.lower, s.upper, s.above/float64(s.between))
	if !testing.Short() && s.lower == 0 {
		t.Error("nothing was tested")
	}
}
