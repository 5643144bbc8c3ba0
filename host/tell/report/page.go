// Package report makes the page of psafe report: one HTML file that shows records of results to
// people, with all that it needs inside. It proves nothing: bounds are on it as records write
// them, or shortened to the safe side. Whatever comes from a record is anybody's text, and is
// escaped.
package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/plot"
	"psafe/host/tell/summary"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Options describe what is on the page beside the records.
type Options struct {
	// Title is the heading; empty stands for one that says what the page is.
	Title string
	// Points are data files and property files that the records are about, for those that are
	// not where the records say; Data is a folder where files of their names may be.
	Points []string
	Data   string
	// Bases are folders that relative names in records may start from.
	Bases []string
	// Inputs is how many different inputs are drawn at most, the weakest first.
	Inputs int
	// Shape is how points of so many coordinates are drawn as images that their file has flat:
	// height and width, or with the channels first or last. Empty draws none so.
	Shape []int
	// ShapeOf, if set and Shape is empty, is the shape of an input that the posterior of a record
	// knows, nil if it knows none.
	ShapeOf func(*record.Record) []int
	// Loops are results of closed loops, of whose cells records are.
	Loops []Loop
}

// Loop is the result of a closed loop, in words, with a map of its cells, nil if there is none.
type Loop struct {
	Name  string
	Words []string
	Map   *plot.Figure
}

// MostComfortable is the number of records that a browser shows without a wait that one notices.
const MostComfortable = 200_000

// content holds what the template fills in.
type content struct {
	Policy, Style, Script, Data   template.HTML
	Title, Guarantee              string
	Records, Drawn                int
	Gaps, Contradictions, Outside []string
	Verdicts                      []verdict
	Counted                       []string
	Sentences                     []sentence
	Facts                         []fact
	Groups                        groups
	Histograms                    []histogram
	Charts                        []chart
	Radii                         []radiiPart
	Maps                          []mapOf
	Loops                         []loopPart
	LeftOut, Commands             []string
	// Opening holds what is proved in one sentence, Statistical what drawn networks say beside that.
	Opening     string
	Statistical []string
}

// loopPart is a Loop on the page.
type loopPart struct {
	Name  string
	Words []string
	SVG   template.HTML
}

// loopsOf are the closed loops for the page.
func loopsOf(loops []Loop) (list []loopPart) {
	for _, l := range loops {
		part := loopPart{Name: shown(l.Name), Words: capped(l.Words)}
		if l.Map != nil {
			part.SVG = picture(l.Map, "cells of the closed loop")
		}
		list = append(list, part)
	}
	return list
}

// verdict is a count with its share, for the bar.
type verdict struct {
	Name, Meaning string
	Count         int
	Share         string // in percent, to a tenth: that of safe rounded down, others up
	X, Width      string // of the bar, in percent
}

// Make makes the page of records, of which there is at least one (it panics otherwise). The
// same records and files give the same bytes. The notes say, in one line each, what a reader
// should know: gaps and contradictions, which stand on the page too, and inputs that could
// not be drawn.
func Make(records []record.Placed, o Options) (html []byte, notes []string) {
	if len(records) == 0 {
		panic("report: Make: no records")
	}
	var sum summary.Summary
	for i := range records {
		sum.Add(&records[i])
	}
	result := sum.Result()
	gaps, pairs := record.Gaps(records), wordsOf(result.Contradictions)
	sorted, why := weakest(records, result.Contradictions)
	inputs := draw(sorted, o)
	names := summary.PosteriorNames(records, fitted)
	charts, left := chartsOf(records, names)
	c := content{
		Policy: policy(), Style: template.HTML("<style>" + pageCSS + "</style>"), Script: template.HTML("<script>" + pageJS + "</script>"),
		Data:  template.HTML(`<script type="application/json" id="data">` + string(payload(sorted, why, inputs)) + "</script>"),
		Title: shown(o.Title), Records: len(records), Guarantee: result.Guarantee,
		Gaps: capped(gaps), Contradictions: capped(pairs), Outside: capped(wordsOf(result.Outside)),
		Verdicts: verdictsOf(result), Counted: countedOf(result), Sentences: guaranteeOf(records), Facts: factsOf(records, names),
		Groups: groupsOf(result), Histograms: histogramsOf(records, result), Charts: charts, LeftOut: capped(left), Drawn: inputs.count(),
	}
	if o.Title == "" {
		c.Title = "Bounds of safety, certified by psafe"
	}
	c.Opening, c.Statistical = openingOf(records, result), drawnOf(result)
	c.Radii, c.Maps, c.Loops = radiiParts(result.Radii), mapsOf(records, &o), loopsOf(o.Loops)
	if result.OtherInputs || len(result.Radii) > 0 { // each at a radius chosen by its verdict: means over them say nothing
		c.Opening, c.Histograms, c.Charts, c.LeftOut = radiiOf(records), nil, nil, nil
		if len(result.Radii) > 0 {
			c.Opening = foundOf(result.Radii)
		}
	}
	for _, of := range foldedOf(files(records)) {
		word := shellWord(of.files[0])
		if len(of.files) > 1 { // a shell puts the names there
			word = shellPattern(of.pattern)
		}
		if word != "" && len(c.Commands) < mostLines {
			c.Commands = append(c.Commands, "psafe check "+word)
		}
	}
	var b bytes.Buffer
	t := template.Must(template.New("page").Funcs(template.FuncMap{"group": grouped}).Parse(pageHTML))
	if err := t.Execute(&b, &c); err != nil {
		panic("report: " + err.Error()) // of the template, not of the records
	}
	return b.Bytes(), slices.Concat(c.Gaps, c.Contradictions, capped(inputs.notes))
}

func wordsOf(list []summary.Contradiction) []string {
	var words []string
	for _, c := range list {
		words = append(words, c.Words)
	}
	return words
}

// mostLines is the greatest number of lines of one kind in the head of the page, and of notes.
const mostLines = 20

// capped are lines for the page, the first of many.
func capped(lines []string) []string {
	var list []string
	for i, line := range lines {
		if i == mostLines {
			return append(list, fmt.Sprintf("and %d more: psafe summary --json lists them", len(lines)-i))
		}
		list = append(list, shown(line))
	}
	return list
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
func payload(records []record.Placed, why []string, inputs *drawn) []byte {
	names := summary.PosteriorNames(records, fitted)
	own := []struct {
		name string
		of   func(i int) string
		packer
	}{
		{name: "file", of: func(i int) string { return shown(records[i].File) }},
		{name: "line", of: func(i int) string { return strconv.Itoa(records[i].Line) }},
		{name: "shell", of: func(i int) string { return shellWord(records[i].File) }},
		{name: "asked", of: func(i int) string { return shown(records[i].MethodAsked()) }},
		{name: "kind", of: func(i int) string { return kindOf(records[i].Record) }},
		{name: "network", of: func(i int) string { return names[i] }},
		{name: "contradicted", of: func(i int) string { return shown(why[i]) }},
		{name: "set", of: func(i int) string { return numberOr(inputs.of[i]) }},
		{name: "picture", of: func(i int) string { return numberOr(inputs.picture[i]) }},
	}
	data := struct {
		table
		Own  []column `json:"own"`
		Sets []set    `json:"sets"`
	}{table{len(records), columnsOf(records)}, nil, inputs.sets}
	for k := range own {
		for i := range records {
			own[k].add(own[k].of(i))
		}
		data.Own = append(data.Own, own[k].column(own[k].name))
	}
	text, err := json.Marshal(&data)
	if err != nil {
		panic("report: " + err.Error())
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

// count returns how many inputs are drawn.
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

func verdictsOf(result *summary.Result) []verdict {
	require := "what was required"
	if len(result.Requires) == 1 {
		require = shown(result.Requires[0].Require)
	}
	list := []verdict{
		{Name: "safe", Meaning: "p_lower is at least " + require, Count: result.Safe},
		{Name: "unsafe", Meaning: "p_upper is below " + require, Count: result.Unsafe},
		{Name: "unknown", Meaning: "neither was proved", Count: result.Unknown},
	}
	x := 0.0
	for i := range list {
		v := &list[i]
		share := 100 * float64(v.Count) / float64(result.Records)
		tenths := v.Count * 1000 / result.Records
		if v.Name != "safe" {
			tenths = (v.Count*1000 + result.Records - 1) / result.Records
		}
		v.Share, v.X, v.Width = fmt.Sprintf("%d.%d %%", tenths/10, tenths%10), fmt.Sprintf("%.3f", x), fmt.Sprintf("%.3f", share)
		x += share
	}
	return list
}

// countedOf tells what the counts of verdicts are not: of inputs, or of networks.
func countedOf(result *summary.Result) []string {
	var list []string
	if result.Questions < result.Records && result.NotCompared == 0 {
		list = append(list, fmt.Sprintf("%s records are about %s different questions, because some were asked by several methods, or twice, or are both ends of a radius that was looked for. Every record counts here.",
			grouped(result.Records), grouped(result.Questions)))
	}
	if n := result.Records - result.WithPLower; n > 0 {
		list = append(list, fmt.Sprintf("%s records are of method statistical, which claims no p_lower: none of them can be safe.", grouped(n)))
	}
	return list
}

// files returns the files that the records are from, in their order.
func files(records []record.Placed) []string {
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
