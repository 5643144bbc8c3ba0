package mass

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestGraphFreed: networks with weights anywhere that freed allows compute what one of the box
// does.
func TestGraphFreed(t *testing.T) {
	freedLow, freedAll := 0, 0
	checktest.Kinds(t, 60, func(t *testing.T, rng *rand.Rand, kind string) {
		post := checktest.Sketched(rng, kind, checktest.Activations[1], 1.0/64)
		if rng.IntN(2) == 0 { // many neurons that are never positive
			for k := range post.Layers[:len(post.Layers)-1] {
				g := post.Layers[k].Bias
				for o := range g.Mean {
					g.Mean[o] -= float64(rng.IntN(2)) * 4
				}
			}
		}
		x := checktest.BallOf(rng, 16, 1.0/64)
		for j := range x.Lo {
			if rng.IntN(2) == 0 {
				x.Lo[j], x.Hi[j] = 0, 0
			} else {
				x.Lo[j], x.Hi[j] = math.Abs(x.Lo[j]), math.Abs(x.Lo[j])+1.0/64
			}
		}
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		f := relax.Formats["float64"]
		b, err := relax.BoxOf(post, &f, slices.Repeat([]float64{1}, len(post.Layers)), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.Network(post)
		if err != nil {
			t.Fatal(err)
		}
		n.Lines = true
		_, dead := n.RowsLo(x, task.S.Rows)
		wide := Freed(post, &task, b, dead)
		for range 4 {
			var inside, outside [][]*big.Rat
			for a := range b.Lo {
				within := checktest.DrawnIn(rng, b.Lo[a], b.Hi[a])
				beyond := slices.Clone(within)
				for i := range beyond {
					switch lo, hi := wide.Lo[a][i], wide.Hi[a][i]; {
					case lo == -arith.Inf && hi == arith.Inf:
						beyond[i], freedAll = checktest.Exactly(math.Round(rng.NormFloat64()*100)), freedAll+1
					case lo == -arith.Inf:
						beyond[i], freedLow = new(big.Rat).Sub(within[i], checktest.Exactly(math.Abs(math.Round(rng.NormFloat64()*100)))), freedLow+1
					}
				}
				inside, outside = append(inside, within), append(outside, beyond)
			}
			at := checktest.DrawnIn(rng, x.Lo, x.Hi)
			want, got := checktest.Evaluated(post, inside, at), checktest.Evaluated(post, outside, at)
			for i := range want[len(want)-1] {
				if want[len(want)-1][i].Cmp(got[len(got)-1][i]) != 0 {
					t.Fatalf("output %d changes with weights that are called free", i)
				}
			}
		}
	})
	t.Logf("%d weights free, %d free downward", freedAll, freedLow)
	if testscale.Factor(t) >= 0.1 && (freedAll == 0 || freedLow == 0) {
		t.Error("no weight is free")
	}
}

// TestSigns: of sums with a negative coefficient nothing is said.
func TestSigns(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	pool := net.MaxPool{In: image, Window: net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}}
	zero, positive, unknown := sign{true, true}, sign{false, true}, sign{}
	for _, c := range []struct {
		m    net.Map
		in   []sign
		want sign
	}{
		{net.Add{N: 1, Terms: 2}, []sign{zero, zero}, zero},
		{net.Add{N: 1, Terms: 2}, []sign{zero, positive}, positive},
		{net.Add{N: 1, Terms: 2}, []sign{unknown, positive}, unknown},
		{pool, []sign{unknown, positive}, positive},
		{pool, []sign{zero, zero}, zero},
		{pool, []sign{unknown, unknown}, unknown},
		{checktest.Odd{Conv: net.Conv{In: image, Window: checktest.WindowOf(1, 1, 0), Filters: 1, Groups: 1}}, []sign{zero, zero}, unknown},
	} {
		if got := signsOf(c.m, c.in); got[0] != c.want {
			t.Errorf("%v of %v: %v, want %v", c.m, c.in, got[0], c.want)
		}
	}
}
