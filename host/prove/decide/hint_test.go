package decide

import (
	"context"
	"math"
	"math/big"
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

// gridLeast is the least margin on a grid of a box of two inputs, and where.
func gridLeast(net network.Network, weights drawn, s *property.Safe, box property.Box) (least float64, at []float64) {
	const n = 40
	least = math.Inf(1)
	a := newAttack(Target{net, weights, box, s}, Effort{})
	for i := range n + 1 {
		for j := range n + 1 {
			x := []float64{box.Lo[0] + (box.Hi[0]-box.Lo[0])*float64(i)/n, box.Lo[1] + (box.Hi[1]-box.Lo[1])*float64(j)/n}
			if m := a.worstRow(a.pass.Forward(x)); m < least {
				least, at = m, x
			}
		}
	}
	return least, at
}

// TestDecisionsAgainstGrids: networks of two inputs are decided as a grid of points says, with
// all activations, conjunctions and disjunctions of rows, in both formats; a proof of safety on a
// tree of cells holds in every one of its leaves, and a witness is unsafe.
func TestDecisionsAgainstGrids(t *testing.T) {
	r := rand.New(rand.NewPCG(161, 1))
	count := map[ruling]int{}
	for round := range testscale.Cases(t, 120) {
		post := provetest.RandomNet(r, activationKinds[round%len(activationKinds)], 2, 7, 6, 3)
		e, err := engine.New(fallback.New(bound.Precision(round%2)), nil, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		safe := property.ArgmaxIs(r.IntN(3), 3)
		if r.IntN(2) == 0 {
			safe = property.ArgmaxIsNever(r.IntN(3), 3)
		}
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		region, err := property.ReadRegion(property.RegionText{Eps: "0.6"}, len(x))
		if err != nil {
			t.Fatal(err)
		}
		box, err := region.Around(x, x)
		if err != nil {
			t.Fatal(err)
		}
		task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{region.Inside(x, x)}, S: safe}
		got, err := decide(context.Background(), e, []drawn{meansOf(post)}, []property.Task{task}, 4000)
		if err != nil {
			t.Fatal(err)
		}
		e.Close()
		least, where := gridLeast(post.Network(), meansOf(post), &safe, box)
		count[got[0].ruling]++
		switch got[0].ruling {
		case provedSafe:
			if least < -1e-9 {
				t.Errorf("round %d: proved safe, at %v the margin is %v", round, where, least)
			}
		case provedUnsafe:
			at, err := box.DecodePoint(got[0].witness.At)
			if err != nil {
				t.Fatal(err)
			}
			if m := marginAt(post, &safe, at); !(m < 1e-9) {
				t.Errorf("round %d: proved unsafe at %v, where the margin is %v", round, at, m)
			}
		case undecided:
			if math.Abs(least) > 1e-3 {
				t.Errorf("round %d: undecided, the least margin of a grid is %v at %v", round, least, where)
			}
		}
	}
	t.Logf("%v", count)
	if n := testscale.Cases(t, 120); count[provedSafe] < n/8 || count[provedUnsafe] < n/4 {
		t.Errorf("%v: too few of one kind", count)
	}
}

// TestHints: of any network and any numbers the axis is one of the box's and the corner in it;
// of a linear row with one input that matters it is that axis, and the corner is its minimiser.
func TestHints(t *testing.T) {
	r := rand.New(rand.NewPCG(162, 1))
	post := provetest.RandomNet(r, network.ReLU, 3, 4, 2)
	box := property.Box{Lo: []float64{-1, 0, 2}, Hi: []float64{1, 0.5, 7}}
	safe := property.ArgmaxIs(0, 2)
	nan, inf := math.NaN(), math.Inf(1)
	four := func(v float64) [][]float64 { return [][]float64{{v, v, v, v}} }
	for _, in := range []ranges{{}, {four(nan), four(nan)}, {four(-inf), four(inf)}, {four(0), four(0)}, {four(1), four(-1)}, {four(-3), four(2)}, {[][]float64{nil}, [][]float64{{1}}}} {
		h := hintApprox(post.Network().NewPass(meansOf(post)), post.Network(), box, &safe, []float64{-1}, in)
		if h.axis < 0 || h.axis > 2 || !box.Contains(h.corner) {
			t.Errorf("ranges %v: axis %d, corner %v", in, h.axis, h.corner)
		}
	}
	linear := provetest.RandomNet(r, network.Identity, 3, 1)
	copy(linear.Layers[0].Weight.Mean, []float64{0, -2, 0})
	positive := property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}
	h := hintApprox(linear.Network().NewPass(meansOf(linear)), linear.Network(), box, &positive, []float64{-1}, ranges{})
	if h.axis != 1 || !slices.Equal(h.corner, []float64{0, 0.5, 4.5}) {
		t.Errorf("axis %d, corner %v", h.axis, h.corner)
	}
	// Without anything to go by it is the widest.
	copy(linear.Layers[0].Weight.Mean, []float64{0, 0, 0})
	if h := hintApprox(linear.Network().NewPass(meansOf(linear)), linear.Network(), box, &positive, []float64{nan}, ranges{}); h.axis != 2 {
		t.Errorf("axis %d, the widest is 2", h.axis)
	}
}

// TestFailsExactly: what is called unsafe on a box is so at its corners and its middle, in
// rational numbers, and a margin of one part in 10^9 is seen.
func TestFailsExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(163, 1))
	failed, seen := 0, 0
	for range testscale.Cases(t, 200) {
		post := provetest.RandomNet(r, network.ReLU, 2, 5, 4, 2)
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		box := property.Box{Lo: x, Hi: []float64{math.Nextafter(x[0], 9), x[1] + float64(r.IntN(2))*1e-3}}
		y := post.LogitsApprox(x)
		d := y[1] - y[0] + r.NormFloat64()*1e-2
		small := r.IntN(2) == 0
		if small {
			box.Hi[1], d = x[1], y[1]-y[0]-1e-9 // row 0 is -1e-9
		}
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: d, DHi: d}
		safe := property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
		got := failsExactly(post.Network(), meansOf(post), box, &safe)
		if small && got {
			seen++
		} else if small {
			t.Errorf("a margin of -1e-9 is not seen")
		}
		if !got {
			continue
		}
		failed++
		for _, p := range [][]float64{box.Lo, box.Hi, box.CentreApprox()} {
			at := []network.Enclosure{network.MakeEnclosure(p[0]), network.MakeEnclosure(p[1])}
			out := post.Network().Enclose(meansOf(post), at)
			v := new(big.Float).SetPrec(600).Sub(out[0].Lo, out[1].Hi)
			if v.Add(v, big.NewFloat(d)).Sign() >= 0 {
				t.Fatalf("at %v the row is %v", p, v)
			}
		}
	}
	if failed < testscale.Cases(t, 200)/4 || seen == 0 {
		t.Errorf("%d fail, %d by little: the test misses its cases", failed, seen)
	}
}
