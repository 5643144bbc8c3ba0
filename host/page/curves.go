package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"psafe/host/report"
	"psafe/host/summary"
)

// chart is the curves of one posterior and property.
type chart struct {
	Of     string
	Series []series
	SVG    template.HTML
}

// series is a line of a chart: what one method was asked for, by ascending eps.
type series struct {
	Method  string
	Mark    template.HTML
	Inputs  int
	Points  []point
	noLower bool
}

// point is the mean at one radius.
type point struct {
	Eps          string
	x            float64
	mean         report.Mean
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
func chartsOf(records []report.Placed, names []string) (charts []chart, left []string) {
	type key struct{ of, method string }
	lines := map[key][]report.Placed{}
	var order []key
	several := slices.ContainsFunc(records, func(r report.Placed) bool {
		return summary.PropertyOf(r.Record) != summary.PropertyOf(records[0].Record)
	})
	for i := range records {
		k := key{names[i], records[i].MethodAsked()}
		if several {
			k.of += ", " + shown(summary.PropertyOf(records[i].Record))
		}
		if lines[k] == nil {
			order = append(order, k)
		}
		lines[k] = append(lines[k], records[i])
	}
	at := map[string]int{}
	for _, k := range order {
		s, note := seriesOf(lines[k])
		s.Method = shown(k.method)
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
			s.Mark = legendMark(len(charts[c].Series))
			charts[c].Series = append(charts[c].Series, s)
		}
		if note != "" {
			left = append(left, fmt.Sprintf("%s, %s: %s", k.of, s.Method, note))
		}
	}
	for i := range charts {
		c := &charts[i]
		c.SVG = drawCurves(fmt.Sprintf("Mean bounds against eps, %s; the table below it has the numbers", c.Of), c.Series)
	}
	return charts, left
}

// seriesOf is the means of records by radius, over the questions that all radii have. With
// fewer than two radii it has no points.
func seriesOf(records []report.Placed) (s series, note string) {
	type radius struct {
		x   float64
		eps string
		// Of several records about one question the first counts.
		of map[string]report.Placed
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
				i, radii = len(radii), append(radii, &radius{x, shown(r.Eps), map[string]report.Placed{}})
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
		var list []report.Placed
		for _, q := range shared {
			list = append(list, r.of[q])
		}
		mean := report.MeanOf(list)
		s.noLower = s.noLower && mean.NoLower
		p := point{r.eps, r.x, mean, report.FormatDown(mean.Lower, 4), report.FormatUp(mean.Upper, 4)}
		if mean.NoLower {
			p.Lower = none
		}
		s.Points = append(s.Points, p)
	}
	return s, ""
}

// question is what a record of a posterior is about but for its radius.
func question(r *report.Record) string {
	entry := -1
	if r.TemplateEntry != nil {
		entry = *r.TemplateEntry
	}
	return fmt.Sprintf("%q %d %q %q %q %q %d", r.InputsSHA256, r.Index, r.Property, r.Clip, r.Fix+" "+r.Free, r.TemplateSHA256, entry)
}
