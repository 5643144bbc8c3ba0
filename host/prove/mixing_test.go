package prove

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// TestMixingNeverLoses: with mixtures no bound is below that without, and where it is the same it
// is shown in the same way.
func TestMixingNeverLoses(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	more := 0
	for range max(20, testscale.Cases(t, 40)) {
		post := provetest.RandomNet(r, network.ReLU, 2, 6, 4)
		for _, g := range post.Params() {
			for e := range g.SdHi {
				g.SdLo[e], g.SdHi[e] = 0.03, 0.03
				g.Spread[e] = 0.03
			}
		}
		e, err := engine.New(fallback.New(bound.Float32), nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		var tasks []property.Task
		for i := range 6 {
			s := property.ArgmaxIsNever(r.IntN(4), 4)
			if i%3 == 0 {
				s = property.ArgmaxIs(r.IntN(4), 4) // which has no mixtures
			}
			tasks = append(tasks, property.Task{Label: -1, T: []property.Box{provetest.BoxAround([]float64{r.NormFloat64(), r.NormFloat64()}, 0.3)}, S: s})
		}
		cfg := Config{Method: CLBP, Cells: 3}
		own, err := byCLBP(t.Context(), e, cfg, tasks)
		if err != nil {
			t.Fatal(err)
		}
		with, err := withMixtures(byCLBP)(t.Context(), e, cfg, tasks)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tasks {
			a, b := own[i], with[i]
			switch {
			case i%3 == 0 && (b.LogP != a.LogP || b.Proof.Mixtures != nil):
				t.Errorf("a conjunction: %v with mixtures, %v without", b.LogP, a.LogP)
			case b.Lower() < a.Lower() || b.LogP < a.LogP:
				t.Errorf("%v with mixtures, %v without", b.LogP, a.LogP)
			case b.LogP > a.LogP:
				more++
				if b.Proof.Mixtures == nil {
					t.Errorf("%v with mixtures, %v without, and none is named", b.LogP, a.LogP)
				}
			case b.Proof.Mixtures != nil:
				t.Error("mixtures that gain nothing")
			}
			if b.Task != &tasks[i] {
				t.Error("a result of another task")
			}
		}
		e.Close()
	}
	t.Logf("%d bounds gained", more)
	if more == 0 {
		t.Error("nothing was gained")
	}
}
