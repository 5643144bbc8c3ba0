package check

import (
	"bytes"
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
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
		post := sumtest.RandomNoisy(rng, activations[i%len(activations)], []float64{0.1, 0.3}[rng.IntN(2)], sizes...)
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
		n, err := newAnyNoise(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, NoUpper: true}, []property.Task{task}) {
			if !(r.Lower() > 0) {
				continue
			}
			claimed++
			want := -math.Expm1(r.LogP)
			if r.LogP == 0 {
				want = 0
			}
			fail, err := n.failUp(context.Background(), &task, r.Proof.Cells, r.Proof.Tau, atMost(want))
			if err != nil || fail > want*(1+1e-9) {
				t.Errorf("%d: norm %d %v: fails %v, certify says %v, %v", i, norm, sizes, fail, want, err)
			}
			best := 1.0
			for try := range uint64(2) {
				best = min(best, n.newPassOnBall(b, ball, r.Proof.Tau[0], try).cellFailUp(&task.S))
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

// TestBallExactly: of one layer without noise the least value of a row is a number, which no bound is
// above, by exact arithmetic; and none is far below it.
func TestBallExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 8))
	for i := range testscale.Cases(t, 400) {
		n, norm, eps := 1+rng.IntN(6), 1+rng.IntN(2), math.Ldexp(1+float64(rng.IntN(63))/64, -rng.IntN(3))
		x, a, zero := make([]float64, n), make([]float64, n), make([]float64, n)
		b, radius := property.Box{}, slices.Repeat([]float64{eps}, n)
		square, most := new(big.Rat), new(big.Rat)
		for j := range x {
			x[j], a[j] = math.Round(64*rng.NormFloat64())/64, math.Round(64*rng.NormFloat64())/64
			b.Lo, b.Hi = append(b.Lo, x[j]-eps), append(b.Hi, x[j]+eps)
			shut := rng.IntN(4)
			if shut == 0 {
				b.Lo[j] = x[j]
			} else if shut == 1 {
				b.Hi[j] = x[j]
			}
			if shut == 0 && a[j] > 0 || shut == 1 && a[j] < 0 {
				continue
			}
			v := new(big.Rat).Abs(exactly(a[j]))
			if square.Add(square, new(big.Rat).Mul(v, v)); v.Cmp(most) > 0 {
				most = v
			}
		}
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: net.DenseLayer(n, 1, net.Activation{}),
			Weight: posterior.NewParams(a, zero, posterior.ScaleSD), Bias: posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)}}}
		noisy, err := newNoisy(post, false)
		if err != nil {
			t.Fatal(err)
		}
		ball := &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}
		lo, row := math.Inf(-1), property.Row{CLo: []float64{1}, CHi: []float64{1}}
		noisy.newPassOnBall(b, ball, 1e-3, 0).eachForm(&row, func(bound float64, list []noise) bool {
			for _, n := range list {
				bound -= n.mean
			}
			lo = max(lo, bound)
			return true
		})
		d := new(big.Rat) // how far the bound is below the value at the centre
		for j := range x {
			d.Add(d, new(big.Rat).Mul(exactly(a[j]), exactly(x[j])))
		}
		fall := exactly(eps)
		if d.Sub(d, exactly(lo)); norm == 1 {
			fall.Mul(fall, most)
		} else {
			fall.Mul(fall.Mul(fall, fall), square)
			d.Mul(d, new(big.Rat).Abs(d))
		}
		tight := new(big.Rat).Mul(fall, exactly(1+1e-9))
		if d.Cmp(fall) < 0 || d.Cmp(tight.Add(tight, exactly(1e-12))) > 0 {
			t.Errorf("case %d: norm %d: the bound %v falls by %v, the row by %v", i, norm, lo, d.FloatString(20), fall.FloatString(20))
		}
	}
}

// TestCheckBall: a record of a ball is proved again, and one that claims as much of a larger ball, or of
// the box, is not.
func TestCheckBall(t *testing.T) {
	job := images("glyphs-64-32-10.npz", 2, "0.1", certify.Method{By: new(prove.CLBP), Decision: true}, bound.Float64)
	job.Tasks.Points.Norm = "1"
	small := written(t, job)
	job = images("glyphs-64-32-10.npz", 2, "0.1", certify.Method{By: new(prove.CLBP), Decision: true}, bound.Float64)
	large := written(t, job)
	c := &Checker{}
	refused := func(line []byte) error {
		v, err := c.Check(t.Context(), line, false)
		if err != nil {
			t.Fatal(err)
		}
		return v.Refused
	}
	for i, line := range small {
		if err := refused(line); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if r, err := parseRecord(small[0]); err != nil || r.Decision.Verdict != "decision_safe" {
		t.Errorf("the decision on the ball: %v, %s", err, small[0])
	}
	if r, err := parseRecord(large[0]); err != nil || r.Decision.Verdict == "decision_safe" {
		t.Errorf("the decision on the box: %v, %s", err, large[0])
	}
	var f files
	r, err := parseRecord(small[0])
	if err != nil {
		t.Fatal(err)
	}
	q, err := f.question(r, Files{})
	if err == nil {
		err = q.decided(t.Context())
	}
	if q.task.Ball = nil; err != nil || q.decided(t.Context()) == nil {
		t.Errorf("the decision on a ball: %v; or it was taken for one on a box", err)
	}
	// The bounds of the ball in the record of the box, which says another question.
	as := objectOf(t, large[0])
	box := large[0]
	for _, field := range []string{"p_lower", "log10_p_lower", "verdict", "tau", "proof"} {
		from := objectOf(t, small[0]).value(t, field)
		box = bytes.Replace(box, []byte(`"`+field+`":`+as.value(t, field)), []byte(`"`+field+`":`+from), 1)
	}
	if err := refused(resealed(box)); err == nil {
		t.Errorf("what was proved of a ball was taken for a box: %s", box)
	}
	if err := refused(resealed(bytes.Replace(small[0], []byte(`"norm":"1"`), []byte(`"norm":"2"`), 1))); err == nil {
		t.Error("another norm was not noticed")
	}
}
