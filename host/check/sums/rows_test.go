package sums

import (
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// TestSumsOfRows: what rows fail by is added. An output that is N(0, 1) leaves [-1, 1] on
// either side with probability 0.1587, so the bound must not be below both together.
func TestSumsOfRows(t *testing.T) {
	certain := func(mean float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{0}, posterior.ScaleSD)
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(1, 1, net.Activation{Kind: net.ReLU}), Weight: certain(0), Bias: certain(1)},
		{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: posterior.NewParams([]float64{0}, []float64{1}, posterior.ScaleSD), Bias: certain(0)},
	}}
	safe, _, err := property.ParseSpec("output_box:[-1,1]", 1)
	if err != nil {
		t.Fatal(err)
	}
	point := property.Box{Lo: []float64{0.5}, Hi: []float64{0.5}}
	task := &property.Task{T: []property.Box{point}, Inner: []property.Box{point}, S: safe}
	fail, err := failUp(t, post, task.T, &task.S, anyFail)
	if err != nil || fail < 0.31731 || fail > 0.33 {
		t.Errorf("the output is outside with probability 0.31731, bounded by %v, %v", fail, err)
	}
}

// TestSumsSides: a value that is 1 in one bound and 2 in the other, and a row that holds by 1/2 or
// fails by 1/2 as it is the one or the other. A weight of 1 counts with the low end, one of -1 with
// the high end, so that both rows fail.
func TestSumsSides(t *testing.T) {
	h := []*standIn{{low: atoms{x: []float64{1}, p: []float64{1}}, high: atoms{x: []float64{2}, p: []float64{1}}}}
	for _, a := range []float64{1, -1} {
		weight := factor{a: normalVar{mean: arith.Exactly(a), sd: arith.Exactly(0)}}
		side := &weight.pos
		if a < 0 {
			side = &weight.neg
		}
		side.add(a, a, 1)
		rest := normalVar{mean: arith.Exactly(-1.5 * a), sd: arith.Exactly(0x1p-10)}
		if p := sumUpTo0(h, []factor{weight}, rest); p < 1 {
			t.Errorf("weight %v: fails with probability %v at most, it always does", a, p)
		}
		h[0].low, h[0].high = h[0].high, h[0].low // not what they are called, and so it never fails
		if p := sumUpTo0(h, []factor{weight}, rest); p > 1e-9 {
			t.Errorf("weight %v: fails with probability %v, it never does", a, p)
		}
		h[0].low, h[0].high = h[0].high, h[0].low
	}
}
