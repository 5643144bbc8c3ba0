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
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestSharpAsCertify: of wide boxes and wide noise, where less noise counts, both programs claim
// the same: hidden neurons bounded by a device alone, and by the host.
func TestSharpAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 7))
	claimed, sharp := 0, 0
	for i := range testscale.Cases(t, 300) {
		sizes := [][]int{{2, 6, 5, 2}, {3, 8, 2}, {2, 5, 4, 4, 2}}[i%3]
		post := sumtest.RandomNoisy(rng, checktest.Activations[i%len(checktest.Activations)], []float64{0.1, 0.3}[i%2], sizes...)
		if i%5 == 0 { // the last layer is nearly all there is
			for k := range len(sizes) - 2 {
				for j := range post.Layers[k].Weight.SdHi {
					post.Layers[k].Weight.SdHi[j] /= 64
				}
			}
		}
		b := property.Box{}
		eps := []float64{0.1, 0.3, 1}[rng.IntN(3)]
		for range sizes[0] {
			x := rng.NormFloat64()
			b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
		}
		y := post.LogitsApprox(b.Lo)
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
		row.D = (2+3*rng.Float64())*(1+math.Abs(y[0]-y[1])) - y[0] + y[1]
		row.DHi = row.D
		task := property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
		n, err := New(post)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 1, NoUpper: true}, []property.Task{task}) {
			if !(r.Lower() > 0) {
				continue
			}
			claimed++
			want := -math.Expm1(r.LogP)
			// Of other lower slopes certify computes fewer tails: so what is much more is looked for
			// without them.
			best, plain, alone := 1.0, 1.0, 1.0
			for try := range uint64(2) {
				p := n.NewCellPass(b, r.Proof.Tau[0], try)
				fail := p.CellFailUp(&task.S)
				if try == 1 && p.SharpRows && fail < best*(1-1e-3) {
					sharp++
				}
				if best = min(best, fail); try == 0 {
					plain = fail
				}
				p.Bent = false
				alone = min(alone, p.CellFailUp(&task.S))
			}
			// The lines of both programs may differ where slopes nearly tie.
			if best > want*(1+1e-3)+1e-9 {
				fail, err := n.FailUp(context.Background(), &task, r.Proof.Cells, r.Proof.Tau, checktest.AtMost(want))
				if err != nil || fail > want {
					t.Errorf("%d: fails %v, certify says %v, %v", i, best, want, err)
				}
			}
			if want < 1e-3 { // which certify may be content with
				alone = plain
			}
			if alone < want*(1-1e-3)-1e-6 {
				t.Errorf("%d: fails %v, certify says %v, much more", i, alone, want)
			}
		}
	}
	t.Logf("%d claims, %d by sharper bounds of hidden neurons", claimed, sharp)
	if claimed == 0 || sharp == 0 {
		t.Errorf("%d claims, %d by sharper bounds of hidden neurons: too few were tested", claimed, sharp)
	}
}
