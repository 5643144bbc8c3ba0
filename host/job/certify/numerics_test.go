package certify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"psafe/host/prove"
	"psafe/host/read/property"
)

// numericsOf is the digest of what records of all methods say of their bounds.
func numericsOf(t *testing.T) string {
	jobs := preparedJobs()
	jobs["samples"] = &Job{Posterior: Posterior{Path: testFile("samples-2-8-3.npz")}, Tasks: Tasks{Points: Points{Inputs: "testdata/around.csv", Eps: "0.05", Property: property.KeepsClass}}, Open: onCPU, Out: Output{OmitTiming: true}}
	jobs["convolution"] = digits()
	jobs["convolution"].Posterior.Path, jobs["convolution"].Method = testFile("glyphs-conv-8-10.npz"), Method{By: new(prove.CLBP)}
	jobs["convolution"].Tasks.Points.Index, jobs["convolution"].Tasks.Points.Eps = new("0:3"), "0.02"
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		fmt.Fprintln(h, name)
		for line := range strings.Lines(lines(t, jobs[name])) {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{"method", "gamma", "samples", "boxes_tried", "safe_boxes", "cells", "tau", "safe_samples", "unsafe_samples",
				"p_lower", "log10_p_lower", "p_upper", "derived", "statistical", "log10_ceiling", "rule", "margin", "verdict", "precision", "proof"} {
				fmt.Fprintf(h, "%s %s\n", f, fields[f])
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestNumerics: bits that change make another numerics version. If this fails and the change
// is meant, raise prove.Numerics, add the digest here and say in CHANGELOG.md what changed.
func TestNumerics(t *testing.T) {
	digests := []string{
		1: "8740b34495c21c1b597a678cad17a9e08f31b8e183268d90ff76244f8adf49a0",
		2: "440cb04c9aab8597adc11c14971cbdfe48b34800df62570ace203ed32c18e15f", // without the convolution
		3: "8c8315138280d88f4c3614723f0781448930fb2f7fa0dc0824c24466028e1b6b",
		4: "5a78aba7ae4279e06d5256c56c6818398c28f35953de2ca22a166afa3acae7f9", // without the field boxes
	}
	if prove.Numerics >= len(digests) {
		t.Fatalf("numerics %d has no digest here", prove.Numerics)
	}
	if got := numericsOf(t); got != digests[prove.Numerics] {
		t.Errorf("the records' bounds have digest %s, of numerics %d it is %s", got, prove.Numerics, digests[prove.Numerics])
	}
}
