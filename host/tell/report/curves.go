package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/plot"
	"psafe/host/tell/summary"
)

// chart is the curves of one posterior and property.
type chart struct {
	Of     string
	Series []series
	SVG    template.HTML
}

// series is a line of a chart: what one method was asked for, by ascending eps. Method names it,
// with its flags where a chart has several lines of one method.
type series struct {
	Method  string
	Inputs  int
	Points  []point
	noLower bool
}

// point is the mean at one radius.
type point struct {
	Eps          string
	x            float64
	mean         record.Mean
	Lower, Upper string
}

// Limits of what is drawn; the table of groups has everything.
const (
	mostSeries = 8
	mostCharts = 24
)

// chartsOf are curves over eps, a chart for each posterior and property (as the groups have
// it: a mean over different ones would say nothing), and in words what they leave out.
// Each line is over the inputs that all of its radii have, so that it can only fall because a
// radius is larger.
func chartsOf(records []record.Placed, names []string) (charts []chart, left []string) {
	type key struct{ of, method, words string }
	lines := map[key][]record.Placed{}
	var order []key
	variants := map[key]int{} // of a method, whose words are empty
	several := slices.ContainsFunc(records, func(r record.Placed) bool {
		return summary.PropertyOf(r.Record) != summary.PropertyOf(records[0].Record)
	})
	for i := range records {
		r := records[i].Record
		k := key{names[i], r.MethodAsked(), methodWords(r)}
		if several {
			k.of += ", " + shown(summary.PropertyOf(r))
		}
		if lines[k] == nil {
			order = append(order, k)
			variants[key{k.of, k.method, ""}]++
		}
		lines[k] = append(lines[k], records[i])
	}
	at := map[string]int{}
	for _, k := range order {
		s, note := seriesOf(lines[k])
		s.Method = shown(k.method)
		if variants[key{k.of, k.method, ""}] > 1 {
			s.Method = shown(k.words)
		}
		c, known := at[k.of]
		switch {
		case len(s.Points) < 2:
		case !known && len(charts) == mostCharts || known && len(charts[c].Series) == mostSeries:
			note = "in the table above"
		default:
			if !known {
				c = len(charts)
				at[k.of], charts = c, append(charts, chart{Of: k.of})
			}
			charts[c].Series = append(charts[c].Series, s)
		}
		if note != "" {
			left = append(left, fmt.Sprintf("%s, %s: %s", k.of, s.Method, note))
		}
	}
	for i := range charts {
		c := &charts[i]
		c.SVG = drawCurves(c)
	}
	return charts, left
}

// drawCurves draws the series of one chart.
func drawCurves(c *chart) template.HTML {
	var list []plot.Series
	for _, s := range c.Series {
		of := plot.Series{Name: fmt.Sprintf("%s, %d inputs", fitting(s.Method), s.Inputs)}
		for _, p := range s.Points {
			of.Points = append(of.Points, plot.EpsPoint{Eps: p.Eps, X: p.x, Mean: p.mean})
		}
		list = append(list, of)
	}
	figure, err := plot.DrawEps(list)
	if err != nil { // which the table says too
		return template.HTML(`<p class="note">` + template.HTMLEscapeString("Not drawn: "+err.Error()) + "</p>")
	}
	return picture(figure, fmt.Sprintf("Mean bounds against eps, %s; the table below it has the numbers", c.Of))
}

// fitting is as much of a name as a figure has room for.
func fitting(name string) string {
	if runes := []rune(name); len(runes) > 80 {
		return string(runes[:78]) + ".."
	}
	return name
}

// seriesOf is the means of records by radius, over the questions that all radii have. With
// fewer than two radii it has no points.
func seriesOf(records []record.Placed) (s series, note string) {
	type radius struct {
		x   float64
		eps string
		// Of several records about one question the first counts.
		of map[string]record.Placed
	}
	known := map[string]*radius{}
	var radii []*radius
	for _, r := range records {
		to := known[r.Eps]
		if to == nil {
			x, err := r.Radius()
			if err != nil || r.Eps == "" || x-x != 0 {
				continue
			}
			i := slices.IndexFunc(radii, func(r *radius) bool { return r.x == x })
			if i < 0 {
				i, radii = len(radii), append(radii, &radius{x, shown(r.Eps), map[string]record.Placed{}})
			}
			to = radii[i]
			known[r.Eps] = to
		}
		if q := question(r.Record); to.of[q].Record == nil {
			to.of[q] = r
		}
	}
	if len(radii) < 2 {
		return s, ""
	}
	slices.SortFunc(radii, func(a, b *radius) int { return cmp.Compare(a.x, b.x) })
	shared := slices.Sorted(maps.Keys(radii[0].of))
	for _, r := range radii[1:] {
		shared = slices.DeleteFunc(shared, func(q string) bool { return r.of[q].Record == nil })
	}
	if len(shared) == 0 {
		return s, fmt.Sprintf("no input has records at all %d radii", len(radii))
	}
	s.Inputs, s.noLower = len(shared), true
	for _, r := range radii {
		var list []record.Placed
		for _, q := range shared {
			list = append(list, r.of[q])
		}
		mean := record.MeanOf(list)
		s.noLower = s.noLower && mean.NoLower
		p := point{r.eps, r.x, mean, record.FormatDown(mean.Lower, 4), record.FormatUp(mean.Upper, 4)}
		if mean.NoLower {
			p.Lower = none
		}
		s.Points = append(s.Points, p)
	}
	return s, ""
}

// methodWords tells how bounds were asked for: records that differ in them are on different lines.
func methodWords(r *record.Record) string {
	words := strings.TrimPrefix(r.Flags, "--method ")
	// Where the field precision may be that of the host, Flags has what was asked for.
	if asked := r.MethodAsked(); asked != "auto" && asked != "neuronsum" {
		words += " " + r.Precision
	}
	return fmt.Sprintf("%s seed %d", words, r.Seed)
}

// question tells what a record of a posterior is about but for its radius. A path counts where
// there is no digest of its file.
func question(r *record.Record) string {
	entry, clip, mean, std := -1, r.Clip, r.Mean, r.Std
	if r.TemplateEntry != nil {
		entry = *r.TemplateEntry
	}
	if r.ClipSHA256 != "" {
		clip = nil
	}
	if r.MeanSHA256 != "" {
		mean = ""
	}
	if r.StdSHA256 != "" {
		std = ""
	}
	return fmt.Sprintf("%q %d %d", append(clip[:len(clip):len(clip)], r.InputsSHA256, r.Member(), r.InputScale, r.Channels, r.Name, r.Property, r.Norm, r.Fix, r.Free, r.ClipSHA256,
		mean, r.MeanSHA256, std, r.StdSHA256, r.TemplateSHA256), r.Index, entry)
}
