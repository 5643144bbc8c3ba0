package branch

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
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
	post := provetest.Noisy(r, sd, true, sizes...)
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
			v[j] = gauss.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		list = append(list, v)
	}
	return list
}

// on runs f when the hidden layers are bounded.
func (c *noisyCase) on(t *testing.T, f func(p *phased) error) {
	t.Helper()
	p := newPhased(&Task{Box: c.box, Safe: &c.safe, Noise: c.noise, Most: 200}, c.post.Network())
	p.batch, p.proof = 4, &Proof{}
	if err := alone(p, c.model, bound.Enclose(c.post.Mean(), c.p), func() error { return f(p) }); err != nil {
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
// docs/theory.md, section 6.4, and hardly above them, also where numbers are tiny or large.
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
		reach := Reach{radius: draw(in), most: draw(in)}
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
		outputs := noise.OutputsUp(0, &reach, lo, hi)
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
		got := noise.units(0, &Reach{radius: []float64{radius}, most: []float64{1}})[0]
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

// TestNoAimBesideNoise: bounds under an assumption about the row are never those of noise.
func TestNoAimBesideNoise(t *testing.T) {
	c := newNoisyCase(t, rand.New(rand.NewPCG(3, 203)), bound.Float64, 1e-9, 0, 2, 3, 2)
	p := newPhased(&Task{Box: c.box, Safe: &c.safe, Noise: c.noise, Most: 100}, c.post.Network())
	defer func() {
		if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "phases: aimed") {
			t.Errorf("said %q", s)
		}
	}()
	_, _, _ = p.aiming(&knot{clause: []int{0}})
}
