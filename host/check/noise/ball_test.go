package noise

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestBallsAsCertify: on balls, with and without a clip that shuts sides off, both programs claim nearly
// the same, of one to four layers and both norms.
func TestBallsAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 7))
	claimed := 0
	for i := range testscale.Cases(t, 300) {
		sizes := [][]int{{3, 6, 5, 2}, {5, 8, 2}, {4, 2}, {2, 5, 4, 4, 2}}[i%4]
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], []float64{0.1, 0.3}[rng.IntN(2)], sizes...)
		if rng.IntN(4) == 0 { // a first layer that is certain
			for _, list := range [][]float64{post.Layers[0].Weight.SdLo, post.Layers[0].Weight.SdHi, post.Layers[0].Weight.Spread, post.Layers[0].Bias.SdLo, post.Layers[0].Bias.SdHi, post.Layers[0].Bias.Spread} {
				clear(list)
			}
		}
		eps, norm := []float64{0.1, 0.3, 1}[rng.IntN(3)], 1+rng.IntN(2)
		b, x := property.Box{}, make([]float64, sizes[0])
		for j := range x {
			x[j] = rng.NormFloat64()
			b.Lo, b.Hi = append(b.Lo, x[j]-eps), append(b.Hi, x[j]+eps)
			if rng.IntN(3) == 0 {
				b.Lo[j] = x[j]
			}
		}
		radius := slices.Repeat([]float64{eps}, len(x))
		ball := &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}
		y := post.LogitsApprox(x)
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		row.D = (1+3*rng.Float64())*(1+math.Abs(y[0]-y[1])) - y[0] + y[1]
		row.DHi = row.D
		task := property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, Ball: ball, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, NoUpper: true}, []property.Task{task}) {
			if !(r.Lower() > 0) {
				continue
			}
			claimed++
			want := -math.Expm1(r.LogP)
			if r.LogP == 0 {
				want = 0
			}
			fail, err := n.FailUp(context.Background(), &task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(want))
			if err != nil || fail > want*(1+1e-9) {
				t.Errorf("%d: norm %d %v: fails %v, certify says %v, %v", i, norm, sizes, fail, want, err)
			}
			best := 1.0
			for try := range uint64(2) {
				best = min(best, n.NewPassOnBall(b, ball, r.Proof.Tau[0], try).CellFailUp(&task.S))
			}
			const draws = 100
			if fails := float64(drawnFails(post, &task, draws)); fails > draws*best+6*math.Sqrt(draws*best)+2 {
				t.Errorf("%d: norm %d %v: fails %v, but %v of %d drawn networks do", i, norm, sizes, best, fails, draws)
			}
		}
	}
	if claimed == 0 {
		t.Error("nothing was claimed")
	}
}

// drawnFails counts the drawn networks whose first row is negative where it falls most steeply from the
// centre, on the face of the ball.
func drawnFails(post *posterior.Posterior, t *property.Task, draws int) (fails int) {
	b, w := t.Ball, post.NewWeights()
	for k := range draws {
		post.Draw(3, k, w)
		pass, x := post.Network().NewPass(w), slices.Clone(b.CentreLo)
		for range 4 {
			y := pass.Forward(x)
			if y[0]-y[1]+t.S.Rows[0].D < 0 {
				fails++
				break
			}
			slope := pass.Back([]float64{1, -1})
			at := slices.Clone(b.CentreLo)
			for j, g := range slope {
				if at[j] -= 9 * g * b.RadiusLo[j]; b.Norm == 1 && !steepest(slope, j) {
					at[j] = b.CentreLo[j]
				}
			}
			if at := t.Witness(0, at); at.Lo != nil {
				x = at.Lo
			}
		}
	}
	return fails
}

func steepest(slope []float64, j int) bool {
	return !slices.ContainsFunc(slope, func(g float64) bool { return math.Abs(g) > math.Abs(slope[j]) })
}
