package noise

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestOnTop: of posteriors that are random in their last layer alone, with any covariance, what certify
// claims is proved again, and as many drawn networks as can be are within the bounds of both.
func TestOnTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	lower, upper, dependent := 0, 0, 0
	for i := range testscale.Costly(t, 900) {
		act := checktest.Activations[i%len(checktest.Activations)]
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {2, 3}, {1, 6, 2}}[rng.IntN(4)]
		post := sumtest.RandomOnTop(rng, act, []float64{0.03, 0.1, 0.3}[rng.IntN(3)], sizes...)
		task := checktest.RandomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
		r := checktest.Certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, 400)
		if up {
			upper++
		}
		if low {
			lower++
		}
		if low && post.Kind == posterior.KindCorrelated {
			dependent++
		}
	}
	t.Logf("%d lower bounds, %d of them of weights that depend on each other, %d upper", lower, dependent, upper)
	if !testing.Short() && (dependent == 0 || upper == 0) {
		t.Error("nothing was tested")
	}
}

// TestOnTopBySlopes: where nothing but the last layer is random, nothing below can fail, and certify tries other
// lower slopes at a budget that costs nothing. On [-1, 1] of max(x + 0.1, 0) - 0.45 x the best one shows -0.34, the usual one
// -0.45, with a deviation of 0.1.
func TestOnTopBySlopes(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 5)), net.Activation{Kind: net.ReLU}, 0, 1, 2, 1)
	for k, of := range [][2][]float64{{{1, 1}, {0.1, 3}}, {{1, -0.45}, {1.9}}} {
		l := &post.Layers[k]
		l.Weight = posterior.NewParams(of[0], make([]float64, 2), posterior.ScaleSD)
		l.Bias = posterior.NewParams(of[1], make([]float64, len(of[1])), posterior.ScaleSD)
	}
	top := &post.Layers[1]
	top.Weight = posterior.NewParams(top.Weight.Mean, []float64{0, 0.01}, posterior.ScaleSD)
	top.Bias = posterior.NewParams(top.Bias.Mean, []float64{0.1}, posterior.ScaleSD)
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}}
	box := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 1}, []property.Task{task})[0]
	if fail := 1 - r.Lower(); fail > 0.0257 {
		t.Errorf("fails %v with a budget of %v", fail, r.Tau)
	}
	againstDraws(t, 0, post, &task, r, 400)
}

// TestOnTopOfDepth: --depth is for rows of hidden layers that noise meets, and not for what is below all noise.
func TestOnTopOfDepth(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 6)), net.Activation{Kind: net.ReLU}, 0, 2, 4, 4, 4, 2)
	top := &post.Layers[3].Weight
	top.SdLo[0], top.SdHi[0] = 0.1, 0.1
	n, err := New(post)
	if err != nil {
		t.Fatal(err)
	}
	box := property.Box{Lo: []float64{-1, -1}, Hi: []float64{1, 1}}
	row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
	s := property.Safe{Rows: []property.Row{row, row.Negated()}}
	all, _ := n.TopPass(box, 0).Laws(&s)
	n.Graph.Depth = 1
	if laws, _ := n.TopPass(box, 0).Laws(&s); !reflect.DeepEqual(laws, all) {
		t.Errorf("laws of rows depend on --depth")
	}
}

// TestForgedOnTop: a record cannot claim more of such a posterior, nor a budget that is for other
// weights.
func TestForgedOnTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	for range 20 {
		post := sumtest.RandomOnTop(rng, checktest.Activations[0], 0.1, 2, 4, 3)
		if post.Independent() {
			continue
		}
		task := checktest.RandomTask(rng, post, 0)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := n.FailUp(t.Context(), &task, nil, []float64{0}, checktest.AtMost(0))
		other, err2 := n.FailUp(t.Context(), &task, nil, []float64{1e-3}, checktest.AtMost(0))
		if err != nil || err2 != nil || other < fail {
			t.Errorf("fails %v, with a budget %v: %v, %v", fail, other, err, err2)
		}
	}
}
