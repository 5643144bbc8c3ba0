package report

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Charts are SVG that takes its colours and fonts from the page, so that it follows dark mode
// and print; series differ in their marks and dashes too. Numbers are in units of the view box.

// drawing is an SVG that is being written.
type drawing struct{ strings.Builder }

func (d *drawing) begin(width, height float64, label string) {
	fmt.Fprintf(d, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, num(width), num(height), html.EscapeString(label))
}

func (d *drawing) end() template.HTML {
	d.WriteString("</svg>")
	return template.HTML(d.String())
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d, `<text class="%s" x="%s" y="%s">%s</text>`, class, num(x), num(y), html.EscapeString(text))
}

// num writes a place.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// Bars of histograms.
const (
	histWidth, histHeight = 360.0, 170.0
	histLeft, histBottom  = 8.0, 22.0
)

// histogram is a chart of counts, and the table that says the same.
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

// drawHistogram draws bars from left to right; ticks stand at the edges of bars, of which
// there is one more.
func drawHistogram(title, note string, bins []bin, ticks map[int]string) histogram {
	h := histogram{Title: title, Note: note, Bins: bins}
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	var d drawing
	d.begin(histWidth, histHeight, title+"; the table below it has the numbers")
	step := (histWidth - 2*histLeft) / float64(len(bins))
	ground := histHeight - histBottom
	for i, b := range bins {
		if b.Count == 0 {
			continue
		}
		// A bar of one record among many is still seen.
		height := max(1.5, float64(b.Count)/float64(most)*(ground-20))
		x := histLeft + float64(i)*step
		fmt.Fprintf(&d, `<rect class="bar" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
			num(x+.8), num(ground-height), num(step-1.6), num(height), html.EscapeString(fmt.Sprintf("%s: %d", b.Words, b.Count)))
		if step > 30 || b.Count == most {
			d.text("count", x+step/2, ground-height-4, strconv.Itoa(b.Count))
		}
	}
	d.line("axis", histLeft, ground, histWidth-histLeft, ground)
	for i := range len(bins) + 1 {
		if text, there := ticks[i]; there {
			x := histLeft + float64(i)*step
			d.line("axis", x, ground, x, ground+4)
			class := "tick"
			switch i {
			case 0:
				class = "tick first"
			case len(bins):
				class = "tick last"
			}
			d.text(class, x, ground+17, text)
		}
	}
	h.SVG = d.end()
	return h
}

// Curves over eps.
const (
	curveWidth, curveHeight = 420.0, 250.0
	curveLeft, curveRight   = 34.0, 14.0
	curveTop, curveBottom   = 12.0, 40.0
)

// marks are the shapes of series, filled for p_lower and open for p_upper.
const marks = 4

// markAt draws the mark of series s.
func (d *drawing) markAt(s int, class string, x, y float64) {
	const r = 3.6
	class = fmt.Sprintf("mark s%d %s", s%colours, class)
	switch s % marks {
	case 0:
		fmt.Fprintf(d, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, num(x), num(y), num(r))
	case 1:
		fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x-r*.9), num(y-r*.9), num(2*r*.9), num(2*r*.9))
	case 2:
		fmt.Fprintf(d, `<path class="%s" d="M%s %sl4.2 7.2h-8.4z"/>`, class, num(x), num(y-4.4))
	default:
		fmt.Fprintf(d, `<path class="%s" d="M%s %sl4.6 4.6l-4.6 4.6l-4.6 -4.6z"/>`, class, num(x), num(y-4.6))
	}
}

// colours is the number of colours that the style sheet has for series.
const colours = 6

// drawCurves draws the series of one chart.
func drawCurves(label string, series []series) template.HTML {
	var d drawing
	d.begin(curveWidth, curveHeight, label)
	lo, hi := math.Inf(1), math.Inf(-1)
	texts := map[float64]string{}
	for _, s := range series {
		for _, p := range s.Points {
			lo, hi = min(lo, p.x), max(hi, p.x)
			texts[p.x] = p.Eps
		}
	}
	right, ground := curveWidth-curveRight, curveHeight-curveBottom
	atX := func(x float64) float64 {
		if hi <= lo {
			return (curveLeft + right) / 2
		}
		return curveLeft + 6 + (x/2-lo/2)/(hi/2-lo/2)*(right-curveLeft-12)
	}
	atY := func(p float64) float64 { return ground - p*(ground-curveTop) }
	for i := range 6 {
		y := atY(float64(i) / 5)
		d.line("rule", curveLeft, y, right, y)
		d.text("ytick", curveLeft-6, y+3.5, fmt.Sprintf("%.1f", float64(i)/5))
	}
	epsTicks(&d, texts, atX, ground)
	d.text("label", (curveLeft+right)/2, curveHeight-4, "eps: radius of T")
	for n, s := range series {
		d.curve(n, s, func(p *point) (float64, float64) { return atX(p.x), atY(p.mean.Upper) }, "up")
		if !s.noLower {
			d.curve(n, s, func(p *point) (float64, float64) { return atX(p.x), atY(p.mean.Lower) }, "down")
		}
	}
	return d.end()
}

// curve draws one line with its marks.
func (d *drawing) curve(n int, s series, at func(*point) (x, y float64), class string) {
	var path strings.Builder
	for i := range s.Points {
		x, y := at(&s.Points[i])
		fmt.Fprintf(&path, "%s%s %s", map[bool]string{true: "M", false: "L"}[i == 0], num(x), num(y))
	}
	fmt.Fprintf(d, `<path class="curve s%d %s" d="%s"/>`, n%colours, class, path.String())
	for i := range s.Points {
		x, y := at(&s.Points[i])
		d.markAt(n, class, x, y)
	}
}

// epsTicks writes the radii as typed, those that have room.
func epsTicks(d *drawing, texts map[float64]string, atX func(float64) float64, ground float64) {
	free := math.Inf(-1)
	for _, x := range slices.Sorted(maps.Keys(texts)) {
		place, half := atX(x), 3.4*float64(len(texts[x]))
		d.line("axis", place, ground, place, ground+4)
		if place-half > free && place+half < curveWidth+4 {
			d.text("tick", place, ground+17, texts[x])
			free = place + half + 4
		}
	}
}

// legendMark is the mark of a series for the legend in the page.
func legendMark(n int) template.HTML {
	var d drawing
	d.begin(34, 14, "")
	d.line(fmt.Sprintf("curve s%d", n%colours), 1, 7, 33, 7)
	d.markAt(n, "down", 17, 7)
	return template.HTML(strings.Replace(d.String(), `role="img" aria-label=""`, `class="key" aria-hidden="true"`, 1) + "</svg>")
}
