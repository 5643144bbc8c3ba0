package record

import (
	"bytes"
	"encoding/csv"
	"maps"
	"slices"
	"testing"
)

// TestCSVText: cells of text cannot become formulas, and what is a number stays one; no text has
// a character that is not seen.
func TestCSVText(t *testing.T) {
	cells := map[string]string{
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`, "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "+1+1": "'+1+1", "-2+3": "'-2+3", "-1+cmd|x": "'-1+cmd|x",
		"@SUM(A1)": "'@SUM(A1)", "＝1+1": "'＝1+1", "－x": "'－x", "＋1": "'＋1", "＠a": "'＠a", "=": "'=", "-": "'-", "-1,=1": "'-1,=1", "-1-1": "'-1-1", "-x.npz": "'-x.npz",
		"-0.5": "-0.5", "+0.1": "+0.1", "-1e-05": "-1e-05", "-1,1": "-1,1", "-0.5,+2,3e9": "-0.5,+2,3e9", "0.1": "0.1", "": "",
		"plain": "plain", "'=1": "'=1", " =1": " =1", "a=b": "a=b", "\t=1": `\u0009=1`, "\r=1": `\u000d=1`, "\n=1": `\u000a=1`,
		"line\u2028paragraph\u2029": `line\u2028paragraph\u2029`, "tag\U000e0041": `tag\udb40\udc41`, "mark\ufeff\u200c\u0085": `mark\ufeff\u200c\u0085`, "é 日": "é 日",
	}
	columns := columns()
	at := func(name string) int {
		return slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	}
	var records []*Record
	texts := slices.Sorted(maps.Keys(cells))
	for _, text := range texts {
		r := *tableRecords()[0]
		r.Name, r.Property, r.Posterior, r.Device, r.Eps = text, text, text, text, text
		r.Margin = new(Down(-0.5))
		records = append(records, &r)
	}
	var b bytes.Buffer
	if err := WriteTable("r.csv", &b, records); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != len(records)+1 {
		t.Fatalf("%v, %d lines", err, len(lines))
	}
	for i, line := range lines[1:] {
		for _, name := range []string{"name", "property", "posterior", "device", "eps"} {
			if got := line[at(name)]; got != cells[texts[i]] {
				t.Errorf("%s %q is %q, want %q", name, texts[i], got, cells[texts[i]])
			}
		}
		if got := line[at("margin")]; got != "-0.5" {
			t.Errorf("margin -0.5 is %q", got)
		}
	}
	for _, text := range []string{"\t=1", "\r=1", "\n=1"} { // of a writer that escapes nothing
		if got := CSVText(text); got != "'"+text {
			t.Errorf("%q is %q", text, got)
		}
	}
}
