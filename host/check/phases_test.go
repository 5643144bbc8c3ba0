package check

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/cases"
	"psafe/host/check/phases"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// phaseLines are lines of records by phases, made once for all tests.
var phaseLines struct {
	once  sync.Once
	lines [][]byte
}

// phaseRecords are lines of records by phases that claim something.
func phaseRecords(t *testing.T) [][]byte {
	t.Helper()
	phaseLines.once.Do(func() { phaseLines.lines = writePhases(t) })
	return phaseLines.lines
}

func writePhases(t *testing.T) (lines [][]byte) {
	t.Helper()
	count := 3
	if testscale.Deep(t) {
		count = 20
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, eps := range []string{"0.02", "0.05"} {
			j := images("glyphs-64-24-24-10.npz", count, eps, certify.Method{By: new(prove.Phases), NoUpper: true}, p)
			for _, line := range written(t, j) {
				if bytes.Contains(line, []byte(`"phases":[{`)) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// withPhases is a line with another proof, and the checksum that fits.
func withPhases(t *testing.T, line []byte, change func(p *phases.Proof)) []byte {
	t.Helper()
	r, err := record.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	var proofs []phases.Proof
	if err := json.Unmarshal(r.Proof.Phases, &proofs); err != nil {
		t.Fatal(err)
	}
	change(&proofs[0])
	text, err := json.Marshal(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return resealed(bytes.Replace(line, r.Proof.Phases, text, 1))
}

// tallest is the tree with the most cuts.
func tallest(p *phases.Proof) *phases.Tree {
	best := &p.Trees[0]
	for i := range p.Trees {
		if len(p.Trees[i].Cuts) > len(best.Cuts) {
			best = &p.Trees[i]
		}
	}
	return best
}

// TestCheckPhases: every record passes, and none passes that claims more, or whose proof is of
// another network, ends early, goes on, covers less or has multipliers that are none.
func TestCheckPhases(t *testing.T) {
	lines := phaseRecords(t)
	if len(lines) < 4 {
		t.Fatalf("only %d records claim something", len(lines))
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
		r, _ := record.Parse(line)
		p := 1 - (1-r.PLower.Lo)*0.99
		refused("a better bound", "p_lower", claiming(t, line, p))
		refused("a larger eps", "below 0", resealed(bytes.Replace(line, []byte(`"eps":"0.0`), []byte(`"eps":"0.5`), 1)))
		refused("no proof", "phases", resealed(bytes.Replace(line, append([]byte(`"phases":`), r.Proof.Phases...), []byte(`"phases":[]`), 1)))
		refused("another budget", "tau", changed(t, line, `"tau":\[[^]]*\]`, `"tau":[1e-8]`))
		for what, of := range map[string]struct {
			says   string
			change func(p *phases.Proof)
		}{
			"a tree less":       {"8 rows", func(p *phases.Proof) { p.Trees = p.Trees[1:] }},
			"a leaf more":       {"goes on", func(p *phases.Proof) { p.Trees[0].Cuts = append(p.Trees[0].Cuts, cases.Leaf) }},
			"a byte more":       {"goes on", func(p *phases.Proof) { p.Trees[0].Leaves = append(p.Trees[0].Leaves, 0) }},
			"a byte less":       {"bytes left", func(p *phases.Proof) { p.Trees[0].Leaves = p.Trees[0].Leaves[1:] }},
			"no tree":           {"ends before", func(p *phases.Proof) { p.Trees[0].Cuts = []int{} }},
			"slopes more":       {"slopes", func(p *phases.Proof) { p.Slopes = append(p.Slopes, 1) }},
			"a neuron too far":  {"out of order", func(p *phases.Proof) { p.Open[0][0] = 24 }},
			"neurons in rounds": {"out of order", func(p *phases.Proof) { p.Open[1] = []int{3, 3} }},
			"a cut too many":    {"the limit is", func(p *phases.Proof) { p.Trees[0].Cuts = make([]int, phases.MostPhaseCuts+1) }},
			"a layer less":      {"layers", func(p *phases.Proof) { p.Open = p.Open[:1] }},
		} {
			refused(what, of.says, withPhases(t, line, of.change))
		}
		var how []phases.Proof
		if err := json.Unmarshal(r.Proof.Phases, &how); err != nil {
			t.Fatal(err)
		}
		if len(tallest(&how[0]).Cuts) == 1 {
			continue
		}
		cut++
		refused("half of a cut", "ends before", withPhases(t, line, func(p *phases.Proof) {
			tree := tallest(p)
			tree.Cuts = tree.Cuts[:len(tree.Cuts)-1]
		}))
		refused("a neuron cut twice", "twice", withPhases(t, line, func(p *phases.Proof) {
			tree := tallest(p)
			tree.Cuts = append([]int{tree.Cuts[0]}, tree.Cuts...)
			tree.Cuts = append(tree.Cuts, cases.Leaf)
		}))
		refused("multipliers below 0", "multiplier", withPhases(t, line, func(p *phases.Proof) {
			tree := tallest(p)
			tree.Leaves[len(tree.Leaves)-2] |= 0x80
			tree.Leaves[len(tree.Leaves)-1] |= 1
		}))
	}
	if cut == 0 {
		t.Error("no record has a cut")
	}
}

// TestPhasesOfBoxes: a T of several boxes has an event and a proof for each, and half of what they
// fail with is no claim.
func TestPhasesOfBoxes(t *testing.T) {
	post := checktest.ReluChain(rand.New(rand.NewPCG(3, 216)), 2, 4, 3, 2)
	post.Layers[2].Bias.Mean[0] += 50
	dir := t.TempDir()
	var content bytes.Buffer
	if err := format.WriteNPZ(&content, post); err != nil {
		t.Fatal(err)
	}
	file, inputs := filepath.Join(dir, "net.npz"), filepath.Join(dir, "p.json")
	text := `{"properties": [{"name": "two", "kind": "argmax_is", "class": 0, "boxes": [[[0, 0.5], [0, 0.1]], [[0.7, 0.8], [-0.1, 0.1]]]}]}`
	for path, b := range map[string][]byte{file: content.Bytes(), inputs: []byte(text)} {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	line := written(t, &certify.Job{Posterior: certify.Posterior{Path: file}, Tasks: certify.Tasks{File: inputs}, Precision: new(bound.Float32), Version: "test",
		Method: certify.Method{By: new(prove.Phases), NoUpper: true}})[0]
	var c Checker
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
		t.Fatalf("%v %v: %s", err, v.Refused, line)
	}
	r, err := record.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	half := claiming(t, line, 1-(1-r.PLower.Lo)/2)
	if v, err := c.Check(t.Context(), half, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "p_lower") {
		t.Errorf("half of the failure: %v %v", err, v.Refused)
	}
	var proofs []json.RawMessage
	if err := json.Unmarshal(r.Proof.Phases, &proofs); err != nil || len(proofs) != 2 {
		t.Fatalf("%d proofs, %v", len(proofs), err)
	}
	one := resealed(bytes.Replace(line, r.Proof.Phases, []byte("["+string(proofs[0])+"]"), 1))
	if v, err := c.Check(t.Context(), one, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "2 cells") {
		t.Errorf("one proof: %v %v", err, v.Refused)
	}
}

// TestAutoByPhases: auto confines noise where concentration LBP shows too little, its records are
// proved again, and where that is enough for what is required it is the end.
func TestAutoByPhases(t *testing.T) {
	auto := func(count int, eps string, require string) (by []string) {
		j := images("glyphs-64-24-24-10.npz", count, eps, certify.Method{}, bound.Float32)
		j.Require = require
		var c Checker
		for i, line := range written(t, j) {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("eps %s, line %d: %v %v\n%s", eps, i, err, v.Refused, line)
			}
			r, err := record.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if by = append(by, r.Method); r.Method == "phases" && r.PLower.Lo < 0.9999 {
				t.Errorf("eps %s, line %d: p_lower %v by phases", eps, i, r.PLower)
			}
		}
		return by
	}
	if by := auto(5, "0.05", ""); by[4] != "phases" || slices.Contains(by[:4], "phases") {
		t.Errorf("eps 0.05: %v", by)
	}
	for require, want := range map[string]string{"": "phases", "0.99": "clbp", "0.999": "phases"} {
		if by := auto(1, "0.03", require); by[0] != want {
			t.Errorf("eps 0.03, %q required: %v, want %s", require, by, want)
		}
	}
}
