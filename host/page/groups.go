package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"path"
	"slices"
	"strings"

	"psafe/host/report"
)

// group is the records of one posterior, asked method and radius.
type group struct {
	Posterior, Method, Eps string
	x                      float64 // the radius, if isRadius
	isRadius               bool
	Records                int
	Safe, Unsafe, Unknown  int
	Lower, Upper           string // means, rounded outward
	records                []report.Placed
}

// groupsOf sorts records into groups, by posterior and method in the order of the records, and
// by eps.
func groupsOf(records []report.Placed) []*group {
	names := posteriorNames(records)
	type key struct{ posterior, method, eps string }
	at, first := map[key]*group{}, map[[2]string]int{}
	var list []*group
	for i := range records {
		r := &records[i]
		k := key{names[i], asked(r.Record), r.Eps}
		g := at[k]
		if g == nil {
			g = &group{Posterior: names[i], Method: shown(k.method), Eps: shown(r.Eps)}
			x, err := r.Radius()
			g.x, g.isRadius = x, err == nil && r.Eps != ""
			at[k], list = g, append(list, g)
			if pair := [2]string{k.posterior, k.method}; first[pair] == 0 {
				first[pair] = len(list)
			}
		}
		g.Records++
		g.records = append(g.records, *r)
		switch r.Verdict {
		case "safe":
			g.Safe++
		case "unsafe":
			g.Unsafe++
		default:
			g.Unknown++
		}
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		return cmp.Or(cmp.Compare(first[[2]string{a.Posterior, a.Method}], first[[2]string{b.Posterior, b.Method}]), cmp.Compare(a.x, b.x))
	})
	for _, g := range list {
		mean := report.MeanOf(g.records)
		g.Lower, g.Upper = report.FormatDown(mean.Lower, 4), report.FormatUp(mean.Upper, 4)
		if mean.NoLower {
			g.Lower = "–"
		}
	}
	return list
}

// series is a line of a chart: one posterior and method, by ascending eps.
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
	Mean         report.Mean
	Lower, Upper string
}

// chart is the curves of one posterior.
type chart struct {
	Posterior string
	Series    []series
	SVG       template.HTML
}

// mostSeries is how many lines a chart has, mostCharts how many charts there are.
const (
	mostSeries = 8
	mostCharts = 24
)

// chartsOf are curves over eps, a chart for each posterior, and what they leave out. Each line
// is over the inputs that all of its radii have, so that it can only fall because a radius is
// larger.
func chartsOf(groups []*group) (charts []chart, left []string) {
	for start := 0; start < len(groups); {
		end := start
		for end < len(groups) && groups[end].Posterior == groups[start].Posterior && groups[end].Method == groups[start].Method {
			end++
		}
		s, note := seriesOf(groups[start:end])
		start = end
		switch {
		case note != "":
			left = append(left, note)
			fallthrough
		case len(s.Points) < 2:
			continue
		}
		name := groups[end-1].Posterior
		k := slices.IndexFunc(charts, func(c chart) bool { return c.Posterior == name })
		switch {
		case k < 0 && len(charts) == mostCharts:
			left = append(left, fmt.Sprintf("%s, %s: in the table above", name, s.Method))
			continue
		case k < 0:
			k = len(charts)
			charts = append(charts, chart{Posterior: name})
		case len(charts[k].Series) == mostSeries:
			left = append(left, fmt.Sprintf("%s, %s: in the table above", name, s.Method))
			continue
		}
		s.Mark = legendMark(len(charts[k].Series))
		charts[k].Series = append(charts[k].Series, s)
	}
	for i := range charts {
		c := &charts[i]
		c.SVG = drawCurves(fmt.Sprintf("Mean bounds against eps, posterior %s; the table below it has the numbers", c.Posterior), c.Series)
	}
	return charts, left
}

// seriesOf is the means of groups that differ in their radius, over the questions that all of
// them have.
func seriesOf(groups []*group) (s series, note string) {
	s.Method = groups[0].Method
	groups = slices.DeleteFunc(slices.Clone(groups), func(g *group) bool { return !g.isRadius })
	if len(groups) < 2 {
		return s, ""
	}
	in := map[string]int{}
	for n, g := range groups {
		for i := range g.records {
			if q := question(&g.records[i]); in[q] == n {
				in[q] = n + 1
			}
		}
	}
	s.noLower = true
	for n, g := range groups {
		var shared []report.Placed
		for _, r := range g.records {
			// Of several records about one question in a group the first counts.
			if q := question(&r); in[q] >= len(groups) && in[q] == len(groups)+n {
				shared = append(shared, r)
				in[q]++
			}
		}
		if len(shared) == 0 {
			return s, fmt.Sprintf("%s, %s: no input has records at all %d radii", g.Posterior, g.Method, len(groups))
		}
		mean := report.MeanOf(shared)
		s.noLower = s.noLower && mean.NoLower
		s.Inputs = len(shared)
		s.Points = append(s.Points, point{g.Eps, g.x, mean, report.FormatDown(mean.Lower, 4), report.FormatUp(mean.Upper, 4)})
	}
	return s, ""
}

// question is what a record is about but for its posterior, method and radius.
func question(r *report.Placed) string {
	return fmt.Sprintf("%s|%d|%s|%v", r.InputsSHA256, r.Index, r.Property, r.Clip)
}

// asked is the method that was asked for: auto where Method says which one was best.
func asked(r *report.Record) string {
	words := strings.Fields(r.Flags)
	if len(words) > 1 && words[0] == "--method" {
		return words[1]
	}
	return r.Method
}

// posteriorNames are the names of the posteriors' files, with as much more as tells different
// ones apart.
func posteriorNames(records []report.Placed) []string {
	names := make([]string, len(records))
	owner := map[string]string{}
	clash := map[string]bool{}
	identity := func(r *report.Placed) string {
		return strings.Join([]string{r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.PosteriorSDSHA, strings.Join(r.Activations, ",")}, " ")
	}
	for level := range 3 {
		clear(owner)
		for i := range records {
			r := &records[i]
			switch {
			case level == 0:
				names[i] = shown(base(r.Posterior))
				if _, factor, ok := strings.Cut(r.PosteriorScale, " x "); ok {
					names[i] += " x " + shown(factor)
				}
			case clash[names[i]] && level == 1:
				names[i] += " " + shown(r.PosteriorSHA256[:min(8, len(r.PosteriorSHA256))])
			case clash[names[i]]:
				names[i] += shown(" " + r.PosteriorScale + " " + r.PosteriorSD + " " + strings.Join(r.Activations, ","))
			}
		}
		for i := range records {
			if o, known := owner[names[i]]; known && o != identity(&records[i]) {
				clash[names[i]] = true
			}
			owner[names[i]] = identity(&records[i])
		}
	}
	return names
}

// base is the last element of a path of any system.
func base(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }

func sortedKeys[V any](m map[float64]V) []float64 { return slices.Sorted(maps.Keys(m)) }
