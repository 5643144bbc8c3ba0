package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"

	"psafe/host/tell/plot"
)

// picture is a figure of package plot, with words for who does not see it.
func picture(f *plot.Figure, label string) template.HTML {
	var b bytes.Buffer
	if err := f.Write(&b, "svg"); err != nil {
		panic("report: " + err.Error()) // memory takes all
	}
	return template.HTML(fmt.Sprintf(`<img class="figure" alt="%s" src="data:image/svg+xml;base64,%s">`,
		html.EscapeString(label), base64.StdEncoding.EncodeToString(b.Bytes())))
}

// histogram is a figure of counts, and the table that says the same.
type histogram struct {
	Title, Note string
	Bins        []bin
	SVG         template.HTML
}

// bin is a bar of a histogram.
type bin struct {
	Words string
	Count int
}

// drawHistogram draws bars from left to right, of counts of what; ticks stand at the edges of bars, of which
// there is one more.
func drawHistogram(title, note, what string, bins []bin, ticks map[int]string) histogram {
	var counts []int
	for _, b := range bins {
		counts = append(counts, b.Count)
	}
	figure := plot.DrawCounts("", title, what, counts, ticks)
	return histogram{title, note, bins, picture(figure, title+"; the table below it has the numbers")}
}
