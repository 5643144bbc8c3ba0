package clbp

import (
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// noisy is a network with one hidden layer of ReLU, some noise, and two inputs.
func noisy(hidden, bias, out []float64) *posterior.Posterior {
	params := func(mean []float64) posterior.Params {
		sd := make([]float64, len(mean))
		for i := range sd {
			sd[i] = 0.001
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	n := len(out)
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: network.DenseLayer(2, n, network.Activation{Kind: network.ReLU}), Weight: params(hidden), Bias: params(bias)},
		{Layer: network.DenseLayer(n, 1, network.Activation{}), Weight: params(out), Bias: params([]float64{0})},
	}}
}

// larger is y = |x_0 + x_1| + |x_0 - x_1| = 2 max(|x_0|, |x_1|), and tent is x_0 + 2 + 2 max(1 - |x_1|, 0), which
// is the same at x_1 and -x_1.
func larger() *posterior.Posterior {
	return noisy([]float64{1, -1, 1, -1, 1, -1, -1, 1}, make([]float64, 4), []float64{1, 1, 1, 1})
}

func tent() *posterior.Posterior {
	return noisy([]float64{1, 0, 0, 0, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1}, []float64{2, 1, -1, -1, 1, 0, 0}, []float64{1, 1, 1, 1, 1, -2, -2})
}

// atMost is the task y_0 <= a on [-2, 2]^2, in n x n boxes.
func atMost(a float64, n int) property.Task {
	t := provetest.AtLeast(0)
	t.S.Rows[0] = property.Row{CLo: []float64{-1}, CHi: []float64{-1}, D: a, DHi: a}
	t.T, t.Inner = nil, nil
	at := func(i int) float64 { return -2 + 4*float64(i)/float64(n) }
	for i := range n * n {
		t.T = append(t.T, property.Box{Lo: []float64{at(i / n), at(i % n)}, Hi: []float64{at(i/n + 1), at(i%n + 1)}})
	}
	return t
}

// TestManyBoxes: where T has more boxes than are cut unasked, those of which nothing is shown are cut all
// the same; a cell that is asked for is as much as may be; and a network that gives the same at both ends
// of a coordinate is not taken for flat.
func TestManyBoxes(t *testing.T) {
	for _, c := range []struct {
		name         string
		post         *posterior.Posterior
		asked, boxes int
		most         float64
		shown        bool
	}{
		{"144 boxes", larger(), 0, 12, 4.1, true},
		{"144 boxes, as many cells", larger(), 144, 12, 4.1, false},
		{"144 boxes, a few more", larger(), 150, 12, 4.1, false},
		{"one box", tent(), 0, 1, 6.3, true},
		{"one box, two cells", tent(), 2, 1, 6.3, false},
		{"not so", larger(), 0, 12, 3.5, false},
	} {
		e, err := engine.New(fallback.New(bound.Float32), nil, c.post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		list, err := Certify(t.Context(), e, c.asked, []property.Task{atMost(c.most, c.boxes)})
		if err != nil {
			t.Fatal(err)
		}
		r := list[0]
		if (r.Lower() > 0.99) != c.shown || !c.shown && r.Lower() > 0 {
			t.Errorf("%s: p_lower %v in %d cells", c.name, r.Lower(), r.Cells)
		}
		leaves := 0
		for _, axis := range r.Proof.Cells {
			if axis == claim.Leaf {
				leaves++
			}
		}
		if most := MostCells(e, c.asked, c.boxes*c.boxes); r.Cells > most || c.shown && leaves != r.Cells {
			t.Errorf("%s: %d cells, the proof has %d, and there may be %d", c.name, r.Cells, leaves, most)
		}
	}
}

// TestCellsThatThereAre: what a box was cut into before counts, so that there are never more cells than asked for.
func TestCellsThatThereAre(t *testing.T) {
	e, err := engine.New(fallback.New(bound.Float32), nil, tent(), 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for asked, want := range map[int]bool{3: false, 4: true} {
		task := atMost(6.3, 1)
		m := method{e: e, even: true}
		cut, open := &cell{task: &task, box: task.T[0], fail: 1}, &cell{task: &task, box: task.T[0], fail: 1}
		m.halve(e.Normal.Network(), e.Normal.Mean(), cut)
		for _, p := range cut.parts {
			p.fail = 0
		}
		if err := of(e).prepareNoise(); err != nil {
			t.Fatal(err)
		}
		if err := m.refine(t.Context(), asked, [][]*cell{{cut, open}}); err != nil {
			t.Fatal(err)
		}
		if got := len(open.parts) > 0; got != want {
			t.Errorf("of 3 cells, with %d asked for, one is cut: %v", asked, got)
		}
	}
}
