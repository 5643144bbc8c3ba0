package boxes

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// graphRanges encloses the pre-activations of a weight box on T, by intervals a little wider than
// they need to be.
func graphRanges(net network.Network, box *bound.Explicit, t property.Box) (lo, hi [][]float64) {
	outLo, outHi := make([][]float64, len(net)), make([][]float64, len(net))
	for k, l := range net {
		zLo, zHi := network.Join(net, k, t.Lo, outLo), network.Join(net, k, t.Hi, outHi)
		low, high := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		_, pool := l.Map.(network.MaxPool)
		for i := range low {
			add := func(lo, hi float64, j int) {
				ends := []float64{lo * zLo[j], lo * zHi[j], hi * zLo[j], hi * zHi[j]}
				low[i], high[i] = low[i]+slices.Min(ends), high[i]+slices.Max(ends)
			}
			if m, linear := l.Map.(network.Linear); linear {
				low[i], high[i] = box.Lo[2*k+1][m.BiasOf(i)], box.Hi[2*k+1][m.BiasOf(i)]
				for j, w := range m.Into(i) {
					add(box.Lo[2*k][w], box.Hi[2*k][w], j)
				}
			} else if pool {
				low[i], high[i] = math.Inf(-1), math.Inf(-1)
				for j := range network.Unweighted(l.Map)(i) {
					low[i], high[i] = max(low[i], zLo[j]), max(high[i], zHi[j])
				}
			} else {
				for j, c := range network.Unweighted(l.Map)(i) {
					add(c, c, j)
				}
			}
			slack := 1e-9 * (1 + math.Abs(low[i]) + math.Abs(high[i]))
			low[i], high[i] = low[i]-slack, high[i]+slack
		}
		lo, hi = append(lo, low), append(hi, high)
		for i := range low {
			outLo[k], outHi[k] = append(outLo[k], l.Activation.ValueDown(low[i])), append(outHi[k], l.Activation.ValueUp(high[i]))
		}
	}
	return lo, hi
}

// TestFreedGraphs: in networks of all kinds of maps, a network of the widened box computes on T
// what its nearest network of the verified box does, exactly.
func TestFreedGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 11))
	acts := []network.Activation{{Kind: network.ReLU}, {Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.Tanh}}
	free, shared := 0, 0
	cases := testscale.Cases(t, 2000)
	for range cases {
		post := provetest.Graph(r, acts...)
		for k := range post.Layers {
			for i := range post.Layers[k].Bias.Mean {
				if r.IntN(2) == 0 {
					post.Layers[k].Bias.Mean[i] -= float64(4 * r.IntN(6))
				}
			}
		}
		net := post.Network()
		p := &engine.Probe{Task: &property.Task{}, Box: &bound.Explicit{}}
		for _, g := range post.Params() {
			lo, hi := slices.Clone(g.Mean), slices.Clone(g.Mean)
			for i, sd := range g.SdHi {
				lo[i], hi[i] = lo[i]-sd, hi[i]+sd
			}
			p.Box.Lo, p.Box.Hi = append(p.Box.Lo, lo), append(p.Box.Hi, hi)
		}
		p.Dead = make([][]bool, len(net))
		zeros := r.IntN(4)
		for range 1 + r.IntN(2) {
			b := property.Box{Lo: make([]float64, net.Inputs()), Hi: make([]float64, net.Inputs())}
			for j := range b.Lo {
				if j%4 >= zeros {
					b.Lo[j] = float64(r.IntN(5)-1) / 4
					b.Hi[j] = b.Lo[j] + float64(r.IntN(3))/8
				}
			}
			_, hi := graphRanges(net, p.Box, b)
			for k := range hi {
				if k == 2 || k == len(net)-1 { // nothing is said of one layer
					continue
				}
				if p.Dead[k] == nil {
					p.Dead[k] = slices.Repeat([]bool{true}, len(hi[k]))
				}
				for i, h := range hi[k] {
					p.Dead[k][i] = p.Dead[k][i] && h <= 0
				}
			}
			p.Task.T = append(p.Task.T, b)
		}
		box := freed(post, p)
		for a := range box.Lo {
			for w := range box.Lo[a] {
				if math.IsInf(box.Lo[a][w], -1) {
					if free++; a%2 == 0 && len(box.Lo[a]) < net[a/2].Work()/2 {
						shared++
					}
				}
				if box.Lo[a][w] > p.Box.Lo[a][w] || box.Hi[a][w] < p.Box.Hi[a][w] {
					t.Fatal("a freed box is smaller")
				}
			}
		}
		for range 5 {
			in, out := post.NewWeights(), post.NewWeights()
			for a := range in {
				for w := range in[a] {
					lo, hi := max(box.Lo[a][w], p.Box.Lo[a][w]-100), min(box.Hi[a][w], p.Box.Hi[a][w]+100)
					out[a][w] = lo + (hi-lo)*float64(r.IntN(9))/8
					in[a][w] = min(max(out[a][w], p.Box.Lo[a][w]), p.Box.Hi[a][w])
				}
			}
			b := p.Task.T[r.IntN(len(p.Task.T))]
			x := make([]*big.Rat, len(b.Lo))
			for j := range x {
				x[j] = networktest.Rat(b.Lo[j] + (b.Hi[j]-b.Lo[j])*float64(r.IntN(5))/4)
			}
			want := networktest.Rational(net, in, x)
			for i, y := range networktest.Rational(net, out, x) {
				if y.Cmp(want[i]) != 0 {
					t.Fatalf("output %d is %v, not %v, of %v", i, y, want[i], net)
				}
			}
		}
	}
	if cases >= 100 && (free < 10*cases || shared == 0) {
		t.Errorf("%d weights are free in %d networks, %d of them shared", free, cases, shared)
	}
}
