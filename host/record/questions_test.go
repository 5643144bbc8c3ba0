package record

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// asked is a record of one of few questions.
func asked(line, index int, eps string, lower, upper float64) *Placed {
	return &Placed{Record: &Record{Index: index, Property: "argmax_is:3", Eps: eps, Flags: "--method auto", Method: "clbp", PLower: Down(lower), PUpper: Up(upper),
		PosteriorSHA256: "ab", PosteriorScale: "sd", Activations: []string{"relu"}, Inputs: "x.npz:a", InputsSHA256: "cd"}, File: "r.jsonl", Line: line}
}

func contradictions(records ...*Placed) []Contradiction {
	var q Questions
	for _, r := range records {
		q.Add(r)
	}
	return q.Contradictions()
}

// TestQuestionsAgainstPairs: a record's p_lower is refuted exactly if some record about the same
// and a radius that is not larger has a p_upper below it.
func TestQuestionsAgainstPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	radii := []string{"0.01", "0.010", "1/100", "2/255", "0.3", "[0.1,0.2]", "1/3", "0.333333333333333333"}
	found := 0
	for range testscale.Cases(t, 3000) {
		var records []*Placed
		for i := range 2 + rng.IntN(12) {
			a, b := rng.Float64(), rng.Float64()
			if rng.IntN(4) > 0 {
				a, b = a/2, 0.45+b/2
			}
			records = append(records, asked(i, rng.IntN(2), radii[rng.IntN(len(radii))], min(a, b), max(a, b)))
		}
		want := map[string]bool{}
		for _, a := range records {
			for _, b := range records {
				ra, errA := property.NewExact(a.Eps)
				rb, errB := property.NewExact(b.Eps)
				same := a.Eps == b.Eps || errA == nil && errB == nil && rb.Cmp(ra) <= 0
				if a.Index == b.Index && same && float64(a.PLower) > float64(b.PUpper) {
					want[fmt.Sprint(a.Index, ra)] = true
				}
			}
		}
		got := map[string]bool{}
		for _, c := range contradictions(records...) {
			var lines [2]int
			fmt.Sscanf(c.A, "r.jsonl: line %d", &lines[0])
			fmt.Sscanf(c.B, "r.jsonl: line %d", &lines[1])
			a, b := records[lines[0]], records[lines[1]]
			ra, _ := property.NewExact(a.Eps)
			if !c.Certified || float64(a.PLower) <= float64(b.PUpper) || a.Index != b.Index || !strings.Contains(c.Words, c.A) || !strings.Contains(c.Words, c.B) {
				t.Fatalf("%+v", c)
			}
			got[fmt.Sprint(a.Index, ra)] = true
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("found %v, want %v", got, want)
		}
		found += len(got)
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}

// TestQuestionsAreDifferent: whatever changes P_safe makes another question, and what only
// changes how it is bounded, or where its files lie, does not.
func TestQuestionsAreDifferent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Record)
		same   bool
	}{
		"nothing": {func(*Record) {}, true},
		"method": {func(r *Record) {
			r.Flags, r.Method = "--method lbp --samples 9 --gamma 2 --no-upper --derived", "lbp"
		}, true},
		"device": {func(r *Record) {
			r.Device, r.Precision, r.Seed, r.Version, r.Posterior = "x", "float64", 7, "0", "else.npz"
		}, true},
		"radius":        {func(r *Record) { r.Eps = "1/100" }, true},
		"smaller":       {func(r *Record) { r.Eps = "0.001" }, false},
		"larger":        {func(r *Record) { r.Eps = "0.02" }, true},
		"path":          {func(r *Record) { r.Inputs = "/elsewhere/x.npz:a" }, true},
		"array":         {func(r *Record) { r.Inputs = "x.npz:b" }, false},
		"posterior":     {func(r *Record) { r.PosteriorSHA256 = "ac" }, false},
		"scale":         {func(r *Record) { r.PosteriorScale = "sd x 2" }, false},
		"activations":   {func(r *Record) { r.Activations = []string{"tanh"} }, false},
		"property":      {func(r *Record) { r.Property = "argmax_is:4" }, false},
		"label":         {func(r *Record) { r.Label = new(3) }, false},
		"clip":          {func(r *Record) { r.Clip = []string{"0", "1"} }, false},
		"mean":          {func(r *Record) { r.Mean = "0.5" }, false},
		"label column":  {func(r *Record) { r.Flags = "--method auto --label-column last" }, false},
		"no column":     {func(r *Record) { r.Flags = "--method auto --label-column none --precision float64" }, true},
		"column none1":  {func(r *Record) { r.Flags = "--method auto --label-column none1" }, false},
		"quoted":        {func(r *Record) { r.Flags = `--method auto --label-column "a --method b"` }, false},
		"unknown flag":  {func(r *Record) { r.Flags = "--method auto --new-thing" }, false},
		"several radii": {func(r *Record) { r.Eps = "[0.01,0.01]" }, false},
		"fixed":         {func(r *Record) { r.Fix = "0" }, false},
	} {
		a, b := asked(1, 0, "0.01", 0, 0.5), asked(2, 0, "0.01", 0.75, 1)
		c.change(b.Record)
		for _, records := range [][]*Placed{{a, b}, {b, a}} {
			if list := contradictions(records...); (len(list) == 1) != c.same {
				t.Errorf("%s: %+v", name, list)
			}
		}
	}
}

// TestIntervalsOutside: an interval outside of certified bounds is told, as no certificate, also
// across radii; one that only touches is not.
func TestIntervalsOutside(t *testing.T) {
	drawn := func(line int, eps string, lower, upper float64) *Placed {
		p := asked(line, 0, eps, 0, 1)
		p.Statistical = &Statistical{Confidence: 0.99, Lower: Down(lower), Upper: Up(upper)}
		return p
	}
	for _, c := range []struct {
		interval *Placed
		want     string
	}{
		{drawn(9, "0.02", 0.25, 0.75), ""},
		{drawn(9, "0.02", 0.1, 0.125), "r.jsonl: line 9 (eps 0.02): the statistical interval up to 0.125 is below p_lower 0.25 of r.jsonl: line 1 (eps 0.02): it holds with confidence 0.99 only"},
		{drawn(9, "0.02", 0.875, 0.9), "r.jsonl: line 9 (eps 0.02): the statistical interval from 0.875 on is above p_upper 0.75 of r.jsonl: line 1 (eps 0.02): it holds"},
		{drawn(9, "0.01", 0.875, 0.9), ""},
		{drawn(9, "0.01", 0.1, 0.125), "up to 0.125 is below p_lower 0.25 of r.jsonl: line 1 (eps 0.02)"},
		{drawn(9, "0.03", 0.1, 0.125), ""},
		{drawn(9, "0.03", 0.875, 0.9), "from 0.875 on is above p_upper 0.75 of r.jsonl: line 1 (eps 0.02)"},
	} {
		records := []*Placed{asked(1, 0, "0.02", 0.25, 0.75), asked(2, 0, "0.03", 0, 0.75), asked(3, 0, "0.01", 0.25, 1), c.interval}
		for range 2 {
			list := contradictions(records...)
			if len(list) == 0 && c.want == "" {
				continue
			}
			if len(list) != 1 || list[0].Certified || c.want == "" || !strings.Contains(list[0].Words, c.want) {
				t.Errorf("%+v, want %q", list, c.want)
			}
		}
	}
}

// TestQuestionsBounded: what is beyond the limits is counted, and what was found is kept.
func TestQuestionsBounded(t *testing.T) {
	var q Questions
	for i := range mostRadii + 10 {
		q.Add(asked(i, 0, fmt.Sprint(i), 0.5, 1))
	}
	q.Add(asked(1, 0, "5", 0, 0.25))
	q.Add(asked(2, 0, fmt.Sprint(mostRadii+5), 0, 0.25)) // another family
	if n := len(q.Contradictions()); n != mostRadii-5+1 || q.Skipped() != 0 || q.Len() != mostRadii+10 {
		t.Errorf("%d contradictions, %d skipped of %d", n, q.Skipped(), q.Len())
	}
}

// TestTooManyQuestions: beyond the limit records of known questions are compared still, and
// others counted.
func TestTooManyQuestions(t *testing.T) {
	var q Questions
	q.Add(asked(1, 0, "0.1", 0.5, 1))
	full := make([]entry, chunk)
	for i := range full {
		full[i].upper = 2
	}
	copy(full, q.entries[0])
	for q.entries = (chunks{full}); q.Len() < mostQuestions; {
		q.entries = append(q.entries, full) // one array for all, since nobody looks at them
	}
	q.Add(asked(2, 1, "0.1", 0, 1))
	q.Add(asked(3, 0, "0.1", 0, 0.25))
	if e := q.entries.at(0); q.Skipped() != 1 || q.Len() != mostQuestions || e.upper != 0.25 {
		t.Errorf("%d skipped, %d questions, %+v", q.Skipped(), q.Len(), e)
	}
}

// TestSum: means are the nearest float64 on their side of the exact mean.
func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range testscale.Cases(t, 300) {
		var s Sum
		exact := new(big.Rat)
		for range 1 + rng.IntN(40) {
			x := rng.Float64()
			switch rng.IntN(6) {
			case 0:
				x = 1
			case 1:
				x = 0
			case 2:
				x *= 1e-300
			case 3:
				x *= 1e-320
			}
			before := s
			s.Add(1) // which is of s alone
			s = before
			s.Add(x)
			exact.Add(exact, new(big.Rat).SetFloat64(x))
		}
		exact.Quo(exact, new(big.Rat).SetInt64(int64(s.N())))
		if s.mean().Cmp(exact) != 0 {
			t.Fatalf("mean %v, want %v", s.mean(), exact)
		}
		if down, up := new(big.Rat).SetFloat64(s.MeanDown()), new(big.Rat).SetFloat64(s.MeanUp()); down.Cmp(exact) > 0 || up.Cmp(exact) < 0 {
			t.Errorf("%v..%v, want %v", s.MeanDown(), s.MeanUp(), exact)
		}
	}
}

// TestCoverage: many tasks in any order, of which few are missing or there twice.
func TestCoverage(t *testing.T) {
	const tasks = 3*pageTasks + 100
	var c Coverage
	add := func(task int) { c.Add(&Placed{Record: &Record{Run: "1", Task: task, Tasks: tasks}, File: "a"}) }
	for _, task := range rand.New(rand.NewPCG(1, 1)).Perm(tasks) {
		if task != 5 && task != pageTasks && task != tasks-1 {
			add(task)
		}
	}
	add(7)
	add(7)
	add(2 * pageTasks)
	runs := c.Runs()
	if len(runs) != 1 || runs[0].Present != tasks-3 || runs[0].More != 2 || runs[0].Missing != fmt.Sprintf("5, %d, %d", pageTasks, tasks-1) || runs[0].Twice != fmt.Sprintf("7, %d", 2*pageTasks) {
		t.Errorf("%+v", runs)
	}
	add = func(task int) {
		c.Add(&Placed{Record: &Record{Run: "2", Task: task, Tasks: 1 << 60}, File: "a"})
	}
	for i := range mostPages + 5 {
		add(i * pageTasks)
	}
	if lines := c.Lines(); c.Skipped != 9 || !strings.HasPrefix(lines[len(lines)-1], "of 9 records it was not looked") {
		t.Errorf("%d skipped: %q", c.Skipped, lines)
	}
}
