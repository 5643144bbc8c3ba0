package check

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/moments"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestCheckBoxMoments: records of boxes pass, and none passes that claims more, or whose proof is another's.
func TestCheckBoxMoments(t *testing.T) {
	files := map[string]string{"glyphs-64-24-24-10.npz": "6"}
	if testscale.Deep(t) {
		files["glyphs-64-32-10.npz"] = "10"
	}
	var c Checker
	for file, sd := range files {
		index := "2"
		if testscale.Deep(t) {
			index = "0:12"
		}
		j := images(file, 1, "0.01", certify.Method{By: new(prove.Chernoff), NoUpper: true}, bound.Float64)
		j.Tasks.Points.Index, j.Posterior.Factor = &index, sd
		shown := 0
		for _, line := range written(t, j) {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil {
				t.Errorf("%s: %v %v", file, err, v.Refused)
			}
			if !v.Claims {
				continue
			}
			if shown++; shown == 1 {
				refuseBoxes(t, &c, line)
			}
		}
		if shown == 0 {
			t.Errorf("%s: nothing is claimed", file)
		}
	}
}

// refuseBoxes forges a record.
func refuseBoxes(t *testing.T, c *Checker, line []byte) {
	t.Helper()
	r, err := record.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	all := func(change func(r *record.ChernoffRow)) func(p *record.ChernoffProof) {
		return func(p *record.ChernoffProof) {
			for i := range p.Rows {
				if p.Rows[i].Rate > 0 {
					change(&p.Rows[i])
				}
			}
		}
	}
	for what, of := range map[string]struct {
		says string
		line []byte
	}{
		"a better bound":    {"p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*0.95)},
		"eps is larger":     {"p_lower", resealed(bytes.Replace(line, []byte(`"eps":"0.01"`), []byte(`"eps":"0.02"`), 1))},
		"no shares":         {"shares", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Shares = nil }))},
		"a share less":      {"shares", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Shares = r.Shares[1:] }))},
		"a share above all": {"share of", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Shares[3] = 129 }))},
		"shares reversed": {"p_lower", withMoments(t, line, all(func(r *record.ChernoffRow) {
			for i := range r.Shares {
				r.Shares[i] = 128 - r.Shares[i]
			}
		}))},
		"no budget":             {"budget", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Budget = 0 }))},
		"a budget is no larger": {"p_lower", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Budget *= 0x1p-150 }))},
		"a budget is larger":    {"p_lower", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Budget += (1 - r.Budget) / 2 }))},
		"a budget above 1":      {"budget", withMoments(t, line, all(func(r *record.ChernoffRow) { r.Budget = 2 }))},
		"one row of points": {"shares", withMoments(t, line, func(p *record.ChernoffProof) {
			for i := range p.Rows {
				if p.Rows[i].Rate > 0 {
					p.Rows[i].Shares, p.Rows[i].Budget = nil, 0
					return
				}
			}
		})},
	} {
		if strings.HasSuffix(what, "larger") && !testscale.Deep(t) {
			continue // it takes long until a plane is given up
		}
		if v, err := c.Check(t.Context(), of.line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), of.says) {
			t.Errorf("%s: %v %v", what, err, v.Refused)
		}
	}
}

// TestBoxMomentsOfRandom: what certify claims of random networks on boxes, of which layers may be certain, is proved
// again.
func TestBoxMomentsOfRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 8))
	claims, cut := 0, 0
	all := testscale.Cases(t, 200)
	for i := range all {
		sizes := [][]int{{2, 6, 6, 2}, {2, 9, 3}, {1, 3, 2, 2}}[i%3]
		post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, []float64{0.1, 0.3, 1}[i/3%3], sizes...)
		if k := i % 5; k < len(post.Layers) {
			clear(post.Layers[k].Weight.SdLo)
			clear(post.Layers[k].Weight.SdHi)
		}
		task := checktest.RandomTask(rng, post, 0)
		for b := range task.T {
			for j := range task.T[b].Lo {
				mid, radius := task.T[b].Lo[j], math.Exp(3*rng.Float64()-7)
				task.T[b].Lo[j], task.T[b].Hi[j] = mid-radius, mid+radius
			}
		}
		r := checktest.Certified(t, bound.Float64, post, prove.Config{Method: prove.Chernoff, NoUpper: true}, []property.Task{task})[0]
		if r.Lower() == 0 {
			continue
		}
		claims++
		c, err := moments.New(post)
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		cells, err := cases.CellsOf(task.T, r.Proof.Cells)
		if err != nil || len(cells) != len(r.Proof.Chernoff) {
			t.Fatal(len(cells), err)
		}
		if r.Proof.Cells != nil {
			cut++
		}
		for b, p := range r.Proof.Chernoff {
			fail, err := c.FailUp(t.Context(), cells[b], &task.S, r.Proof.Tau[b], momentsOf(t, p))
			if err != nil {
				t.Fatal(err)
			}
			total += fail
		}
		if claimed := -math.Expm1(r.LogP); total > claimed || total < 0.85*claimed {
			t.Errorf("case %d, %v: fails %v, certify says %v", i, sizes, total, claimed)
		}
	}
	if t.Logf("%d claims, %d on cells", claims, cut); all >= 20 && claims < all/10 {
		t.Errorf("%d claims in %d cases", claims, all)
	}
}
