package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/host/record"
)

// synthetic are records of n tasks as campaigns make them: posteriors, methods and radii, with
// bounds of all digits.
func synthetic(n int) []record.Placed {
	rng := rand.New(rand.NewPCG(13, 3))
	methods, radii := []string{"ibp", "lbp", "clbp", "auto"}, []string{"2/255", "0.01", "0.02", "0.05"}
	require := property.MustExact("0.9")
	records := make([]record.Placed, n)
	for i := range records {
		posterior, method, eps := i%3, i/3%len(methods), i/12%len(radii)
		index := i / 48
		// P_safe falls with eps; what is proved lies around it.
		input := rand.New(rand.NewPCG(uint64(posterior), uint64(index)))
		p := []float64{1 - input.Float64()*1e-5, input.Float64(), 1e-3 * input.Float64()}[input.IntN(3)] / float64(1+eps)
		lower, upper := 0.0, 1.0
		switch rng.IntN(4) {
		case 0:
			upper = p + (1-p)*rng.Float64()*0.3
		case 1:
			lower = p * (1 - rng.Float64()*1e-3)
		case 2:
			lower = p * rng.Float64()
		}
		seconds, label := float64(rng.IntN(1e6))/1e6, index%10
		log := record.Down(-rng.Float64())
		r := &record.Record{Index: index, Label: &label, Property: fmt.Sprintf("argmax_is:%d", label), Eps: radii[eps], Clip: []string{"0", "1"},
			Flags: "--method " + methods[method] + " --samples 100", Method: methods[method], Gamma: rng.Float64(),
			Tried: 20, PLower: record.Down(lower), PUpper: record.Up(upper), Precision: "float32", Device: "cpu", Seconds: &seconds,
			Posterior: fmt.Sprintf("runs/posterior-%d.npz", posterior), PosteriorSHA256: fmt.Sprintf("%064x", posterior+1), PosteriorScale: "sd", Activations: []string{"relu", "relu"},
			Inputs: "images.gz", InputsSHA256: "ab", Version: "0.2.0", Task: i, Tasks: n, Run: "0123456789abcdef",
			ID: fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()), Numerics: 1}
		if method == len(methods)-1 {
			r.Method = methods[rng.IntN(3)]
		}
		if lower > 0 {
			r.Log10PLower = &log
			r.Proof = &claim.Proof{Tau: []float64{0.1}}
		}
		r.Decide(require)
		records[i] = record.Placed{Record: r, File: "results.jsonl", Line: i + 1}
	}
	return records
}

// decoded is the data of a page.
type decoded struct {
	Rows         int
	Columns, Own []column
	Sets         []struct {
		Name, Kind, Note, Picture string
		Values                    [][]string
		Width, Height             int
	}
}

func decode(t *testing.T, page []byte) decoded {
	t.Helper()
	_, text, there := strings.Cut(string(page), `<script type="application/json" id="data">`)
	text, _, ended := strings.Cut(text, "</script>")
	var d decoded
	if err := json.Unmarshal([]byte(text), &d); err != nil || !there || !ended {
		t.Fatalf("the page's data: %v", err)
	}
	return d
}

// cells are the texts of a column by rows, nil if there is none.
func (d *decoded) cells(name string) []string {
	for _, c := range append(d.Columns, d.Own...) {
		if c.Name != name {
			continue
		}
		if c.Words == nil {
			return strings.Split(c.Texts, "\n")
		}
		var list []string
		for i := range d.Rows {
			k := 0
			if c.At != nil {
				k = c.At[i]
			}
			list = append(list, c.Words[k])
		}
		return list
	}
	return nil
}

// TestTexts: the page has each bound as the text that the record's line has.
func TestTexts(t *testing.T) {
	records := synthetic(500)
	page, _ := Make(records, Options{})
	d := decode(t, page)
	lines := d.cells("line")
	for _, name := range []string{"p_lower", "p_upper", "log10_p_lower", "require", "gamma", "eps", "flags", "verdict", "seconds", "task", "clip", "label"} {
		cells := d.cells(name)
		if len(cells) != len(records) {
			t.Fatalf("%s: %d cells", name, len(cells))
		}
		for row, cell := range cells {
			var n int
			fmt.Sscan(lines[row], &n)
			line, err := records[n-1].Record.Line()
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(line, &fields); err != nil {
				t.Fatal(err)
			}
			want := string(fields[name])
			if want == "null" {
				want = ""
			}
			if text := ""; json.Unmarshal(fields[name], &text) == nil {
				want = text
			}
			if cell != want {
				t.Fatalf("row %d: %s is %q, the record says %q", row, name, cell, want)
			}
		}
	}
	if d.cells("proof") != nil || d.cells("statistical.lower") != nil {
		t.Error("there is a column that says nothing, or the proof")
	}
}

// TestOrder: contradicted records first, then unsafe, unknown and safe ones, each the weakest first.
func TestOrder(t *testing.T) {
	records := synthetic(480)
	wrong := *records[100].Record // the same question twice, which no other record is about
	wrong.Index = 1000
	wrong.PLower, wrong.PUpper, wrong.Verdict = 0.5, 0.5, "unsafe"
	right := wrong
	right.PLower, right.PUpper, right.Verdict = 0.75, 1, "unknown"
	records[100].Record = &wrong
	records = append(records, record.Placed{Record: &right, File: "other.jsonl", Line: 7})
	page, notes := Make(records, Options{})
	d := decode(t, page)
	why, verdicts, lower, upper := d.cells("contradicted"), d.cells("verdict"), d.cells("p_lower"), d.cells("p_upper")
	if !strings.Contains(why[0], "is above p_upper 0.5") || why[0] != why[1] || why[2] != "" {
		t.Errorf("contradicted: %q", why[:3])
	}
	if !strings.Contains(strings.Join(notes, "\n"), "other.jsonl: line 7: p_lower 0.75 is above p_upper 0.5 of results.jsonl: line 101: ") ||
		!strings.Contains(string(page), "Bounds that contradict each other") {
		t.Errorf("notes %q", notes)
	}
	if !strings.Contains(string(page), "there more than once: 100") {
		t.Error("the page does not say what is there twice")
	}
	rank := map[string]int{"unsafe": 1, "unknown": 2, "safe": 3}
	number := func(text string) (x float64) {
		if _, err := fmt.Sscan(text, &x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for i := 3; i < d.Rows; i++ {
		a, b := rank[verdicts[i-1]], rank[verdicts[i]]
		key := lower
		if a == 1 {
			key = upper
		}
		if a > b || a == b && number(key[i-1]) > number(key[i]) {
			t.Fatalf("row %d: %s %s..%s before %s %s..%s", i, verdicts[i-1], lower[i-1], upper[i-1], verdicts[i], lower[i], upper[i])
		}
	}
}

// TestSame: the same records give the same bytes.
func TestSame(t *testing.T) {
	a, _ := Make(synthetic(300), Options{Title: "T", Inputs: 10})
	b, _ := Make(synthetic(300), Options{Title: "T", Inputs: 10})
	if !bytes.Equal(a, b) {
		t.Error("two pages of the same records differ")
	}
}

// hostile are texts that would do something if they were not escaped.
var hostile = []string{`<script>alert(1)</script>`, `</script><img src=x onerror=alert(2)>`, `"' onload="alert(3)`, "\u202egnp.exe\u2066", `<!--<script>`, `{{.Data}}`, "line\nfeed\x00\x1b[2J", `javascript:alert(4)`, "\u2028 \ufeff", `'; rm -rf / #`}

// hostileRecords have such a text wherever records have text.
func hostileRecords() []record.Placed {
	records := synthetic(len(hostile))
	for i, word := range hostile {
		r := records[i].Record
		r.Name, r.Property, r.Eps, r.Clip, r.Flags, r.Method, r.Device, r.Posterior, r.PosteriorSHA256 = word, word, word, []string{word, word}, "--method "+word, word, word, word, word
		r.PosteriorScale, r.Activations, r.Inputs, r.InputsSHA256, r.Version, r.Run, r.Verdict, r.Precision, r.Template, r.Fix = word, []string{word}, word, word, word, word, word, word, word, word
		r.Statistical = &record.Statistical{Lower: 0.1, Upper: 0.9, Confidence: 0.99, Statement: word}
		records[i].File = word
	}
	return records
}

// TestHostile: texts of records make no element, attribute or script, and nothing in the page
// turns the direction of writing or is not seen.
func TestHostile(t *testing.T) {
	page, notes := Make(hostileRecords(), Options{Title: hostile[1] + hostile[3], Inputs: 100})
	text := string(page)
	plain, _ := Make(synthetic(len(hostile)), Options{})
	count := func(text []byte, what string) int { return len(regexp.MustCompile(what).FindAll(text, -1)) }
	for _, element := range []string{"<script", "</script", "<img", "<!--", "onload=", "onerror="} {
		got, want := count(page, element), count(plain, element)
		if element == "onload=" || element == "onerror=" {
			// As text they are harmless: only between quotes or brackets of HTML do they count.
			got = count(page, `<[a-z][^>"]*("[^"]*"[^>"]*)*\s`+element)
		}
		if got != want {
			t.Errorf("%d %q, without hostile texts %d", got, element, want)
		}
	}
	if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && shown(string(c)) != string(c) }); i >= 0 {
		t.Errorf("%q is in the page", text[i:i+20])
	}
	if d := decode(t, page); d.Rows != len(hostile) || d.cells("name")[0] == "" {
		t.Errorf("%d rows", d.Rows)
	}
	for _, n := range notes {
		if strings.Contains(n, "\n") {
			t.Errorf("note %q has two lines", n)
		}
	}
}

// TestProperties: records of one input that ask for different things are told apart, in the
// table and in the charts, and the page says that they are no more inputs.
func TestProperties(t *testing.T) {
	records := synthetic(960)
	twice := synthetic(960)
	for i := range twice {
		r := twice[i].Record
		r.Property = fmt.Sprintf("margin:0.5:%d", *r.Label)
		twice[i].Line += len(records)
	}
	page, _ := Make(append(records, twice...), Options{})
	d := decode(t, page)
	kinds, properties, labels := d.cells("kind"), d.cells("property"), d.cells("label")
	count := map[string]int{}
	for i, kind := range kinds {
		count[kind]++
		if kind+":"+labels[i] != properties[i] {
			t.Fatalf("%s, label %s: %s", properties[i], labels[i], kind)
		}
	}
	if len(count) != 2 || count["argmax_is"] != 960 || count["margin:0.5"] != 960 {
		t.Errorf("%v", count)
	}
	for _, want := range []string{"<strong>posterior-0.npz, argmax_is</strong>", "<strong>posterior-2.npz, margin:0.5</strong>", "1\u202f920 records are about 480 different questions", "p_lower is at least 0.9</span>", "<dt>not proved</dt>"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	one, _ := Make(synthetic(960), Options{})
	if !bytes.Contains(one, []byte("<strong>posterior-0.npz</strong>")) {
		t.Error("one property is named in charts")
	}
	drawn := synthetic(4)
	for i := range drawn {
		r := drawn[i].Record
		r.Index, r.Flags, r.Method, r.PLower, r.Log10PLower, r.Proof = i, "--method statistical", "statistical", 0, nil, nil
	}
	page, _ = Make(drawn, Options{})
	if !bytes.Contains(page, []byte("4 records are of method statistical, which claims no p_lower")) || bytes.Contains(page, []byte("different questions")) {
		t.Error("statistical records are not told")
	}
}

// TestOutside: nothing in the page asks a network for anything, or is an inline handler.
func TestOutside(t *testing.T) {
	page, _ := Make(synthetic(100), Options{})
	for _, pattern := range []string{`(?i)\b(src|href)="[^#d]`, `(?i)<[a-z][^>]*\son[a-z]+=`, `(?i)@import|url\(`, `(?i)\bstyle="`, `\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|\bimport\(|innerHTML|\beval\(`} {
		if found := regexp.MustCompile(pattern).Find(page); found != nil {
			t.Errorf("the page has %q", found)
		}
	}
	if !strings.Contains(string(page), `http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-`) {
		t.Error("the page has no policy")
	}
	if links := regexp.MustCompile(`https?://`).FindAll(page, -1); links != nil {
		t.Errorf("the page has %d addresses", len(links))
	}
}

// TestShellWord: names are taken by a shell as they are.
func TestShellWord(t *testing.T) {
	for name, want := range map[string]string{"a/b-1.jsonl": "a/b-1.jsonl", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "./-x", "$(rm)": "'$(rm)'", "": "''", "a\nb": "", "\u202ex": ""} {
		if got := shellWord(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestSpread: what has no list of spreads is not said to have unknown ones.
func TestSpread(t *testing.T) {
	for scale, want := range map[string]string{"unknown": "", "sd": "spread sd; "} {
		if got := spread(scale); got != want {
			t.Errorf("%s: %q", scale, got)
		}
	}
}
