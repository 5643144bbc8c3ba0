package law

import (
	"math"
	"testing"

	"psafe/host/arith"
	"psafe/internal/testkit/checktest"
)

func TestChance(t *testing.T) {
	up17 := math.Nextafter(1, 2)
	for _, c := range []struct {
		fail      float64
		reached   []float64
		unreached []float64
		log10     []float64
		notLog10  []float64
	}{
		{0.25, []float64{0, 0.5, 0.75}, []float64{math.Nextafter(0.75, 1), 1}, []float64{-1, -0.1249387366083}, []float64{-0.1249387366082, 0}},
		{0, []float64{1}, []float64{up17}, []float64{-1, 0}, []float64{1e-300}},
		{1, []float64{0}, []float64{5e-324}, nil, []float64{-1e9}},
		{1e-20, []float64{1 - 0x1p-53}, []float64{1}, []float64{-4.342944819032519e-21, -1}, []float64{-4.3429448190325181e-21, -1e-22, 0}},
		{5e-324, []float64{1 - 0x1p-53}, []float64{1}, []float64{-1e-323}, []float64{0}},
	} {
		of := Complement(c.fail)
		for _, p := range c.reached {
			if !of.Reaches(checktest.Exactly(p)) {
				t.Errorf("1-%v does not reach %v", c.fail, p)
			}
		}
		for _, p := range c.unreached {
			if of.Reaches(checktest.Exactly(p)) {
				t.Errorf("1-%v reaches %v", c.fail, p)
			}
		}
		for _, l := range c.log10 {
			if !of.ReachesLog10(checktest.Exactly(l)) {
				t.Errorf("1-%v does not reach 10^%v", c.fail, l)
			}
		}
		for _, l := range c.notLog10 {
			if of.ReachesLog10(checktest.Exactly(l)) {
				t.Errorf("1-%v reaches 10^%v", c.fail, l)
			}
		}
	}
	for _, none := range []Chance{{}, {X: arith.NewBig()}, {X: arith.NewBig(), Y: arith.BigUnit}} {
		if none.Reaches(checktest.Exactly(5e-324)) || none.ReachesLog10(checktest.Exactly(-1e300)) || none.Float() != 0 {
			t.Errorf("%v claims something", none)
		}
	}
	tiny := Chance{X: arith.NewBig().SetMantExp(arith.BigUnit, -18085)} // 10^-5444.1
	if !tiny.ReachesLog10(checktest.Exactly(-5445)) || tiny.ReachesLog10(checktest.Exactly(-5444)) {
		t.Errorf("2^-18085 is about 10^%v", tiny.Log10Approx())
	}
}
