package noise

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestSlopesAsCertify: of wide boxes both programs claim the same with other lower slopes, of one
// hidden layer and of several; and some claims cannot be had without them.
func TestSlopesAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 11))
	claimed, bent := 0, 0
	for i := range max(30, testscale.Cases(t, 300)) {
		post, task := checktest.BentTask(rng, []float64{0.03, 0.1, 0.3}[i%3], [][]int{{2, 6, 5, 2}, {3, 8, 2}, {2, 5, 4, 4, 2}, {2, 20, 2}}[i%4]...)
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		precision := bound.Precision(i / 4 % 2)
		r := checktest.Certified(t, precision, post, prove.Config{Method: prove.CLBP, Cells: 1, NoUpper: true}, []property.Task{*task})[0]
		if !(r.Lower() > 0) {
			continue
		}
		claimed++
		want := -math.Expm1(r.LogP)
		plain := n.NewCellPass(task.T[0], r.Proof.Tau[0], 1)
		if plain.Bent = false; plain.CellFailUp(&task.S) > want*(1+1e-3)+1e-9 && n.NewCellPass(task.T[0], r.Proof.Tau[0], 0).CellFailUp(&task.S) > want*(1+1e-3)+1e-9 {
			bent++
		}
		if fail, err := n.FailUp(context.Background(), task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(want)); err != nil || fail > want {
			t.Errorf("%d: fails %v, certify says %v, %v", i, fail, want, err)
		}
		if want < 1e-3 { // which certify may be content with
			continue
		}
		// The checker computes more tails than certify.
		if fail := n.NewCellPass(task.T[0], r.Proof.Tau[0], uint64(1+i%2)).CellFailUp(&task.S); fail < want*(1-0.1)-1e-6 {
			t.Errorf("%d %v: fails %v, certify says %v, much more", i, precision, fail, want)
		}
	}
	t.Logf("%d claims, %d by other lower slopes", claimed, bent)
	if claimed == 0 || bent == 0 {
		t.Errorf("%d claims, %d by other lower slopes: too few were tested", claimed, bent)
	}
}
