package record

import (
	"bufio"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"psafe/host/read/property"
)

// FormatDown prints p in [0, 1] with digits decimals, rounded down: never more
// than p says.
func FormatDown[B ~float64](p B, digits int) string {
	return DecimalDown(new(big.Rat).SetFloat64(float64(p)), digits)
}

// FormatUp prints p in [0, 1] with digits decimals, rounded up: never less than p
// says.
func FormatUp[B ~float64](p B, digits int) string {
	return DecimalUp(new(big.Rat).SetFloat64(float64(p)), digits)
}

// tableWidth is the greatest number of columns of a terminal that a table takes.
const tableWidth = 80

// tableColumn is a column of a table: what stands above it, and what it says of a record.
type tableColumn struct {
	head string
	of   func(r *Record) string
}

// Table prints records as aligned columns, at most 80 wide, and a summary line. The line of heads
// comes again after every so many rows, or never if that is 0. Columns that say nothing are left
// out: eps where it is always the same, log10 where p_lower has digits of its own, statistical
// intervals where there are none. So are, where it would be too wide, the half-widths of boxes, the
// ends of long names, then seconds, labels, log10 and eps.
func Table(w io.Writer, records []*Record, every int) error {
	var all Tally
	for _, r := range records {
		all.Add(r)
	}
	grid := fitted(records)
	b := bufio.NewWriter(w)
	for i := 1; i < len(grid) || i == 1; i++ {
		if i == 1 || every > 0 && (i-1)%every == 0 {
			fmt.Fprintln(b, grid[0])
		}
		if i < len(grid) {
			fmt.Fprintln(b, grid[i])
		}
	}
	fmt.Fprintln(b, all.Summary())
	for _, text := range all.Beside() {
		fmt.Fprintln(b, text)
	}
	return b.Flush()
}

// tableColumns returns the columns of a table of records.
func tableColumns(records []*Record) []tableColumn {
	radii, tiny, statistical, sameConfidence, parent, decided, each := false, false, "", true, "", false, false
	for _, r := range records {
		radii = radii || r.Eps != records[0].Eps
		tiny = tiny || r.Log10PLower != nil && FormatDown(r.PLower, 4) == "0.0000"
		decided, each = decided || r.Decision != nil, each || r.EachLower != nil
		if s := r.Statistical; s != nil {
			words := fmt.Sprintf("statistical@%v", s.Confidence)
			sameConfidence = sameConfidence && (statistical == "" || statistical == words)
			statistical = words
		}
		if p := r.Parent; p != nil {
			parent = fmt.Sprintf("parent@%v", p.Confidence)
		}
	}
	if !sameConfidence {
		statistical = "statistical"
	}
	list := []tableColumn{{"index", (*Record).title}}
	add := func(shown bool, head string, of func(r *Record) string) {
		if shown {
			list = append(list, tableColumn{head, of})
		}
	}
	add(radii, "eps", func(r *Record) string { return plain(fmt.Sprintf("%.24s", r.Eps)) })
	add(true, "label", func(r *Record) string { return number(r.Label) })
	add(true, "p_lower", func(r *Record) string { return FormatDown(r.PLower, 4) })
	add(tiny, "log10", func(r *Record) string {
		if r.Log10PLower != nil && *r.Log10PLower < -300 {
			return "<-300"
		}
		return decimals(r.Log10PLower, 4)
	})
	add(true, "p_upper", func(r *Record) string { return FormatUp(r.PUpper, 4) })
	add(each, "each", func(r *Record) string { return decimals(r.EachLower, 4) })
	add(statistical != "", statistical, func(r *Record) string { return r.interval(!sameConfidence) })
	add(parent != "", parent, func(r *Record) string {
		if r.Parent == nil {
			return "-"
		}
		return FormatDown(r.Parent.Lower, 4) + ".." + FormatUp(r.Parent.Upper, 4)
	})
	add(true, "method", func(r *Record) string { return plain(r.method()) })
	add(true, "verdict", func(r *Record) string { return plain(r.Verdict) })
	add(decided, "decision", func(r *Record) string {
		if r.Decision == nil {
			return "-"
		}
		return plain(strings.TrimPrefix(r.Decision.Verdict, "decision_"))
	})
	add(true, "seconds", func(r *Record) string { return decimals(r.Seconds, 3) })
	return list
}

// fitted are the lines of a table, heads first, with as much as fits.
func fitted(records []*Record) []string {
	list := tableColumns(records)
	lines, width := aligned(list, records)
	longest := 0
	for _, r := range records {
		longest = max(longest, utf8.RuneCountInString(r.title()))
	}
	cutNames := func(least int) {
		room := max(least, longest-(width-tableWidth))
		if width > tableWidth && room < longest {
			list[0].of = func(r *Record) string { return shortened(r.title(), room) }
			longest = room
			lines, width = aligned(list, records)
		}
	}
	for i := range list {
		if list[i].head == "method" && width > tableWidth {
			list[i].of = func(r *Record) string { return plain(MethodToday(r.Method)) }
			lines, width = aligned(list, records)
		}
	}
	cutNames(longEnough)
	for _, head := range []string{"seconds", "label", "log10", "eps"} {
		if width <= tableWidth {
			return lines
		}
		list = slices.DeleteFunc(list, func(c tableColumn) bool { return c.head == head })
		lines, width = aligned(list, records)
	}
	cutNames(len("index"))
	return lines
}

// longEnough is the number of characters of a name that say more than another column.
const longEnough = 12

// shortened is a text of at most n characters, of which the last are dots where some are missing.
func shortened(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-2]) + ".."
	}
	return text
}

// aligned are the lines of a table, each column as wide as it needs, to the right, and their width.
func aligned(list []tableColumn, records []*Record) (lines []string, width int) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range list {
		fmt.Fprint(t, c.head, "\t")
	}
	fmt.Fprintln(t)
	for _, r := range records {
		for _, c := range list {
			fmt.Fprint(t, c.of(r), "\t")
		}
		fmt.Fprintln(t)
	}
	t.Flush() // a strings.Builder takes everything
	lines = strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	return lines, utf8.RuneCountInString(lines[0])
}

// interval is the statistical interval, rounded outward, with its confidence if asked.
func (r *Record) interval(confidence bool) string {
	s := r.Statistical
	if s == nil {
		return "-"
	}
	text := FormatDown(s.Lower, 4) + ".." + FormatUp(s.Upper, 4)
	if confidence {
		text += fmt.Sprintf("@%v", s.Confidence)
	}
	return text
}

// Tally tells in a line or two what records say that come one by one. Its zero value is ready.
type Tally struct {
	least, most           property.Exact // of the records' require
	safe, unsafe, unknown int
	unasked               int // unknown ones of which no upper bound was asked for
	n                     int
	lower                 Sum  // of those that claim one
	found                 bool // radii that were looked for are among them

	intervals, above, below int
	confidence              float64

	sets    Sets
	parents Parents
	decided Decisions
	outputs OutputMeans
	each    EachPoints
}

// Add counts a record.
func (t *Tally) Add(r *Record) {
	if t.n == 0 {
		t.least, t.most, t.confidence = r.Require, r.Require, 1
	}
	if r.Require.Cmp(t.least) < 0 {
		t.least = r.Require
	}
	if r.Require.Cmp(t.most) > 0 {
		t.most = r.Require
	}
	t.n++
	t.found = t.found || r.RadiusEnd != ""
	if r.Method != "statistical" {
		t.lower.Add(float64(r.PLower))
	}
	switch r.Verdict {
	case "safe":
		t.safe++
	case "unsafe":
		t.unsafe++
	case "unknown":
		t.unknown++
		if slices.Contains(strings.Fields(r.Flags), "--no-upper") {
			t.unasked++
		}
	}
	t.sets.Add(r)
	t.parents.Add(r)
	t.decided.Add(r)
	t.outputs.Add(r)
	t.each.Add(r)
	if s := r.Statistical; s != nil {
		t.intervals++
		t.confidence = min(t.confidence, s.Confidence)
		if s.Lower.Exact().Cmp(r.Require) >= 0 {
			t.above++
		} else if s.Upper.Exact().Cmp(r.Require) < 0 {
			t.below++
		}
	}
}

// Summary is one line: how many records, how many of each verdict, and the mean p_lower of those
// that claim one, rounded down.
func (t *Tally) Summary() string {
	with := fmt.Sprintf("with probability >= %v", t.least)
	if t.mixed() {
		with = fmt.Sprintf("each by its own --require, from %v to %v", t.least, t.most)
	}
	mean := "mean p_lower " + FormatDown(t.lower.MeanDown(), 4)
	if t.lower.N() == 0 {
		mean = "no p_lower is claimed"
	}
	if t.found {
		mean = "no share or mean is one of the inputs, as radii were chosen by their verdicts: psafe summary has radii"
	}
	unasked := ""
	if t.unasked > 0 {
		unasked = fmt.Sprintf(" (of %d p_upper was not asked for: no-upper)", t.unasked)
	}
	line := fmt.Sprintf("%d of %d safe %s, %d unsafe, %d unknown%s; %s", t.safe, t.n, with, t.unsafe, t.unknown, unasked, mean)
	if of := t.sets.Words(); of != "" {
		line += "; P_safe is a share of " + of + " and speaks of no others"
	}
	if of := t.sets.Features(); of != "" {
		line += "; " + of
	}
	return line
}

// Parents tells what intervals say of the posteriors that finite sets were drawn from; empty if
// there are none.
func (t *Tally) Parents() string { return t.parents.Words() }

// Beside are lines about what was asked beside P_safe: worst points, decisions of posterior predictives, means of
// outputs, and Parents.
func (t *Tally) Beside() []string {
	lines := []string{t.each.Words(), t.decided.Words(), t.outputs.Words(), t.Parents()}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// mixed reports whether verdicts are against more than one limit.
func (t *Tally) mixed() bool { return t.least.Cmp(t.most) != 0 }

// Drawn tells what statistical intervals say of the verdicts' limit, for where the table that shows
// them is not printed; empty if there are none.
func (t *Tally) Drawn() string {
	if t.intervals == 0 {
		return ""
	}
	from := t.least.String()
	if t.mixed() {
		from = "their --require"
	}
	return fmt.Sprintf("statistical, not certified: %d of %d intervals from %s on, %d below it (confidence %v each)", t.above, t.intervals, from, t.below, t.confidence)
}

func (r *Record) title() string {
	switch {
	case r.TemplateEntry != nil:
		return fmt.Sprintf("%d %s", r.Index, plain(r.Property))
	case r.Name != "":
		return plain(r.Name)
	}
	return strconv.Itoa(r.Index)
}

// plain escapes what is from a file, which must not command the terminal.
func plain(text string) string {
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// method names what gave p_lower, with the half-width of weight boxes.
func (r *Record) method() string {
	text := MethodToday(r.Method)
	if r.Gamma != 0 {
		text += " gamma " + strconv.FormatFloat(r.Gamma, 'f', 2, 64)
	}
	return text
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// decimals prints x with digits decimals, rounded down, towards -Inf.
func decimals[B ~float64](x *B, digits int) string {
	if x == nil {
		return "-"
	}
	return FormatDown(*x, digits)
}
