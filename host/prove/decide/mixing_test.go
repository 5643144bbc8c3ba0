package decide

import (
	"context"
	"math"
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

// TestRefinedMargins: what is proved of a cell with chosen rows and slopes is at most the least
// margin on a grid, for conjunctions, disjunctions and sets with several clauses of several rows, in
// both formats and with several cells in a batch; and often more than without.
func TestRefinedMargins(t *testing.T) {
	r := rand.New(rand.NewPCG(164, 1))
	better, cells := 0, 0
	for round := range testscale.Cases(t, 200) {
		post := provetest.RandomNet(r, network.ReLU, 2, 7, 6, 3)
		e, err := engine.New(fallback.New(bound.Precision(round%2)), nil, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		safe := []property.Safe{property.ArgmaxIs(r.IntN(3), 3), property.ArgmaxIsNever(r.IntN(3), 3), {
			Rows: append(property.ArgmaxIs(0, 3).Rows, property.ArgmaxIs(1, 3).Rows...), Any: [][]int{{0, 1}, {2, 3}, {1, 2}},
		}}[round%3]
		task := property.Task{S: safe}
		d := &decision{e: e, nets: []drawn{meansOf(post)}, tasks: []property.Task{task}}
		var qs, asked []*question
		for range 1 + r.IntN(5) {
			x, w := []float64{r.NormFloat64(), r.NormFloat64()}, 0.7*r.Float64()
			box := property.Box{Lo: x, Hi: []float64{x[0] + w, x[1] + w*r.Float64()}}
			qs = append(qs, &question{box: box, rows: safe.Rows, of: &safe, clauses: safe.Clauses()})
		}
		if err := d.ask(context.Background(), bound.LBP, append(asked, qs...)); err != nil {
			t.Fatal(err)
		}
		e.Close()
		for _, q := range qs {
			least, where := gridLeast(post.Network(), meansOf(post), &safe, q.box)
			if q.margin > least+1e-9 {
				t.Errorf("round %d: %v is proved, at %v the margin is %v", round, q.margin, where, least)
			}
			cells++
			if q.margin > safe.MarginLo(q.lo)+1e-4 {
				better++
			}
		}
	}
	if t.Logf("better on %d of %d", better, cells); better < cells/8 {
		t.Errorf("better on %d of %d cells only", better, cells)
	}
}

// TestRefinedSlopes: rows are bounded from below whatever slopes are asked for, with weight boxes
// that have a width; slopes that are none count as 0.
func TestRefinedSlopes(t *testing.T) {
	r := rand.New(rand.NewPCG(165, 1))
	for round := range testscale.Cases(t, 100) {
		post := provetest.RandomNet(r, network.ReLU, 3, 6, 5, 4, 2)
		p := bound.Precision(round % 2)
		e, err := engine.New(fallback.New(p), nil, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		const items = 4
		slopes := func(n int) (list []float64) {
			for range n {
				list = append(list, p.Nearest([]float64{0, 1, r.Float64(), 1 + r.Float64(), -r.Float64(), 1e30}[r.IntN(6)]))
			}
			return list
		}
		row := property.ArgmaxIs(0, 2).Rows
		more := &bound.Refinement{Rows: [][]property.Row{row, nil, row, row}, Slope: [][]float64{slopes(6 * items), slopes(5 * items), slopes(4 * items)}}
		var boxes []property.Box
		for range items {
			x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			boxes = append(boxes, property.Box{Lo: x, Hi: []float64{x[0] + r.Float64(), x[1] + 0.2, x[2]}})
		}
		box := bound.Enclose(meansOf(post), p)
		for k := range box.Lo {
			for j := range box.Lo[k] {
				box.Hi[k][j] = p.RoundHi(box.Hi[k][j] + 0.01*float64(round%3))
			}
		}
		got := refinedBounds(t, e.Model, box, boxes, row, more)
		e.Close()
		for i, b := range boxes {
			if i == 1 {
				continue // its rows are none
			}
			least := math.Inf(1)
			for range 300 {
				w := meansOf(post)
				for k := range w {
					for j := range w[k] {
						w[k][j] = box.Lo[k][j] + float64(r.IntN(2))*(box.Hi[k][j]-box.Lo[k][j])
					}
				}
				x := make([]float64, 3)
				for j := range x {
					x[j] = b.Lo[j] + r.Float64()*(b.Hi[j]-b.Lo[j])
				}
				y := post.Network().OutputsApprox(w, x)
				least = min(least, y[0]-y[1])
			}
			if !(got[i] <= least+1e-9) || !(got[i] > -1e6) {
				t.Errorf("round %d: item %d is bounded by %v, the least that was seen is %v", round, i, got[i], least)
			}
		}
	}
}

// refinedBounds propagates boxes with one weight box and returns what is proved of more.
func refinedBounds(t *testing.T, m *bound.Model, box bound.Explicit, regions []property.Box, row []property.Row, more *bound.Refinement) []float64 {
	t.Helper()
	weights, err := m.Upload([]bound.Explicit{box})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseBoxes(weights)
	rows := make([][]property.Row, len(regions))
	for i := range rows {
		rows[i] = row
	}
	in, dr, release, err := engine.Upload(m, regions, rows)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	n := len(regions)
	got, err := m.Propagate(bound.Query{Propagation: bound.LBP, Boxes: weights, Inputs: in, Rows: dr, Batch: bound.Batch{Items: n, PerBox: n, Inputs: n},
		Refine: func(*bound.Margins) *bound.Refinement { return more }})
	if err != nil {
		t.Fatal(err)
	}
	return got.Refined
}

// TestMixturesAreFound: of rows that are 1 + x and 1 - x up to noise, the mixture that is found does
// not depend on x; of rows that cannot be finite none is.
func TestMixturesAreFound(t *testing.T) {
	theta := []float64{1, 0}
	for rate := mixRate; rate > 0.05; rate *= mixDecay { // each row is least where it is mixed most
		rows := []float64{1 - (theta[0] - theta[1]), 1 + (theta[0] - theta[1])}
		stepTheta(theta, rows, rate)
	}
	if sum := theta[0] + theta[1]; math.Abs(sum-1) > 1e-12 || theta[0] < 0 || theta[1] < 0 {
		t.Errorf("factors %v", theta)
	}
	for _, v := range [][]float64{{3, 1, 0.5}, {-1, -2, 0}, {0.2, 0.3, 0.5}, {9, 9, 9}} {
		ontoSimplex(v)
		sum := 0.0
		for _, x := range v {
			if sum += x; x < 0 {
				t.Errorf("%v", v)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("%v has the sum %v", v, sum)
		}
	}
}
