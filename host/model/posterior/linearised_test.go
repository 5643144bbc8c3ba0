package posterior

import (
	"math"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
)

// TestDrawLinearised: drawn functions are the mean network and its derivative in the direction of drawn weights,
// which differences of networks give.
func TestDrawLinearised(t *testing.T) {
	about := random(ScaleSD)
	for k := range len(about.Layers) - 1 {
		about.Layers[k].Activation = network.Activation{Kind: network.ReLU}
	}
	post, err := about.Linearised()
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, about.Inputs())
	for j := range x {
		x[j] = math.Sin(float64(j + 1))
	}
	w, mean := about.NewWeights(), about.Mean()
	for i := range 5 {
		about.Draw(7, i, w)
		const step = 1e-6
		for a := range w {
			for e := range w[a] {
				w[a][e] = mean[a][e] + step*(w[a][e]-mean[a][e])
			}
		}
		base, moved, got := about.LogitsApprox(x), about.Network().OutputsApprox(w, x), post.DrawLinearised(7, i)(x)
		for o := range got {
			if want := base[o] + (moved[o]-base[o])/step; math.Abs(got[o]-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("draw %d: output %d is %v, want %v", i, o, got[o], want)
			}
		}
	}
}

// TestLinearised: what is linearised and what is not, and that nobody takes it for networks.
func TestLinearised(t *testing.T) {
	top, err := correlated(&Covariance{Rank: 1, Factor: []float64{1, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := top.Linearised(); err != nil || same != top {
		t.Errorf("the last layer alone is linear in its weights: %v", err)
	}
	factor := &Covariance{Rank: 1, Factor: []float64{1, 1, 1}}
	joint, err := jointly(factor, &Covariance{Rank: 1, Factor: []float64{1, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	post, err := joint.Linearised()
	if err != nil {
		t.Fatal(err)
	}
	if post.Independent() || post.Joint() != nil || post.About() != joint || post.OnTop() == nil || post.RequireRows() != nil || post.Networks() != nil {
		t.Error("it is taken for something else")
	}
	if !slices.Equal(slices.Concat(post.SDApprox()...), slices.Concat(joint.SDApprox()...)) || post.ScaleList() != joint.ScaleList() {
		t.Error("its deviations are others")
	}
	want := "this posterior is the linearised predictive of normal weights with one covariance of all layers, of rank 1"
	for _, err := range []error{post.RequireIndependent(), post.RequireNetworks()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	if _, err := ParseKind(post.Kind.String()); err == nil {
		t.Error("files may have that kind")
	}
	post.Kind = KindJoint
	if post.Validate() == nil {
		t.Error("taken for networks")
	}
	bent := *joint
	bent.Layers = slices.Clone(joint.Layers)
	bent.Layers[0].Activation = network.Activation{Kind: network.Tanh}
	for want, p := range map[string]*Posterior{
		"layer 0 has activation tanh": &bent, "SWAG of rank 3: normal weights are": someSWAG(t, ScaleSD), "dropout": someDropout(t), "samples": someSamples(t),
	} {
		if _, err := p.Linearised(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
