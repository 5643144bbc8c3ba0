package check

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/phases"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/prove/slack"
	"psafe/internal/testscale"
)

// leafRecords are lines of records by sums over leaves that claim something.
func leafRecords(t *testing.T) (lines [][]byte) {
	t.Helper()
	index, radii := "2,5", []string{"0.03"}
	if testscale.Deep(t) {
		index, radii = "0:12", []string{"0.02", "0.03", "0.04"}
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, eps := range radii {
			j := images("glyphs-64-24-24-10.npz", 1, eps, certify.Method{By: new(prove.Phases), NoUpper: true}, p)
			j.Tasks.Points.Index = &index
			for _, line := range written(t, j) {
				if bytes.Contains(line, []byte(`"leaves":[{`)) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// withLeaves is a line with another proof, and the checksum that fits.
func withLeaves(t *testing.T, line []byte, change func(p *phases.LeafProof)) []byte {
	t.Helper()
	r, err := record.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	var proofs []phases.LeafProof
	if err := json.Unmarshal(r.Proof.Leaves, &proofs); err != nil {
		t.Fatal(err)
	}
	change(&proofs[0])
	text, err := json.Marshal(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return resealed(bytes.Replace(line, r.Proof.Leaves, text, 1))
}

// highest is the tree with the most cuts.
func highest(p *phases.LeafProof) *phases.Tree { return tallest(&phases.Proof{Trees: p.Trees}) }

// TestCheckLeaves: every record passes, and none passes that claims more, or whose proof is of another network,
// ends early, goes on, covers less, is of another tau, or has multipliers that are none.
func TestCheckLeaves(t *testing.T) {
	lines := leafRecords(t)
	if len(lines) < 2 {
		t.Fatalf("only %d records claim something by leaves", len(lines))
	}
	var c Checker
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v\n%.300s", what, err, v.Refused, line)
		}
	}
	cut := 0
	for i, line := range lines {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("line %d: %v %v\n%s", i, err, v.Refused, line)
			continue
		}
		if i >= 2 && !testscale.Deep(t) {
			continue
		}
		r, _ := record.Parse(line)
		refused("a better bound", "p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*0.97))
		refused("a larger eps", "p_lower", resealed(bytes.Replace(line, []byte(`"eps":"0.`), []byte(`"eps":"0.5`), 1)))
		refused("no proof", "leaves", resealed(bytes.Replace(line, append([]byte(`"leaves":`), r.Proof.Leaves...), []byte(`"leaves":[]`), 1)))
		refused("another budget", "tau", changed(t, line, `"tau":\[[^]]*\]`, `"tau":[1e-8]`))
		refused("two proofs", "leaves", resealed(bytes.Replace(line, []byte(`"leaves":`), []byte(`"phases":[],"leaves":`), 1)))
		for what, of := range map[string]struct {
			says   string
			change func(p *phases.LeafProof)
		}{
			"a tree less":       {"rows", func(p *phases.LeafProof) { p.Trees = p.Trees[1:] }},
			"a leaf more":       {"goes on", func(p *phases.LeafProof) { p.Trees[0].Cuts = append(p.Trees[0].Cuts, cases.Leaf) }},
			"a byte more":       {"goes on", func(p *phases.LeafProof) { p.Trees[0].Leaves = append(p.Trees[0].Leaves, 0) }},
			"a byte less":       {"bytes left", func(p *phases.LeafProof) { p.Trees[0].Leaves = p.Trees[0].Leaves[:len(p.Trees[0].Leaves)-1] }},
			"no tree":           {"ends before", func(p *phases.LeafProof) { p.Trees[0].Cuts = []int{} }},
			"a neuron too far":  {"out of order", func(p *phases.LeafProof) { p.Open[0][0] = 24 }},
			"neurons in rounds": {"out of order", func(p *phases.LeafProof) { p.Open[1] = []int{3, 3} }},
			"a cut too many":    {"the limit is", func(p *phases.LeafProof) { p.Trees[0].Cuts = make([]int, mostLeafCuts+1) }},
			"a layer less":      {"layers", func(p *phases.LeafProof) { p.Open = p.Open[:1] }},
		} {
			refused(what, of.says, withLeaves(t, line, of.change))
		}
		var how []phases.LeafProof
		if err := json.Unmarshal(r.Proof.Leaves, &how); err != nil {
			t.Fatal(err)
		}
		if len(highest(&how[0]).Cuts) == 1 {
			continue
		}
		cut++
		refused("a neuron cut twice", "twice", withLeaves(t, line, func(p *phases.LeafProof) {
			tree := highest(p)
			tree.Cuts = append([]int{tree.Cuts[0]}, tree.Cuts...)
			tree.Cuts = append(tree.Cuts, cases.Leaf)
		}))
		refused("multipliers below 0", "multiplier", withLeaves(t, line, func(p *phases.LeafProof) {
			tree := highest(p)
			tree.Leaves[len(tree.Leaves)-2] |= 0x80
			tree.Leaves[len(tree.Leaves)-1] |= 1
		}))
	}
	if cut == 0 {
		t.Error("no record has a cut")
	}
}

// TestAutoByLeaves: auto adds up tails over leaves where neither clbp nor confined noise prove anything, and its records
// are proved again, also where something is required.
func TestAutoByLeaves(t *testing.T) {
	lower := map[string]float64{}
	for _, require := range []string{"", "0.6"} {
		j := images("glyphs-64-24-24-10.npz", 1, "0.03", certify.Method{}, bound.Float32)
		j.Tasks.Points.Index, j.Require = new("5"), require
		line := written(t, j)[0]
		var c Checker
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("%q required: %v %v\n%s", require, err, v.Refused, line)
		}
		r, err := record.Parse(line)
		if err != nil || r.Method != "phases" || r.Proof.Leaves == nil {
			t.Fatalf("%q required: %v\n%s", require, err, line)
		}
		lower[require] = r.PLower.Lo
	}
	if !(lower[""] > 0.99 && lower["0.6"] >= 0.6 && lower["0.6"] <= lower[""]) {
		t.Errorf("p_lower %v", lower)
	}
}

// TestLeafCuts: as many cuts pass as certify makes.
func TestLeafCuts(t *testing.T) {
	if mostLeafCuts < slack.LeafNodes/2 {
		t.Errorf("%d cuts pass, certify makes up to %d", mostLeafCuts, slack.LeafNodes/2)
	}
}
