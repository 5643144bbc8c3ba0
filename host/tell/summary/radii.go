package summary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// RadiiGroup sums up the radii that were looked for of one question: those of psafe radius and of
// campaigns (record.FoundRadii). Of what is certified means and medians are rounded down, of what is
// refuted up, so that they bound those of the inputs' own radii.
type RadiiGroup struct {
	About
	// Wanted holds what was to be certified.
	Wanted    string `json:"wanted"`
	OfInputs  int    `json:"of_inputs"`
	Certified int    `json:"certified"`
	// MeanCertified and MedianCertified are over all inputs: where nothing is certified a radius counts as 0.
	MeanCertified   json.Number `json:"mean_certified"`
	MedianCertified json.Number `json:"median_certified"`
	// RefutedOf is of how many it was looked for refuted radii. MeanRefuted is over the Refuted ones,
	// MedianRefuted over all, nil if too few are refuted.
	RefutedOf     int           `json:"refuted_of"`
	Refuted       int           `json:"refuted"`
	MeanRefuted   *json.Number  `json:"mean_refuted"`
	MedianRefuted *json.Number  `json:"median_refuted"`
	Shares        []RadiusShare `json:"shares,omitempty"`

	// Found has all radii.
	Found *record.FoundRadii `json:"-"`
}

// RadiusShare bounds the share of the inputs for which what is wanted is true at a radius.
type RadiusShare struct {
	Eps   string      `json:"eps"`
	Lower json.Number `json:"lower"`
	Upper json.Number `json:"upper"`
}

// mostRadiiGroups is the number of groups told apart; the records of others are counted in no radii.
const mostRadiiGroups = 1000

// radii are the groups so far.
type radii struct {
	known map[string]*RadiiGroup
	list  []*RadiiGroup
}

func (s *radii) add(r *record.Record) {
	if r.RadiusEnd == "" {
		return
	}
	wanted := r.WantedWords()
	about := aboutOf(r)
	about.Eps = ""
	key := fmt.Sprintf("%q %q", []string{about.PosteriorSHA256, about.PosteriorScale, about.PosteriorSD, r.PosteriorSDSHA, about.Predictive, about.InputsSHA256, r.Member(), about.Property, about.Method, wanted}, about.Activations)
	g := s.known[key]
	if g == nil {
		if len(s.list) == mostRadiiGroups {
			return
		}
		if s.known == nil {
			s.known = map[string]*RadiiGroup{}
		}
		g = &RadiiGroup{About: about, Wanted: wanted, Found: &record.FoundRadii{}}
		s.known[key], s.list = g, append(s.list, g)
	}
	g.Found.Add(r)
}

// digits is the number of digits behind the point of radii and shares in JSON.
const digits = 9

// result are the groups, with shares at these radii.
func (s *radii) result(at []property.Exact) []RadiiGroup {
	var list []RadiiGroup
	down := func(text string) json.Number { return json.Number(trimmed(text)) }
	for _, g := range s.list {
		f, of := g.Found, *g
		of.OfInputs, of.Certified, of.RefutedOf, of.Refuted = f.Inputs(), f.Certified(), f.RefutedOf(), f.Refuted()
		of.MeanCertified, of.MedianCertified = down(record.DecimalDown(f.MeanCertified(), digits)), down(record.DecimalDown(f.MedianCertified(), digits))
		if of.Refuted > 0 {
			of.MeanRefuted = new(down(record.DecimalUp(f.MeanRefuted(), digits)))
		}
		if r := f.MedianRefuted(); r != nil {
			of.MedianRefuted = new(down(record.DecimalUp(r, digits)))
		}
		for _, eps := range at {
			lower, upper := f.ShareAt(eps)
			of.Shares = append(of.Shares, RadiusShare{eps.String(), down(record.DecimalDown(lower, digits)), down(record.DecimalUp(upper, digits))})
		}
		list = append(list, of)
	}
	slices.SortStableFunc(list, func(a, b RadiiGroup) int {
		return cmp.Or(cmp.Compare(a.PosteriorNamed(), b.PosteriorNamed()), cmp.Compare(a.Inputs, b.Inputs), cmp.Compare(a.Property, b.Property), cmp.Compare(a.Wanted, b.Wanted), cmp.Compare(a.Method, b.Method))
	})
	return list
}

// trimmed is a decimal without the zeros at its end.
func trimmed(text string) string { return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") }

// found is the table of radii that were looked for.
func (p *printer) found() {
	if len(p.r.Radii) == 0 {
		return
	}
	p.line("\nradii that were looked for; what is certified is rounded down, over all\ninputs, what is refuted up:")
	heads := []string{"posterior", "property", "wanted", "method", "inputs", "certified", "median", "mean", "refuted", "median", "mean"}
	for _, s := range p.r.Radii[0].Shares {
		heads = append(heads, "share at "+s.Eps)
	}
	rows := [][]string{heads}
	for i := range p.r.Radii[:min(len(p.r.Radii), mostPrintedGroups)] {
		rows = append(rows, p.r.Radii[i].cells())
	}
	words := 4 // which are texts, of which those that all have in common are said once
	for k := words - 1; k >= 0; k-- {
		if slices.ContainsFunc(rows[1:], func(cells []string) bool { return cells[k] != rows[1][k] }) {
			continue
		}
		p.fact("all "+heads[k], "%s", rows[1][k])
		for i := range rows {
			rows[i] = slices.Delete(rows[i], k, k+1)
		}
		words--
	}
	p.print(rows, words)
	if n := len(p.r.Radii) - mostPrintedGroups; n > 0 {
		p.line("and %d more: --json lists them", n)
	}
}

// cells returns the cells of a group in the table.
func (g *RadiiGroup) cells() []string {
	const places = 6
	f := g.Found
	mean, median := "-", "-"
	if g.Refuted > 0 {
		mean = record.DecimalUp(f.MeanRefuted(), places)
	}
	if r := f.MedianRefuted(); r != nil {
		median = record.DecimalUp(r, places)
	}
	cells := []string{short(strings.TrimSpace(named(g.Posterior, g.PosteriorSHA256) + " " + g.Predictive)), short(g.Property), short(g.Wanted), short(record.MethodToday(g.Method)), strconv.Itoa(g.OfInputs), strconv.Itoa(g.Certified),
		record.DecimalDown(f.MedianCertified(), places), record.DecimalDown(f.MeanCertified(), places), strconv.Itoa(g.Refuted), median, mean}
	for _, s := range g.Shares {
		lower, upper := f.ShareAt(property.MustExact(s.Eps))
		cells = append(cells, record.DecimalDown(lower, 4)+".."+record.DecimalUp(upper, 4))
	}
	return cells
}
