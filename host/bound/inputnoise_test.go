package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestInputNoise: rows that pass a layer of noise as they are have the bounds and the noise that they have of the
// same layer as any other, a batch norm, but for roundings, and no less noise than its variance, in fractions of it.
func TestInputNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(48, 1))
	for i := range testscale.Cases(t, 120) {
		in := 1 + r.IntN(4)
		shape, act := [][]int{{in, 2}, {in, 5, 2}, {in, 4, 3, 2}}[r.IntN(3)], network.ReLU
		if len(shape) > 3 {
			act = network.Tanh // units of ReLU have better bounds here (TestConcave)
		}
		base := noisyNet(r, act, []float64{0, 0.1}[i%2], shape...)
		sd, box := make([]float64, in), property.Box{}
		for j := range sd {
			sd[j] = math.Ldexp(r.Float64(), -r.IntN(4))
			x, eps := r.NormFloat64(), []float64{0, 0.1}[r.IntN(2)]
			if i%3 == 0 {
				x = math.Abs(x) + eps // inputs that are never negative
			}
			box.Lo, box.Hi = append(box.Lo, x-eps), append(box.Hi, x+eps)
		}
		post, err := base.WithInputNoise(sd, sd)
		if err != nil {
			t.Fatal(err)
		}
		rows, q := noisyRows(r, 2), bound.Quantiles{Single: 4, Radius: 4.5, Loose: 6, Many: []float64{4, 4.2, 4.4, 4.6}}
		dev := fallback.New(bound.Float64)
		n, _ := concentrate(t, dev, post, box, rows, q)
		want, _ := concentrate(t, dev, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: post.Layers}, box, rows, q)
		for form, of := range [][2]*bound.Noises{{&n.ByLines, &want.ByLines}, {&n.ByIntervals, &want.ByIntervals}} {
			for at := range of[1].Lo {
				if !close(of[0].Lo[at], of[1].Lo[at]) {
					t.Errorf("case %d form %d row %d: %v, of a batch norm %v", i, form, at, of[0].Lo[at], of[1].Lo[at])
				}
				for l := range of[1].Var {
					if !close(of[0].Mean[l][at], of[1].Mean[l][at]) || !close(of[0].Var[l][at], of[1].Var[l][at]) {
						t.Errorf("case %d form %d row %d level %d: noise %v and %v, of a batch norm %v and %v", i, form, at, l, of[0].Mean[l][at], of[0].Var[l][at], of[1].Mean[l][at], of[1].Var[l][at])
					}
				}
			}
		}
		if len(base.Layers) > 1 {
			continue
		}
		for at, row := range rows {
			exact := 0.0
			for j, s := range sd {
				a := 0.0
				for o, c := range row.CLo {
					a += c * base.Layers[0].Weight.Mean[j*2+o]
				}
				exact += a * a * s * s
			}
			of := &n.ByIntervals
			if len(of.Var) == 0 {
				t.Fatalf("case %d: no noise", i)
			}
			if got := of.Var[len(of.Var)-1][at]; !(got >= exact*(1-1e-13) && got <= exact*(1+1e-9)+1e-200) {
				t.Errorf("case %d row %d: variance %v, it is %v", i, at, got, exact)
			}
		}
	}
}

func close(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*(1+math.Abs(a)+math.Abs(b)) }
