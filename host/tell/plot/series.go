package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"psafe/host/record"
	"psafe/host/tell/summary"
)

// Series is one line of a figure against eps: means over inputs, by ascending eps.
type Series struct {
	Name   string
	Points []EpsPoint
}

// EpsPoint is the mean at one radius, Eps as typed.
type EpsPoint struct {
	Eps string
	X   float64
	record.Mean
}

// Group is the bars of one posterior, one for each method, nil where it was not run.
type Group struct {
	Name string
	Bars []*record.Mean
}

// ByWords are the words for what series may be told apart by; histograms also by eps.
var ByWords = []string{"posterior", "method", "property", "precision", "inputs", "file"}

// EpsSeries sorts records into series by the words of by, and averages those of
// one eps. It refuses two records of the same input in one mean. The notes say
// what a reader of the figure should know.
func EpsSeries(records []record.Placed, by []string) (series []Series, notes []string, err error) {
	labels, err := labelled(records, by)
	if err != nil {
		return nil, nil, err
	}
	names, sorted := split(records, func(i int) string { return labels[i] })
	inputs := map[string]bool{}
	for s, name := range names {
		points, err := epsPoints(sorted[s], inputs)
		if err != nil {
			return nil, nil, err
		}
		series = append(series, Series{name, points})
	}
	for _, s := range series {
		for _, p := range s.Points {
			if p.Inputs < len(inputs) {
				return series, []string{fmt.Sprintf("means are over different inputs: %s at eps %s has %d of %d", s.Name, p.Eps, p.Inputs, len(inputs))}, nil
			}
		}
	}
	return series, nil, nil
}

// epsPoints averages the records of one series by eps and marks their inputs.
func epsPoints(records []record.Placed, inputs map[string]bool) ([]EpsPoint, error) {
	at := map[float64]int{}
	var points []EpsPoint
	var members [][]record.Placed
	for _, r := range records {
		x, err := radius(&r)
		if err != nil {
			return nil, err
		}
		i, known := at[x]
		if !known {
			i = len(points)
			at[x] = i
			points, members = append(points, EpsPoint{Eps: r.Eps, X: x}), append(members, nil)
		}
		members[i] = append(members[i], r)
		inputs[input(&r)] = true
	}
	for i := range points {
		if err := distinct(members[i]); err != nil {
			return nil, err
		}
		points[i].Mean = record.MeanOf(members[i])
	}
	slices.SortFunc(points, func(a, b EpsPoint) int { return cmp.Compare(a.X, b.X) })
	return points, nil
}

// radius is eps as a number, for the place on an axis.
func radius(p *record.Placed) (float64, error) {
	if p.Eps == "" {
		return 0, fmt.Errorf("%s: the record has no eps, it is about a property file: draw such records with psafe plot bars", p.Place())
	}
	x, err := p.Radius()
	if err != nil && (strings.HasPrefix(p.Eps, "[") || p.EpsSHA256 != "") {
		return 0, fmt.Errorf("%s: eps %.40q is a radius for each input, which has no place on an axis: draw such records with psafe plot bars", p.Place(), p.Eps)
	}
	if err != nil || !(x >= 0 && x <= math.MaxFloat64) {
		return 0, fmt.Errorf("%s: eps %.40q is no radius: give a file that psafe certify --out wrote", p.Place(), p.Eps)
	}
	return x, nil
}

// BarGroups averages records in a group for each of what the words of by tell apart, as EpsSeries does
// (and each eps, where there are several), with a bar for each method, if that is a word of by.
func BarGroups(records []record.Placed, by []string) (groups []Group, methods, notes []string, err error) {
	method := func(*record.Placed) string { return "any method" }
	if slices.Contains(by, "method") {
		method = methodOf
	}
	labels, err := named(records, butMethod(by))
	if err != nil {
		return nil, nil, nil, err
	}
	several := slices.ContainsFunc(records, func(r record.Placed) bool { return r.Eps != records[0].Eps })
	texts := make([]string, len(records))
	for i, parts := range labels {
		if several && records[i].Eps != "" {
			parts = append(parts, "eps "+quoted(records[i].Eps, 20))
		}
		texts[i] = cmp.Or(strings.Join(parts, "\n"), "all records")
	}
	names, sorted := split(records, func(i int) string { return texts[i] })
	methods, _ = split(records, func(i int) string { return method(&records[i]) })
	inputs := map[string]bool{}
	for g, name := range names {
		group := Group{name, make([]*record.Mean, len(methods))}
		used, runs := split(sorted[g], func(i int) string { return method(&sorted[g][i]) })
		for k, run := range runs {
			if err := distinct(run); err != nil {
				return nil, nil, nil, err
			}
			m := record.MeanOf(run)
			group.Bars[slices.Index(methods, used[k])] = &m
			for _, r := range run {
				inputs[input(&r)] = true
			}
		}
		groups = append(groups, group)
	}
	for _, g := range groups {
		for k, m := range g.Bars {
			if m != nil && m.Inputs < len(inputs) {
				return groups, methods, []string{fmt.Sprintf("means are over different inputs: %s, %s has %d of %d", strings.ReplaceAll(g.Name, "\n", ", "), methods[k], m.Inputs, len(inputs))}, nil
			}
		}
	}
	return groups, methods, nil, nil
}

// butMethod are the words that groups of bars are told apart by.
func butMethod(by []string) []string {
	return slices.DeleteFunc(slices.Clone(by), func(word string) bool { return word == "method" })
}

// split sorts records by name, names in the order in which they appear.
func split(records []record.Placed, name func(i int) string) (names []string, sorted [][]record.Placed) {
	at := map[string]int{}
	for i, r := range records {
		k, known := at[name(i)]
		if !known {
			k = len(names)
			at[name(i)] = k
			names, sorted = append(names, name(i)), append(sorted, nil)
		}
		sorted[k] = append(sorted[k], r)
	}
	return names, sorted
}

// input identifies what a record is about: a point or an entry of a file, or both.
func input(p *record.Placed) string {
	of := p.InputsSHA256 + " " + strconv.Itoa(p.Index)
	if p.TemplateEntry != nil {
		of += " " + p.TemplateSHA256 + " " + strconv.Itoa(*p.TemplateEntry)
	}
	return of
}

// distinct refuses two records of one input in one mean: it would count twice.
func distinct(records []record.Placed) error {
	first := map[string]*record.Placed{}
	for i := range records {
		r := &records[i]
		asked := input(r) + " " + r.Property // of argmax_is:0 to argmax_is:9 each counts
		if f := first[asked]; f != nil {
			return fmt.Errorf("%s: input %d is in %s as well, with the same posterior, method and eps: leave one file out, or tell them apart, as with --by posterior,file", r.Place(), r.Index, f.Place())
		}
		first[asked] = r
	}
	return nil
}

// methodOf is the method that was asked for: means of the records that one method won of those that
// auto tried would be over the inputs that it was good at.
func methodOf(r *record.Placed) string { return quoted(record.MethodToday(r.MethodAsked()), 20) }

// labelled names each record's series by the words of by.
func labelled(records []record.Placed, by []string) ([]string, error) {
	names, err := named(records, by)
	if err != nil {
		return nil, err
	}
	labels := make([]string, len(records))
	for i, parts := range names {
		labels[i] = strings.Join(parts, ", ")
	}
	return labels, nil
}

// named are the parts of the name of each record's series by the words of by.
func named(records []record.Placed, by []string) ([][]string, error) {
	posteriors := summary.PosteriorNames(records, quoted)
	names := make([][]string, len(records))
	// A mean over different properties would say nothing: the page has them apart too.
	asked := severalProperties(records) && !slices.Contains(by, "property")
	for i := range records {
		r := &records[i]
		var parts []string
		for _, word := range by {
			switch word {
			case "posterior":
				parts = append(parts, posteriors[i])
			case "method":
				parts = append(parts, methodOf(r))
			case "property":
				words := quoted(r.Property, 30)
				if r.Norm != "" {
					words += ", L" + quoted(r.Norm, 3)
				}
				parts = append(parts, words)
			case "precision":
				parts = append(parts, quoted(r.Precision, 10))
			case "inputs":
				parts = append(parts, quoted(summary.Base(r.Inputs), 40))
			case "file":
				parts = append(parts, quoted(summary.Base(r.File), 40))
			case "eps":
				parts = append(parts, "eps "+quoted(r.Eps, 20))
			default:
				return nil, fmt.Errorf("--by %.40q: give words of %s, or for a histogram eps", word, strings.Join(ByWords, ", "))
			}
		}
		if asked {
			parts = append(parts, quoted(summary.PropertyOf(r.Record), 30))
		}
		names[i] = parts
	}
	return names, nil
}

// severalProperties reports whether records are of more than one property, as the page groups them.
func severalProperties(records []record.Placed) bool {
	return slices.ContainsFunc(records, func(r record.Placed) bool {
		return summary.PropertyOf(r.Record) != summary.PropertyOf(records[0].Record)
	})
}

// quoted makes a text from a file fit for a figure: no control characters, at most
// most characters.
func quoted(text string, most int) string {
	q := strconv.Quote(text)
	runes := []rune(q[1 : len(q)-1])
	if len(runes) > most {
		runes = append(runes[:most-2], '.', '.')
	}
	return string(runes)
}
