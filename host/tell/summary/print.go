package summary

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"psafe/host/record"
)

// Most lines of each kind that are printed: --json has all.
const (
	mostPrinted       = 10
	mostPrintedGroups = 60
)

// PrintWithin writes the result for people, contradictions first, in lines of at most width characters, if no
// word is longer. Numbers are rounded as bounds are.
func (r *Result) PrintWithin(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	p := &printer{b, r, nil, width}
	p.pairs("CONTRADICTED: %s certified bounds exclude each other; one of each pair is wrong:", r.Contradictions)
	p.facts()
	p.histogram()
	p.groups()
	p.found()
	p.statistical()
	p.weak("weakest of those that are not unsafe, lowest p_lower first:", r.Weakest)
	p.weak("unsafe, lowest p_upper first:", r.LowestUpper)
	return b.Flush()
}

type printer struct {
	io.Writer
	r *Result
	// digests are those of files by their names, empty where several have one name.
	digests map[string]string
	width   int
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// fact is a line that begins with what it is about.
func (p *printer) fact(name, format string, args ...any) {
	line := fmt.Sprintf("%-13s", name)
	for word := range strings.SplitSeq(fmt.Sprintf(format, args...), " ") {
		if len(line) > len(indent) && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width {
			fmt.Fprintln(p, line)
			line = indent
		}
		line += " " + word
	}
	fmt.Fprintln(p, line)
}

// indent is in front of what is said of a fact.
const indent = "             "

func (p *printer) pairs(head string, list []Contradiction) {
	if len(list) == 0 {
		return
	}
	p.line(head, Many(list))
	for i, c := range list {
		if i == mostPrinted {
			p.line("  and %d more: --json lists them", len(list)-i)
			break
		}
		p.line("  %s", plain(c.Words))
	}
	p.line("")
}

// facts prints what is said of all records together.
func (p *printer) facts() {
	r := p.r
	p.fact("records", "%d, runs %d", r.Records, len(r.Runs))
	p.fact("guarantee", "%s", plain(r.Guarantee))
	if r.ShareOf != "" {
		p.fact("", "P_safe is a share of %s and speaks of no others", r.ShareOf)
	}
	if r.Features != "" {
		p.fact("", "%s", r.Features)
	}
	p.fact("precision", "%s", counts(r.Precisions))
	p.fact("numerics", "%s", counts(r.Numerics))
	p.fact("device", "%s", counts(r.Devices))
	p.fact("version", "%s", counts(r.Versions))
	for i, of := range r.Requires {
		if i == mostPrinted {
			p.fact("", "and %d more values of --require", len(r.Requires)-i)
			break
		}
		p.fact("verdicts", "%d safe with probability >= %s, %d unsafe, %d unknown", of.Safe, plain(of.Require), of.Unsafe, of.Unknown)
	}
	if r.OtherInputs {
		p.fact("radii", "not all have the same inputs, as in records of psafe radius: no mean here is one of a data set")
	}
	if m := r.MeanPLower; m != nil {
		text := fmt.Sprintf("mean %s", record.FormatDown(*m, 4))
		for _, s := range r.Shares {
			text += fmt.Sprintf(", >= %s: %d (%s)", s.AtLeast, s.Records, percent(s.Records, r.WithPLower))
		}
		p.fact("p_lower", "%s", text)
	}
	if none := r.Records - r.WithPLower; none > 0 {
		p.fact("", "without the %d records of method statistical, which claim no p_lower", none)
	}
	p.fact("p_upper", "mean %s", record.FormatUp(r.MeanPUpper, 4))
	if e := r.Each; e != nil {
		p.fact("each point", "%s", e.words)
	}
	if d := r.Decisions; d != nil {
		p.fact("decisions", "%d decision_safe, %d decision_unsafe, %d unknown; the probability of the class is at least %s on average; vote proved for %d",
			d.Safe, d.Unsafe, d.Unknown, record.FormatDown(d.MeanLower, 4), d.Vote)
		if d.Probit > 0 {
			p.fact("", "the predictive of %d of them is the probit approximation, no average over the posterior", d.Probit)
		}
		if d.NoOther != nil {
			p.fact("threshold", "the class of the label is taken everywhere for %d, and no other class anywhere for %d; for %d none is taken anywhere: abstained", *d.Taken, *d.NoOther, *d.Abstained)
		}
		is, of := "class is the predictive's", "if labels are true"
		switch {
		case d.NoOther != nil:
			is = "class of the label is taken"
		case d.Actions > 0:
			is, of = "action, which may be to abstain, is taken", "with action=label, if labels are true"
		}
		if d.Robust != nil {
			p.fact("robust", "of all, the %s everywhere for %s..%s, and a majority votes for the class everywhere for %s or more; robust accuracy %s",
				is, record.FormatDown(d.Robust.Lower, 4), record.FormatUp(d.Robust.Upper, 4), record.FormatDown(d.Robust.Vote, 4), of)
		}
	}
	if m := r.OutputMeans; m != nil {
		p.fact("means", "%s", m.Verdicts())
	}
	p.time()
	p.tasks()
	p.compared()
}

func (p *printer) time() {
	r := p.r
	text := fmt.Sprintf("%s s in all", strconv.FormatFloat(r.Seconds, 'f', 3, 64))
	if none := r.Records - r.Timed; none == r.Records {
		text = "no record has any"
	} else if none > 0 {
		text += fmt.Sprintf(", without %d records that have none", none)
	}
	p.fact("time", "%s", text)
	if r.Stopped > 0 {
		p.fact("stopped", "%d by their time limit: bounds are what was proved until then", r.Stopped)
	}
}

// tasks says which are missing or there more than once.
func (p *printer) tasks() {
	whole, told := 0, 0
	for _, run := range p.r.Runs {
		if run.Present == run.Tasks && run.More == 0 {
			whole++
			continue
		}
		if told++; told > mostPrinted {
			continue
		}
		text := fmt.Sprintf("%d of the %d of run %.16s", run.Present, run.Tasks, plain(run.Run))
		if run.Missing != "" {
			text += fmt.Sprintf("; missing, counted from 0: %s", run.Missing)
		}
		if run.More > 0 {
			text += fmt.Sprintf("; there more than once: %s", run.Twice)
		}
		p.fact("tasks", "%s", text)
	}
	switch {
	case told > mostPrinted:
		p.fact("", "and so %d more runs: --json lists them", told-mostPrinted)
	case told == 0 && p.r.NotCovered == 0:
		p.fact("tasks", "none is missing, none is there twice")
	}
	if p.r.NotCovered > 0 {
		p.fact("", "of %d records IT WAS NOT LOOKED whether they are missing or there twice: they are of too many runs, or too far apart", p.r.NotCovered)
	}
}

func (p *printer) compared() {
	text := fmt.Sprintf("none among %d different questions", p.r.Questions)
	if n := len(p.r.Contradictions); n > 0 {
		text = fmt.Sprintf("%s: see above", Many(p.r.Contradictions))
	}
	p.fact("contradicted", "%s", text)
	if n := p.r.NotCompared; n > 0 {
		p.fact("", "%d records WERE COMPARED WITH NOTHING: there are too many questions; give fewer files at once", n)
	}
}

// Many says how many contradictions there are: no more are kept than a limit.
func Many(list []Contradiction) string {
	if len(list) >= record.MostContradictions {
		return fmt.Sprintf("%d or more", len(list))
	}
	return strconv.Itoa(len(list))
}

const barWidth = 23

// histogram is the distribution of both bounds.
func (p *printer) histogram() {
	p.line("\n%-12s %9s %-*s %9s", "from..below", "p_lower", barWidth, "", "p_upper")
	most := [2]int{1, 1}
	for _, b := range p.r.Histogram {
		most[0], most[1] = max(most[0], b.PLower), max(most[1], b.PUpper)
	}
	bar := func(n, most int) string { return strings.Repeat("#", (n*barWidth+most-1)/most) }
	list := p.r.Histogram
	for i := 0; i < len(list); i++ {
		b := list[i]
		from := b.From
		for b.PLower+b.PUpper == 0 && i+1 < len(list) && list[i+1].PLower+list[i+1].PUpper == 0 {
			i++ // what is empty is one line
			b = list[i]
		}
		line := fmt.Sprintf("%-12s %9d %-*s %9d %s", fmt.Sprintf("%.2f..%.2f", from.Approx(), b.To.Approx()), b.PLower, barWidth, bar(b.PLower, most[0]), b.PUpper, bar(b.PUpper, most[1]))
		p.line("%s", strings.TrimRight(line, " "))
	}
}

// cell is the mean of each_lower.
func (e *Each) cell() string {
	if e == nil {
		return "-"
	}
	return record.FormatDown(e.MeanLower, 4)
}

func (m *Means) cells(records int) []string {
	lower, seconds := "-", "-"
	if m.MeanPLower != nil {
		lower = record.FormatDown(*m.MeanPLower, 4)
	}
	if m.Timed > 0 {
		seconds = strconv.FormatFloat(m.Seconds, 'f', 3, 64)
	}
	return []string{strconv.Itoa(records), strconv.Itoa(m.Safe), strconv.Itoa(m.Unsafe), strconv.Itoa(m.Unknown), strconv.Itoa(m.Stopped), lower, record.FormatUp(m.MeanPUpper, 4), seconds}
}

// cells are the shares of a group's decisions for which the class is that of the predictive everywhere,
// and that of the vote.
func (d *Decisions) cells() []string {
	if d == nil || d.Robust == nil {
		return []string{"-", "-"}
	}
	r := d.Robust
	return []string{record.FormatDown(r.Lower, 4) + ".." + record.FormatUp(r.Upper, 4), record.FormatDown(r.Vote, 4) + ".."}
}

func (p *printer) statistical() {
	if s := p.r.Parents; s != nil {
		p.line("\n%s:", s.Statement)
		p.interval(s)
	}
	s := p.r.Intervals
	if s == nil {
		return
	}
	p.line("\nstatistical, NOT CERTIFIED, and no part of anything above:")
	p.interval(s)
	p.pairs("  %s of them lie outside of certified bounds, which their confidence allows, but rarely:", p.r.Outside)
}

func (p *printer) interval(s *Statistical) {
	p.fact("intervals", "%d, each with confidence %v or more; means of their ends %s..%s; %d begin at --require or above, %d end below it",
		s.Intervals, s.Confidence, record.FormatDown(s.MeanLower, 4), record.FormatUp(s.MeanUpper, 4), s.Above, s.Below)
}

func (p *printer) weak(head string, list []Weak) {
	if len(list) == 0 {
		return
	}
	p.line("\n%s", head)
	t := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	// What the table by group has for all is not said again.
	several := slices.ContainsFunc(p.r.Groups, func(g Group) bool { return g.Posterior != p.r.Groups[0].Posterior })
	for i := range list {
		w := &list[i]
		logarithm := ""
		if w.PLower < 0.0001 && w.Log10 != nil {
			logarithm = fmt.Sprintf("(%s) ", record.TenToDown(*w.Log10))
		}
		eps := ""
		if w.Eps != "" {
			eps = "eps " + shortened(short(w.Eps), 12)
		}
		post := ""
		if several {
			post = shortened(short(Base(w.Post)), 19) + "\t"
		}
		fmt.Fprintf(t, "  %s..%s %s\t%s\t%s\t%s%s\t%s:%d\n", record.FormatDown(w.PLower, 4), record.FormatUp(w.PUpper, 4), logarithm,
			shortened(short(w.title()), 20), eps, post, plain(record.MethodToday(w.Method)), shortened(plain(folded(w.File)), 20), w.Line)
	}
	t.Flush()
}

// counts lists words with how many records say each, if they differ.
func counts(list []Count) string {
	var texts []string
	for i, c := range list {
		if i == mostPrinted {
			texts = append(texts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		text := plain(fmt.Sprintf("%.80s", c.Is))
		if len(list) > 1 {
			text = fmt.Sprintf("%s (%d)", text, c.Records)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// percent is a share, rounded down to a tenth.
func percent(part, whole int) string {
	tenths := part * 1000 / max(1, whole)
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}
