package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/phases"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testkit/provetest"
)

// cellRecord is a record by phases of a random network of two inputs on a wide box, the first of a class that is
// never the argmax, that has all of these parts.
func cellRecord(t *testing.T, seed uint64, p bound.Precision, sd float64, wide string, parts ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	for ; seed < 60; seed++ {
		post := provetest.Noisy(rand.New(rand.NewPCG(seed, 224)), sd, false, 2, 6, 5, 3)
		var content bytes.Buffer
		if err := format.WriteNPZ(&content, post); err != nil {
			t.Fatal(err)
		}
		file, inputs := filepath.Join(dir, fmt.Sprintf("%d.npz", seed)), filepath.Join(dir, fmt.Sprintf("%d.json", seed))
		text := `{"properties": [{"name": "wide", "kind": "argmax_is_never", "class": 0, "boxes": [[[-` + wide + `, 1], [-1, ` + wide + `]]]}]}`
		for path, b := range map[string][]byte{file: content.Bytes(), inputs: []byte(text)} {
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		line := written(t, &certify.Job{Posterior: certify.Posterior{Path: file}, Tasks: certify.Tasks{File: inputs}, Precision: new(p), Version: "test",
			Method: certify.Method{By: new(prove.Phases), Cells: new(12), NoUpper: true}})[0]
		if !slices.ContainsFunc(parts, func(part string) bool { return !bytes.Contains(line, []byte(part)) }) {
			return line
		}
	}
	t.Fatalf("no record has %v", parts)
	return nil
}

// TestCheckPhaseCells: a record with cells and mixtures passes, and none with cells that cover less, proofs of fewer,
// an event that is paid for once, or factors that are others, too few, too many or all 0.
func TestCheckPhaseCells(t *testing.T) {
	var c Checker
	line := cellRecord(t, 3, bound.Float32, 0.01, "1", `"cells":[`, `"mixtures":"`)
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
		t.Fatalf("%v %v: %s", err, v.Refused, line)
	}
	r, err := record.Parse(line)
	if err != nil || r.Cells < 2 {
		t.Fatalf("%v: %d cells", err, r.Cells)
	}
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v", what, err, v.Refused)
		}
	}
	refused("the events of a cell less", "p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*(float64(r.Cells)-0.5)/float64(r.Cells)))
	cells, err := json.Marshal(r.Proof.Cells)
	if err != nil {
		t.Fatal(err)
	}
	refused("no cells of the proof", "cells", resealed(bytes.Replace(line, append([]byte(`"cells":`), append(cells, ',')...), nil, 1)))
	refused("another number of cells", "cells", changed(t, line, `"cells":\d+`, `"cells":1`))
	refused("more cells than flags say", "cells", changed(t, line, `--cells 12`, `--cells 1`))
	other := append([]int{1 - r.Proof.Cells[0]}, r.Proof.Cells[1:]...)
	text, err := json.Marshal(other)
	if err != nil {
		t.Fatal(err)
	}
	refused("another cut", "below 0", resealed(bytes.Replace(line, cells, text, 1)))
	mixed := func(change func(t *phases.Tree)) []byte {
		return withPhases(t, line, func(p *phases.Proof) { change(tallest(p)) })
	}
	refused("no factors", "mixtures", mixed(func(t *phases.Tree) { t.Mixtures = nil }))
	refused("factors more", "go on", mixed(func(t *phases.Tree) { t.Mixtures = append(t.Mixtures, 1, 0) }))
	refused("factors of 0", "factors", mixed(func(t *phases.Tree) { clear(t.Mixtures) }))
	var proofs []json.RawMessage
	if err := json.Unmarshal(r.Proof.Phases, &proofs); err != nil {
		t.Fatal(err)
	}
	less, err := json.Marshal(proofs[1:])
	if err != nil {
		t.Fatal(err)
	}
	refused("a proof less", "cells", resealed(bytes.Replace(line, r.Proof.Phases, less, 1)))
}

// TestCheckLeafCells: a record of sums over leaves with cells and chosen rows passes, and none with rows from which the safe
// set does not follow, or rows twice, or too few taus or proofs.
func TestCheckLeafCells(t *testing.T) {
	var c Checker
	line := cellRecord(t, 2, bound.Float32, 0.1, "0.3", `"leaves":[{`, `"cells":[`, `"rows":[`)
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
		t.Fatalf("%v %v: %s", err, v.Refused, line)
	}
	r, err := record.Parse(line)
	if err != nil || r.Cells < 2 {
		t.Fatalf("%v: %d cells", err, r.Cells)
	}
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v", what, err, v.Refused)
		}
	}
	refused("a better bound", "p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*0.7))
	refused("no rows", "follow", withLeaves(t, line, func(p *phases.LeafProof) { p.Rows, p.Trees = nil, []phases.Tree{} }))
	refused("a row twice", "twice", withLeaves(t, line, func(p *phases.LeafProof) { p.Rows = append(p.Rows, p.Rows[0]) }))
	refused("a row too far", "no row", withLeaves(t, line, func(p *phases.LeafProof) { p.Rows[0] = 99 }))
	refused("a row more than trees", "rows", withLeaves(t, line, func(p *phases.LeafProof) {
		for other := range 2 {
			if !slices.Contains(p.Rows, other) {
				p.Rows = append(p.Rows, other)
				return
			}
		}
	}))
	refused("mixtures of leaves", "mixtures", withLeaves(t, line, func(p *phases.LeafProof) { p.Trees[0].Mixtures = []byte{0x80, 0} }))
	var proofs []json.RawMessage
	if err := json.Unmarshal(r.Proof.Leaves, &proofs); err != nil || len(proofs) != r.Cells {
		t.Fatal(err)
	}
	less, err := json.Marshal(proofs[1:])
	if err != nil {
		t.Fatal(err)
	}
	refused("a proof less", "cells", resealed(bytes.Replace(line, r.Proof.Leaves, less, 1)))
	refused("a tau less", "tau", changed(t, line, `"tau":\[[^,\]]*,`, `"tau":[`))
}
