package certify

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// TestDiagnosis: whoever gets nothing learns of one cause, which is computed, and of one thing to do,
// which is not what was done; within a second.
func TestDiagnosis(t *testing.T) {
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
		"T":          {conv, `^T: at the point itself p_lower is at least 0\.99\d\d, with --eps 0\.0\d+ at least 0\.9\d\d\d`, `^--eps 0\.0(25|125)$`},
		"the spread": {glyphs("0.001", "24", Method{NoUpper: true}), `^the spread: p_lower is at least 0\.88\d\d with half of the standard deviations \(--scale-factor 12\); 0\.\d+ if the last `, `^--scale-factor 12 shows`},
		"by moments": {glyphs("0.001", "40", Method{NoUpper: true}), `^the spread: p_lower is at least 0\.(48|49|5)\d* with half of the standard deviations at the point itself \(--scale-factor 20 --eps 0\); 0\.\d+ if the last 2 layers alone are random \(standard deviations of 0 below`, `^--scale-factor 20 --eps 0 shows`},
		"the class":  {class, `^the class: \d+ of \d+ drawn networks leave S at the middle of T already$`, `^leave out --options no-upper`},
		"the budget": {boxes, `^(T|the budget): .* 0 of|^(T|the budget): .*\(0 of`, `^(boxes of 1/\d+ of the width|give an input more time)$`},
		"phases":     {phases, `^--method phases proves p_lower 0\.9999 there`, `^--method phases$`},
	} {
		t.Run(name, func(t *testing.T) {
			var n *Unproved
			c.job.Explain = func(u *Unproved) { n = u }
			var took time.Duration
			for range 4 { // beside other work a second may be too short for what is asked
				began := time.Now()
				records, err := c.job.Run(t.Context())
				took = time.Since(began)
				if err != nil || n == nil {
					t.Fatalf("%v: nothing is explained: %+v", err, records)
				}
				if regexp.MustCompile(c.why).MatchString(n.Why) {
					break
				}
			}
			// Within a second a program that is watched for races does not see as much.
			if right := regexp.MustCompile(c.why).MatchString(n.Why) && regexp.MustCompile(c.next).MatchString(n.Next); !right && !testing.Short() {
				t.Errorf("%s", n)
			}
			if f := c.job.Posterior.Factor; f != "" && strings.Contains(n.Next, "--scale-factor "+f) {
				t.Errorf("it was given: %s", n)
			}
			quiet := *c.job
			quiet.Explain = nil
			began := time.Now()
			if _, err := quiet.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if extra := took - time.Since(began); extra > 10*time.Second { // a second, on a machine that is idle
				t.Errorf("it took %v", extra)
			}
		})
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
		{diagnosis{atZero: 0, halved: true}, "the depth: concentration LBP loses all in 2 hidden layers, at the point itself and with half of the standard deviations too"},
		{diagnosis{atZero: -1, halved: true, isPoint: true, moments: true}, "the depth: concentration LBP and exact moments lose all in 2 hidden layers, with half of the standard deviations too"},
		{diagnosis{atZero: -1, isPoint: true}, "the depth or the spread: concentration LBP loses all in 2 hidden layers"},
		{diagnosis{atZero: -1}, "smaller regions and less spread take longer than this note may, and were not looked at"},
	} {
		c.d.r, c.d.rec = &ready{Job: &Job{}, post: post}, rec
		if got := c.d.depth(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := c.d.interval(c.d.another()); !strings.HasPrefix(got, "--draws 1000") {
			t.Error(got)
		}
		c.d.r.cfg.Samples = 5
		if got := c.d.interval(c.d.another()); got != "a network with fewer layers, or with less spread" {
			t.Error(got)
		}
	}
	parts := diagnosis{rec: &record.Record{Activations: []string{"identity", "relu", "identity", "identity", "tanh"}}}
	if got := parts.hidden(); got != 2 {
		t.Errorf("%d hidden layers, want those with an activation, 2", got)
	}
	for _, c := range []struct {
		asked prove.Method
		job   Job
		want  string
	}{{prove.Auto, Job{}, "--eps 0"}, {prove.Auto, Job{Require: "0.5"}, "--eps 0 --method chernoff"}, {prove.CLBP, Job{}, "--eps 0 --method chernoff"}, {prove.Chernoff, Job{Require: "0.5"}, "--eps 0"}} {
		d := diagnosis{r: &ready{Job: &c.job, cfg: prove.Config{Method: c.asked}}}
		if got := d.flags(prove.Chernoff, "--eps 0"); got != c.want {
			t.Errorf("asked %v: %q, want %q", c.asked, got, c.want)
		}
	}
	d := diagnosis{r: &ready{Job: &Job{}, cfg: prove.Config{Method: prove.Chernoff}}}
	if got := d.flags(prove.CLBP, "standard deviations of 0 below the last layer", "--eps 0"); got != "standard deviations of 0 below the last layer and --eps 0 --method clbp" {
		t.Error(got)
	}
	if got := d.flags(prove.Chernoff, "--scale-factor 2", "boxes that are points"); got != "--scale-factor 2 and boxes that are points" {
		t.Error(got)
	}
	if got := d.flags(prove.CLBP, "a radius near 0"); got != "a radius near 0 and --method clbp" {
		t.Error(got)
	}
	for factor, want := range map[string]string{"": "0.5", "3": "1.5", "0.001": "0.0005", "1e1": "5", "1/2": "0.25"} {
		if got := halfOf(factor); got != want {
			t.Errorf("half of %q is %s, want %s", factor, got, want)
		}
	}
}

// TestUnproved: what counts as next to nothing, and the words without a look.
func TestUnproved(t *testing.T) {
	rec := func(p float64, method string) *record.Record {
		return &record.Record{PLower: record.Down(p), Verdict: record.Unknown, Eps: "0.1", Method: method, Index: 7}
	}
	decided, drawn, late := rec(0, "clbp"), rec(0, ""), rec(0, "clbp")
	decided.Verdict, drawn.Method, late.Stopped = "unsafe", "statistical", claim.TimeLimit
	var u unproved
	for _, r := range []*record.Record{decided, drawn, rec(0, "ibp"), rec(1e-4, "clbp")} {
		u.add(r)
	}
	if u.inputs != 0 || u.of != 4 {
		t.Errorf("%+v", u)
	}
	u.add(rec(0, "clbp"))
	if got := u.note().String(); got != "for 1 of 5 inputs nothing was proved: p_lower 0 means unknown, not unsafe" {
		t.Error(got)
	}
	u.add(rec(0.00009999, "chernoff"))
	n := u.note()
	n.Why, n.Next = "T: because", "eps 0.05"
	if got := n.String(); got != "for 2 of 6 inputs next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means unknown, not unsafe; index 7 at eps 0.1: T: because; next: eps 0.05" {
		t.Error(got)
	}
}
