package neuronsum

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// shared returns a path under the folder of real posteriors, which is not part of
// this repository: PSAFE_SHARED, or "shared" beside it.
func shared(t *testing.T, elem ...string) string {
	root := os.Getenv("PSAFE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data are absent (set PSAFE_SHARED): %v", err)
	}
	if testing.Short() {
		t.Skip("real posteriors take long: not with -short")
	}
	return path
}

// released reads a posterior of the 2020 paper, spreads as standard deviations.
func released(t *testing.T, name string) *posterior.Posterior {
	p, err := format.Read(shared(t, "data", "uai2020", name), format.Options{
		Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSumRegression: the regression example of the 2020 paper (1-128-1, y =
// x^3), output within 5 of 0 for inputs within 0.2: sampling puts P_safe at 0.999,
// and one cell proves 0.998.
func TestSumRegression(t *testing.T) {
	n, err := New(released(t, "VIMODEL_128_relu.net.npz"))
	if err != nil {
		t.Fatal(err)
	}
	row := func(c float64) property.Row { return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: 5, DHi: 5} }
	s := &property.Safe{Rows: []property.Row{row(1), row(-1)}, Any: [][]int{{0, 1}}}
	start := time.Now()
	cover, err := n.Cover(context.Background(), []property.Box{sumtest.Interval(-0.2, 0.2)}, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	safe, _ := n.SafeUp(sumtest.Interval(-0.2, -0.2), s)
	t.Logf("p_lower %v with %d cells, p_upper at an end %v: %v", 1-cover.FailUp, cover.Cells, safe, time.Since(start))
	if 1-cover.FailUp < 0.998 || 1-cover.FailUp > 0.9995 || safe < 1-cover.FailUp {
		t.Errorf("p_lower %v, p_upper %v", 1-cover.FailUp, safe)
	}
}

// TestSumVCAS: the airborne collision network of the 2020 paper, spreads read as
// standard deviations as in its results: phi_1 (the paper prints 0.97) is nearly
// never true already at one point.
func TestSumVCAS(t *testing.T) {
	post := released(t, "VCAS_MODEL_512.net")
	tasks, err := property.ReadFile(shared(t, "data", "uai2020", "vcas_properties.json"), post.Outputs())
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	phi1 := &tasks[0]
	for _, i := range testscale.Few(t, []int{0, 1, 2}, 1) {
		b := phi1.T[i]
		start, x := time.Now(), n.PointApprox(b, &phi1.S)
		up, _ := n.SafeUp(property.Box{Lo: x, Hi: x}, &phi1.S)
		t.Logf("p_upper %v at %v: %v", up, x, time.Since(start))
		if most := []float64{0.06, 0.12, 1e-5}[i]; up > most {
			t.Errorf("box %d: p_upper %v, must be at most %v", i, up, most)
		}
	}
}
