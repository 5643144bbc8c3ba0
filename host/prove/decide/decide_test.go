package decide

import (
	"context"
	"math"
	"math/big"
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testkit/provetest"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestDecisionsRunOut: the difference of two equal neurons is 0, which takes exactly
// two cells to prove; what cannot be proved is undecided when cells run out, beside
// pairs that are decided.
func TestDecisionsRunOut(t *testing.T) {
	e := engineOf(t, bound.Float64, posterior.Layer{Layer: network.DenseLayer(1, 2, network.Activation{Kind: network.ReLU}), Weight: provetest.Fixed(1, 1), Bias: provetest.Fixed(0, 0)},
		posterior.Layer{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: provetest.Fixed(1, -1), Bias: provetest.Fixed(0)})
	difference := drawn{{1, 1}, {0, 0}, {1, -1}, {0}}
	small := drawn{{0, 0}, {0, 0}, {0, 0}, {-math.SmallestNonzeroFloat64}} // -5e-324 everywhere
	nets := []drawn{difference, small}
	tasks := []property.Task{provetest.AtLeast(-0.3, -1, 1), provetest.AtLeast(0, 0.5, 0.5), provetest.AtLeast(1, -1, 1), provetest.AtLeast(-0.3, -1, 1, -2, 2)}
	for _, c := range []struct {
		most int
		want []ruling
	}{
		// One box of two cells; a point on the border; unsafe; two boxes of two cells.
		{1, []ruling{undecided, undecided, provedUnsafe, undecided, provedSafe, undecided, provedUnsafe, provedSafe}},
		{2, []ruling{provedSafe, undecided, provedUnsafe, undecided, provedSafe, undecided, provedUnsafe, provedSafe}},
		{3, []ruling{provedSafe, undecided, provedUnsafe, provedSafe, provedSafe, undecided, provedUnsafe, provedSafe}},
		{64, []ruling{provedSafe, undecided, provedUnsafe, provedSafe, provedSafe, undecided, provedUnsafe, provedSafe}},
	} {
		got, err := decide(context.Background(), e, nets, tasks, c.most)
		if err != nil {
			t.Fatal(err)
		}
		var rulings []ruling
		for i := range got {
			rulings = append(rulings, got[i].ruling)
		}
		if !slices.Equal(rulings, c.want) {
			t.Errorf("%d cells: %v, want %v", c.most, rulings, c.want)
		}
	}
}

// TestManyAsOne: many networks, some of them unsafe, get the rulings, cells and witnesses that each gets by
// itself.
func TestManyAsOne(t *testing.T) {
	post, tasks := provetest.Deep(5, 0.05, 6)
	for i := range tasks[:3] { // another class, which most networks do not choose
		tasks[i].S = property.ArgmaxIs((tasks[i].Label+1+i)%6, 6)
	}
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var nets []drawn
	for i := range 3 * fewNetworks {
		nets = append(nets, post.NewWeights())
		post.Draw(3, i, nets[i])
	}
	many, err := decide(t.Context(), e, nets, tasks, 8)
	if err != nil {
		t.Fatal(err)
	}
	count := map[ruling]int{}
	for n := range nets {
		one, err := decide(t.Context(), e, nets[n:n+1], tasks, 8)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range one {
			got := many[n*len(tasks)+k]
			count[want.ruling]++
			if got.ruling != want.ruling || !reflect.DeepEqual(got.witness, want.witness) || want.ruling == provedSafe && !slices.Equal(got.cells(), want.cells()) {
				t.Errorf("network %d, task %d: %+v, by itself %+v", n, k, got, want)
			}
		}
	}
	if count[provedSafe] == 0 || count[provedUnsafe] < fewNetworks {
		t.Errorf("%v", count)
	}
}

// TestSharing: runs cost the least; a few questions more about one network make no other run longer.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		each []int
		want int
	}{{[]int{1, 1}, 1}, {[]int{10, 10}, 10}, {[]int{5}, 5}, {[]int{100}, 50}, {[]int{1, 1, 1, 1, 30}, 5}, {[]int{64, 63}, 64}} {
		var qs []*question
		for net, n := range c.each {
			for range n {
				qs = append(qs, &question{net: net})
			}
		}
		if got := sharing(qs); got != c.want {
			t.Errorf("%v: %d at a time, want %d", c.each, got, c.want)
		}
	}
}

func TestEnclose(t *testing.T) {
	net := drawn{{0.1, -0.1, 1, 1e300}}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		b := bound.Enclose(net, p)
		for j, x := range net[0] {
			if !(b.Lo[0][j] <= x && x <= b.Hi[0][j]) || x == 1 && b.Lo[0][j] != b.Hi[0][j] {
				t.Errorf("%v: %v is enclosed from %v to %v", p, x, b.Lo[0][j], b.Hi[0][j])
			}
		}
	}
}

func TestShareDown(t *testing.T) {
	rounded := 0
	for a := int64(0); a <= 200; a++ {
		for total := max(a, 1); total <= 211; total += 7 {
			got, exact := new(big.Rat).SetFloat64(shareDown(a, total)), big.NewRat(a, total)
			if got.Cmp(exact) > 0 {
				t.Fatalf("%d/%d is %v, above it", a, total, got)
			}
			f, _ := exact.Float64()
			if g, _ := got.Float64(); g < math.Nextafter(f, 0) {
				t.Fatalf("%d/%d is %v", a, total, g)
			} else if g < f {
				rounded++
			}
		}
	}
	if rounded == 0 {
		t.Error("no share was rounded down")
	}
}

// TestUndecidedInTime: a network that was not decided when the time was up is undecided.
func TestUndecidedInTime(t *testing.T) {
	post, tasks := provetest.Deep(5, 0.01, 4)
	e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, end := e.Limit(t.Context(), 1, false)
	defer end()
	<-ctx.Done()
	rulings, err := decide(ctx, e, []drawn{post.Mean(), post.Mean()}, tasks, 8)
	if err != nil || len(rulings) != 8 || !e.Stopped() {
		t.Fatalf("%v, %d rulings, stopped: %v", err, len(rulings), e.Stopped())
	}
	for i, r := range rulings {
		if r.ruling != undecided {
			t.Errorf("%d: ruling %v in no time", i, r.ruling)
		}
	}
}

// TestCutInTime: wherever time ends a search, no network is ruled safe that is not so in the end.
func TestCutInTime(t *testing.T) {
	post, tasks := provetest.Deep(5, 0.01, 4)
	for i := range tasks[:2] { // another class, which the mean network does not choose
		tasks[i].S = property.ArgmaxIs((tasks[i].Label+1)%6, 6)
	}
	// rule waits after so many calls of the device until the time is up.
	rule := func(calls int, limit time.Duration) (rulings []decided, left int) {
		dev := devicetest.NewFaulty(fallback.New(bound.Float32))
		e, err := engine.New(dev, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ctx, end := e.Limit(t.Context(), limit, false)
		defer end()
		dev.Before = func(bound.Operation) error {
			if calls--; calls < 0 {
				<-ctx.Done()
				return engine.ErrTimeUp
			}
			return nil
		}
		if rulings, err = decide(ctx, e, []drawn{post.Mean()}, tasks, 8); err != nil {
			t.Fatal(err)
		}
		return rulings, calls
	}
	const plenty = 1 << 40
	whole, left := rule(plenty, time.Hour)
	total, undecidedOnes, safe := plenty-left, 0, 0
	for calls := 0; calls < total; calls += total/20 + 1 {
		rulings, _ := rule(calls, 20*time.Millisecond)
		for i, r := range rulings {
			switch r.ruling {
			case undecided:
				undecidedOnes++
			case provedSafe:
				if safe++; whole[i].ruling != provedSafe {
					t.Errorf("after %d calls: task %d is ruled safe, which it is not in the end", calls, i)
				}
			}
		}
	}
	if undecidedOnes < 20 || safe < 4 || whole[0].ruling == provedSafe {
		t.Errorf("%d undecided, %d safe, in the end %v", undecidedOnes, safe, whole)
	}
}

// engineOf is an engine of a network with these layers on the fallback.
func engineOf(t *testing.T, p bound.Precision, layers ...posterior.Layer) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
