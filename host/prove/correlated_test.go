package prove_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/boxes"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/prove/ontop"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/sumtest"
)

// correlatedNet is a 2-3-2 network; last says that its last layer alone is random, else both are.
func correlatedNet(t *testing.T, last bool) *posterior.Posterior {
	r := rand.New(rand.NewPCG(33, 4))
	layers := sumtest.RandomNoisy(r, network.Activation{Kind: network.ReLU}, 0.1, 2, 3, 2).Layers
	covariances := []*posterior.Covariance{nil, {Rank: 1, Factor: []float64{1, 1, 1, 1, 1, 1, 1, 1}}}
	if !last {
		covariances[0] = &posterior.Covariance{Rank: 1, Factor: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}}
	}
	post, err := posterior.FromCovariances(layers, covariances)
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// droppedNet is the same with dropout; chain says that the layers with it are a chain, else the last one joins
// the input and what is above.
func droppedNet(t *testing.T, chain bool) *posterior.Posterior {
	layers := correlatedNet(t, true).Layers
	if !chain {
		layers[1].Layer = network.DenseLayer(5, 2, network.Activation{})
		layers[1].Sources = []int{-1, 0}
		layers[1].Weight = posterior.Params{Mean: make([]float64, 10)}
	}
	post, err := posterior.FromDropout(layers, []float64{0.1, 0.2})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// jointNet has one covariance of all layers; chain is as of droppedNet.
func jointNet(t *testing.T, chain bool) *posterior.Posterior {
	layers := droppedNet(t, chain).Layers
	factors := make([]*posterior.Covariance, 2)
	for k := range factors {
		factors[k] = &posterior.Covariance{Rank: 1, Factor: make([]float64, layers[k].Outputs()*(layers[k].Inputs()+1))}
		for e := range factors[k].Factor {
			factors[k].Factor[e] = 1
		}
	}
	post, err := posterior.FromJoint(layers, factors)
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// wideNet has a covariance over more inputs than covariances of rows are made of, below its last layer.
func wideNet(t *testing.T) *posterior.Posterior {
	const in = 2049
	layers := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 5)), network.Activation{Kind: network.ReLU}, 0.1, in, 1, 2).Layers
	post, err := posterior.FromCovariances(layers, []*posterior.Covariance{{Rank: 1, Factor: make([]float64, in+1)}, nil})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// kroneckerNet has a convolution with a Kronecker covariance below a dense layer.
func kroneckerNet(t *testing.T) *posterior.Posterior {
	conv := network.Conv{In: network.Image{Height: 1, Width: 3, Channels: 1}, Window: network.Window{Size: [2]int{1, 2}, Stride: [2]int{1, 1}, Dilation: [2]int{1, 1}}, Filters: 2, Groups: 1}
	layers := []posterior.Layer{{Layer: network.Layer{Map: conv, Activation: network.Activation{Kind: network.ReLU}}}, {Layer: network.DenseLayer(4, 2, network.Activation{})}}
	layers[0].Weight.Mean, layers[0].Bias.Mean = []float64{1, 2, 3, 4}, []float64{1, 1}
	layers[1].Weight.Mean, layers[1].Bias.Mean = []float64{1, -1, 1, -1, 1, -1, 1, -1}, []float64{0, 0}
	c := convtest.RandomKronecker(rand.New(rand.NewPCG(33, 6)), conv, 0.1)
	post, err := posterior.FromCovariances(layers, []*posterior.Covariance{c, nil})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// TestCorrelatedRefused: weights that depend on each other are never taken for independent ones,
// whichever door is tried: every method but those that know their covariance or masks refuses them, and
// those refuse masks below a join and covariances that are too large.
func TestCorrelatedRefused(t *testing.T) {
	for i := range 9 {
		last := i%2 == 0 && i < 4
		post := []*posterior.Posterior{correlatedNet(t, last), droppedNet(t, last), jointNet(t, i == 4), wideNet(t), kroneckerNet(t)}[i/2]
		linearised := i == 7
		if linearised {
			var err error
			if post, err = jointNet(t, true).Linearised(); err != nil {
				t.Fatal(err)
			}
		}
		if linearised && prove.Decides(post) == nil {
			t.Error("decisions of functions that are no networks")
		}
		dev := fallback.New(bound.Float64)
		eng, err := engine.New(dev, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		_, notTop := ontop.New(post)
		_, notMasked := ontop.NewMasked(post)
		if got, want := notTop == nil || notMasked == nil, last || i == 3; got != want {
			t.Errorf("rows of it are bounded: %v, want %v", got, want)
		}
		task := safeOn(property.ArgmaxIs(0, 2), property.Box{Lo: make([]float64, post.Inputs()), Hi: make([]float64, post.Inputs())})
		for word := range prove.MethodWords() {
			cfg := prove.Config{Method: prove.Method(word), Samples: 2, Gamma: 1, Confidence: 0.9}
			if linearised {
				cfg.Samples = 0
			}
			takes := cfg.Method == prove.Statistical && !linearised || (i < 5 || i == 8 || linearised) && (cfg.Method == prove.CLBP || cfg.Method == prove.Auto)
			err := prove.Run(context.Background(), []*engine.Engine{eng}, cfg, []property.Task{task}, nil, func(r *claim.Result) error {
				if !takes || r.Method != "clbp" && r.Method != "statistical" {
					t.Errorf("a result of %s by %v", post.Describe(), r.Method)
				}
				return nil
			})
			if takes != (err == nil) || err != nil && !strings.Contains(err.Error(), "this posterior is "+post.Describe()) {
				t.Errorf("%v of %s: %v", cfg.Method, post.Describe(), err)
			}
		}
		eng.Close()
		if err := prove.Decides(post); linearised && (err == nil || !strings.Contains(err.Error(), post.Describe())) {
			t.Errorf("decisions of linearised networks: %v", err)
		}
		if _, err := bound.NewModel(dev, post, 12); err == nil {
			t.Error("NewModel takes it")
		}
		if _, err := bound.HostBox(post, bound.Float64, bound.BoxSpec{Gamma: [][]float64{{1}, {1}}}, 0); err == nil {
			t.Error("HostBox takes it")
		}
		if err := post.Widen(1, 2); err == nil {
			t.Error("Widen takes it")
		}
		if c := boxes.Ceiling(post, bound.Float64, 10, 1); c != 0 {
			t.Errorf("ceiling %v, want 0: unknown", c)
		}
	}
}

// TestCommonNoise: what all outputs have in common no margin sees. (The example of docs/start.md.) The
// diagonal of that covariance is another posterior, and less safe.
func TestCommonNoise(t *testing.T) {
	dense := func(in, out int, w []float64, a network.Activation) posterior.Layer {
		l := posterior.Layer{Layer: network.DenseLayer(in, out, a)}
		l.Weight = posterior.NewParams(w, make([]float64, in*out), posterior.ScaleSD)
		l.Bias = posterior.NewParams(make([]float64, out), make([]float64, out), posterior.ScaleSD)
		return l
	}
	layers := []posterior.Layer{
		dense(2, 3, []float64{1, -1, 0.5, -1, 1, 0.5}, network.Activation{Kind: network.ReLU}),
		dense(3, 2, []float64{1, 0, 0, 1, 0.2, 0.2}, network.Activation{}),
	}
	c := &posterior.Covariance{Rank: 9, Factor: make([]float64, 8*9)}
	for e := range 8 {
		c.Factor[e*9], c.Factor[e*9+1+e] = 0.2, 0.01 // 0.04 ones + 0.0001 I
	}
	post, err := posterior.FromCovariances(layers, []*posterior.Covariance{nil, c})
	if err != nil {
		t.Fatal(err)
	}
	diagonal := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{layers[0], dense(3, 2, layers[1].Weight.Mean, network.Activation{})}}
	for _, g := range []*posterior.Params{&diagonal.Layers[1].Weight, &diagonal.Layers[1].Bias} {
		for i := range g.SdHi {
			g.Spread[i], g.SdLo[i], g.SdHi[i] = 0.2002, 0.2002, 0.2002
		}
	}
	lower := map[*posterior.Posterior]float64{}
	for _, p := range []*posterior.Posterior{post, diagonal} {
		eng, err := engine.New(fallback.New(bound.Float32), nil, p, 12)
		if err != nil {
			t.Fatal(err)
		}
		task := safeOn(property.ArgmaxIs(0, 2), property.Box{Lo: []float64{0.78, 0.18}, Hi: []float64{0.82, 0.22}})
		if err := prove.Run(context.Background(), []*engine.Engine{eng}, prove.Config{Method: prove.CLBP}, []property.Task{task}, nil, func(r *claim.Result) error {
			lower[p] = r.Lower()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		eng.Close()
	}
	if lower[post] < 0.999999 || lower[diagonal] > 0.99 {
		t.Errorf("p_lower %v, of the diagonal %v", lower[post], lower[diagonal])
	}
}

// TestSharedAcrossLayers: f = w2 relu(w1 x) - 0.8 with w1 = w2 = 1 + 0.05 g, one g, is positive at x = 1
// with probability 0.98263. Who takes the layers for independent "proves" 0.99333. No method claims more
// than the truth of these weights, as SWAG states them (92b), or as a joint covariance (92c).
func TestSharedAcrossLayers(t *testing.T) {
	const truth = 0.98263
	layers := []posterior.Layer{{Layer: network.DenseLayer(1, 1, network.Activation{Kind: network.ReLU})}, {Layer: network.DenseLayer(1, 1, network.Activation{})}}
	for k := range layers {
		layers[k].Weight.Mean, layers[k].Bias.Mean = []float64{1}, []float64{[]float64{0, -0.8}[k]}
	}
	const column = 0.05 * math.Sqrt2 // of two, which count 1/sqrt(2)
	post, err := posterior.FromSWAG(layers, posterior.ScaleSD, [][]float64{{0}, {0}, {0}, {0}}, 2, [][]float64{{column, 0}, {0, 0}, {column, 0}, {0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	joint, err := posterior.FromJoint(layers, []*posterior.Covariance{{Rank: 1, Factor: []float64{0.05, 0}}, {Rank: 1, Factor: []float64{0.05, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []struct {
		post  *posterior.Posterior
		least float64
	}{{post, 0.926}, {joint, 0.962}} {
		sharedAcrossLayers(t, by.post, truth, by.least)
	}
}

// sharedAcrossLayers: no method claims more than the truth, and clbp at least so much.
func sharedAcrossLayers(t *testing.T, post *posterior.Posterior, truth, least float64) {
	eng, err := engine.New(fallback.New(bound.Float64), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	task := safeOn(property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}, property.Box{Lo: []float64{1}, Hi: []float64{1}})
	drawn, proved := false, 0.0
	for word := range prove.MethodWords() {
		cfg := prove.Config{Method: prove.Method(word), Samples: 2000, Gamma: 1, Confidence: 0.999}
		_ = prove.Run(context.Background(), []*engine.Engine{eng}, cfg, []property.Task{task}, nil, func(r *claim.Result) error {
			if r.Lower() > truth || r.Upper() < truth {
				t.Errorf("%v: P_safe is %v, claimed %v to %v", cfg.Method, truth, r.Lower(), r.Upper())
			}
			if r.Method == "clbp" {
				proved = r.Lower()
			}
			if st := r.Statistic; st != nil {
				if drawn = true; st.Lower > truth || st.Upper < truth {
					t.Errorf("%v: P_safe is %v, drawn %v to %v", cfg.Method, truth, st.Lower, st.Upper)
				}
			}
			return nil
		})
	}
	if !drawn || proved < least {
		t.Errorf("%s: drawn: %v, p_lower %v, want %v", post.Describe(), drawn, proved, least)
	}
}
