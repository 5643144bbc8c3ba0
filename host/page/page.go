// Package page makes the page of psafe report: one HTML file that shows records of results to
// people, with all that it needs inside. It proves nothing: bounds are on it as records write
// them, or shortened to the safe side. Whatever comes from a record is anybody's text, and is
// escaped.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"psafe/host/report"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Options say what is on the page beside the records.
type Options struct {
	// Title is the heading; empty stands for one that says what the page is.
	Title string
	// Points are data files and property files that the records are about, for those that are
	// not where the records say; Data is a folder where files of their names may be.
	Points []string
	Data   string
	// Inputs is how many different inputs are drawn at most, the weakest first.
	Inputs int
	// Shape is how points of so many coordinates are drawn as images that their file has flat:
	// height and width, or with the channels first or last. Empty draws none so.
	Shape []int
}

// MostComfortable is how many records a browser shows without a wait that one notices.
const MostComfortable = 200_000

// content is what the template fills in.
type content struct {
	Policy      template.HTML
	Style       template.HTML
	Script      template.HTML
	Data        template.HTML
	Title       string
	Files       []string
	Records     int
	Alerts      []string
	Contradict  []string
	Verdicts    []verdict
	Guarantee   string
	Sentences   []sentence
	Facts       []fact
	Groups      []*group
	Histograms  []histogram
	Charts      []chart
	LeftOut     []string
	Statistical bool
	Contradicts bool
	Drawn       int
	Commands    []string
}

// verdict is a count with its share, for the bar.
type verdict struct {
	Name, Meaning string
	Count         int
	Share         string // in percent, rounded to the nearest tenth
	X, Width      string // of the bar, in percent
}

// Make makes the page of records, of which there is at least one (it panics otherwise). The
// same records and files give the same bytes. The notes say, in one line each, what a reader
// should know: gaps and contradictions, which stand on the page too, and inputs that could
// not be drawn.
func Make(records []report.Placed, o Options) (html []byte, notes []string) {
	if len(records) == 0 {
		panic("page: Make: no records")
	}
	gaps := report.Gaps(records)
	contradicted, words := contradictions(records)
	order := weakest(records, contradicted)
	sorted := make([]report.Placed, len(records))
	why := make([]string, len(records))
	for k, i := range order {
		sorted[k], why[k] = records[i], contradicted[i]
	}
	inputs := draw(sorted, o)
	groups := groupsOf(records)
	charts, left := chartsOf(groups)
	c := content{
		Style: template.HTML("<style>" + pageCSS + "</style>"), Script: template.HTML("<script>" + pageJS + "</script>"),
		Title: shown(o.Title), Files: files(records), Records: len(records), Alerts: shownAll(gaps), Contradict: shownAll(words),
		Verdicts: verdictsOf(records), Guarantee: report.Guarantee, Sentences: guaranteeOf(records), Facts: factsOf(records),
		Groups: groups, Histograms: histogramsOf(records), Charts: charts, LeftOut: left,
		Contradicts: len(words) > 0, Drawn: inputs.count(),
	}
	if o.Title == "" {
		c.Title = "Bounds of safety, certified by psafe"
	}
	for _, name := range c.Files {
		if word := shellWord(name); word != "" {
			c.Commands = append(c.Commands, "psafe check "+word)
		}
	}
	c.Policy = policy()
	c.Data = template.HTML(`<script type="application/json" id="data">` + string(payload(sorted, why, inputs)) + "</script>")
	var b bytes.Buffer
	t := template.Must(template.New("page").Funcs(template.FuncMap{"group": grouped}).Parse(pageHTML))
	if err := t.Execute(&b, &c); err != nil {
		panic("page: " + err.Error()) // of the template, not of the records
	}
	return b.Bytes(), append(append(gaps, words...), inputs.notes...)
}

// policy forbids the page everything but its own style, script and pictures.
func policy() template.HTML {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return template.HTML(fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action 'none'">`,
		hash(pageCSS), hash(pageJS)))
}

// payload is the records and inputs for the script, as JSON that ends no script element: <, >
// and & are escaped in it.
func payload(records []report.Placed, why []string, inputs *drawn) []byte {
	n := len(records)
	own := map[string][]string{}
	for i := range records {
		own["file"] = append(own["file"], shown(records[i].File))
		own["line"] = append(own["line"], strconv.Itoa(records[i].Line))
		own["shell"] = append(own["shell"], shellWord(records[i].File))
		own["asked"] = append(own["asked"], shown(asked(records[i].Record)))
		own["contradicted"] = append(own["contradicted"], shown(why[i]))
		own["set"] = append(own["set"], numberOr(inputs.of[i]))
		own["picture"] = append(own["picture"], numberOr(inputs.picture[i]))
	}
	own["network"] = posteriorNames(records)
	data := struct {
		table
		Own  []column `json:"own"`
		Sets []set    `json:"sets"`
	}{table{n, columnsOf(records)}, nil, inputs.sets}
	for _, name := range []string{"file", "line", "shell", "asked", "network", "contradicted", "set", "picture"} {
		data.Own = append(data.Own, pack(name, own[name]))
	}
	text, err := json.Marshal(&data)
	if err != nil {
		panic("page: " + err.Error())
	}
	return text
}

// numberOr is a number's text, empty for -1.
func numberOr(n int) string {
	if n < 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// count is how many inputs are drawn.
func (d *drawn) count() int {
	n := 0
	seen := map[[2]int]bool{}
	for i, k := range d.of {
		if p := d.picture[i]; p >= 0 && !seen[[2]int{k, p}] {
			seen[[2]int{k, p}] = true
			n++
		}
	}
	return n
}

func verdictsOf(records []report.Placed) []verdict {
	list := []verdict{
		{Name: "safe", Meaning: "p_lower reaches what was required"},
		{Name: "unsafe", Meaning: "p_upper is below it"},
		{Name: "unknown", Meaning: "neither was proved"},
	}
	for i := range records {
		switch records[i].Verdict {
		case "safe":
			list[0].Count++
		case "unsafe":
			list[1].Count++
		default:
			list[2].Count++
		}
	}
	x := 0.0
	for i := range list {
		v := &list[i]
		share := 100 * float64(v.Count) / float64(len(records))
		v.Share, v.X, v.Width = fmt.Sprintf("%.1f %%", share), fmt.Sprintf("%.3f", x), fmt.Sprintf("%.3f", share)
		x += share
	}
	return list
}

// files are those that the records are from, in their order.
func files(records []report.Placed) []string {
	var list []string
	seen := map[string]bool{}
	for i := range records {
		if f := records[i].File; !seen[f] {
			seen[f] = true
			list = append(list, f)
		}
	}
	return list
}

func shownAll(texts []string) []string {
	var list []string
	for _, t := range texts {
		list = append(list, shown(t))
	}
	return list
}

// grouped writes a count with thin spaces between thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return strings.Join(append([]string{text}, parts...), "\u202f")
}

// contradictions says of each record that cannot be true beside another one why, and all of
// that in lines.
func contradictions(records []report.Placed) (of map[int]string, lines []string) {
	return nil, nil
}
