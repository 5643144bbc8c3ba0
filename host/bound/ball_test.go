package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// TestBallUnits compares what is said of the first layer over a ball with drawn weights: by how much a
// unit goes down, up and to either side from the centre in the mean, and its variance at points of
// the ball.
func TestBallUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 4))
	for i := range testscale.Cases(t, 200) {
		const in, out, draws = 6, 2, 2000
		norm := 1 + i%2
		list := func(n int) (mean, sd []float64) {
			for range n {
				mean, sd = append(mean, 0.3*r.NormFloat64()), append(sd, 0.3*r.Float64())
			}
			return mean, sd
		}
		mean, sd := list(in * out)
		bias, biasSD := list(out)
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.DenseLayer(in, out, network.Activation{}),
			Weight: posterior.NewParams(mean, sd, posterior.ScaleSD), Bias: posterior.NewParams(bias, biasSD, posterior.ScaleSD)}}}
		x, radius, box := make([]float64, in), make([]float64, in), property.Box{Lo: make([]float64, in), Hi: make([]float64, in)}
		for j := range x {
			x[j], radius[j] = r.NormFloat64(), 0.2+0.5*r.Float64()
			box.Lo[j], box.Hi[j] = x[j]-radius[j], x[j]+radius[j]
			switch shut := r.IntN(3); {
			case i%8 == 0 && mean[j*out] > 0, i%8 != 0 && shut == 0: // unit 0 falls by noise alone
				box.Lo[j] = x[j]
			case i%8 == 0, shut == 1:
				box.Hi[j] = x[j]
			}
		}
		ball := newBallItem(box, &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}, Float64)
		u := newBallPass(post, []*ballItem{ball}).units[0]
		dual := func(v []float64) float64 {
			if norm == 1 {
				return max(slices.Max(v), -slices.Min(v))
			}
			s := 0.0
			for _, x := range v {
				s += x * x
			}
			return math.Sqrt(s)
		}
		for o := range out {
			var lower, upper, size float64
			for range draws {
				down, up, all := make([]float64, in), make([]float64, in), make([]float64, in)
				for j := range in {
					w := radius[j] * (mean[j*out+o] + sd[j*out+o]*r.NormFloat64())
					all[j] = w
					if w > 0 && box.Lo[j] < x[j] || w < 0 && box.Hi[j] > x[j] {
						down[j] = w
					}
					if w > 0 && box.Hi[j] > x[j] || w < 0 && box.Lo[j] < x[j] {
						up[j] = w
					}
				}
				lower, upper, size = lower+dual(down)/draws, upper+dual(up)/draws, size+dual(all)/draws
			}
			for _, c := range []struct {
				what    string
				drawn   float64
				claimed float64
			}{{"down", lower, u.lower[o]}, {"up", upper, u.upper[o]}, {"either way", size, u.size[o]}} {
				if c.drawn > 1.03*c.claimed+1e-3 || c.claimed > 3*c.drawn+0.3 {
					t.Errorf("case %d: norm %d: unit %d goes %s by %v in the mean, drawn are %v", i, norm, o, c.what, c.claimed, c.drawn)
				}
			}
			for range 50 {
				v, left := biasSD[o]*biasSD[o], 1.0
				for _, j := range r.Perm(in) { // a point of the face, in the order of a random list of inputs
					part := left * r.Float64()
					if norm == 1 {
						left -= part
					} else {
						left = math.Sqrt(max(0, left*left-part*part))
					}
					by := math.Copysign(part*radius[j], x[j])
					at := min(max(x[j]+by, box.Lo[j]), box.Hi[j])
					v += sd[j*out+o] * sd[j*out+o] * at * at
				}
				if v > u.variance[o] {
					t.Errorf("case %d: norm %d: unit %d has a variance of %v, claimed is %v", i, norm, o, v, u.variance[o])
				}
			}
		}
	}
}
