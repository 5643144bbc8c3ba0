package check

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestGraphNorms: second moments of outputs are not above the bound; of one convolution they are
// its parts exactly.
func TestGraphNorms(t *testing.T) {
	kinds(t, 20, func(t *testing.T, rng *rand.Rand, kind string) {
		const draws = 400
		post := sketched(rng, kind, activations[1+rng.IntN(len(activations)-1)], 0.5)
		x := ballOf(rng, 16, 0)
		norms := normsUp(post, []property.Box{x})
		squares, fourth, w := make([]float64, 2), make([]float64, 2), post.NewWeights()
		for d := range draws {
			pre := drawnNetwork(post, d, w)(x.Lo)
			for i, y := range pre[len(pre)-1] {
				squares[i] += y * y / draws
				fourth[i] += y * y * y * y / draws
			}
		}
		for i, n := range norms {
			if !(squares[i]-5*math.Sqrt(fourth[i]/draws) <= n*n*(1+1e-12)) {
				t.Errorf("output %d: the mean square is about %v, the bound %v", i, squares[i], n*n)
			}
		}
	})
}

// TestGraphFreed: networks with weights anywhere that freed allows compute what one of the box
// does.
func TestGraphFreed(t *testing.T) {
	freedLow, freedAll := 0, 0
	kinds(t, 60, func(t *testing.T, rng *rand.Rand, kind string) {
		post := sketched(rng, kind, activations[1], 1.0/64)
		if rng.IntN(2) == 0 { // many neurons that are never positive
			for k := range post.Layers[:len(post.Layers)-1] {
				g := post.Layers[k].Bias
				for o := range g.Mean {
					g.Mean[o] -= float64(rng.IntN(2)) * 4
				}
			}
		}
		x := ballOf(rng, 16, 1.0/64)
		for j := range x.Lo {
			if rng.IntN(2) == 0 {
				x.Lo[j], x.Hi[j] = 0, 0
			} else {
				x.Lo[j], x.Hi[j] = math.Abs(x.Lo[j]), math.Abs(x.Lo[j])+1.0/64
			}
		}
		task := property.Task{T: []property.Box{x}, S: property.ArgmaxIs(0, 2)}
		f := formats["float64"]
		b, err := boxOf(post, &f, slices.Repeat([]float64{1}, len(post.Layers)), nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.network(post)
		if err != nil {
			t.Fatal(err)
		}
		n.lines = true
		_, dead := n.rowsLo(x, task.S.Rows)
		wide := freed(post, &task, b, dead)
		for range 4 {
			var inside, outside [][]*big.Rat
			for a := range b.lo {
				within := drawnIn(rng, b.lo[a], b.hi[a])
				beyond := slices.Clone(within)
				for i := range beyond {
					switch lo, hi := wide.lo[a][i], wide.hi[a][i]; {
					case lo == -arith.Inf && hi == arith.Inf:
						beyond[i], freedAll = exactly(math.Round(rng.NormFloat64()*100)), freedAll+1
					case lo == -arith.Inf:
						beyond[i], freedLow = new(big.Rat).Sub(within[i], exactly(math.Abs(math.Round(rng.NormFloat64()*100)))), freedLow+1
					}
				}
				inside, outside = append(inside, within), append(outside, beyond)
			}
			at := drawnIn(rng, x.Lo, x.Hi)
			want, got := evaluated(post, inside, at), evaluated(post, outside, at)
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
		{odd{net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}}, []sign{zero, zero}, unknown},
	} {
		if got := signsOf(c.m, c.in); got[0] != c.want {
			t.Errorf("%v of %v: %v, want %v", c.m, c.in, got[0], c.want)
		}
	}
}

// TestNormsOfMaps: of maps without weights the norms are sums of those of what they take, of a maximum
// the root of the sum of squares.
func TestNormsOfMaps(t *testing.T) {
	image := net.Image{Height: 1, Width: 2, Channels: 1}
	window := net.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}
	for _, c := range []struct {
		m    net.Map
		want float64
	}{
		{net.MaxPool{In: image, Window: window}, 5}, {net.AvgPool{In: image, Window: window}, 3.5}, {net.Add{N: 1, Terms: 2}, 7},
	} {
		l := posterior.Layer{Layer: net.Layer{Map: c.m}}
		if got := layerNormsUp(&l, []float64{3, 4})[0]; got < c.want || got > c.want*(1+1e-12) {
			t.Errorf("%T: the norm is %v, want %v", c.m, got, c.want)
		}
	}
}
