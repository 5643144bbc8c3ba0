package phases

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// noisyCase is a random posterior with a model, a box and a set.
type noisyCase struct {
	post  *posterior.Posterior
	model *bound.Model
	box   property.Box
	safe  property.Safe
	noise *Noise
	p     bound.Precision
}

// newNoisyCase has weights with standard deviations of about sd, of some layers and arrays none,
// and a box of a point in every third case.
func newNoisyCase(t *testing.T, r *rand.Rand, p bound.Precision, tau, sd float64, sizes ...int) *noisyCase {
	t.Helper()
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	params := func(n int, size float64) posterior.Params {
		mean, spread := make([]float64, n), make([]float64, n)
		certain := r.IntN(5) == 0
		for i := range mean {
			mean[i] = size * r.NormFloat64()
			if !certain {
				spread[i] = sd * r.Float64()
			}
		}
		return posterior.NewParams(mean, spread, posterior.ScaleSD)
	}
	for k := 1; k < len(sizes); k++ {
		a := network.Activation{Kind: network.ReLU}
		if k == len(sizes)-1 {
			a = network.Activation{}
		}
		post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(sizes[k-1], sizes[k], a),
			Weight: params(sizes[k-1]*sizes[k], 1), Bias: params(sizes[k], 0.5)})
	}
	c := &noisyCase{post: post, p: p, safe: property.ArgmaxIs(0, sizes[len(sizes)-1])}
	wide := float64(r.IntN(3)) / 4
	for range sizes[0] {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+wide*r.Float64())
	}
	c.noise = NewNoise(post, absMeans(post), tau)
	var err error
	if c.model, err = bound.NewModel(fallback.New(p), post, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.model.Release)
	return c
}

func absMeans(post *posterior.Posterior) (list [][]float64) {
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			v[j] = measure.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		list = append(list, v)
	}
	return list
}

// on runs f when the hidden layers are bounded.
func (c *noisyCase) on(t *testing.T, f func(p *phased) error) {
	t.Helper()
	p := &phased{task: &Task{Box: c.box, Safe: &c.safe, Noise: c.noise, Most: 200}, net: c.post.Network(), batch: 4, proof: &Proof{}}
	if err := p.on(c.model, bound.Enclose(c.post.Mean(), c.p), func() error { return f(p) }); err != nil {
		t.Fatal(err)
	}
}

// big300 is x with many digits.
func big300(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

func bigSum(terms ...*big.Float) *big.Float {
	s := big300(0)
	for _, x := range terms {
		s.Add(s, x)
	}
	return s
}

func bigProduct(factors ...float64) *big.Float {
	s := big300(1)
	for _, x := range factors {
		s.Mul(s, big300(x))
	}
	return s
}

// exactKappa is sqrt(2/pi) mean + quantile sqrt(variance).
func exactKappa(quantile float64, mean, variance *big.Float) *big.Float {
	pi, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534", 10, 300, big.ToNearestEven)
	root := big300(0).Sqrt(big300(0).Quo(big300(2), pi))
	return bigSum(root.Mul(root, mean), big300(0).Mul(big300(quantile), big300(0).Sqrt(variance)))
}

// TestKappa: the noise that is allowed for, and the radii, are at or above the exact numbers of
// docs/confinement.md, and hardly above them, also where numbers are tiny or large.
func TestKappa(t *testing.T) {
	for n := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(n), 201))
		scale := []float64{1, 1, 0x1p-200, 0x1p-530, 0x1p100}[n%5]
		in, out := 1+r.IntN(6), 1+r.IntN(4)
		draw := func(n int) []float64 {
			list := make([]float64, n)
			for i := range list {
				if r.IntN(6) > 0 {
					list[i] = scale * math.Abs(r.NormFloat64())
				}
			}
			return list
		}
		zero := func(n int) []float64 { return make([]float64, n) }
		layers := []posterior.Layer{
			{Layer: network.DenseLayer(in, out, network.Activation{Kind: network.ReLU}), Weight: posterior.NewParams(zero(in*out), draw(in*out), posterior.ScaleSD), Bias: posterior.NewParams(zero(out), draw(out), posterior.ScaleSD)},
			{Layer: network.DenseLayer(out, 2, network.Activation{}), Weight: posterior.NewParams(zero(2*out), draw(2*out), posterior.ScaleSD), Bias: posterior.NewParams(zero(2), draw(2), posterior.ScaleSD)},
		}
		layers[0].Weight.SdHi[0], layers[1].Weight.SdHi[0] = scale, scale // not certain
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}
		noise := NewNoise(post, [][]float64{draw(in * out), draw(2 * out)}, 0.01)
		reach := reach{radius: draw(in), most: draw(in)}
		compare := func(what string, got float64, exact *big.Float) {
			t.Helper()
			if big300(got).Cmp(exact) < 0 {
				t.Fatalf("case %d: %s is %v, below the exact %.20g", n, what, got, exact)
			}
			// Sums are wrong by some of the least numbers, of which roots are taken.
			if most := bigSum(big300(0).Mul(exact, big300(1+1e-12)), big300(1e-157)); big300(got).Cmp(most) > 0 {
				t.Errorf("case %d: %s is %v, far above %.20g", n, what, got, exact)
			}
		}
		units := noise.units(0, &reach)
		lo, hi := make([]float64, out), make([]float64, out)
		for i := range hi {
			lo[i], hi[i] = -math.MaxFloat64/4, math.MaxFloat64/4
		}
		outputs := noise.outputs(0, &reach, lo, hi)
		for i := range out {
			mean, variance, width, moved := big300(0), bigProduct(layers[0].Bias.SdHi[i], layers[0].Bias.SdHi[i]), big300(0), big300(0)
			for j := range in {
				sd := layers[0].Weight.SdHi[j*out+i]
				mean.Add(mean, bigProduct(sd, reach.radius[j]))
				variance.Add(variance, bigProduct(sd, sd, reach.most[j], reach.most[j]))
				width.Add(width, bigProduct(noise.layers[0].absMean[j*out+i], reach.radius[j]))
				moved.Add(moved, bigProduct(sd, sd, reach.radius[j], reach.radius[j]))
			}
			compare("kappa", units[i], exactKappa(noise.noise, mean, variance))
			compare("radius", outputs.radius[i], bigSum(width, big300(0).Mul(big300(noise.radius), big300(0).Sqrt(moved))))
		}
		in2 := &outputs
		in2.radius, in2.most = draw(out), draw(out)
		row := property.Row{CLo: []float64{-2, r.NormFloat64()}}
		row.CHi = []float64{1, row.CLo[1] + 0.5}
		mean, variance := big300(0), big300(0)
		for j := range out {
			s := big300(0)
			for i := range 2 {
				c, sd := max(math.Abs(row.CLo[i]), math.Abs(row.CHi[i])), layers[1].Weight.SdHi[j*2+i]
				s.Add(s, bigProduct(c, c, sd, sd))
			}
			variance.Add(variance, big300(0).Mul(s, bigProduct(in2.most[j], in2.most[j])))
			mean.Add(mean, big300(0).Mul(big300(0).Sqrt(s), big300(in2.radius[j])))
		}
		for i := range 2 {
			c, sd := max(math.Abs(row.CLo[i]), math.Abs(row.CHi[i])), layers[1].Bias.SdHi[i]
			variance.Add(variance, bigProduct(c, c, sd, sd))
		}
		compare("kappa of a row", noise.rows([]property.Row{row}, in2)[0], exactKappa(noise.noise, mean, variance))
	}
}

// TestKappaRounds: where all but one step of kappa is exact that step is rounded up, too.
func TestKappaRounds(t *testing.T) {
	single := func(sd float64) *Noise {
		layer := func() posterior.Layer {
			return posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU}), Weight: posterior.NewParams([]float64{0}, []float64{sd}, posterior.ScaleSD),
				Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)}
		}
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{layer(), layer()}}
		return NewNoise(post, absMeans(post), 0.01)
	}
	r := rand.New(rand.NewPCG(1, 204))
	for n := range 400 {
		sd, radius := float64(1+n), []float64{0, 0x1p-12 * r.Float64(), 0x1p12 * r.Float64()}[n%3]
		if n%3 > 0 {
			sd = 1
		}
		noise := single(sd)
		got := noise.units(0, &reach{radius: []float64{radius}, most: []float64{1}})[0]
		if exact := exactKappa(noise.noise, bigProduct(sd, radius), bigProduct(sd, sd)); big300(got).Cmp(exact) < 0 {
			t.Fatalf("sd %v, radius %v: kappa is %v, below %.25g", sd, radius, got, exact)
		}
		if x := r.NormFloat64(); big300(squaresUp([]float64{x})[0]).Cmp(bigProduct(x, x)) < 0 {
			t.Fatalf("the square of %v", x)
		}
	}
}

// TestNoiseEvents: as many bounds are paid for as there are, of layers that deviate.
func TestNoiseEvents(t *testing.T) {
	layer := func(in, out int, sd float64) posterior.Layer {
		return posterior.Layer{Layer: network.DenseLayer(in, out, network.Activation{}), Weight: posterior.NewParams(make([]float64, in*out), slices.Repeat([]float64{sd}, in*out), posterior.ScaleSD),
			Bias: posterior.NewParams(make([]float64, out), make([]float64, out), posterior.ScaleSD)}
	}
	for _, of := range []struct {
		sd   [3]float64
		want float64
	}{{[3]float64{1, 1, 1}, 8 * (2 + 1.0/64)}, {[3]float64{1, 0, 1}, 5 * (2 + 1.0/64)}, {[3]float64{0, 0, 0}, -7}, {[3]float64{0, 1, 0}, 3*(2+1.0/64) - 7}} {
		post := &posterior.Posterior{Layers: []posterior.Layer{layer(4, 5, of.sd[0]), layer(5, 3, of.sd[1]), layer(3, 2, of.sd[2])}}
		if got := NewNoise(post, absMeans(post), 0.01).EventsUp(7); got != of.want+7 {
			t.Errorf("%v: %v events, want %v", of.sd, got, of.want+7)
		}
	}
}

// drawnAt are the pre-activations of a drawn network at x, what its own noise adds to them in each
// layer, and the values of the hidden layers.
func (c *noisyCase) drawnAt(weights [][]float64, x []float64) (pre, noise, z [][]float64) {
	for k := range c.post.Layers {
		l := &c.post.Layers[k]
		zeta, own := make([]float64, l.Outputs()), make([]float64, l.Outputs())
		for i := range zeta {
			zeta[i], own[i] = weights[2*k+1][i], weights[2*k+1][i]-l.Bias.Mean[i]
			for j, v := range x {
				w := weights[2*k][j*l.Outputs()+i]
				zeta[i] += w * v
				own[i] += (w - l.Weight.Mean[j*l.Outputs()+i]) * v
			}
		}
		x = make([]float64, len(zeta))
		for i, v := range zeta {
			x[i] = max(v, 0)
		}
		pre, noise, z = append(pre, zeta), append(noise, own), append(z, x)
	}
	return pre, noise, z
}

// points are the corners of the box, its centre, and some more.
func (c *noisyCase) points(r *rand.Rand) (list [][]float64) {
	n := len(c.box.Lo)
	for corner := range 1 << n {
		x := make([]float64, n)
		for j := range x {
			if x[j] = c.box.Lo[j]; corner>>j&1 == 1 {
				x[j] = c.box.Hi[j]
			}
		}
		list = append(list, x)
	}
	for range 6 {
		x := make([]float64, n)
		for j := range x {
			x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*r.Float64()
		}
		list = append(list, x)
	}
	return append(list, reachCentre(c.box))
}

func reachCentre(b property.Box) []float64 {
	x := make([]float64, len(b.Lo))
	for j := range x {
		x[j] = min(max(b.Lo[j]/2+b.Hi[j]/2, b.Lo[j]), b.Hi[j])
	}
	return x
}

// draw draws a network.
func (c *noisyCase) draw(r *rand.Rand) [][]float64 {
	var list [][]float64
	for k := range c.post.Layers {
		for _, g := range []*posterior.Params{&c.post.Layers[k].Weight, &c.post.Layers[k].Bias} {
			w := make([]float64, len(g.Mean))
			for j := range w {
				w[j] = g.Mean[j] + g.SdHi[j]*r.NormFloat64()
			}
			list = append(list, w)
		}
	}
	return list
}

// TestConfinedDraws: drawn networks whose noise is as small as kappa says have their
// pre-activations in the bounds, at every point, and the rows that are proved; and noise and radii,
// given those of the layers below, are larger no more often than tau says.
func TestConfinedDraws(t *testing.T) {
	const tau, draws = 0.05, 400
	proved, unsafe, kept := 0, 0, 0
	for n := range testscale.Cases(t, 300) {
		r := rand.New(rand.NewPCG(uint64(n), 202))
		sizes := [][]int{{2, 3, 3, 2}, {2, 4, 2}, {3, 3, 3, 3, 2}}[n%3]
		c := newNoisyCase(t, r, bound.Precision(n%2), tau, []float64{0.02, 0.1, 0.3}[r.IntN(3)], sizes...)
		c.safe.Rows[0].D += float64(n % 4)
		c.on(t, func(p *phased) error {
			isProved, err := p.tree()
			if err != nil && err != errStopped {
				return err
			}
			if isProved {
				proved++
			}
			u, k := c.checkDraws(t, r, fmt.Sprintf("case %d", n), p, isProved, tau, draws)
			unsafe, kept = unsafe+u, kept+k
			return nil
		})
	}
	t.Logf("%d proved; %d draws on the event, %d draws unsafe", proved, kept, unsafe)
	if proved < 3 || unsafe < 100 || kept < 100 {
		t.Errorf("%d proved; %d draws on the event, %d draws unsafe: the test misses its cases", proved, kept, unsafe)
	}
}

// checkDraws is TestConfinedDraws for one case: how many draws are unsafe, and how many on the event.
func (c *noisyCase) checkDraws(t *testing.T, r *rand.Rand, name string, p *phased, proved bool, tau float64, draws int) (unsafe, kept int) {
	t.Helper()
	layers := len(c.post.Layers)
	in := reachOf(c.box)
	var kappas [][]float64
	var reaches []reach
	for k := range layers - 1 {
		kappas = append(kappas, c.noise.units(k, &in))
		in = c.noise.outputs(k, &in, p.known.lo[k], p.known.hi[k])
		reaches = append(reaches, in)
	}
	rows := c.noise.rows(c.safe.Rows, &in)
	points := c.points(r)
	over := map[string]int{} // how often a bound fails, by what it is
	given := make([]int, layers)
	for range draws {
		weights := c.draw(r)
		fails := map[string]int{} // the layer of each
		least := math.Inf(1)
		_, _, atCentre := c.drawnAt(weights, points[len(points)-1])
		for _, x := range points {
			pre, noise, z := c.drawnAt(weights, x)
			for k := range layers - 1 {
				for i, v := range noise[k] {
					switch {
					case v > kappas[k][i]:
						fails[fmt.Sprintf("noise of neuron %d of layer %d from above", i, k)] = k
					case -v > kappas[k][i]:
						fails[fmt.Sprintf("noise of neuron %d of layer %d from below", i, k)] = k
					}
					if math.Abs(z[k][i]-atCentre[k][i]) > reaches[k].radius[i]+1e-12 {
						fails[fmt.Sprintf("radius of neuron %d of layer %d", i, k)] = k
					}
				}
			}
			for at, row := range c.safe.Rows {
				by, value := 0.0, row.D
				for i, w := range row.CLo {
					by, value = by+w*noise[layers-1][i], value+w*pre[layers-1][i]
				}
				if -by > rows[at] {
					fails[fmt.Sprintf("noise of row %d", at)] = layers - 1
				}
				least = min(least, value)
			}
			lowest := layers
			for _, k := range fails {
				lowest = min(lowest, k)
			}
			for k := range min(lowest, layers-1) {
				for i, v := range pre[k] {
					const rounding = 1e-9
					if v < p.known.lo[k][i]-rounding || v > p.known.hi[k][i]+rounding {
						t.Fatalf("%s: neuron %d of layer %d is %v, bounds [%v, %v]", name, i, k, v, p.known.lo[k][i], p.known.hi[k][i])
					}
				}
			}
		}
		lowest := layers
		for _, k := range fails {
			lowest = min(lowest, k)
		}
		for k := range min(lowest+1, layers) {
			given[k]++
		}
		for what, k := range fails {
			if k == lowest {
				over[what]++
			}
		}
		if least < 0 {
			unsafe++
		}
		if lowest == layers {
			if kept++; proved && least < -1e-9 {
				t.Fatalf("%s: proved, and a network with as little noise has a row of %v", name, least)
			}
		}
	}
	for what, n := range over {
		// Six standard deviations of a count that has a mean of at most tau draws.
		if mean := tau * float64(draws); float64(n) > mean+6*math.Sqrt(mean) {
			t.Errorf("%s: %s is larger in %d of %d draws (%v), at most %v may be", name, what, n, draws, given, mean)
		}
	}
	return unsafe, kept
}

// TestOutputNoise: noise of the last layer alone keeps a row from being proved that is positive for
// the means.
func TestOutputNoise(t *testing.T) {
	for _, sd := range []float64{0, 0.5} {
		r := rand.New(rand.NewPCG(1, 203))
		c := newNoisyCase(t, r, bound.Float64, 1e-9, 0, 2, 3, 2)
		last := &c.post.Layers[1]
		last.Bias = posterior.NewParams([]float64{100, 98}, []float64{sd, sd}, posterior.ScaleSD)
		last.Weight = posterior.NewParams(make([]float64, 6), make([]float64, 6), posterior.ScaleSD)
		c.noise = NewNoise(c.post, absMeans(c.post), 1e-9)
		model, err := bound.NewModel(fallback.New(c.p), c.post, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer model.Release()
		c.model = model
		task := &Task{Box: c.box, Safe: &c.safe, Noise: c.noise, Most: 100}
		got, err := task.On(c.model, c.post.Network(), bound.Enclose(c.post.Mean(), c.p))
		if err != nil || got.Proved != (sd == 0) {
			t.Errorf("sd %v: proved %v, %v", sd, got.Proved, err)
		}
	}
}

// TestTooMuchNoise: noise that no device can hold proves nothing, and is no error.
func TestTooMuchNoise(t *testing.T) {
	c := newNoisyCase(t, rand.New(rand.NewPCG(2, 203)), bound.Float32, 1e-9, 0, 2, 3, 2)
	c.noise.layers[0].random, c.noise.layers[0].vb = true, []float64{1e200, math.Inf(1), 1e200}
	task := &Task{Box: c.box, Safe: &c.safe, Noise: c.noise, Most: 100}
	if got, err := task.On(c.model, c.post.Network(), bound.Enclose(c.post.Mean(), c.p)); err != nil || got.Proved {
		t.Errorf("proved %v, %v", got.Proved, err)
	}
}
