package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestSettled: leaving out the rows of units that are never positive changes no bit of any other bound, nor
// of margins and their noise, by weight boxes and by concentration LBP, over whole maps and by windows,
// however rows are cut.
func TestSettled(t *testing.T) {
	left := 0
	for i := range testscale.Cases(t, 200/testscale.By(t, 2)) {
		r := rand.New(rand.NewPCG(31, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(4), Spread: 0.05, Outputs: 2, Side: 3 + r.IntN(4)})
		a, numbers, windows := askOf(r, post), 1<<(8+r.IntN(8)), []float64{0, math.Inf(1)}[r.IntN(2)]
		findings := func(prepare func(m *bound.Model)) (all []finding) {
			dev := fallback.New(bound.Float64)
			m, err := bound.NewModelCut(dev, post, 3, 0, numbers, windows)
			check(t, err)
			defer m.Release()
			prepare(m)
			observe := func(what string, layer int, x bound.Array) error {
				v, err := bound.ReadAll(dev, x)
				for _, v := range v {
					if what == "pre.lo" || what == "pre.hi" || what == "radius" || what == "margin.lbp" || what == "margin.ibp" {
						all = append(all, finding{what, layer, v})
					}
				}
				return err
			}
			a.boxesCut(t, m, observe)
			a.noiseCut(t, m, observe, func(what string, level int, v []float64) {
				for _, v := range v {
					all = append(all, finding{what, level, v})
				}
			})
			return all
		}
		got, want := findings(func(*bound.Model) {}), findings((*bound.Model).KeepSettled)
		if len(got) != len(want) {
			t.Fatalf("network %d: %d numbers, not %d", i, len(got), len(want))
		}
		for j, x := range want {
			switch relu := x.what == "pre.lo" || x.what == "pre.hi"; {
			case got[j].v == x.v:
			case relu && got[j].v <= 0 && x.v <= 0 && (x.what == "pre.lo") == (got[j].v <= x.v):
				left++ // max(t, 0) of it is the same; a looser end
			default:
				t.Fatalf("network %d: %s %d is %v, not %v", i, x.what, x.layer, got[j].v, x.v)
			}
		}
	}
	if left == 0 {
		t.Error("nothing was left out")
	}
}
