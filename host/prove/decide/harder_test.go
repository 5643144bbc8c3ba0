package decide

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// TestTryHarder: networks of many inputs that lines and a short attack leave open are decided, and
// rightly: the others as before, those that are safe at all random points and at what a long attack
// finds, those that are not at the point that is named.
func TestTryHarder(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 9))
	open, safe, unsafe := 0, 0, 0
	for range max(4, testscale.Cases(t, 12)) {
		post := provetest.RandomNet(r, network.ReLU, 12, 16, 16, 3)
		e, err := engine.New(fallback.New(bound.Float32), nil, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		var tasks []property.Task
		for range 6 {
			x := make([]float64, 12)
			for j := range x {
				x[j] = r.NormFloat64()
			}
			y := post.LogitsApprox(x)
			label := 0
			for c := range y {
				if y[c] > y[label] {
					label = c
				}
			}
			box := provetest.BoxAround(x, 0.05+0.2*r.Float64())
			tasks = append(tasks, property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(label, 3)})
		}
		ask := func(phases int) (all []decided) {
			c := census{e: e, cells: 1, phases: phases, n: 1, net: func(context.Context, int) (drawn, error) { return meansOf(post), nil }}
			if err := c.decide(t.Context(), tasks, func(_ int, rulings []decided) { all = rulings }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		before, after := ask(0), ask(256)
		for i := range tasks {
			if before[i].ruling == provedUnsafe {
				d := &decision{e: e, nets: []drawn{meansOf(post)}, tasks: tasks, rulings: make([]decided, len(tasks))}
				if err := d.phases(t.Context(), i, 32); err != nil || d.rulings[i].ruling != undecided {
					t.Errorf("phases give ruling %d of an unsafe network: %v", d.rulings[i].ruling, err)
				}
			}
			if before[i].ruling != undecided {
				if after[i].ruling != before[i].ruling {
					t.Errorf("ruling %d became %d", before[i].ruling, after[i].ruling)
				}
				continue
			}
			open++
			switch after[i].ruling {
			case provedSafe:
				safe++
				x, margin := AttackApprox(Target{post.Network(), meansOf(post), tasks[i].T[0], &tasks[i].S}, Effort{Steps: 100, Starts: 40, Seed: 3, Thorough: true})
				if margin < -1e-6 {
					t.Errorf("proved safe, but the margin is %v at %v", margin, x)
				}
			case provedUnsafe:
				unsafe++
				x, err := tasks[i].T[0].DecodePoint(after[i].witness.At)
				if err != nil || marginAt(post, &tasks[i].S, x) > 1e-6 {
					t.Errorf("proved unsafe at %v, where the margin is %v: %v", x, marginAt(post, &tasks[i].S, x), err)
				}
			}
		}
		e.Close()
	}
	t.Logf("of %d that were open %d are safe and %d unsafe", open, safe, unsafe)
	if safe == 0 || safe+unsafe < open/2 {
		t.Errorf("of %d that were open %d are safe and %d unsafe", open, safe, unsafe)
	}
}

// TestDrawnShare: whoever waits for drawn networks is told how far they are, at each of them, and the end however it ends.
func TestDrawnShare(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(3, 4)), 0.1, false, 12, 8, 3)
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	box := provetest.BoxAround(make([]float64, 12), 0.2)
	task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(0, 3)}
	const n = 7
	for _, whole := range []bool{true, false} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var shares []float64
		e.Drawn = func(share float64) {
			if shares = append(shares, share); !whole && len(shares) == 3 {
				stop()
			}
		}
		_, err := Statistical(ctx, e, Draws{Networks: n, Confidence: 0.99, Seed: 5}, []property.Task{task})
		if (err == nil) != whole || !slices.IsSorted(shares) || shares[0] != 0 || shares[len(shares)-1] != 1 || whole && len(shares) < 2*n {
			t.Errorf("%v: told %v", err, shares)
		}
	}
}
