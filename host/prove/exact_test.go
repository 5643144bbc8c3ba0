package prove_test

import (
	"context"
	"math"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// This file has networks so small that P_safe and the mass of every weight box are
// known by exact reasoning: what certify claims must be that mass, and not more
// than P_safe.

// normal is a list of weights with the given means and standard deviations in turn.
func normal(meanSD ...float64) posterior.Params {
	var mean, sd []float64
	for i := 0; i < len(meanSD); i += 2 {
		mean, sd = append(mean, meanSD[i]), append(sd, meanSD[i+1])
	}
	return posterior.NewParams(mean, sd, posterior.ScaleSD)
}

// chain is a network with one neuron a layer: weights and biases in turn, the
// activation after every layer but the last.
func chain(a network.Activation, gaussians ...posterior.Params) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for i := 0; i < len(gaussians); i += 2 {
		l := posterior.Layer{Layer: network.DenseLayer(1, 1, a), Weight: gaussians[i], Bias: gaussians[i+1]}
		if i+2 == len(gaussians) {
			l.Activation = network.Activation{}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

var (
	relu = network.Activation{Kind: network.ReLU}
	tanh = network.Activation{Kind: network.Tanh}
	none = normal(0, 0)
	unit = normal(1, 0)
)

func safeOn(s property.Safe, t ...property.Box) property.Task {
	return property.Task{Label: -1, T: t, S: s}
}

// within is Prob(|N(0,1)| <= g).
func within(g float64) float64 { return math.Erf(g / math.Sqrt2) }

// TestFreeWeights measures one box of given half-width: exactly the weights that
// cannot matter on it are free.
func TestFreeWeights(t *testing.T) {
	both := []property.Box{interval(-1, -0.5), interval(0.5, 1)}
	// v max(w, 0) >= -0.01 for w ~ N(-1, 1), v ~ N(0, 10^2).
	deadTruth := integrate(-1, 1, func(w float64) float64 {
		if w <= 0 {
			return 1
		}
		return phi(0.01 / w / 10)
	})
	for _, c := range []struct {
		name  string
		post  *posterior.Posterior
		task  property.Task
		gamma float64
		// want is the mass of the box with its free weights, truth P_safe.
		want, truth float64
	}{
		// f(x) = v max(w x, 0), w ~ N(-1, 1), v ~ N(0, 10): safe if w <= 0, or w > 0 and v w >= -0.01.
		{"dead neuron", chain(relu, normal(-1, 1), none, normal(0, 10), none), safeOn(atLeast(-0.01), interval(1, 1)), 0.99,
			phi(0.99), deadTruth},
		// The same through the bias: f(x) = v max(b, 0) at x = 0, where w is free.
		{"dead bias", chain(relu, normal(3, 2), normal(-1, 1), normal(0, 10), none), safeOn(atLeast(-0.01), interval(0, 0)), 0.99,
			phi(0.99), deadTruth},
		// f(x) = v max(-x, 0), v ~ N(1, 1/2): dead at 1, alive at -1. Safe if v >= -0.001.
		{"dead on the first box only", chain(relu, normal(-1, 0), none, normal(1, 0.5), none), safeOn(atLeast(-0.001), interval(1, 1), interval(-1, -1)), 1.5,
			within(1.5), phi(2.002)},
		{"dead on the second box only", chain(relu, normal(-1, 0), none, normal(1, 0.5), none), safeOn(atLeast(-0.001), interval(-1, -1), interval(1, 1)), 1.5,
			within(1.5), phi(2.002)},
		// f(x) = -max(w x - 3, 0), |x| = 1 at most, w ~ N(0, 1): safe if |w| <= 3.001. Lower w is not
		// harmless, as x may be negative.
		{"negative inputs", chain(relu, normal(0, 1), normal(-3, 0), normal(-1, 0), none), safeOn(atLeast(-0.001), both...), 2.9,
			within(2.9), within(3.001)},
		// The same with inputs that are never negative: lower w is harmless, f is safe if w <= 3.001.
		{"inputs >= 0", chain(relu, normal(0, 1), normal(-3, 0), normal(-1, 0), none), safeOn(atLeast(-0.001), interval(0.5, 1)), 2.9,
			phi(2.9), phi(3.001)},
		// Two hidden layers, z = tanh(x) of both signs: f = -max(w z - 2, 0) is safe if |w| tanh 1 <= 2.001.
		{"negative neurons", &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.DenseLayer(1, 1, tanh), Weight: unit, Bias: none},
			{Layer: network.DenseLayer(1, 1, relu), Weight: normal(0, 1), Bias: normal(-2, 0)},
			{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: normal(-1, 0), Bias: none}}}, safeOn(atLeast(-0.001), interval(-1, 1)), 2.6,
			within(2.6), within(2.001 / math.Tanh(1))},
		// f(x) = w x, w ~ N(0, 1): an input that is 0 on one box only, or at one end only.
		{"zero on the second box only", chain(relu, normal(0, 1), none), safeOn(atLeast(-2), interval(0, 1), interval(0, 0)), 1.9, within(1.9), phi(2)},
		{"zero on the first box only", chain(relu, normal(0, 1), none), safeOn(atLeast(-2), interval(0, 0), interval(0, 1)), 1.9, within(1.9), phi(2)},
		{"zero at the upper end only", chain(relu, normal(0, 1), none), safeOn(atLeast(-2), interval(-1, 0)), 1.9, within(1.9), phi(2)},
		// f(x) = v leaky(-1) = -v/4: a leaky ReLU is never dead. v ~ N(1, 1/2), safe if v <= 2.
		{"leaky", chain(network.Activation{Kind: network.LeakyReLU, Slope: 0.25}, normal(-1, 0), none, normal(1, 0.5), none),
			safeOn(atLeast(-0.5), interval(1, 1)), 1.5, within(1.5), phi(2)},
		// f(x) = v max(w, 0) as above, w in [-2.5, 0.5]: perhaps alive is not dead. Safe at least if |v| <= 20 or w <= 0.
		{"perhaps alive", chain(relu, normal(-1, 1), none, normal(0, 10), none), safeOn(atLeast(-10), interval(1, 1)), 1.5,
			math.Pow(within(1.5), 2), phi(1)},
		// Nothing is dead: all weights of both layers count. f = v tanh(w) >= -1.
		{"nothing", chain(tanh, normal(1, 0.5), normal(0, 0.25), normal(1, 0.5), none), safeOn(atLeast(-2), interval(1, 1)), 1.5,
			math.Pow(within(1.5), 3), 1},
	} {
		if c.want > c.truth {
			t.Fatalf("%s: expects %v of %v", c.name, c.want, c.truth)
		}
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, m := range []prove.Method{prove.IBP, prove.LBP} {
				r := run(t, p, c.post, prove.Config{Method: m, Gamma: c.gamma}, c.task)[0]
				if got := math.Exp(r.LogP); math.Abs(got-c.want) > 2e-6*c.want || got > c.truth {
					t.Errorf("%s, %v %v: p_lower %v, want %v of %v (margin %v)", c.name, p, m, got, c.want, c.truth, r.Margin)
				}
			}
		}
	}
}

// TestDeadNeuronsOfTheirTask verifies tasks together of which some have the neuron
// dead: none takes over what holds for another, nor another's margin.
func TestDeadNeuronsOfTheirTask(t *testing.T) {
	post := chain(relu, normal(-1, 0), none, normal(1, 0.5), none)
	point := func(x float64) property.Box { return interval(x, x) }
	var tasks []property.Task
	var want []float64
	for _, c := range []struct {
		a, b  float64
		least float64
		want  float64 // at gamma 1.5, v in [0.25, 1.75]
	}{{1, 2, -0.1, 1}, {-1, 1, -0.1, within(1.5)}, {2, -1, -0.1, within(1.5)}, {-2, -1, 0.5, 0}, {3, 1, -0.1, 1}, {-1, -2, 0.2, within(1.5)}} {
		tasks, want = append(tasks, safeOn(atLeast(c.least), point(c.a), point(c.b))), append(want, c.want)
	}
	for n := 1; n <= len(tasks); n++ { // alone, in pairs with boxes of their own, and sharing one box
		for first := 0; first+n <= len(tasks); first++ {
			for i, r := range run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Gamma: 1.5}, tasks[first:first+n]...) {
				if got := math.Exp(r.LogP); math.Abs(got-want[first+i]) > 1e-9 {
					t.Errorf("task %d of tasks %d to %d: p_lower %v, want %v", first+i, first, first+n-1, got, want[first+i])
				}
			}
		}
	}
}

// TestEveryInputBoxCounts: f(x) = w x >= -1 on {1, -1} needs |w| <= 1, on either
// alone only one side of it.
func TestEveryInputBoxCounts(t *testing.T) {
	post := chain(relu, normal(2, 1), none)
	one, other := interval(1, 1), interval(-1, -1)
	truth := phi(-1) - phi(-3)
	for _, task := range []property.Task{safeOn(atLeast(-1), one, other), safeOn(atLeast(-1), other, one), safeOn(atLeast(-1), one, other, one)} {
		for _, c := range []struct {
			cfg   prove.Config
			share float64
		}{
			{prove.Config{}, 0},
			{prove.Config{Method: prove.IBP, Boxes: prove.Drawn, Samples: 400, Gamma: 0.1, Seed: 1}, 0.5},
		} {
			c.cfg.Method = prove.IBP
			r := run(t, bound.Float64, post, c.cfg, task)[0]
			if got := math.Exp(r.LogP); got > truth || got < c.share*truth {
				t.Errorf("%d boxes, %+v: p_lower %v, P_safe %v", len(task.T), c.cfg, got, truth)
			}
		}
	}
}

// TestMassIsThatOfItsGamma: layers have half-widths of their own, and the mass is
// that of these.
func TestMassIsThatOfItsGamma(t *testing.T) {
	post := chain(tanh, normal(1, 0.5), normal(0, 0.25), normal(1, 0.02), normal(0, 0.01))
	r := run(t, bound.Float64, post, prove.Config{Method: prove.LBP}, safeOn(atLeast(0.3), interval(1, 1)))[0]
	if len(r.Gamma) != 2 || math.Abs(r.Gamma[0]-r.Gamma[1]) < 0.1 {
		t.Fatalf("half-widths %v: the case is meant to have different ones", r.Gamma)
	}
	want := math.Pow(within(r.Gamma[0])*within(r.Gamma[1]), 2)
	if got := math.Exp(r.LogP); math.Abs(got-want) > 1e-9 {
		t.Errorf("half-widths %v: p_lower %v, want %v", r.Gamma, got, want)
	}
}

// TestWorstSD: the standard deviation is only known to lie between bounds.
func TestWorstSD(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	post.Layers[0].Weight.SdLo[0], post.Layers[0].Weight.SdHi[0] = 0.5, 2
	for _, cfg := range []prove.Config{{Gamma: 0.5}, {Method: prove.IBP, Boxes: prove.Drawn, Samples: 50, Gamma: 0.2}} {
		cfg.Method = prove.IBP
		r := run(t, bound.Float64, post, cfg, safeOn(atLeast(-1.1), interval(1, 1)))[0]
		// w >= -1.1 has probability 0.986 to 0.709.
		if got := math.Exp(r.LogP); got > phi(0.55) || cfg.Gamma == 0.5 && math.Abs(got-within(0.5)) > 1e-9 {
			t.Errorf("%+v: p_lower %v, P_safe %v for the largest standard deviation", cfg, got, phi(0.55))
		}
	}
}

// sampledEnds returns the end-points of a sampled box of a network of one weight.
func sampledEnds(t *testing.T, post *posterior.Posterior, p bound.Precision, seed uint64, b int, gamma float64) (lo, hi float64) {
	t.Helper()
	spec := bound.BoxSpec{Sampled: true, Seed: seed, First: uint64(b), Gamma: [][]float64{{p.Nearest(gamma)}}}
	box, err := bound.HostBox(post, p, spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	return box.Lo[0][0], box.Hi[0][0]
}

// TestSampledCount counts the drawn boxes that are safe by hand: f(x) = w x >=
// -0.3 on {1, -1/2} needs -0.3 <= w <= 0.6.
func TestSampledCount(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	const n, gamma = 600, 0.125
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		want, los, his := 0, [][]float64{}, [][]float64{}
		for b := range n {
			lo, hi := sampledEnds(t, post, p, 5, b, gamma)
			if math.Abs(lo+0.3) < 1e-6 || math.Abs(hi-0.6) < 1e-6 {
				t.Fatal("a box within rounding of the border: choose another seed")
			}
			if lo >= -0.3 && hi <= 0.6 {
				want++
				los, his = append(los, []float64{lo, 0}), append(his, []float64{hi, 0})
			}
		}
		cfg := prove.Config{Method: prove.IBP, Boxes: prove.Drawn, Samples: n, Gamma: gamma, Seed: 5}
		r := run(t, p, post, cfg, safeOn(atLeast(-0.3), interval(1, 1), interval(-0.5, -0.5)))[0]
		logP, rule := measure.UnionLogDown(los, his, []float64{0, 0}, []float64{1, 0}, []float64{1, 0})
		// Boxes in the order of their numbers may be added up with fewer roundings.
		if r.SafeBoxes != want || r.LogP < logP || r.LogP > logP+1e-9 || r.Rule != rule || !(math.Exp(r.LogP) <= phi(0.6)-phi(-0.3)) {
			t.Errorf("%v: %d safe boxes, log p %v by %s; want %d, %v by %s", p, r.SafeBoxes, r.LogP, r.Rule, want, logP, rule)
		}
	}
}

// TestMoreBoxesProveMore: p_lower never falls with the number of boxes, on one weight, where
// the likeliest boxes lie on top of each other, and on several.
func TestMoreBoxesProveMore(t *testing.T) {
	share := 2 // each number of boxes is larger by one of so many parts
	if testscale.Deep(t) {
		share = 7
	}
	two := chain(relu, normal(1, 0.5), normal(0.2, 0.5))
	one := chain(relu, normal(0, 1), none)
	for _, c := range []struct {
		post  *posterior.Posterior
		gamma float64
		most  int
		least float64
	}{{one, 0.5, 3000, 0.99}, {one, 0.125, 1200, 0.99}, {two, 1, 400, 0.5}, {two, 0.25, 400, 0.01}} {
		before := -1.0
		for n := 1; n <= c.most; n += 1 + n/share {
			cfg := prove.Config{Method: prove.IBP, Boxes: prove.Drawn, Samples: n, Gamma: c.gamma, Seed: 3, NoUpper: true}
			r := run(t, bound.Float32, c.post, cfg, safeOn(atLeast(-1e6), interval(-1, 1)))[0]
			if r.Lower() < before {
				t.Errorf("half-width %v: %d boxes prove %v, fewer proved %v", c.gamma, n, r.Lower(), before)
			}
			before = r.Lower()
		}
		if before < c.least {
			t.Errorf("half-width %v: %d boxes prove no more than %v", c.gamma, c.most, before)
		}
	}
}

// liar is a device that draws the box of half-width 0 around the mean, whatever it
// is asked for.
type liar struct{ bound.Device }

func (l liar) Do(op bound.Operation) error {
	d, is := op.(bound.DrawBox)
	if !is {
		return l.Device.Do(op)
	}
	d.Sampled = false
	zero, err := l.NewArray(d.Boxes)
	if err != nil {
		return err
	}
	defer l.Release(zero)
	if err := l.Write(zero, make([]float64, d.Boxes)); err != nil {
		return err
	}
	d.Gamma = zero
	return l.Device.Do(d)
}

// TestDeviceThatDrawsOtherBoxes: what counts is verified from the end-points that
// are measured.
func TestDeviceThatDrawsOtherBoxes(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	for _, cfg := range []prove.Config{{}, {Gamma: 1}, {Method: prove.IBP, Boxes: prove.Drawn, Samples: 300, Gamma: 0.25}} {
		cfg.Method = prove.IBP
		eng, err := engine.New(liar{fallback.New(bound.Float64)}, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		err = prove.Run(context.Background(), []*engine.Engine{eng}, cfg, []property.Task{safeOn(atLeast(-0.1), interval(1, 1))}, nil, func(r *claim.Result) error {
			if got := math.Exp(r.LogP); got > phi(0.1) {
				t.Errorf("%+v: p_lower %v, P_safe %v", cfg, got, phi(0.1))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		eng.Close()
	}
}

// TestFreeOneOfTwo: of two inputs one is 0, of two neurons one is dead; the weights
// of exactly these are free. With inputs x = (1, 0), weights from x to the neurons
// W = ((-1, 2), (0, 0)), all of sd 1/2, and v = (1, 1) of sd 1/4.
func TestFreeOneOfTwo(t *testing.T) {
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(2, 2, relu), Weight: normal(-1, 0.5, 2, 0.25, 0, 0.5, 0, 0.5), Bias: normal(0, 0.125, 0, 0.125)},
		{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: normal(1, 0.5, 1, 0.25), Bias: none},
	}}
	task := safeOn(atLeast(-5), property.Box{Lo: []float64{1, 0}, Hi: []float64{1, 0}})
	r := run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Gamma: 1.25}, task)[0]
	// Neuron 0 is dead: its weight from input 0 and its bias may be lower, its weight to
	// the output is free, as are both from input 1. What is left is that of neuron 1.
	want := phi(1.25) * phi(1.25) * within(1.25) * within(1.25) * within(1.25)
	if got := math.Exp(r.LogP); math.Abs(got-want) > 1e-9 {
		t.Errorf("p_lower %v, want %v", got, want)
	}
}

// TestAlternativesOfTheirTask: tasks verified together differ in their safe sets
// although their rows agree.
func TestAlternativesOfTheirTask(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	rows := append(atLeast(-1).Rows, property.Row{CLo: []float64{-1}, CHi: []float64{-1}, D: -1, DHi: -1})
	either := property.Safe{Rows: rows, Any: [][]int{{0}, {1}}} // w >= -1 or w <= -1
	lower := property.Safe{Rows: rows, Any: [][]int{{1}}}       // w <= -1
	one := interval(1, 1)
	r := run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Gamma: 0.75}, safeOn(either, one), safeOn(lower, one))
	if got := math.Exp(r[0].LogP); math.Abs(got-within(0.75)) > 1e-9 || !math.IsInf(r[1].LogP, -1) {
		t.Errorf("w >= -1 or w <= -1: %v; w <= -1: %v", got, math.Exp(r[1].LogP))
	}
}
