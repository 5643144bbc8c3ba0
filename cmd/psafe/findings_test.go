package main

import (
	"strings"
	"testing"

	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// TestFindings: what certify says at its end of records that it does not keep: a table of up to
// mostRows, the first p_lower that a gate refuses, and gates of all.
func TestFindings(t *testing.T) {
	of := func(n int) (*findings, string, error) {
		gates, err := parseGates([]string{"p_lower>=0.25", "safe>0.5"})
		if err != nil {
			t.Fatal(err)
		}
		f := &findings{table: true, gates: gates}
		for i := range n {
			r := &record.Record{Index: i, PLower: record.Down(float64(1+i%4) / 8), PUpper: 1, Require: property.MustExact("0.9"), Method: "lbp", Verdict: "unknown", Proof: &claim.Proof{Tau: []float64{1}}}
			f.add(r)
		}
		var b strings.Builder
		err = f.finish(&b)
		return f, b.String(), err
	}
	for _, n := range []int{2, mostRows, mostRows + 1} {
		f, text, err := of(n)
		if rows := strings.Count(text, " lbp "); (rows == n) != (n <= mostRows) || !strings.Contains(text, "of "+map[bool]string{true: "2 safe"}[n == 2]) {
			t.Errorf("%d records: %d rows", n, rows)
		}
		if n > mostRows && (f.rows != nil || strings.Count(text, "\n") != 1) {
			t.Errorf("%d records: %d are kept, and the end is %q", n, len(f.rows), text)
		}
		for _, r := range f.rows {
			if r.Proof != nil {
				t.Fatal("a proof is kept for a table")
			}
		}
		if err == nil || !strings.Contains(err.Error(), "inputs do not keep it, the worst is index 0, p_lower 0.1250, p_upper 1.0000: --fail-unless p_lower>=0.25; ") {
			t.Errorf("%d records: %v", n, err)
		}
	}
	f, _, _ := of(4)
	f.gates = f.gates[1:]
	if err := f.finish(&strings.Builder{}); err == nil || !strings.HasPrefix(err.Error(), "0 of 4 inputs are safe") {
		t.Error(err)
	}
}
