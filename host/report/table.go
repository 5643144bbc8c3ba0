package report

import (
	"bufio"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"

	"psafe/host/property"
)

// FormatDown prints p in [0, 1] with digits decimals, rounded down: never more
// than p says.
func FormatDown[B ~float64](p B, digits int) string {
	// 40 digits are exact enough to cut: a float64 below 1 that prints as
	// 0.99..9 there is below 1.
	text := strconv.FormatFloat(float64(p), 'f', 40, 64)
	return text[:len(text)-40+digits]
}

// FormatUp prints p in [0, 1] with digits decimals, rounded up: never less than p
// says.
func FormatUp[B ~float64](p B, digits int) string {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	exact := new(big.Rat).SetFloat64(-float64(p))
	exact.Mul(exact, new(big.Rat).SetInt(unit))
	whole := new(big.Int).Div(exact.Num(), exact.Denom()) // floor of -p
	return new(big.Rat).SetFrac(whole.Neg(whole), unit).FloatString(digits)
}

// Table prints records as aligned columns, at most 80 wide where names are short, and a summary
// line. Columns that say nothing are left out: eps where it is always the same, log10 where p_lower
// has digits of its own, statistical intervals where there are none.
func Table(w io.Writer, records []*Record) error {
	radii, tiny, statistical, sameConfidence := false, false, "", true
	var all Tally
	for _, r := range records {
		all.Add(r)
		radii = radii || r.Eps != records[0].Eps
		tiny = tiny || r.Log10PLower != nil && FormatDown(r.PLower, 4) == "0.0000"
		if s := r.Statistical; s != nil {
			words := fmt.Sprintf("statistical@%v", s.Confidence)
			sameConfidence = sameConfidence && (statistical == "" || statistical == words)
			statistical = words
		}
	}
	if !sameConfidence {
		statistical = "statistical"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	print := func(index, eps, label, lower, log10, upper, interval, method, verdict, seconds string) {
		cells := []string{index}
		for _, c := range []struct {
			shown bool
			text  string
		}{{radii, eps}, {true, label}, {true, lower}, {tiny, log10}, {true, upper}, {statistical != "", interval}, {true, method}, {true, verdict}, {true, seconds}} {
			if c.shown {
				cells = append(cells, c.text)
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t")+"\t")
	}
	print("index", "eps", "label", "p_lower", "log10", "p_upper", statistical, "method", "verdict", "seconds")
	for _, r := range records {
		print(r.title(), plain(fmt.Sprintf("%.24s", r.Eps)), number(r.Label), FormatDown(r.PLower, 4), decimals(r.Log10PLower, 4), FormatUp(r.PUpper, 4),
			r.interval(!sameConfidence), plain(r.method()), plain(r.Verdict), decimals(r.Seconds, 3))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, all.Summary())
	return b.Flush()
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

// Tally says in a line or two what records say that come one by one. Its zero value is ready.
type Tally struct {
	least, most           property.Exact // of the records' require
	safe, unsafe, unknown int
	n                     int
	lower                 Sum // of those that claim one

	intervals, above, below int
	confidence              float64
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
	}
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
	return fmt.Sprintf("%d of %d safe %s, %d unsafe, %d unknown; %s", t.safe, t.n, with, t.unsafe, t.unknown, mean)
}

// mixed says whether verdicts are against more than one limit.
func (t *Tally) mixed() bool { return t.least.Cmp(t.most) != 0 }

// Drawn is what statistical intervals say of the verdicts' limit, for where the table that shows
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

// method names what gave p_lower, with the half-widths of a weight box.
func (r *Record) method() string {
	text := r.Method
	switch g := r.Gamma.(type) {
	case float64:
		text += " gamma " + strconv.FormatFloat(g, 'f', 2, 64)
	case []float64:
		separator := " gamma "
		for _, x := range g {
			text += separator + strconv.FormatFloat(x, 'f', 2, 64)
			separator = "/"
		}
	}
	return text
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// decimals prints x with digits decimals, rounded down, towards -Inf: exactly, by
// way of a whole number of units of the last digit.
func decimals[B ~float64](x *B, digits int) string {
	if x == nil {
		return "-"
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	exact := new(big.Rat).SetFloat64(float64(*x))
	exact.Mul(exact, new(big.Rat).SetInt(unit))
	whole := new(big.Int).Div(exact.Num(), exact.Denom()) // floor: the denominator is positive
	return new(big.Rat).SetFrac(whole, unit).FloatString(digits)
}
