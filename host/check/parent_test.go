package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// drawnSet writes a set of networks that says what they are draws of.
func drawnSet(t *testing.T, dir string) string {
	t.Helper()
	post, err := format.Read(testFile("samples-2-8-3.npz"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ones := slices.Repeat([]int64{1}, post.Finite().N())
	set, err := posterior.FromFinite(post.Layers, &posterior.Finite{Counts: ones, Stack: post.Finite().Stack, DrawsOf: "a test's posterior"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "drawn.npz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := format.WriteNPZ(f, set); err != nil {
		t.Fatal(err)
	}
	return path
}

// parentJob certifies such a set.
func parentJob(t *testing.T, dir string, m certify.Method) *certify.Job {
	return &certify.Job{Posterior: certify.Posterior{Path: drawnSet(t, dir)}, Method: m, Precision: new(bound.Float32), Version: "test",
		Tasks: certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Index: new("0"), Eps: "0.02", Property: property.KeepsClass}}}
}

// TestParent: records of a finite set say so, and what its draws say of their posterior is no more
// than what their counts do.
func TestParent(t *testing.T) {
	dir := t.TempDir()
	line := written(t, parentJob(t, dir, certify.Method{}))[0]
	asked := written(t, parentJob(t, dir, certify.Method{Confidence: new(0.5)}))[0]
	var c Checker
	for _, genuine := range [][]byte{line, asked} {
		if v, err := c.Check(t.Context(), genuine, false); err != nil || v.Refused != nil {
			t.Fatalf("%v %v: %s", err, v.Refused, genuine)
		}
	}
	limits := func(l []byte) string {
		return objectOf(t, l).value(t, "parent.lower") + objectOf(t, l).value(t, "parent.upper")
	}
	if limits(line) == limits(asked) || objectOf(t, line).value(t, "networks") != "12" {
		t.Errorf("no confidence, or no networks: %s\n%s", line, asked)
	}
	for _, k := range []struct{ field, with, want string }{
		{"parent.lower", "0.9375", "parent: lower"},
		{"parent.lower", "0.625", "parent: lower"}, // which 12 safe of 12 would give
		{"parent.upper", "0.875", "parent: upper"},
		{"parent.upper", "0.015625", "parent: "},
		{"parent.lower", "-0.5", "parent: "},
		{"parent.of", `"another posterior"`, "parent: of"},
		{"parent.confidence", "0.98", "parent: "},
		{"parent.confidence", "null", "parent"},
		{"parent.statement", `"certified"`, "parent: the statement"},
		{"parent", "", "parent: "},
		{"networks", "11", "networks: "},
		{"networks", "", "networks: "},
	} {
		forged := sealed(objectOf(t, line).with(t, k.field, k.with))
		if v, err := c.Check(t.Context(), forged, false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), k.want) {
			t.Errorf("%s %s: %v %v, want %q", k.field, k.with, err, v.Refused, k.want)
		}
	}
	plain := written(t, &certify.Job{Posterior: certify.Posterior{Path: testFile("samples-2-8-3.npz")}, Precision: new(bound.Float32), Version: "test",
		Tasks: certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", "pairs.csv"), Index: new("0"), Eps: "0.02", Property: property.KeepsClass}}})[0]
	parent := string(objectOf(t, line).values["parent"])
	if v, err := c.Check(t.Context(), sealed(objectOf(t, plain).with(t, "parent", parent)), false); err != nil || v.Refused == nil || !strings.HasPrefix(v.Refused.Error(), "parent: ") {
		t.Errorf("a parent that no file names: %v %v", err, v.Refused)
	}
}
