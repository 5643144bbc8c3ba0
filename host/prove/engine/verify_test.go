package engine_test

import (
	"math"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
)

// TestVerify: f(x) = w x on {1} and {2}: each box of w has a margin of its own, the least over both.
func TestVerify(t *testing.T) {
	one := func(mean, sd float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{sd}, posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: one(1, 1), Bias: one(0, 0)}}}
	at := func(x float64) property.Box { return property.Box{Lo: []float64{x}, Hi: []float64{x}} }
	task := &property.Task{T: []property.Box{at(1), at(2)}, S: property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}, D: -0.5, DHi: -0.5}}, Any: [][]int{{0}}}}
	var boxes []bound.Explicit
	var want []float64
	for _, w := range [][2]float64{{1, 1}, {-2, -1}, {3, 4}, {0.25, 9}, {-0.5, 3}} {
		boxes = append(boxes, bound.Explicit{Lo: [][]float64{{w[0]}, {0}}, Hi: [][]float64{{w[1]}, {0}}})
		want = append(want, min(w[0], 2*w[0])-0.5)
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		e, err := engine.New(fallback.New(p), nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []bound.Propagation{bound.IBP, bound.LBP} {
			got, err := e.Verify(t.Context(), by, task, boxes)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] > want[i] || math.Abs(got[i]-want[i]) > 1e-4 {
					t.Errorf("%v %v box %d: margin %v, want %v", p, by, i, got[i], want[i])
				}
			}
		}
		e.Close()
	}
}
