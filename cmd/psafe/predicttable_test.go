package main

import (
	"strings"
	"testing"

	"psafe/host/job/certify"
)

// TestPredictionTable: on a terminal a prediction is its class, how clear it is, and whether it is
// the label.
func TestPredictionTable(t *testing.T) {
	drawn := &certify.Predictive{Shares: []float64{0, 0.25, 0.75}, Mean: []float64{1.5}, SD: []float64{0.125}}
	for _, c := range []struct {
		p    certify.Prediction
		want string
	}{
		{certify.Prediction{Index: 7, Class: new(1), Logits: []float64{-2, 3.25, 3}},
			"  index  class       logit  next      margin\n      7      1        3.25     2        0.25\n"},
		{certify.Prediction{Index: 8, Class: new(2), Label: new(0), Logits: []float64{1, -2, 3}, Approx: drawn},
			"  index  class  label       logit  next      margin  approx_share\n      8      2      0           3     0           2          0.75  not the label\n"},
		{certify.Prediction{Index: 9, Logits: []float64{1.25}, Approx: drawn},
			"  index      output approx_mean   approx_sd\n      9        1.25         1.5       0.125\n"},
	} {
		var b strings.Builder
		if err := printPrediction(&b, &c.p, true); err != nil || b.String() != c.want {
			t.Errorf("%v:\n%swant\n%s", err, b.String(), c.want)
		}
	}
}
