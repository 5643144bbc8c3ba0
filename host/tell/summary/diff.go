package summary

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// Diff compares records of two sets of result files, A and B, question by question. What records of radii
// that were looked for say is a bound of the input's radius. It keeps some numbers of each question.
type Diff struct {
	// AnyPosterior compares what is asked of the same inputs, whatever the posterior, as before and behind a
	// training: then P_safe is another number in B, and a lower p_upper is no tighter bound but worse.
	AnyPosterior bool
	// Tolerance is the largest change of a bound that is none.
	Tolerance float64

	sides     [2]Side
	found     map[[16]byte]*compared
	list      []*compared
	questions record.Questions
}

// Side is what one of the two has.
type Side struct {
	Records int `json:"records"`
	Verdicts
}

// bounded is what one side says of a question: the tightest of its records.
type bounded struct {
	there         bool
	lower, upper  float64
	lowest, least string // as texts, of radii
	verdict, rule string
	require       property.Exact // the largest
}

// compared is a question.
type compared struct {
	input, eps string
	sides      [2]bounded
}

// Add takes a record of A (0) or B (1), of which it keeps nothing that changes.
func (d *Diff) Add(side int, p *record.Placed) {
	d.sides[side].Records++
	d.sides[side].Verdicts.add(p.Verdict)
	d.questions.Add(p)
	if d.found == nil {
		d.found = map[[16]byte]*compared{}
	}
	key := p.Question(d.AnyPosterior)
	c := d.found[key]
	if c == nil {
		title := Weak{Index: p.Index, Name: p.Name, Property: p.Property}
		c = &compared{input: strings.Clone(short(title.title())), eps: strings.Clone(p.Eps)}
		if p.RadiusEnd != "" {
			c.eps = "looked for"
		}
		d.found[key], d.list = c, append(d.list, c)
	}
	c.sides[side].add(p.Record)
}

// add takes in a record.
func (b *bounded) add(r *record.Record) {
	if !b.there {
		*b = bounded{there: true, upper: math.Inf(1)}
	}
	if r.RadiusEnd != "" {
		radius, _ := r.Radius()
		switch wanted := r.Wanted(); {
		case wanted > 0 && radius >= b.lower:
			b.lower, b.lowest = radius, strings.Clone(r.Eps)
		case wanted < 0 && radius < b.upper:
			b.upper, b.least = radius, strings.Clone(r.Eps)
		}
		return
	}
	b.lower, b.upper = max(b.lower, float64(r.PLower)), min(b.upper, float64(r.PUpper))
	if r.Require.Cmp(b.require) > 0 {
		b.require = r.Require
	}
	b.verdict = record.Verdict(b.lower, b.upper, b.require)
	if wanted := r.Wanted(); (r.EachLower != nil || r.Decision != nil || r.OutputMean != nil) && (b.rule == "" || wanted != 0) {
		b.rule = [...]string{"unsafe", "unknown", "safe"}[wanted+1]
	}
}

// Kinds of changes.
const (
	Worse    = "worse"
	Mixed    = "mixed"
	Improved = "improved"
	OnlyInA  = "only A"
	OnlyInB  = "only B"
)

// changeKinds are these in their order.
var changeKinds = []string{Worse, OnlyInA, Mixed, Improved, OnlyInB}

// Change is a question of which A and B do not say the same.
type Change struct {
	Change string `json:"change"`
	Input  string `json:"input"`
	Eps    string `json:"eps,omitempty"`
	// Verdicts are those of A and B, and those of decisions, means or each_lower, where records have some.
	Verdicts [2]string `json:"verdicts"`
	Rules    [2]string `json:"other_verdicts"`
	// Lower and Upper are bounds of P_safe, or of a radius, as texts, rounded outward.
	Lower [2]string `json:"lower"`
	Upper [2]string `json:"upper"`
	// loss is how much less A's lower bound has in B.
	loss float64
}

// Difference holds what psafe diff --json prints (docs/reference.md).
type Difference struct {
	A    Side `json:"a"`
	B    Side `json:"b"`
	Both int  `json:"in_both"`
	Same int  `json:"same"`
	// Counts are of the changes by kind, and VerdictsChanged of those in both with another verdict.
	Counts          map[string]int  `json:"counts"`
	VerdictsChanged int             `json:"verdicts_changed"`
	Changes         []Change        `json:"changes"`
	Contradictions  []Contradiction `json:"contradictions"`
}

// Result returns what was added so far, what is worse first.
func (d *Diff) Result() *Difference {
	r := &Difference{A: d.sides[0], B: d.sides[1], Counts: map[string]int{}, Changes: []Change{}, Contradictions: []Contradiction{}}
	for _, kind := range changeKinds {
		r.Counts[kind] = 0
	}
	for _, c := range d.questions.Contradictions() {
		if c.Certified {
			r.Contradictions = append(r.Contradictions, Contradiction{c.A, c.B, c.Words})
		}
	}
	for _, c := range d.list {
		a, b := &c.sides[0], &c.sides[1]
		kind, verdict := d.kind(a, b)
		if a.there && b.there {
			r.Both++
		}
		if verdict {
			r.VerdictsChanged++
		}
		if kind == "" {
			r.Same++
			continue
		}
		r.Counts[kind]++
		change := Change{Change: kind, Input: c.input, Eps: c.eps, Verdicts: [2]string{a.verdict, b.verdict}, Rules: [2]string{a.rule, b.rule}, loss: a.lower - b.lower}
		for i := range c.sides {
			change.Lower[i], change.Upper[i] = c.sides[i].texts()
		}
		r.Changes = append(r.Changes, change)
	}
	slices.SortStableFunc(r.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(slices.Index(changeKinds, x.Change), slices.Index(changeKinds, y.Change)), cmp.Compare(y.loss, x.loss))
	})
	return r
}

// kind is what became of a question, empty if nothing did, and whether its verdict is another.
func (d *Diff) kind(a, b *bounded) (kind string, verdict bool) {
	switch {
	case !b.there:
		return OnlyInA, false
	case !a.there:
		return OnlyInB, false
	}
	better, worse := false, false
	step := func(by, most float64) { better, worse = better || by > most, worse || by < -most }
	step(b.lower-a.lower, d.Tolerance)
	if !math.IsInf(a.upper, 1) || !math.IsInf(b.upper, 1) {
		step(d.sign()*(b.upper-a.upper), d.Tolerance)
	}
	verdict = a.verdict != b.verdict
	step(d.rank(b.verdict)-d.rank(a.verdict), 0)
	if a.rule != "" && b.rule != "" {
		verdict = verdict || a.rule != b.rule
		step(d.rank(b.rule)-d.rank(a.rule), 0)
	}
	switch {
	case better && worse:
		return Mixed, verdict
	case better:
		return Improved, verdict
	case worse:
		return Worse, verdict
	case verdict: // two that cannot both be true, or other limits
		return Mixed, verdict
	}
	return "", false
}

// sign is that of a better change of upper bounds: of one P_safe the lower one says more.
func (d *Diff) sign() float64 {
	if d.AnyPosterior {
		return 1
	}
	return -1
}

// rank orders verdicts: of one P_safe either is better than none.
func (d *Diff) rank(verdict string) float64 {
	switch verdict {
	case "safe":
		return 1
	case "unsafe":
		return -d.sign()
	}
	return 0
}

// texts are the bounds, rounded outward.
func (b *bounded) texts() (lower, upper string) {
	switch {
	case !b.there:
		return "", ""
	case b.verdict == "": // radii
		return cmp.Or(short(b.lowest), "-"), cmp.Or(short(b.least), "-")
	}
	return record.FormatDown(b.lower, 4), record.FormatUp(b.upper, 4)
}

// Lost reports how many questions are worse or mixed in B, or missing.
func (r *Difference) Lost() int { return r.Counts[Worse] + r.Counts[Mixed] + r.Counts[OnlyInA] }

// PrintWithin writes the difference for people, in lines of at most width characters, if no word is longer.
func (r *Difference) PrintWithin(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	p := &printer{b, nil, nil, width}
	p.pairs("CONTRADICTED: %s certified bounds exclude each other; one of each pair is wrong:", r.Contradictions)
	for i, s := range []Side{r.A, r.B} {
		p.fact(string("AB"[i]), "%d records, %d safe, %d unsafe, %d unknown", s.Records, s.Safe, s.Unsafe, s.Unknown)
	}
	p.fact("questions", "%d in both, %d only in A, %d only in B", r.Both, r.Counts[OnlyInA], r.Counts[OnlyInB])
	p.fact("of both", "%d improved, %d worse, %d mixed, %d the same; %d with another verdict", r.Counts[Improved], r.Counts[Worse], r.Counts[Mixed], r.Same, r.VerdictsChanged)
	if len(r.Changes) > 0 {
		p.line("")
		p.print(r.rows(), 1)
	}
	if n := len(r.Changes) - mostPrintedGroups; n > 0 {
		p.line("and %d more: --json lists them", n)
	}
	return b.Flush()
}

// rows are a table of the changes, heads first.
func (r *Difference) rows() [][]string {
	both := func(of [2]string) string {
		if of[0] == of[1] {
			return of[0]
		}
		return strings.TrimSuffix(strings.TrimPrefix(of[0]+"->"+of[1], "->"), "->")
	}
	radii := slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Eps != r.Changes[0].Eps })
	rows := [][]string{{"input", "eps", "change", "verdict", "lower", "upper"}}
	for i := range min(len(r.Changes), mostPrintedGroups) {
		c := &r.Changes[i]
		verdict := plain(both(c.Verdicts))
		if other := both(c.Rules); other != "" {
			verdict = strings.TrimPrefix(verdict+", "+plain(other), ", ")
		}
		rows = append(rows, []string{c.Input, short(c.Eps), c.Change, verdict, both(c.Lower), both(c.Upper)})
	}
	for i := range rows {
		if !radii {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	return rows
}
