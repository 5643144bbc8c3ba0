package sums

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestSumsSizes: what all parameters are multiplied with by powers of two that cancel, or that leave
// signs of outputs alone, changes no bound.
func TestSumsSizes(t *testing.T) {
	changed := func(p *posterior.Params, e int) {
		for i := range p.Mean {
			p.Mean[i], p.SdLo[i], p.SdHi[i] = math.Ldexp(p.Mean[i], e), math.Ldexp(p.SdLo[i], e), math.Ldexp(p.SdHi[i], e)
		}
	}
	for seed := range testscale.Cases(t, 40) {
		rng := rand.New(rand.NewPCG(uint64(seed), 43))
		post := sumtest.AnyShallow(rng, net.Activation{Kind: net.ReLU}, 2, 1+rng.IntN(5), 1)
		post.Layers[1].Bias.Mean[0] = rng.Float64()
		task := onePoint([]float64{rng.Float64(), 2*rng.Float64() - 1})
		want, err := failUp(t, post, task.T, &task.S, anyFail)
		if err != nil {
			t.Fatal(err)
		}
		hidden, output := (200+rng.IntN(30))*(1-2*rng.IntN(2)), (180+rng.IntN(40))*(1-2*rng.IntN(2))
		for _, p := range []*posterior.Params{&post.Layers[0].Weight, &post.Layers[0].Bias} {
			changed(p, hidden)
		}
		changed(&post.Layers[1].Weight, output)
		changed(&post.Layers[1].Bias, hidden+output)
		got, err := failUp(t, post, task.T, &task.S, anyFail)
		if err != nil || math.Abs(got-want) > 1e-9*want+1e-13 { // deviations of 5e-324 vanish
			t.Errorf("%d: values times 2^%d, weights times 2^%d: fails %v, without %v, %v", seed, hidden, output, got, want, err)
		}
	}
}

// TestSumsOneHuge: beside a term of 2^600 the others say nothing: it is negative with probability
// Q(mean/sd) of its value.
func TestSumsOneHuge(t *testing.T) {
	for _, mean := range []float64{0, 1, 3} {
		huge := [2][]float64{{0x1p500, -1, 2}, {1, 0.3, 0}}
		post := shallow(net.Activation{}, 1, 3, constants(0, 0, 0), [2][]float64{{mean * 0x1p100, 1, -1}, {0x1p100, 0.2, 0.1}}, huge, constants(5))
		task, want := onePoint([]float64{0.5}), normalApprox(-mean)
		if fail, err := failUp(t, post, task.T, &task.S, anyFail); err != nil || fail < want || fail > 1.2*want {
			t.Errorf("mean %v: fails %v, it should be %v, %v", mean, fail, want, err)
		}
	}
}

// TestSumsRare: neurons that are active six and a half standard deviations from their mean, and fail the
// row seven or twelve from there.
func TestSumsRare(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, at := range []float64{7, 12}[n-1:] { // sums of two take seconds
			means, sds, weights := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				means[i], sds[i], weights[i] = -6.5, 1, -1
			}
			post := shallow(net.Activation{Kind: net.ReLU}, 1, n, constants(make([]float64, n)...), [2][]float64{means, sds}, constants(weights...), constants(at-6.5))
			task, want := onePoint([]float64{0.5}), float64(n)*normalApprox(-at)
			fail, err := failUp(t, post, task.T, &task.S, anyFail)
			if err != nil || fail < want*(1-1e-9) || fail > 1.5*want+1e-13 {
				t.Errorf("%d neurons, %v: fails %v, it should be %v, %v", n, at, fail, want, err)
			}
		}
	}
}

// TestScaled: numbers times powers of two are rounded to the side that the name says, by one number at
// most, and not at all where that is not needed.
func TestScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 43))
	for range 2000 {
		x, e := math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000), rng.IntN(4000)-2000
		exact := exactly(x)
		if power := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))); e < 0 {
			exact.Quo(exact, new(big.Rat).SetInt(power))
		} else {
			exact.Mul(exact, new(big.Rat).SetInt(power))
		}
		lo, hi := scaledDown(x, e), scaledUp(x, e)
		if !math.IsInf(lo, 0) && exactly(lo).Cmp(exact) > 0 || !math.IsInf(hi, 0) && exactly(hi).Cmp(exact) < 0 {
			t.Errorf("%v times 2^%d: between %v and %v", x, e, lo, hi)
		}
		if math.IsInf(lo, 1) || math.IsInf(hi, -1) || math.Nextafter(math.Nextafter(lo, hi), hi) != hi {
			t.Errorf("%v times 2^%d: %v to %v", x, e, lo, hi)
		}
		if y := math.Ldexp(x, e); math.Abs(y) > 0x1p-1000 && math.Abs(y) < math.MaxFloat64 && (lo != y || hi != y) {
			t.Errorf("%v times 2^%d: %v to %v", x, e, lo, hi)
		}
	}
}
