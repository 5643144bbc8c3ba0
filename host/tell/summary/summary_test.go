package summary_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/testkit/recordtest"
)

func of(records ...*record.Record) *summary.Result {
	var s summary.Summary
	for i, r := range records {
		s.Add(&record.Placed{Record: r, File: "r.jsonl", Line: i + 1})
	}
	return s.Result()
}

func printed(t *testing.T, r *summary.Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.PrintWithin(&b, math.MaxInt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// has demands that a text has all of others.
func has(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestSummary: a campaign's records are counted, averaged outward and grouped.
func TestSummary(t *testing.T) {
	const n = 2000
	var records []*record.Record
	lower, upper, above := new(big.Rat), new(big.Rat), 0
	for i := range n {
		r := recordtest.Record(i, n)
		records = append(records, r)
		lower.Add(lower, new(big.Rat).SetFloat64(float64(r.PLower)))
		upper.Add(upper, new(big.Rat).SetFloat64(float64(r.PUpper)))
		if r.PLower.Exact().Cmp(property.MustExact("0.99")) >= 0 {
			above++
		}
	}
	r := of(records...)
	count := big.NewRat(1, n)
	mean := new(big.Rat).SetFloat64(float64(*r.MeanPLower))
	if exact := lower.Mul(lower, count); mean.Cmp(exact) > 0 || exact.Sub(exact, mean).Cmp(big.NewRat(1, 1e15)) > 0 {
		t.Errorf("mean p_lower %v", *r.MeanPLower)
	}
	mean.SetFloat64(float64(r.MeanPUpper))
	if exact := upper.Mul(upper, count); mean.Cmp(exact) < 0 || mean.Sub(mean, exact).Cmp(big.NewRat(1, 1e15)) > 0 {
		t.Errorf("mean p_upper %v", r.MeanPUpper)
	}
	sum := [2]int{}
	for _, b := range r.Histogram {
		sum[0] += b.PLower
		sum[1] += b.PUpper
	}
	if r.Records != n || len(r.Groups) != 20 || r.Safe+r.Unsafe+r.Unknown != n || sum != [2]int{n, n} || r.Shares[1].Records != above || r.WithPLower != n || r.Timed != n {
		t.Errorf("%+v", r)
	}
	if g := r.Groups[3]; g.Records != 100 || g.Eps != "0.02" || g.Property != "argmax_is" || g.Method != "auto" || r.Groups[0].Eps != "0.005" || r.Groups[1].Eps != "2/255" {
		t.Errorf("%+v", g)
	}
	if run := r.Runs[0]; len(r.Runs) != 1 || run.Present != n || run.Missing != "" || run.More != 0 || len(r.Contradictions)+len(r.Outside) > 0 {
		t.Errorf("%+v, %v", r.Runs, r.Contradictions)
	}
	if len(r.Weakest) != 10 || len(r.LowestUpper) != 10 || r.Weakest[9].PLower > records[1999].PLower && records[1999].Verdict != "unsafe" {
		t.Errorf("%+v, %+v", r.Weakest, r.LowestUpper)
	}
	has(t, printed(t, r), "2000, runs 1", record.Guarantee, "none is missing, none is there twice", fmt.Sprintf(">= 0.99: %d", above), "all inputs", "mnist-512-512-3.npz", "2/255")
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestGroupsApart: what differs in the distribution of networks or in the points is no one group.
func TestGroupsApart(t *testing.T) {
	for i, change := range []func(r *record.Record){
		func(r *record.Record) { r.PosteriorSD = "0.1" }, func(r *record.Record) { r.PosteriorSDSHA = "ab" },
		func(r *record.Record) { r.Activations = []string{"tanh", "relu"} }, func(r *record.Record) { r.Inputs = "points.npz:b" },
		func(r *record.Record) { r.Predictive = "linearised" }, func(r *record.Record) { r.Flags += " --link probit" },
		func(r *record.Record) { r.Flags += " --reject 0.9" },
	} {
		a, b := recordtest.Record(0, 100), recordtest.Record(0, 100)
		a.PosteriorSD, a.Inputs, b.PosteriorSD, b.Inputs = "0.05", "points.npz:a", "0.05", "elsewhere/points.npz:a"
		if r := of(a, b); len(r.Groups) != 1 {
			t.Errorf("the same: %+v", r.Groups)
		}
		change(b)
		if r := of(a, b); len(r.Groups) != 2 {
			t.Errorf("%d: %+v", i, r.Groups)
		}
	}
}

// TestHistogramEdges: bounds are counted by their decimals, 1 in the last bin.
func TestHistogramEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6))
	for i := range summary.Bins + 1 {
		edge := float64(i) / summary.Bins
		for range 3 {
			r := recordtest.Record(0, 1)
			r.PLower, r.PUpper = record.Down(edge), record.Up(1)
			if rng.IntN(2) == 0 {
				r.PLower = record.Down(edge * (1 - 1e-15))
			}
			got := of(r)
			for _, b := range got.Histogram {
				last := b.To.Cmp(property.MustExact("1")) == 0
				in := r.PLower.Exact().Cmp(b.From) >= 0 && (last || r.PLower.Exact().Cmp(b.To) < 0)
				if (b.PLower == 1) != in || (b.PUpper == 1) != last {
					t.Errorf("%v: %+v", r.PLower, b)
				}
			}
		}
	}
}

// TestStatisticalApart: records of method statistical are in no mean of p_lower, and their
// intervals decide nothing.
func TestStatisticalApart(t *testing.T) {
	a, b := recordtest.Record(0, 2), recordtest.Record(1, 2)
	b.Flags, b.Method, b.PLower, b.Log10PLower, b.PUpper, b.Verdict = "--method statistical --samples 10", "statistical", 0, nil, 1, "unknown"
	b.Statistical = &record.Statistical{Samples: 10, Safe: 10, Confidence: 0.95, Lower: 0.95, Upper: 1}
	r := of(a, b)
	if float64(*r.MeanPLower) != float64(a.PLower) || r.WithPLower != 1 || r.Intervals.Above != 1 || r.Intervals.Confidence != 0.95 || r.Safe > 1 || len(r.Weakest) != 1 {
		t.Errorf("%+v", r)
	}
	has(t, printed(t, r), "NOT CERTIFIED", "without the 1 records of method statistical", "1 begin at --require or above")
	r = of(b)
	if r.MeanPLower != nil || r.Groups[0].MeanPLower != nil || r.Groups[0].Method != "statistical" {
		t.Errorf("%+v", r)
	}
	has(t, printed(t, r), "all method    statistical", " - ")
}

// TestContradictedFirst: what excludes each other is what is read first.
func TestContradictedFirst(t *testing.T) {
	a, b := recordtest.Record(0, 3), recordtest.Record(0, 3)
	a.PLower, a.PUpper, b.PLower, b.PUpper = 0.75, 1, 0, 0.5
	b.Task, b.Flags, b.Method = 1, "--method lbp", "lbp"
	a.Name, b.Name = "x\x1b[31m", "x\x1b[31m"
	r := of(a, b)
	text := printed(t, r)
	if len(r.Contradictions) != 1 || !strings.HasPrefix(text, "CONTRADICTED: 1 ") || strings.Contains(text, "\x1b") {
		t.Errorf("%+v\n%s", r.Contradictions, text)
	}
	has(t, text, "r.jsonl: line 1: p_lower 0.75 is above p_upper 0.5 of r.jsonl: line 2", "2 of the 3 of run", "missing, counted from 0: 2")
	a.Statistical = &record.Statistical{Confidence: 0.9, Lower: 0.8, Upper: 1}
	a.PLower = 0
	has(t, printed(t, of(a, b)), "outside of certified bounds", "none among 1 different")
}

// TestBounded: groups and words beyond the limits are counted together, and it is said.
func TestBounded(t *testing.T) {
	var records []*record.Record
	const n = 10_300
	for i := range n {
		r := recordtest.Record(i, n)
		r.InputsSHA256, r.Device = fmt.Sprint(i), fmt.Sprint("device ", i, strings.Repeat("é", 500))
		records = append(records, r)
	}
	r := of(records...)
	if len(r.Groups) != 10_000 || r.Rest == nil || r.Rest.WithPLower != 300 || len(r.Devices) != 201 || r.Devices[0].Is != "others" || r.Devices[0].Records != n-200 {
		t.Errorf("%d groups, %+v, %d devices, %+v", len(r.Groups), r.Rest, len(r.Devices), r.Devices[0])
	}
	if len(r.Devices[1].Is) > 210 {
		t.Errorf("%q", r.Devices[1].Is)
	}
	has(t, printed(t, r), "FURTHER GROUPS, COUNTED TOGETHER: 300", "and 9940 more groups")
}

// TestPropertyOf: what a property asks for without its class, so that margin:0.5 and margin:1
// are two groups, and ten classes one.
func TestPropertyOf(t *testing.T) {
	seven := 7
	for _, c := range []struct {
		label    *int
		property string
		want     string
	}{
		{&seven, "argmax_is:7", "argmax_is"}, {&seven, "margin:0.5:7", "margin:0.5"}, {&seven, "margin:7:7", "margin:7"}, {&seven, "top_k:2:7", "top_k:2"},
		{&seven, "argmax_in:17", "argmax_in:17"}, {nil, "output_box:[-1,1]", "output_box:[-1,1]"}, {nil, "argmax_is_never:3", "argmax_is_never:3"},
		{nil, "landing gear", "property file"}, {&seven, "case:7", "property file"},
	} {
		if got := summary.PropertyOf(&record.Record{Label: c.label, Property: c.property}); got != c.want {
			t.Errorf("%s: %s, want %s", c.property, got, c.want)
		}
	}
	for property, want := range map[string]string{"fair:3:0.1": "fair:3:0.1", "sensor drift": "property file", "output_box:[0,1],[0,1]": "output_box:[0,1],[0,1]"} {
		if got := summary.PropertyOf(&record.Record{Relation: "fair:3:0.1", Property: property}); got != want {
			t.Errorf("%s of pairs: %s, want %s", property, got, want)
		}
	}
}

// TestRadiiGroups: radii that were looked for are summed up by what was wanted, rounded to the safe side.
func TestRadiiGroups(t *testing.T) {
	var s summary.Summary
	s.At = []property.Exact{property.MustExact("1/30"), property.MustExact("0.2")}
	add := func(index int, end, eps, verdict, flags string) {
		r := recordtest.Record(0, 9)
		r.Index, r.RadiusEnd, r.Eps, r.Verdict, r.Flags = index, end, eps, verdict, "--method clbp"+flags
		s.Add(&record.Placed{Record: r, File: "r.jsonl", Line: 1})
	}
	for i, eps := range []string{"1/30", "2/30", "0.1"} {
		add(i, "certified", eps, "safe", "")
		add(i, "refuted", "0.2", map[bool]string{true: "unsafe", false: "unknown"}[i < 2], "")
	}
	add(0, "certified", "0", "unknown", " --target mean")
	linearised := recordtest.Record(0, 9)
	linearised.RadiusEnd, linearised.Eps, linearised.Flags, linearised.Predictive = "certified", "0.1", "--method clbp --target mean", "linearised"
	s.Add(&record.Placed{Record: linearised, File: "r.jsonl", Line: 1})
	r := s.Result()
	if len(r.Radii) != 3 || r.Radii[2].Predictive != "linearised" {
		t.Fatalf("%+v", r.Radii)
	}
	g := r.Radii[0]
	if g.Wanted != "P_safe >= 0.9" || g.OfInputs != 3 || g.Certified != 3 || g.Refuted != 2 || g.RefutedOf != 3 || g.MeanCertified != "0.066666666" || g.MedianCertified != "0.066666666" ||
		*g.MeanRefuted != "0.2" || *g.MedianRefuted != "0.2" || g.Shares[0] != (summary.RadiusShare{Eps: "1/30", Lower: "1", Upper: "1"}) || g.Shares[1] != (summary.RadiusShare{Eps: "0.2", Lower: "0", Upper: "0.333333334"}) {
		t.Errorf("%+v", g)
	}
	if m := r.Radii[1]; m.Wanted != "mean" || m.OfInputs != 1 || m.Certified != 0 || m.MeanCertified != "0" || m.MeanRefuted != nil {
		t.Errorf("%+v", m)
	}
	has(t, printed(t, r), "radii that were looked for", "0.066666  0.066666", "0.0000..0.3334")
}
