package certify

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
)

// TestDiagnosis: whoever reads unknown learns of one cause, which is computed, and of one command, which is not what was
// run. TestUnknowns of psafe runs the commands.
func TestDiagnosis(t *testing.T) {
	// Beside other work a fraction of a second may be too short for what is asked.
	defer func(a, b time.Duration) { diagnosisTime, mostDiagnosisTime = a, b }(diagnosisTime, mostDiagnosisTime)
	diagnosisTime, mostDiagnosisTime = 30*time.Second, 30*time.Second
	glyphs := func(eps, factor string, m Method) *Job {
		return &Job{Posterior: Posterior{Path: testFile("glyphs-64-24-24-10.npz"), Factor: factor}, Method: m, Open: onCPU,
			Tasks: Tasks{Points: Points{Inputs: testFile("glyphs-test-images-idx3-ubyte.gz"), Index: new("0"), Eps: eps, Clip: []string{"0", "1"}, Property: property.KeepsClass}}}
	}
	conv := glyphs("0.05", "", Method{NoUpper: true})
	conv.Posterior.Path = testFile("glyphs-conv-8-10.npz")
	boxes := &Job{Posterior: Posterior{Path: testFile("advisory-4-32-9.npz")}, Tasks: Tasks{File: testFile("advisory-property.json")}, Open: onCPU}
	boxes.TimeLimit = new(time.Nanosecond)
	phases := glyphs("0.03", "", Method{By: new(prove.CLBP), NoUpper: true})
	phases.Tasks.Points.Index = new("77")
	class := glyphs("0.2", "", Method{NoUpper: true})
	class.Tasks.Points.Property = "argmax_is:9"
	for name, c := range map[string]struct {
		job       *Job
		why, next string
	}{
		"T":            {conv, `^T: at the point itself p_lower is at least 0\.99\d\d, with --eps 0\.0\d+ at least 0\.9\d\d\d`, ` --eps 0\.0(25|125) .*no-upper$`},
		"the spread":   {glyphs("0.001", "24", Method{NoUpper: true}), `^the spread: it is too large; --scale-factor 6 is enough`, ` --scale-factor 6$| --scale-factor 6 `},
		"the networks": {class, `^the networks: \d+ of \d+ drawn networks leave S at the middle of T already`, ` --property argmax_is:9$`},
		"the budget":   {boxes, `^the (budget|method|spread): |^T: `, ` --time-limit 5s$`},
		"phases":       {phases, `^the method: --method phases proves more there`, ` --method phases `},
	} {
		t.Run(name, func(t *testing.T) {
			var n *Unproved
			c.job.Explain = func(u *Unproved) { n = u }
			records, err := c.job.Run(t.Context())
			if err != nil || n == nil {
				t.Fatalf("%v: nothing is explained: %+v", err, records)
			}
			// Within a second a program that is watched for races does not see as much.
			if right := regexp.MustCompile(c.why).MatchString(n.Why) && regexp.MustCompile(c.next).MatchString(n.Next); !right && !testing.Short() {
				t.Errorf("%s", n)
			}
		})
	}
}

// TestTimeAfter: both parts of a diagnosis together take a twentieth of the run, but at least a moment and at most ten seconds.
func TestTimeAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 600 * time.Millisecond, 12 * time.Second: 600 * time.Millisecond,
		time.Minute: 3 * time.Second, time.Hour: 10 * time.Second} {
		if got := 2 * timeAfter(took); got != want {
			t.Errorf("%v after %v, want %v", got, took, want)
		}
	}
}

// TestNothingHelps: words of what was looked at, where none of it proves anything, and never the draws that were asked for.
func TestNothingHelps(t *testing.T) {
	post, err := (&Posterior{Path: testFile("glyphs-64-24-24-10.npz")}).Read()
	if err != nil {
		t.Fatal(err)
	}
	rec := &record.Record{Activations: []string{"relu", "relu"}}
	for _, c := range []struct {
		d    diagnosis
		want string
	}{
		{diagnosis{atZero: 0, halved: true}, "the depth: concentration LBP loses all in 2 hidden layers, at the point itself and with half of the spread too"},
		{diagnosis{atZero: -1, halved: true, isPoint: true, moments: true}, "the depth: concentration LBP and exact moments lose all in 2 hidden layers, with half of the spread too"},
		{diagnosis{atZero: -1, isPoint: true}, "the depth or the spread: concentration LBP loses all in 2 hidden layers"},
		{diagnosis{atZero: -1}, "smaller regions and less spread take longer than this note may, and were not looked at"},
	} {
		c.d.r, c.d.rec = &ready{Job: &Job{}, post: post}, rec
		if got := c.d.depth(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		c.d.drawn = diagnosisDraws
		if got := Shell(c.d.seen("").next); !strings.HasSuffix(got, " --draws 1000") {
			t.Error(got)
		}
		c.d.drawn, c.d.slow = 3, true // as each takes long
		if got := Shell(c.d.seen("").next); !strings.HasSuffix(got, " --draws 100") {
			t.Error(got)
		}
		c.d.rec = &record.Record{Activations: rec.Activations, Statistical: &record.Statistical{}}
		if got := Shell(c.d.seen("").next); got != "psafe inspect" {
			t.Error(got)
		}
	}
	one := &record.Record{Activations: []string{"relu"}}
	if got := (&diagnosis{r: &ready{Job: &Job{}, post: post}, rec: one, atZero: -1, isPoint: true}).depth(); got != "the depth or the spread: concentration LBP loses all in the hidden layer" {
		t.Error(got)
	}
	late := diagnosis{rec: &record.Record{Statistical: &record.Statistical{Samples: 1000, Safe: 300, Unsafe: 12}}}
	if got := late.budgetWords(); got != "the budget: the time limit ended the search, 312 of 1000 drawn networks were decided" {
		t.Error(got)
	}
	parts := diagnosis{rec: &record.Record{Activations: []string{"identity", "relu", "identity", "identity", "tanh"}}}
	if got := parts.hidden(); got != 2 {
		t.Errorf("%d hidden layers, want those with an activation, 2", got)
	}
	gamma, draws := 2.0, 10
	for _, c := range []struct {
		asked  prove.Method
		job    Job
		by     prove.Method
		change string
	}{
		{prove.Auto, Job{}, prove.Chernoff, ""},
		{prove.Auto, Job{Require: "0.5"}, prove.Chernoff, "--method chernoff --require 0.5"},
		{prove.CLBP, Job{Method: Method{By: new(prove.CLBP), Depth: new(2)}}, prove.Chernoff, "--method chernoff"},
		{prove.Chernoff, Job{Require: "0.5"}, prove.Chernoff, "--require 0.5"},
		{prove.IBP, Job{Method: Method{By: new(prove.IBP), Gamma: &gamma, Draws: &draws}}, prove.CLBP, "--method clbp"},
		{prove.CLBP, Job{Method: Method{By: new(prove.CLBP), NoUpper: true}, TimeLimit: new(time.Second)}, prove.CLBP, "--method clbp --options no-upper --time-limit 5s"},
	} {
		d := diagnosis{r: &ready{Job: &c.job, cfg: prove.Config{Method: c.asked}}, rec: &record.Record{Index: 3}}
		d.r.Out.Path, d.r.Tasks.Points = "r.jsonl", Points{Inputs: "x.csv", Index: new("2:5"), Eps: "1,2"}
		d.rec.Eps = "2"
		want := strings.TrimSpace("psafe certify --inputs x.csv --index 3 --eps 2 " + c.change)
		if got := Shell(d.command(c.by, nil)); got != want {
			t.Errorf("asked %v: %q, want %q", c.asked, got, want)
		}
	}
	for factor, want := range map[string]string{"": "0.5", "3": "1.5", "0.001": "0.0005", "1e1": "5", "1/2": "0.25"} {
		if got := halfOf(factor); got != want {
			t.Errorf("half of %q is %s, want %s", factor, got, want)
		}
	}
}

// TestUnproved: which records are told of, and the words without a look.
func TestUnproved(t *testing.T) {
	rec := func(p float64, method string) *record.Record {
		return &record.Record{PLower: record.Down(p), Verdict: record.Unknown, Eps: "0.1", Method: method, Index: 7}
	}
	decided, drawn, late := rec(0, "clbp"), rec(0, "statistical"), rec(0.5, "clbp")
	decided.Verdict, late.Index = "unsafe", 8
	var u unproved
	for _, r := range []*record.Record{decided, drawn} {
		u.add(r)
	}
	if u.inputs != 0 || u.of != 2 {
		t.Errorf("%+v", u)
	}
	for _, step := range []struct {
		add  *record.Record
		want string
	}{
		{late, "1 of 3 inputs are unknown: p_lower is below 0.9, and p_upper is not; index 8 at eps 0.1: T: because; next, which proves all: psafe certify"},
		{rec(0, "clbp"), "for 1 of 4 inputs nothing was proved: p_lower 0 means unknown, not unsafe, and 1 more are unknown; index 7 at eps 0.1: T: because; next, which proves all: psafe certify"},
		{rec(0.00009999, "ibp"), "for 2 of 5 inputs next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means unknown, not unsafe, and 1 more are unknown; index 7 at eps 0.1: T: because; next, which proves all: psafe certify"},
	} {
		u.add(step.add)
		n := u.note("0.9")
		n.Why, n.Shows, n.Next = "T: because", "which proves all", "psafe certify"
		if got := n.String(); got != step.want {
			t.Errorf("%s\nwant %s", got, step.want)
		}
		if n.Why = ""; strings.Contains(n.String(), "; ") {
			t.Error(n)
		}
	}
}
