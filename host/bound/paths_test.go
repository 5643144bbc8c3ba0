package bound_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
)

// path is a network with drawn weights: its values at a point.
type path struct {
	layers []posterior.Layer
	w      [][]float64
	// pre and post are what at returned for each point, whose memory is used again.
	pre, post [][][]float64
}

func (p *path) redraw(r *rand.Rand) {
	p.w = p.w[:0]
	for _, l := range p.layers {
		for _, g := range []posterior.Params{l.Weight, l.Bias} {
			v := make([]float64, len(g.Mean))
			for j, mean := range g.Mean {
				v[j] = mean + g.SdHi[j]*r.NormFloat64()
			}
			p.w = append(p.w, v)
		}
	}
}

// at returns pre-activations and activations of every layer, for point number n of a draw.
func (p *path) at(n int, x []float64) (pre, post [][]float64) {
	for len(p.pre) <= n {
		p.pre, p.post = append(p.pre, nil), append(p.post, nil)
		for _, l := range p.layers {
			p.pre[n], p.post[n] = append(p.pre[n], make([]float64, l.Outputs())), append(p.post[n], make([]float64, l.Outputs()))
		}
	}
	z := x
	for k, l := range p.layers {
		y, a := p.pre[n][k], p.post[n][k]
		for i := range y {
			y[i] = p.w[2*k+1][i]
			for j, v := range z {
				y[i] += v * p.w[2*k][j*l.Outputs()+i]
			}
			a[i] = l.Activation.Approx(y[i])
		}
		z = a
	}
	return p.pre[n], p.post[n]
}

// everywhere computes the values of a drawn network at the points of a grid and, after those, at the
// centre, which count looks at.
func (p *path) everywhere(grid [][]float64, centre []float64) {
	for g, x := range grid {
		p.at(g, x)
	}
	p.at(len(grid), centre)
}

// frequencies counts, over draws, the events that the theory bounds.
type frequencies struct {
	draws int
	// low, high, varied are failures of hidden bounds while all layers below hold.
	low, high, varied [][]int
	// least[r] are the least values of row r, of draws where all hidden bounds hold.
	least [][]float64
}

func (f *frequencies) count(p *path, o *observed, rows []property.Row) {
	f.draws++
	last, points := len(p.layers)-1, len(p.pre)-1
	pres, posts, middle := p.pre[:points], p.post[:points], p.post[points]
	for k := range last {
		held := true
		for i := range p.layers[k].Outputs() {
			var low, high, varied bool
			for g := range points {
				y := pres[g][k][i]
				low, high = low || y < o.lo[k][i]-1e-12, high || y > o.hi[k][i]+1e-12
				varied = varied || math.Abs(posts[g][k][i]-middle[k][i]) > o.radius[k][i]+1e-12
			}
			for _, e := range []struct {
				happened bool
				counts   *[][]int
			}{{low, &f.low}, {high, &f.high}, {varied, &f.varied}} {
				if e.happened {
					(*e.counts)[k][i]++
					held = false
				}
			}
		}
		if !held {
			return
		}
	}
	for r, row := range rows {
		least := math.Inf(1)
		for g := range points {
			v := row.D
			for i, c := range row.CLo {
				v += c * pres[g][last][i]
			}
			least = min(least, v)
		}
		f.least[r] = append(f.least[r], least)
	}
}

// most is an upper limit of a count that has probability p each time: five
// standard deviations and a little above its mean.
func (f *frequencies) most(p float64) float64 {
	n := float64(f.draws)
	return n*p + 5*math.Sqrt(n*p*(1-p)) + 8
}

// TestConcentratePaths: drawn networks break hidden bounds, and fall short of rows'
// bounds, no more often than (13), (13a) and (13b) allow. tau is so large that it
// happens often. What is bounded is each event together with all bounds of the layers
// below, so nothing is allowed for those.
func TestConcentratePaths(t *testing.T) {
	const tau = 0.05
	draws := 20000
	if testing.Short() {
		draws = 3000
	}
	single := probability.NoiseQuantileUp(tau, 1)
	q := bound.Quantiles{Single: single, Radius: single}
	for k := range 4 {
		q.Many = append(q.Many, probability.NoiseQuantileUp(tau, k+1))
	}
	for i, c := range []struct {
		kind   network.Kind
		spread float64
		eps    float64
		sizes  []int
		// swing has a first layer that is all noise around inputs that are all
		// swing, so that the mean of docs/theory.md (11) is most of the bounds.
		swing bool
		// means are those of all weights, if not 0; still is how many layers are certain.
		means, still int
	}{
		{kind: network.ReLU, spread: 0.3, eps: 0, sizes: []int{2, 4, 2}}, {kind: network.ReLU, spread: 0.1, eps: 0.3, sizes: []int{1, 4, 3, 2}}, {kind: network.ReLU, spread: 1, eps: 0.5, sizes: []int{2, 3, 1}},
		{kind: network.Tanh, spread: 0.2, eps: 0.2, sizes: []int{2, 4, 4, 1}}, {kind: network.Tanh, spread: 0.1, eps: 0, sizes: []int{2, 3, 3, 2}},
		{kind: network.Sigmoid, spread: 0.5, eps: 0.4, sizes: []int{1, 5, 3, 1}}, {kind: network.LeakyReLU, spread: 0.2, eps: 0.1, sizes: []int{2, 4, 3, 2}}, {kind: network.Identity, spread: 0.3, eps: 0.2, sizes: []int{1, 1, 1, 1}},
		{kind: network.Identity, spread: 0.4, eps: 0, sizes: []int{3, 1}}, {kind: network.Identity, spread: 0.4, eps: 1, sizes: []int{1, 2}},
		{kind: network.ReLU, spread: 2, eps: 0.5, sizes: []int{2, 6, 6, 1}}, {kind: network.Tanh, spread: 1, eps: 1, sizes: []int{1, 8, 8, 8, 1}},
		{kind: network.Identity, spread: 1, eps: 1, sizes: []int{2, 6, 1}}, {kind: network.ReLU, spread: 0.5, eps: 0.5, sizes: []int{2, 5, 4, 1}, still: 1},
		// The last layer is all noise and what is below nearly certain: the comparison is nearly exact.
		{kind: network.Identity, spread: 0.01, eps: 1, sizes: []int{3, 4, 1}, means: 1}, {kind: network.Identity, spread: 0.01, eps: 1, sizes: []int{1, 3, 4, 1}, means: 1},
		{kind: network.Identity, spread: 0.01, eps: 1, sizes: []int{3, 1, 1, 1}, swing: true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(i)))
			post := noisyNet(r, c.kind, c.spread, c.sizes...)
			for k := range post.Layers {
				if post.Layers[k].Activation.Kind == network.LeakyReLU {
					post.Layers[k].Activation.Slope = 0.25
				}
			}
			box, centre := property.Box{}, []float64{}
			for range post.Inputs() {
				x := r.NormFloat64()
				box.Lo, box.Hi, centre = append(box.Lo, x-c.eps), append(box.Hi, x+c.eps), append(centre, (x-c.eps)+((x+c.eps)-(x-c.eps))/2)
			}
			per := 5
			if c.swing {
				first := &post.Layers[0]
				first.Weight = posterior.NewParams([]float64{0, 0, 0}, []float64{1, 1, 1}, posterior.ScaleSD)
				first.Bias = posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)
				box = property.Box{Lo: []float64{-1, -1, -1}, Hi: []float64{1, 1, 1}}
				centre, per = []float64{0, 0, 0}, 2
			}
			if c.means != 0 {
				last := &post.Layers[len(post.Layers)-1]
				last.Weight = posterior.NewParams(make([]float64, len(last.Weight.Mean)), slices.Repeat([]float64{1}, len(last.Weight.Mean)), posterior.ScaleSD)
			}
			for k := range c.still {
				for _, g := range []*posterior.Params{&post.Layers[k].Weight, &post.Layers[k].Bias} {
					*g = posterior.NewParams(g.Mean, make([]float64, len(g.Mean)), posterior.ScaleSD)
				}
			}
			rows := noisyRows(r, post.Outputs())
			p := bound.Precision(i % 2)
			net, grid := &path{layers: post.Layers}, cornersAndMore(box, per)
			var n [2]*bound.CLBPMargins
			var o [2]*observed
			var f [2]*frequencies
			for k, sharp := range []bool{false, true} { // both see the same networks
				n[k], o[k] = concentrateBy(t, fallback.New(p), post, box, rows, q, sharp)
				f[k] = &frequencies{least: make([][]float64, len(rows))}
				for _, l := range post.Layers {
					f[k].low, f[k].high, f[k].varied = append(f[k].low, make([]int, l.Outputs())), append(f[k].high, make([]int, l.Outputs())), append(f[k].varied, make([]int, l.Outputs()))
				}
			}
			for range draws {
				net.redraw(r)
				net.everywhere(grid, centre)
				for k := range f {
					f[k].count(net, o[k], rows)
				}
			}
			for k := range f {
				f[k].checkHidden(t, tau, c.eps)
				f[k].checkRows(t, n[k], c.eps, len(post.Layers)-c.still)
			}
		})
	}
}

// cornersAndMore are some values in each coordinate, ends included.
func cornersAndMore(b property.Box, per int) [][]float64 {
	points := [][]float64{nil}
	for j, lo := range b.Lo {
		var next [][]float64
		for _, p := range points {
			for s := range per {
				if s == 0 || lo < b.Hi[j] {
					next = append(next, append(append([]float64{}, p...), lo+(b.Hi[j]-lo)*float64(s)/float64(per-1)))
				}
			}
		}
		points = next
	}
	return points
}

func (f *frequencies) checkHidden(t *testing.T, tau, eps float64) {
	for what, counts := range map[string][][]int{"lower bound": f.low, "upper bound": f.high, "variation": f.varied} {
		for k := range len(counts) - 1 {
			for i, n := range counts[k] {
				if float64(n) > f.most(tau) {
					t.Errorf("%s of neuron %d of layer %d fails in %d of %d draws, tau is %v", what, i, k, n, f.draws, tau)
				}
				// At a point the first layer's bounds are exact.
				if k == 0 && eps == 0 && what != "variation" && float64(n) < 0.6*tau*float64(f.draws) {
					t.Errorf("%s of neuron %d of layer 0 fails in only %d of %d draws, tau is %v", what, i, n, f.draws, tau)
				}
				if eps == 0 && what == "variation" && n > 0 {
					t.Errorf("neuron %d of layer %d varies over a point", i, k)
				}
			}
		}
	}
}

// checkRows compares how often a row falls short of its bound by t, for several t.
func (f *frequencies) checkRows(t *testing.T, n *bound.CLBPMargins, eps float64, layers int) {
	forms := map[string]*bound.Noises{"by intervals": &n.ByIntervals, "by lines": &n.ByLines}
	if n.SharpLevels(0) > 0 {
		forms["sharp"] = sharpOf(n)
	}
	for i, o := range n.Others {
		if forms[fmt.Sprint("slopes ", i)] = &o.ByLines; o.SharpLevels(0) > 0 {
			forms[fmt.Sprint("slopes, sharp ", i)] = sharpOf(o)
		}
	}
	for name, form := range forms {
		if form.Lo == nil {
			continue
		}
		want := layers
		if name == "by intervals" {
			want = 1
		}
		if len(form.Mean) != want || len(form.Var) != want {
			t.Errorf("%s: noise of %d layers, want %d", name, len(form.Mean), want)
		}
		for r := range n.Rows {
			lo, mean, variance := form.At(r)
			sum := 0.0
			for l := range mean {
				lo -= mean[l]
				sum += variance[l]
			}
			for _, z := range []float64{0.25, 0.5, 1, 1.5, 2, 2.5} {
				short := 0
				for _, v := range f.least[r] {
					if v < lo-z*math.Sqrt(sum) {
						short++
					}
				}
				tail := probability.NoiseTailUp(z*math.Sqrt(sum), variance, 1)
				if float64(short) > f.most(tail) {
					t.Errorf("row %d %s falls short by %v sd in %d of %d draws, at most %v", r, name, z, short, f.draws, tail)
				}
				if layers == 1 && eps == 0 && z < 2 && float64(short) < 0.7*tail*float64(f.draws) {
					t.Errorf("row %d %s falls short by %v sd in only %d of %d draws, %v is exact", r, name, z, short, f.draws, tail)
				}
			}
		}
	}
}
