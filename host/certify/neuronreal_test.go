package certify_test

import (
	"context"
	"testing"
	"time"

	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
)

// TestNeuronSumRegression: the regression example of the 2020 paper (1-128-1, y =
// x^3), output within 5 of 0 for inputs within 0.2: sampling puts P_safe at 0.999,
// and one cell proves 0.998.
func TestNeuronSumRegression(t *testing.T) {
	n, err := certify.NewNeuronSum(released(t, "VIMODEL_128_relu.net.npz"))
	if err != nil {
		t.Fatal(err)
	}
	row := func(c float64) property.Row { return property.Row{CLo: []float64{c}, CHi: []float64{c}, D: 5} }
	s := &property.Safe{Rows: []property.Row{row(1), row(-1)}, Any: [][]int{{0, 1}}}
	start := time.Now()
	cover, err := n.Cover(context.Background(), []property.Box{interval(-0.2, 0.2)}, s, 1)
	if err != nil {
		t.Fatal(err)
	}
	safe := n.SafeUp(interval(-0.2, -0.2), s)
	t.Logf("p_lower %v with %d cells, p_upper at an end %v: %v", 1-cover.FailUp, cover.Cells, safe, time.Since(start))
	if 1-cover.FailUp < 0.998 || 1-cover.FailUp > 0.9995 || safe < 1-cover.FailUp {
		t.Errorf("p_lower %v, p_upper %v", 1-cover.FailUp, safe)
	}
}

// TestNeuronSumVCAS: the airborne collision network of the 2020 paper with standard
// deviations softplus(rho): advisory 1 is not the largest with probability above
// 1/2 already at single points of the boxes of phi_1 (the paper prints 0.97).
func TestNeuronSumVCAS(t *testing.T) {
	post, err := posterior.Read(shared(t, "data", "uai2020", "VCAS_MODEL_512.net"), posterior.Options{
		Scale: posterior.ScaleSoftplus, Activations: []posterior.Activation{{Kind: posterior.ReLU}}})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := property.ReadFile(shared(t, "data", "uai2020", "vcas_properties.json"), post.Outputs())
	if err != nil {
		t.Fatal(err)
	}
	n, err := certify.NewNeuronSum(post)
	if err != nil {
		t.Fatal(err)
	}
	phi1 := &tasks[0]
	least := 1.0
	for _, b := range phi1.T {
		start, x := time.Now(), n.PointApprox(b, &phi1.S)
		up := n.SafeUp(property.Box{Lo: x, Hi: x}, &phi1.S)
		t.Logf("p_upper %v at %v: %v", up, x, time.Since(start))
		least = min(least, up)
	}
	if least > vcasUpper {
		t.Errorf("p_upper %v, must be at most %v", least, vcasUpper)
	}
}

const vcasUpper = 0.6
