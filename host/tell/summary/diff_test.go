package summary_test

import (
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/testkit/recordtest"
)

// bounded is the record of an input with bounds.
func bounded(input int, lower, upper float64) *record.Record {
	r := recordtest.Record(0, 1000)
	r.Index, r.PLower, r.PUpper, r.Log10PLower = input, record.Down(lower), record.Up(upper), nil
	r.Decide(property.MustExact("0.9"))
	return r
}

// diffOf compares records.
func diffOf(d *summary.Diff, a, b []*record.Record) *summary.Difference {
	for side, list := range [][]*record.Record{a, b} {
		for i, r := range list {
			d.Add(side, &record.Placed{Record: r, File: string("ab"[side]), Line: i + 1})
		}
	}
	return d.Result()
}

// TestDiff: bounds of one P_safe are better where they are tighter, of another posterior where they are higher;
// small changes are none, but for verdicts; several records of a question count by the tightest.
func TestDiff(t *testing.T) {
	for _, c := range []struct {
		a, b      [2]float64
		one, many string // kinds of change, of one posterior and of any
	}{
		{[2]float64{0.5, 1}, [2]float64{0.5, 1}, "", ""},
		{[2]float64{0.5, 1}, [2]float64{0.6, 1}, summary.Improved, summary.Improved},
		{[2]float64{0.5, 1}, [2]float64{0.501, 1}, "", ""},
		{[2]float64{0.8995, 1}, [2]float64{0.9, 1}, summary.Improved, summary.Improved}, // unknown to safe
		{[2]float64{0.95, 1}, [2]float64{0.92, 1}, summary.Worse, summary.Worse},
		{[2]float64{0, 0.8}, [2]float64{0, 1}, summary.Worse, summary.Improved},
		{[2]float64{0, 0.8}, [2]float64{0, 0.7}, summary.Improved, summary.Worse},
		{[2]float64{0.2, 0.8}, [2]float64{0.1, 0.7}, summary.Mixed, summary.Worse},
		{[2]float64{0.2, 0.8}, [2]float64{0.3, 0.85}, summary.Mixed, summary.Improved},
		{[2]float64{0.95, 1}, [2]float64{0.2, 0.5}, summary.Mixed, summary.Worse}, // one of them is wrong
	} {
		for _, any := range []bool{false, true} {
			want := c.one
			old, new := bounded(3, c.a[0], c.a[1]), bounded(3, c.b[0], c.b[1])
			if any {
				want = c.many
				new.PosteriorSHA256 = "other"
			}
			looser := *old
			looser.PLower, looser.PUpper, looser.Method = 0, 1, "ibp"
			r := diffOf(&summary.Diff{AnyPosterior: any, Tolerance: 0.002}, []*record.Record{old, &looser, bounded(4, 0, 1)}, []*record.Record{new})
			got := ""
			for _, change := range r.Changes {
				if change.Change != summary.OnlyInA {
					got += change.Change
				}
			}
			lost := 1 // of input 4
			if want == summary.Worse || want == summary.Mixed {
				lost++
			}
			if got != want || r.Both != 1 || r.Counts[summary.OnlyInA] != 1 || r.Lost() != lost || (len(r.Contradictions) > 0) != (!any && c.a[0] > c.b[1]) {
				t.Errorf("%v to %v, any posterior %v: %q, want %q: %+v", c.a, c.b, any, got, want, r)
			}
		}
	}
}

// TestDiffRadii: of radii that were looked for the certified one bounds that of the input from below, and the
// refuted one from above.
func TestDiffRadii(t *testing.T) {
	end := func(of int, eps, verdict string) *record.Record {
		r := bounded(3, 0, 1)
		r.RadiusEnd, r.Eps, r.Verdict = record.RadiusEndWords[of], eps, verdict
		return r
	}
	r := diffOf(new(summary.Diff), []*record.Record{end(0, "0.01", "safe"), end(1, "0.05", "unsafe")}, []*record.Record{end(0, "2/100", "safe"), end(1, "0.05", "unsafe")})
	if len(r.Changes) != 1 || r.Counts[summary.Improved] != 1 || r.Changes[0].Lower != [2]string{"0.01", "2/100"} || r.Changes[0].Upper != [2]string{"0.05", "0.05"} {
		t.Errorf("%+v", r)
	}
}

// TestDiffPrinted: the table takes 80 columns, what is worse comes first, and what is only in one has one value.
func TestDiffPrinted(t *testing.T) {
	a := []*record.Record{bounded(1, 0.2, 1), bounded(2, 0.95, 1), bounded(3, 0, 1)}
	b := []*record.Record{bounded(1, 0.95, 1), bounded(2, 0.2, 1), bounded(4, 0, 1)}
	for _, r := range append(a, b...) {
		r.Name = strings.Repeat("a name ", 10) + string('0'+rune(r.Index))
		r.Property = r.Name // as in property files
	}
	b[0].Eps, a[0].Eps, b[1].Flags = "0.10", "1/10", "--method auto --require 0.9 --cells 4"
	var text strings.Builder
	if err := diffOf(new(summary.Diff), a, b).PrintWithin(&text, 80); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for _, line := range lines {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	has(t, text.String(), "2 in both, 1 only in A, 1 only in B", "1 improved, 1 worse, 0 mixed, 0 the same; 2 with another verdict",
		"worse  safe->unknown  0.9499->0.2000  1.0000\n", "only A        unknown          0.0000  1.0000\n", "improved  unknown->safe  0.2000->0.9499  1.0000\n")
	if strings.Contains(text.String(), "3 a name") {
		t.Errorf("a name is there twice:\n%s", text.String())
	}
	if n := len(lines); n != 10 || !strings.Contains(lines[6], "worse") || !strings.Contains(lines[9], "only B") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
}

// TestDiffAsked: of several records the one that decides counts, and the largest --require, in any order; each_lower has
// a verdict; questions are told apart by what is in quotes, by all
// digits of a digest, and radii by what each_lower had to be.
func TestDiffAsked(t *testing.T) {
	decided := func(method, verdict string) *record.Record {
		r := bounded(3, 0, 1)
		r.Method, r.Decision = method, &record.Decision{Verdict: verdict}
		return r
	}
	required := func(require string) *record.Record {
		r := bounded(3, 0.7, 1)
		r.Flags += " --require " + require
		r.Decide(property.MustExact(require))
		return r
	}
	each := func(lower record.Down, require, end string) *record.Record {
		r := bounded(3, 0, 1)
		r.EachLower, r.RadiusEnd, r.Flags = &lower, end, "--method auto --target each"
		r.Decide(property.MustExact(require))
		return r
	}
	noisy := func(digest string) *record.Record {
		r := bounded(3, 0, 1)
		r.InputNoise, r.InputNoiseSHA256 = "noise.npy", digest
		return r
	}
	asked := func(flags string) *record.Record {
		r := bounded(3, 0, 1)
		r.Flags = flags
		return r
	}
	for name, c := range map[string]struct {
		a, b []*record.Record
		want string
		both int
	}{
		"decided first":  {[]*record.Record{decided("clbp", "decision_safe"), decided("lbp", "unknown")}, []*record.Record{decided("lbp", "unknown"), decided("clbp", "decision_safe")}, "", 1},
		"decided once":   {[]*record.Record{decided("clbp", "decision_safe")}, []*record.Record{decided("lbp", "unknown")}, summary.Worse, 1},
		"required":       {[]*record.Record{required("0.5"), required("0.9")}, []*record.Record{required("0.9"), required("0.5")}, "", 1},
		"each":           {[]*record.Record{each(0.95, "0.9", "")}, []*record.Record{each(0.2, "0.9", "")}, summary.Worse, 1},
		"each of radii":  {[]*record.Record{each(0.95, "0.9", "certified")}, []*record.Record{each(0.95, "0.5", "certified")}, summary.OnlyInA + summary.OnlyInB, 0},
		"spaces":         {[]*record.Record{asked(`--label-column "a b"`)}, []*record.Record{asked(`--label-column "a  b"`)}, summary.OnlyInA + summary.OnlyInB, 0},
		"noise":          {[]*record.Record{noisy("0123456789")}, []*record.Record{noisy("0123456780")}, summary.OnlyInA + summary.OnlyInB, 0},
		"words required": {[]*record.Record{asked(`--label-column "a --require 1 b"`)}, []*record.Record{asked(`--label-column "a b"`)}, summary.OnlyInA + summary.OnlyInB, 0},
	} {
		r := diffOf(new(summary.Diff), c.a, c.b)
		got := ""
		for _, change := range r.Changes {
			got += change.Change
		}
		if got != c.want || r.Both != c.both {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.want, r)
		}
	}
}
