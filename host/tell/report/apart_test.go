package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"psafe/host/read/npy"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
)

// TestLinesApart: what was asked for in another way is another line, and what is another
// question another input, none of which is dropped.
func TestLinesApart(t *testing.T) {
	var base []record.Placed
	for i, eps := range []string{"0.01", "0.02"} {
		r := synthetic(1)[0]
		r.Eps, r.Flags, r.Method, r.Line = eps, "--method lbp", "lbp", i+1
		base = append(base, r)
	}
	both := func(change func(r *record.Record)) []record.Placed {
		list := base
		for _, p := range base {
			other := *p.Record
			change(&other)
			list = append(list, record.Placed{Record: &other, File: p.File, Line: p.Line + 2})
		}
		return list
	}
	lines := func(records []record.Placed) string {
		charts, left := chartsOf(records, summary.PosteriorNames(records, fitted))
		text := ""
		for _, c := range charts {
			for _, s := range c.Series {
				text += fmt.Sprintf("%s: %d of %d; ", s.Method, s.Inputs, len(s.Points))
			}
		}
		return text + fmt.Sprint(left)
	}
	for _, c := range []struct {
		change func(r *record.Record)
		want   string
	}{
		{func(r *record.Record) {}, "lbp: 1 of 2; []"},
		{func(r *record.Record) { r.Flags += " --gamma 1" }, "lbp float32 seed 0: 1 of 2; lbp --gamma 1 float32 seed 0: 1 of 2; []"},
		{func(r *record.Record) { r.Seed = 7 }, "lbp float32 seed 0: 1 of 2; lbp float32 seed 7: 1 of 2; []"},
		{func(r *record.Record) { r.Precision = "float64" }, "lbp float32 seed 0: 1 of 2; lbp float64 seed 0: 1 of 2; []"},
		{func(r *record.Record) { r.InputScale = "1/127" }, "lbp: 2 of 2; []"},
		{func(r *record.Record) { r.Inputs = "a.npz:b" }, "lbp: 2 of 2; []"},
		{func(r *record.Record) { r.Inputs = "elsewhere/images.gz" }, "lbp: 1 of 2; []"},
		{func(r *record.Record) { r.Mean, r.Std = "0.5", "2" }, "lbp: 2 of 2; []"},
		{func(r *record.Record) { r.Channels = "first" }, "lbp: 2 of 2; []"},
		{func(r *record.Record) { r.PosteriorSD, r.PosteriorSDSHA = "file sd", "ff" }, "lbp: 1 of 2; lbp: 1 of 2; []"},
		{func(r *record.Record) { r.Predictive = "linearised" }, "lbp: 1 of 2; lbp: 1 of 2; []"},
	} {
		records := both(c.change)
		if got := lines(records); got != c.want {
			t.Errorf("%s; want %s", got, c.want)
		}
	}
}

// TestArrays: points of two arrays of one archive, whose digest is the same, are drawn apart,
// whichever of them --points names.
func TestArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.npz")
	var b bytes.Buffer
	err := npy.WriteZip(&b, []npy.Named{{Name: "a", Array: &npy.Array{Shape: []int{1, 2}, Data: []float64{1, 2}, DType: "<f8"}},
		{Name: "b", Array: &npy.Array{Shape: []int{1, 2}, Data: []float64{3, 4}, DType: "<f8"}}})
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	points, err := property.ReadPoints(path+":a", property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	records := synthetic(2)
	for i := range records {
		r := records[i].Record
		r.Index, r.Inputs, r.InputsSHA256, r.PLower, r.PUpper, r.Log10PLower = 0, []string{"gone/two.npz:a", "gone/two.npz:b"}[i], points.SHA256, 0, 1, nil
		r.Decide(r.Require)
	}
	for _, given := range []string{path, path + ":a", path + ":b"} {
		page, notes := Make(records, Options{Inputs: 10, Points: []string{given}})
		d := decode(t, page)
		if want := `[{two.npz:a values   [[1 2]] 0 0} {two.npz:b values   [[3 4]] 0 0}]`; fmt.Sprint(d.Sets) != want {
			t.Errorf("%s: %v, %q", given, d.Sets, notes)
		}
	}
}

// TestShares: no rounding makes more of what is safe, or hides what is not.
func TestShares(t *testing.T) {
	list := verdictsOf(&summary.Result{Records: 100_000, Means: summary.Means{Verdicts: summary.Verdicts{Safe: 99_998, Unsafe: 1, Unknown: 1}}})
	if got := list[0].Share + ", " + list[1].Share + ", " + list[2].Share; got != "99.9 %, 0.1 %, 0.1 %" {
		t.Error(got)
	}
	list = verdictsOf(&summary.Result{Records: 3, Means: summary.Means{Verdicts: summary.Verdicts{Safe: 3}}})
	if got := list[0].Share + ", " + list[1].Share; got != "100.0 %, 0.0 %" {
		t.Error(got)
	}
}

// TestRegion: T in words.
func TestRegion(t *testing.T) {
	for _, c := range []struct {
		r    record.Record
		want string
	}{
		{record.Record{Eps: "0.1", Clip: []string{"0", "1"}}, "eps 0.1, cut to [0, 1]"},
		{record.Record{Template: "d/around.json", TemplateSHA256: "ab", Clip: []string{"0", "1"}, Fix: "3"}, "the boxes of around.json around each point, cut to [0, 1], inputs 3 fixed"},
		{record.Record{}, "the boxes of a property file"},
	} {
		if got := region(&c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
