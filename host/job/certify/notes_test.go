package certify

import (
	"testing"

	"psafe/host/prove/claim"
	"psafe/host/record"
)

// TestExplain: every input that is shown with a p_lower of 0.0000 is explained, those that are
// decided or not about a proof are not, and nobody is told to do what was done.
func TestExplain(t *testing.T) {
	none, one := 0, 1
	rec := func(p float64, boxes string, safe *int, flags string) *record.Record {
		return &record.Record{PLower: record.Down(p), Verdict: "unknown", Eps: "0.1", Flags: flags, Boxes: boxes, SafeBoxes: safe}
	}
	decided, drawn, sampled := rec(0, "", nil, ""), rec(0, "", nil, ""), rec(0, "sampled", &none, "")
	decided.Verdict, drawn.Method = "unsafe", "statistical"
	grids, deep, ended, late := rec(0, "", nil, "--method auto"), rec(0, "", nil, "--method auto"), rec(0, "", nil, "--method auto --require 0.5"), rec(0, "", nil, "--method auto")
	for _, r := range []*record.Record{grids, deep, ended, late} {
		r.Eps, r.Activations = "", []string{"relu"}
	}
	late.Stopped, late.Flags = claim.TimeLimit, "--method auto --time-limit 1s"
	tanh := *grids
	tanh.Activations = []string{"tanh"}
	limited := *grids
	limited.Flags = "--method auto --time-limit 10s"
	deep.Activations = []string{"relu", "relu"}
	const (
		means   = "next to nothing was proved (see log10_p_lower): a p_lower of 0.0000 means unknown, not unsafe; a smaller --eps"
		spread  = "; the spread of the posterior is large for what can be proved, and --scale-factor 0.5 shows what half of it would give"
		say     = "; --method statistical says what drawn networks do"
		ofAuto  = "--method auto"
		ofBoxes = "--method lbp --boxes centred"
	)
	for name, c := range map[string]struct {
		records []*record.Record
		want    string
	}{
		"decided": {[]*record.Record{decided, drawn, sampled, rec(1e-4, "centred", &one, ofAuto)}, ""},
		"mixed": {[]*record.Record{rec(0, "", nil, ofAuto), rec(1e-40, "centred", &one, ofAuto), rec(0.00009999, "centred", &one, ofAuto), rec(0.5, "", nil, ofAuto)},
			"for 3 of 4 inputs " + means + " may help" + spread + say},
		"underflow": {[]*record.Record{rec(0, "centred", &one, ofBoxes)}, "for 1 of 1 inputs " + means + " or --method auto may help" + spread + say},
		"no box": {[]*record.Record{rec(0, "centred", &none, ofBoxes), decided},
			"for 1 of 2 inputs no box around the mean was proved safe on T: p_lower 0 means unknown, not unsafe; a smaller --eps or --method auto may help" + say},
		"nothing": {[]*record.Record{rec(0, "", nil, ofAuto)}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; a smaller --eps may help" + say},
		"grids":   {[]*record.Record{grids}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; smaller input boxes or --method neuronsum (minutes, for few inputs) may help" + say},
		"deep":    {[]*record.Record{deep}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; smaller input boxes may help" + say},
		"tanh":    {[]*record.Record{&tanh}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; smaller input boxes may help" + say},
		"limited": {[]*record.Record{&limited}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; smaller input boxes may help" + say},
		"ended":   {[]*record.Record{ended}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; smaller input boxes may help" + say},
		"late":    {[]*record.Record{late}, "for 1 of 1 inputs nothing was proved: p_lower 0 means unknown, not unsafe; a longer --time-limit or smaller input boxes may help" + say},
		"little":  {[]*record.Record{rec(1e-9, "", nil, ofAuto)}, "for 1 of 1 inputs " + means + " may help" + say},
	} {
		var explain Explanation
		for _, r := range c.records {
			explain.Add(r)
		}
		notes := explain.Notes()
		if c.want == "" && len(notes) == 0 {
			continue
		}
		if len(notes) != 1 || notes[0].String() != c.want {
			t.Errorf("%s: %v, want %q", name, notes, c.want)
		}
	}
}
