package summary

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// mostGroups is the number of groups told apart: the records of further ones are counted together.
const mostGroups = 10_000

// About holds what the records of a group have in common.
type About struct {
	Posterior       string `json:"posterior"`
	PosteriorSHA256 string `json:"posterior_sha256"`
	PosteriorScale  string `json:"posterior_scale"`
	// PosteriorSD holds the posterior SD of an ONNX network.
	PosteriorSD string `json:"posterior_sd,omitempty"`
	// Predictive says of what functions P_safe is if they are not the networks alone (record.Record.Functions).
	Predictive   string   `json:"predictive,omitempty"`
	Activations  []string `json:"activations"`
	Inputs       string   `json:"inputs"`
	InputsSHA256 string   `json:"inputs_sha256"`
	// Property holds what was asked for, without the class, which may differ from input to input
	// (PropertyOf).
	Property string `json:"property"`
	// Rule is how the posterior predictive decides, where that is not the class of the average (record.RuleWords).
	Rule string `json:"rule,omitempty"`
	// Method is the one that was asked for.
	Method string `json:"method"`
	Eps    string `json:"eps"`
}

// PosteriorNamed is the posterior's file, and what of it P_safe is about where that is not its networks.
func (a *About) PosteriorNamed() string { return strings.TrimSpace(a.Posterior + " " + a.Predictive) }

type group struct {
	About
	bounds
}

type groups struct {
	known map[string]*group
	list  []*group
	// rest are the records of further groups.
	rest bounds
	key  []byte
	by   []string
}

// ByWords are the words for what groups are told apart by.
var ByWords = []string{"posterior", "inputs", "property", "method", "eps"}

// only is what a record is about, of which what has no word in by is left out; all of it where by is empty.
func (a About) only(by []string) About {
	if len(by) == 0 {
		return a
	}
	has := func(word string) bool { return slices.Contains(by, word) }
	if !has("posterior") {
		a.Posterior, a.PosteriorSHA256, a.PosteriorScale, a.PosteriorSD, a.Predictive, a.Activations = "", "", "", "", "", nil
	}
	if !has("inputs") {
		a.Inputs, a.InputsSHA256 = "", ""
	}
	if !has("property") {
		a.Property, a.Rule = "", ""
	}
	if !has("method") {
		a.Method = ""
	}
	if !has("eps") {
		a.Eps = ""
	}
	return a
}

// aboutOf returns what a record is about.
func aboutOf(r *record.Record) About {
	return About{r.Posterior, r.PosteriorSHA256, r.PosteriorScale, r.PosteriorSD, r.Functions(), r.Activations, r.Inputs, r.InputsSHA256, PropertyOf(r), r.RuleWords(), r.MethodAsked(), r.Eps}
}

func (g *groups) add(r *record.Record) {
	about := aboutOf(r).only(g.by)
	digests := [...]string{r.PosteriorSDSHA, r.Member(), r.EpsSHA256}
	for i, word := range []string{"posterior", "inputs", "eps"} {
		if len(g.by) > 0 && !slices.Contains(g.by, word) {
			digests[i] = ""
		}
	}
	g.key = g.key[:0]
	for _, text := range []string{about.PosteriorSHA256, about.PosteriorScale, about.PosteriorSD, digests[0], about.Predictive, strings.Join(about.Activations, ","),
		about.InputsSHA256, digests[1], about.Property, about.Rule, about.Method, about.Eps, digests[2]} {
		g.key = binary.AppendUvarint(g.key, uint64(len(text)))
		g.key = append(g.key, text...)
	}
	of := g.known[string(g.key)]
	if of == nil {
		if len(g.list) == mostGroups {
			g.rest.add(r)
			return
		}
		if g.known == nil {
			g.known = map[string]*group{}
		}
		of = &group{About: about}
		g.known[string(g.key)], g.list = of, append(g.list, of)
	}
	of.add(r)
}

// butRadius returns what a group asks, but for the radius.
func (g *group) butRadius() [6]string {
	return [6]string{g.PosteriorSHA256, g.Predictive, g.InputsSHA256, g.Property, g.Rule, g.Method}
}

// otherInputs reports of which questions the groups at different radii are about different inputs: those
// of psafe radius are, and were chosen by their verdicts.
func otherInputs(groups []*group) map[[6]string]bool {
	first, other := map[[6]string]*group{}, map[[6]string]bool{}
	for _, g := range groups {
		of := g.butRadius()
		if first[of] == nil {
			first[of] = g
		}
		other[of] = other[of] || g.Eps != first[of].Eps && g.inputs != first[of].inputs
	}
	return other
}

var kinds = property.SpecKinds()

// PropertyOf is a record's property without the class of its input: argmax_is, margin:0.5.
// argmax_is has none whoever named it, since argmax_is:0 to argmax_is:9 ask the same of ten classes.
// Those of files have names, each its own, and are all "property file". Where T is a ball the property
// on it is another one: argmax_is on L2 balls.
func PropertyOf(r *record.Record) string {
	if r.Norm == "" {
		return propertyOf(r)
	}
	return propertyOf(r) + " on L" + r.Norm + " balls"
}

func propertyOf(r *record.Record) string {
	kind, _, _ := strings.Cut(r.Property, ":")
	switch {
	case r.Relation != "" && r.Property == r.Relation: // which says what S is
		return r.Relation
	case !slices.Contains(kinds, kind):
		return "property file"
	case kind == "argmax_is":
		return kind
	}
	if r.Label == nil {
		return r.Property
	}
	return strings.TrimSuffix(r.Property, ":"+strconv.Itoa(*r.Label))
}

// sorted are the groups in the order of what they are about, radii by their size.
func (g *groups) sorted() []*group {
	list := slices.Clone(g.list)
	radii := map[string]property.Exact{}
	for _, of := range list {
		if e, err := property.NewExact(of.Eps); err == nil {
			radii[of.Eps] = e
		}
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		ra, okA := radii[a.Eps]
		rb, okB := radii[b.Eps]
		radius := cmp.Compare(a.Eps, b.Eps)
		switch {
		case okA && okB:
			radius = ra.Cmp(rb)
		case okA != okB: // numbers first
			radius = 1
			if okA {
				radius = -1
			}
		}
		return cmp.Or(cmp.Compare(a.Posterior, b.Posterior), cmp.Compare(a.PosteriorSHA256, b.PosteriorSHA256), cmp.Compare(a.PosteriorScale, b.PosteriorScale),
			cmp.Compare(a.PosteriorSD, b.PosteriorSD), cmp.Compare(a.Predictive, b.Predictive), slices.Compare(a.Activations, b.Activations),
			cmp.Compare(a.Inputs, b.Inputs), cmp.Compare(a.InputsSHA256, b.InputsSHA256), cmp.Compare(a.Property, b.Property), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Method, b.Method), radius)
	})
	return list
}
