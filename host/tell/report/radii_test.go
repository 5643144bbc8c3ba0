package report

import (
	"strings"
	"testing"

	"psafe/host/record"
)

// TestRadiiOf: the page of records of psafe radius says radii, and pools nothing of both ends.
func TestRadiiOf(t *testing.T) {
	at := func(index int, eps, verdict string) record.Placed {
		label := 1
		return record.Placed{Record: &record.Record{Index: index, Eps: eps, Verdict: verdict, Label: &label, Property: "argmax_is:1", Flags: "--method auto", Method: "clbp", PUpper: 1,
			InputsSHA256: "b", PosteriorSHA256: "a"}, File: "radii.jsonl", Line: index + 1}
	}
	records := []record.Placed{at(0, "0.2", "safe"), at(0, "0.3", "unsafe"), at(1, "0.1", "safe"), at(2, "0.1", "unsafe")}
	html, _ := Make(records, Options{Inputs: 0})
	for _, words := range []string{"Of 3 inputs, 2 have a certified radius, of at least 0.09999", "2 have a refuted one, of at most 0.20000"} {
		if !strings.Contains(string(html), words) {
			t.Errorf("the page does not say %q: %s", words, radiiOf(records))
		}
	}
	if strings.Contains(string(html), "it is proved that") {
		t.Error("the page says shares of records that were chosen by their verdicts")
	}
}

// TestRadiiFound: radii that were looked for have curves and histograms, with numbers that are those of
// the inputs, and no means of bounds.
func TestRadiiFound(t *testing.T) {
	at := func(index int, end, eps, verdict string) record.Placed {
		label := 1
		return record.Placed{Record: &record.Record{Index: index, Eps: eps, RadiusEnd: end, Verdict: verdict, Label: &label, Property: "argmax_is:1", Flags: "--method clbp --most 0.4 --step 0.1", Method: "clbp",
			PUpper: 1, InputsSHA256: "b", PosteriorSHA256: "a", Posterior: "net<b>.npz"}, File: "radii.jsonl", Line: index + 1}
	}
	records := []record.Placed{at(0, "certified", "0.2", "safe"), at(0, "refuted", "0.3", "unsafe"), at(1, "certified", "0.1", "safe"), at(1, "refuted", "0.4", "unknown"),
		at(2, "certified", "0", "unknown"), at(2, "refuted", "0.1", "unsafe")}
	html, _ := Make(records, Options{Inputs: 0})
	for _, words := range []string{
		"Of 3 inputs, 2 have a certified radius, of at least 0.100000 on average over all and 0.100000 in the median; 2 have a refuted one, of at most 0.200000 on average over these",
		"Radii that were looked for", "1 of 3 inputs have none", `<th scope="row">0.1</th><td class="n">0.6666</td><td class="n">0.6667</td>`, `<th scope="row">0.2</th><td class="n">0.3333</td><td class="n">0.6667</td>`,
		`<th scope="row">0.3</th><td class="n">0.0000</td><td class="n">0.3334</td>`, `<th scope="row">0.09 to below 0.105</th><td class="n">1</td>`, `<th scope="row">0.285 to 0.3</th><td class="n">1</td>`, `<img class="figure" alt="Shares of the inputs by radius, `,
	} {
		if !strings.Contains(string(html), words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	for _, words := range []string{"it is proved that", "Distribution of the bounds", "<b>.npz"} {
		if strings.Contains(string(html), words) {
			t.Errorf("the page says %q", words)
		}
	}
}

// TestExtremeRadii: figures of radii that are as large, small, or equal as can be are drawn, or the page says
// why not.
func TestExtremeRadii(t *testing.T) {
	for _, radii := range [][]string{{"0", "5e-324"}, {"0", "1e308"}, {"5e-324", "1.7e308"}, {"0"}} {
		var asked, found []record.Placed
		for i, eps := range radii {
			r := *synthetic(1)[0].Record
			r.Eps, r.Flags, r.Method = eps, "--method lbp", "lbp"
			asked = append(asked, record.Placed{Record: &r, File: "r.jsonl", Line: i + 1})
			end := r
			end.RadiusEnd, end.Verdict, end.Index, end.Flags = "certified", "safe", i, "--method lbp --most 2e308 --step 1"
			found = append(found, record.Placed{Record: &end, File: "r.jsonl", Line: i + 1})
		}
		if html, _ := Make(asked, Options{}); len(radii) > 1 && !strings.Contains(string(html), `alt="Mean bounds`) {
			t.Errorf("%s: no curves", radii)
		}
		if html, _ := Make(found, Options{}); !strings.Contains(string(html), `alt="Shares of the inputs`) {
			t.Errorf("%s: no shares", radii)
		}
	}
}
