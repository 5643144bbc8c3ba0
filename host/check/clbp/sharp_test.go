package clbp

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestSharpHolds: with sharper bounds of hidden neurons, too, drawn networks are unsafe no more
// often than is said.
func TestSharpHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 8))
	said := 0
	for i := range testscale.Cases(t, 40) {
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], 0.3, [][]int{{2, 5, 4, 2}, {1, 6, 6, 2}}[i%2]...)
		b := property.Box{}
		for range post.Inputs() {
			x := rng.NormFloat64()
			b.Lo, b.Hi = append(b.Lo, x-0.3), append(b.Hi, x+0.3)
		}
		y := post.LogitsApprox(b.Lo)
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		row.D = (1+2*rng.Float64())*(1+math.Abs(y[0]-y[1])) - y[0] + y[1]
		row.DHi = row.D
		task := property.Task{T: []property.Box{b}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 10000
		drawn, _ := sumtest.DrawnUnsafe(post, &task, b.Lo, draws)
		for _, tau := range []float64{1e-3, 1e-5} {
			fail := n.NewCellPass(b, tau, 1).CellFailUp(&task.S)
			if fail < 1 {
				said++
			}
			if drawn > fail+5*math.Sqrt(fail*(1-min(fail, 1))/draws)+5.0/draws {
				t.Errorf("%d tau %v: %v of drawn networks are unsafe, the bound is %v", i, tau, drawn, fail)
			}
		}
	}
	if said == 0 {
		t.Error("nothing was bounded")
	}
}
