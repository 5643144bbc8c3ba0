package gauss

import (
	"math"
	"testing"

	"psafe/internal/testkit/oracle"
)

// TestNormalBins compares the bounds for a Normal with 400-bit probabilities of
// members of it, with no tolerance; where the intervals are points they are tight.
func TestNormalBins(t *testing.T) {
	r := newRand(t, 41)
	for trial := range cases(t, 60) {
		mean, sd := 3*r.NormFloat64(), math.Exp(2*r.NormFloat64())
		n := Normal{mean, mean, sd, sd}
		wide := trial%2 == 0
		if wide {
			n = Normal{mean - 0.1*sd*r.Float64(), mean + 0.1*sd, sd * 0.9, sd * (1 + r.Float64())}
		}
		nodes := []float64{mean - 9*sd*r.Float64()}
		for range 6 {
			nodes = append(nodes, nodes[len(nodes)-1]+3*sd*r.Float64()*r.Float64())
		}
		members := []Normal{{mean, mean, sd, sd}, {n.MeanLo, n.MeanLo, n.SdLo, n.SdLo}, {n.MeanHi, n.MeanHi, n.SdHi, n.SdHi}, {n.MeanLo, n.MeanLo, n.SdHi, n.SdHi}, {n.MeanHi, n.MeanHi, n.SdLo, n.SdLo}}
		bins := n.BinsUp(nodes)
		for _, m := range members {
			for k, p := range bins {
				truth := oracle.Interval(nodes[k], nodes[k+1], m.MeanLo, m.SdLo)
				if !isUpper(bigOf(p), truth) {
					t.Errorf("%+v in [%x, %x]: %x is below member %+v", n, nodes[k], nodes[k+1], p, m)
				}
				if f, _ := truth.Float64(); !wide && p > f*(1+1e-9)+1e-13 {
					t.Errorf("%+v in [%x, %x]: %v is loose, truth %v", n, nodes[k], nodes[k+1], p, f)
				}
			}
			for _, x := range nodes {
				under := oracle.Interval(math.Inf(-1), x, m.MeanLo, m.SdLo)
				over := oracle.Interval(x, math.Inf(1), m.MeanLo, m.SdLo)
				if !isUpper(bigOf(n.BelowUp(x)), under) || !isUpper(bigOf(n.AboveUp(x)), over) {
					t.Errorf("%+v at %x: [%x, %x] is below member %+v", n, x, n.BelowUp(x), n.AboveUp(x), m)
				}
				if f, _ := under.Float64(); !wide && n.BelowUp(x) > f*(1+1e-9) {
					t.Errorf("%+v below %x: %v is loose, truth %v", n, x, n.BelowUp(x), f)
				}
			}
		}
	}
}

// TestNormalConstant: without spread there are atoms, which closed intervals hold.
func TestNormalConstant(t *testing.T) {
	c := Normal{2, 2, 0, 0}
	if c.BelowUp(2) != 1 || c.AboveUp(2) != 1 || c.BelowUp(1.5) != 0 || c.AboveUp(2.5) != 0 {
		t.Error("a constant is where it is")
	}
	nan := math.NaN()
	for _, n := range []Normal{{nan, 0, 1, 1}, {0, nan, 1, 1}, {0, 0, nan, 1}, {0, 0, 1, nan}, {0, 0, 0, 1}} {
		if n.BelowUp(-3) != 1 || n.BinsUp([]float64{3, 4})[0] != 1 {
			t.Errorf("%+v is not answered with 1", n)
		}
	}
	one := Normal{0, 0, 1, 1}
	if one.BelowUp(nan) != 1 || one.BinsUp([]float64{nan, nan})[0] != 1 {
		t.Error("NaN is not answered with 1")
	}
}
