package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"psafe/host/report"
)

// none is the cell of what was not run, or says nothing.
var none = cell{"-", ""}

func raw(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// lowerCell is a certified p_lower, rounded down; one too small for four digits as a power of ten.
func lowerCell(r *report.Record) cell {
	if r.Method == "statistical" {
		return none // which claims none
	}
	if log := r.Log10PLower; r.PLower < 1e-4 && log != nil {
		return cell{fmt.Sprintf("10^%.1f", math.Floor(*log*10)/10), raw(r.PLower)}
	}
	return downCell(r.PLower)
}

func downCell(p float64) cell {
	if p == 0 {
		return cell{"0", "0"}
	}
	return cell{report.FormatDown(p, 4), raw(p)}
}

// upCell is a p_upper, rounded up.
func upCell(p float64) cell {
	if p == 1 {
		return cell{"1", "1"}
	}
	switch {
	case p == 0:
		return cell{"0", "0"}
	case p < 1e-3:
		return cell{twoDigitsUp(p), raw(p)}
	}
	return cell{report.FormatUp(p, 4), raw(p)}
}

// twoDigitsUp is a decimal of two digits that is more than p > 0. One whose nearest
// float64 is more than p is itself more.
func twoDigitsUp(p float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(p, 'e', 1, 64), "e")
	e, _ := strconv.Atoi(exponent)
	m, _ := strconv.Atoi(strings.Replace(mantissa, ".", "", 1))
	for {
		text := fmt.Sprintf("%d.%de%d", m/10, m%10, e)
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > p {
			return text
		}
		if m++; m == 100 {
			m, e = 10, e+1
		}
	}
}

// upperCell is a p_upper; none where it was not looked for.
func upperCell(p *report.Placed) cell {
	if strings.Contains(p.Flags, "--no-upper") {
		return none
	}
	return upCell(p.PUpper)
}

// statCell is a statistical interval, rounded outward.
func statCell(s *report.Statistical) cell {
	if s == nil {
		return none
	}
	return cell{report.FormatDown(s.Lower, 4) + " to " + report.FormatUp(s.Upper, 4), raw(s.Lower) + " " + raw(s.Upper)}
}

// secondsCell is a time; of records without one, as --omit-timing leaves them, none.
func secondsCell(seconds *float64) cell {
	if seconds == nil {
		return none
	}
	return cell{fmt.Sprintf("%.3g s", *seconds), raw(*seconds)}
}

// total adds the times of records, nil if one has none.
func total(records []report.Placed) *float64 {
	sum := 0.0
	for _, r := range records {
		if r.Seconds == nil {
			return nil
		}
		sum += *r.Seconds
	}
	return &sum
}

// each is total divided by how many there are.
func each(records []report.Placed) *float64 {
	t := total(records)
	if t == nil || len(records) == 0 {
		return nil
	}
	mean := *t / float64(len(records))
	return &mean
}

// bounds is what all records of one input and property say together.
type bounds struct {
	lower, upper    float64
	fromLo, fromHi  *report.Placed
	statistical     *report.Statistical
	fromStatistical *report.Placed
}

func newBounds() *bounds { return &bounds{upper: 1} }

// take adds what a record says.
func (b *bounds) take(r *report.Placed) {
	if r.PLower > b.lower || b.fromLo == nil {
		b.lower, b.fromLo = r.PLower, r
	}
	if r.PUpper < b.upper || b.fromHi == nil {
		b.upper, b.fromHi = r.PUpper, r
	}
	if s := r.Statistical; s != nil && (b.statistical == nil || s.Samples > b.statistical.Samples) {
		b.statistical, b.fromStatistical = s, r
	}
}

// least is the smallest upper limit of P_safe, certified or statistical, and which.
func (b *bounds) least() (limit float64, statistical bool) {
	if s := b.statistical; s != nil && s.Upper < b.upper {
		return s.Upper, true
	}
	return b.upper, false
}

// check fails if a lower bound is above an upper one: one of them is then wrong, and
// nothing of the experiment may be believed.
func (b *bounds) check() error {
	if b.fromLo == nil {
		return nil
	}
	place := func(r *report.Placed) string { return fmt.Sprintf("%s: line %d", r.File, r.Line) }
	if b.lower > b.upper {
		return fmt.Errorf("%s: p_lower %v is above p_upper %v of %s: one of the two is wrong, please report it", place(b.fromLo), b.lower, b.upper, place(b.fromHi))
	}
	if s := b.statistical; s != nil && b.lower > s.Upper {
		return fmt.Errorf("%s: p_lower %v is above the statistical upper limit %v of %s, which has confidence %v: one of the two is wrong, please report it",
			place(b.fromLo), b.lower, s.Upper, place(b.fromStatistical), s.Confidence)
	}
	return nil
}

// key identifies what a record is about.
func key(r *report.Placed) string {
	return strings.Join([]string{r.PosteriorSHA256, r.PosteriorScale, r.InputsSHA256, strconv.Itoa(r.Index), r.Eps, r.Property}, " ")
}

// checkAll holds every record of the results against every other about the same.
func (all Results) checkAll() error {
	by := map[string]*bounds{}
	for _, records := range all {
		for i := range records {
			k := key(&records[i])
			if by[k] == nil {
				by[k] = newBounds()
			}
			by[k].take(&records[i])
		}
	}
	for _, b := range by {
		if err := b.check(); err != nil {
			return err
		}
	}
	return nil
}

// ceilingCell is what sampled boxes can hold at most, a power of ten, rounded up.
func ceilingCell(r *report.Record) cell {
	c := r.Log10Ceiling
	if c == nil {
		return none
	}
	if *c > -0.1 {
		return cell{"1", raw(*c)}
	}
	return cell{fmt.Sprintf("10^%.1f", math.Ceil(*c*10)/10), raw(*c)}
}

// shareCell counts the records with p_lower >= 0.9.
func shareCell(records []report.Placed) cell {
	n := 0
	for _, p := range records {
		if p.PLower >= 0.9 {
			n++
		}
	}
	return word(fmt.Sprintf("%d of %d", n, len(records)))
}
