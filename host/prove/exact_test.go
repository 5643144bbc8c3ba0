package prove_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
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

// TestMarginsOfTheirTask verifies tasks together, which share the boxes: none takes over what holds
// for another, nor another's margin. f(x) = v max(-x, 0), v ~ N(1, 1/4).
func TestMarginsOfTheirTask(t *testing.T) {
	post := chain(relu, normal(-1, 0), none, normal(1, 0.5), none)
	const samples, gamma = 40, 0.25
	point := func(x float64) property.Box { return interval(x, x) }
	var tasks []property.Task
	var margins [][]float64 // of each box
	for _, c := range []struct{ a, b, least float64 }{{1, 2, -0.1}, {-1, 1, -0.1}, {2, -1, -0.1}, {-2, -1, 0.5}, {3, 1, -0.1}, {-1, -2, 0.2}, {-1, -2, 2}} {
		tasks = append(tasks, safeOn(atLeast(c.least), point(c.a), point(c.b)))
		var list []float64
		for b := range samples {
			box, err := bound.HostBox(post, bound.Float64, bound.BoxSpec{Sampled: true, Seed: 9, First: uint64(b), Gamma: [][]float64{{gamma}, {gamma}}}, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := box.Lo[2][0]
			list = append(list, min(v*max(-c.a, 0), v*max(-c.b, 0))-c.least)
		}
		margins = append(margins, list)
	}
	for n := 1; n <= len(tasks); n++ { // alone, in pairs, all together
		for first := 0; first+n <= len(tasks); first++ {
			for i, r := range run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Samples: samples, Gamma: gamma, Seed: 9}, tasks[first:first+n]...) {
				safe := 0
				for _, m := range margins[first+i] {
					if m >= 0 {
						safe++
					}
				}
				if best := slices.Max(margins[first+i]); math.Abs(r.Margin-best) > 1e-9 || r.SafeBoxes != safe || (r.LogP > math.Inf(-1)) != (safe > 0) {
					t.Errorf("task %d of tasks %d to %d: margin %v, %d safe, log p %v; want %v, %d", first+i, first, first+n-1, r.Margin, r.SafeBoxes, r.LogP, best, safe)
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
		r := run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Samples: 400, Gamma: 0.1, Seed: 1}, task)[0]
		if got := math.Exp(r.LogP); got > truth || got < 0.5*truth {
			t.Errorf("%d boxes: p_lower %v, P_safe %v", len(task.T), got, truth)
		}
	}
}

// TestWorstSD: the standard deviation is only known to lie between bounds.
func TestWorstSD(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	post.Layers[0].Weight.SdLo[0], post.Layers[0].Weight.SdHi[0] = 0.5, 2
	for _, gamma := range []float64{0.2, 0.5} {
		r := run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Samples: 50, Gamma: gamma}, safeOn(atLeast(-1.1), interval(1, 1)))[0]
		// w >= -1.1 has probability 0.986 to 0.709.
		if got := math.Exp(r.LogP); got > phi(0.55) || got < 0.35 {
			t.Errorf("half-width %v: p_lower %v, P_safe %v for the largest standard deviation", gamma, got, phi(0.55))
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
		cfg := prove.Config{Method: prove.IBP, Samples: n, Gamma: gamma, Seed: 5}
		r := run(t, p, post, cfg, safeOn(atLeast(-0.3), interval(1, 1), interval(-0.5, -0.5)))[0]
		logP, rule := probability.UnionLogDown(los, his, []float64{0, 0}, []float64{1, 0}, []float64{1, 0})
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
			cfg := prove.Config{Method: prove.IBP, Samples: n, Gamma: c.gamma, Seed: 3, NoUpper: true}
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

// halfLiar is a device that draws the right upper ends, and the lower ones there too.
type halfLiar struct{ bound.Device }

func (l halfLiar) Do(op bound.Operation) error {
	d, is := op.(bound.DrawBox)
	if err := l.Device.Do(op); err != nil || !is {
		return err
	}
	hi := make([]float64, d.Boxes*d.N)
	if err := l.Read(hi, d.Box.Hi); err != nil {
		return err
	}
	return l.Write(d.Box.Lo, hi)
}

// TestDeviceThatDrawsOtherBoxes: what counts is verified from the end-points that
// are measured.
func TestDeviceThatDrawsOtherBoxes(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	honest := fallback.New(bound.Float64)
	for i, cfg := range []prove.Config{{Method: prove.IBP, Samples: 300, Gamma: 0.25}, {Method: prove.LBP, Samples: 30, Gamma: 1}, {Method: prove.LBP, Samples: 300, Gamma: 0.25}} {
		eng, err := engine.New([]bound.Device{liar{honest}, liar{honest}, halfLiar{honest}}[i], nil, post, 12)
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

// TestBoxesOnce: safe boxes that a device has drawn as they are measured are not bounded again, unless another
// device answers for it.
func TestBoxesOnce(t *testing.T) {
	post := chain(relu, normal(0, 1), none)
	for want, spare := range []func() bound.Device{nil, func() bound.Device { return fallback.New(bound.Float32) }} {
		passes := 0
		dev := devicetest.NewFaulty(fallback.New(bound.Float32))
		dev.Before = func(op bound.Operation) error {
			if _, is := op.(bound.MergeRows); is {
				passes++
			}
			return nil
		}
		eng, err := engine.New(dev, spare, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		cfg := prove.Config{Method: prove.LBP, Samples: 3, Gamma: 0.25, NoUpper: true}
		r := runOn(t, []*engine.Engine{eng}, cfg, safeOn(atLeast(-1e6), interval(1, 1)))[0]
		if r.SafeBoxes != 3 || passes != 1+want {
			t.Errorf("%d of 3 boxes are safe after %d passes, want %d", r.SafeBoxes, passes, 1+want)
		}
		eng.Close()
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
	r := run(t, bound.Float64, post, prove.Config{Method: prove.IBP, Samples: 200, Gamma: 0.25}, safeOn(either, one), safeOn(lower, one))
	if a, b := math.Exp(r[0].LogP), math.Exp(r[1].LogP); !(a > 0.9) || !(b > 0.1 && b <= phi(-1)) {
		t.Errorf("w >= -1 or w <= -1: %v; w <= -1: %v", a, b)
	}
}
