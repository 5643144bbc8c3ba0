package convtest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/internal/testkit/convtest"
)

// TestLogits: the mean networks are those of the independent program.
func TestLogits(t *testing.T) {
	for _, c := range convtest.Cases() {
		post := c.Posterior()
		y := post.LogitsApprox(convtest.Picture(c.Seed, convtest.Named(c.Net).Image))
		for i, want := range c.Logits {
			if math.Abs(y[i]-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s: logit %d is %v, want %v", c.Name(), i, y[i], want)
			}
		}
	}
}

// TestSizes: the networks have as many weights as they are said to have.
func TestSizes(t *testing.T) {
	for name, want := range map[string]int{"tinyA": 188, "mnist_lenet": 2410, "lenet5": 61706, "resnet8": 77706} {
		if n := convtest.Named(name).Posterior(1).Weights(); n != want {
			t.Errorf("%s has %d weights, want %d", name, n, want)
		}
	}
}

// TestEvaluate: the networks' own evaluation is that of this package, for random networks of
// every kind of layer, drawn ones too.
func TestEvaluate(t *testing.T) {
	seen := map[string]bool{}
	for i := range 300 {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: r.IntN(4), Spread: 0.2, Linear: i%5 == 0, Outputs: 1 + r.IntN(3)})
		path := convtest.NewPath(post)
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		for range 2 {
			want, got := post.Network().OutputsApprox(path.Weights, x), path.Logits(x)
			for j, v := range want {
				if math.Abs(got[j]-v) > 1e-12*(1+math.Abs(v)) {
					t.Fatalf("case %d: output %d is %v, want %v", i, j, v, got[j])
				}
			}
			path.Draw(r)
		}
		for _, l := range post.Layers {
			seen[fmt.Sprintf("%T", l.Map)] = true
		}
	}
	if len(seen) != 7 {
		t.Errorf("of the kinds of maps only %v were met", seen)
	}
}
