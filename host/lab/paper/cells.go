package paper

import (
	"fmt"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
)

// none is the cell of what was not run, or says nothing.
var none = cell{text: "-"}

func raw(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// The columns that several tables have.
var (
	lowerColumn = col("p_lower", "p_lower", "log10_p_lower")
	statColumn  = col("statistical", "statistical_lower", "statistical_upper")
	mostColumn  = col("most it can be", "log10_most_it_can_be")
	shareColumn = col("p_lower >= 0.9", "images_with_p_lower_at_least_0.9", "of_images")
)

func secondsColumn(title string) column {
	return col(title, strings.ReplaceAll(title, " ", "_")+"_seconds")
}

// lowerCell is a certified p_lower, rounded down; one too small for four digits as a power of ten.
func lowerCell(r *record.Record) cell {
	if r.Method == "statistical" {
		return none // which claims none
	}
	c := downCell(float64(r.PLower))
	if log := r.Log10PLower; log != nil {
		if c.raw = append(c.raw, log.Exact().String()); r.PLower < 1e-4 {
			c.text = "10^-" + record.FormatUp(-*log, 1)
		}
	}
	return c
}

// downCell is a probability, rounded down: one near 1 by what is missing.
func downCell(p float64) cell {
	switch {
	case p == 0:
		return cell{"0", []string{"0"}}
	case p > 0.9999 && p < 1:
		return cell{"1 - " + twoDigitsUp(1-p), []string{property.DecimalDown(p)}} // 1 - p is exact
	}
	return cell{record.FormatDown(p, 4), []string{property.DecimalDown(p)}}
}

// upCell is a p_upper, rounded up.
func upCell(p float64) cell {
	switch {
	case p == 0 || p == 1:
		return cell{raw(p), []string{raw(p)}}
	case p < 1e-3:
		return cell{twoDigitsUp(p), []string{property.DecimalUp(p)}}
	}
	return cell{record.FormatUp(p, 4), []string{property.DecimalUp(p)}}
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

// statCell is a statistical interval, rounded outward.
func statCell(s *record.Statistical) cell {
	if s == nil {
		return none
	}
	return intervalCell(float64(s.Lower), float64(s.Upper))
}

func intervalCell(lower, upper float64) cell {
	return cell{record.FormatDown(lower, 4) + " to " + record.FormatUp(upper, 4), []string{property.DecimalDown(lower), property.DecimalUp(upper)}}
}

// secondsCell is a time; of records without one, as --omit-timing leaves them, none.
func secondsCell(seconds *float64) cell {
	if seconds == nil {
		return none
	}
	return cell{fmt.Sprintf("%.3g s", *seconds), []string{raw(*seconds)}}
}

// total adds the times of records, nil if one has none.
func total(records []record.Placed) *float64 {
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
func each(records []record.Placed) *float64 {
	t := total(records)
	if t == nil || len(records) == 0 {
		return nil
	}
	mean := *t / float64(len(records))
	return &mean
}

// bounds hold what all records of one input and property say together.
type bounds struct {
	lower, upper   float64
	fromLo, fromHi *record.Placed
	// statistical is the interval of most networks, to be shown; statLo is the record
	// with the greatest lower limit and statHi that with the least upper one.
	statistical    *record.Statistical
	statLo, statHi *record.Placed
}

func newBounds() *bounds { return &bounds{upper: 1} }

// take adds what a record says.
func (b *bounds) take(r *record.Placed) {
	if lower := float64(r.PLower); lower > b.lower || b.fromLo == nil {
		b.lower, b.fromLo = lower, r
	}
	if upper := float64(r.PUpper); upper < b.upper || b.fromHi == nil {
		b.upper, b.fromHi = upper, r
	}
	s := r.Statistical
	if s == nil {
		return
	}
	if b.statistical == nil || s.Samples > b.statistical.Samples {
		b.statistical = s
	}
	if b.statLo == nil || s.Lower > b.statLo.Statistical.Lower {
		b.statLo = r
	}
	if b.statHi == nil || s.Upper < b.statHi.Statistical.Upper {
		b.statHi = r
	}
}

// least is the smallest upper limit of P_safe, certified or statistical, and which.
func (b *bounds) least() (limit float64, statistical *record.Statistical) {
	if b.statHi != nil && float64(b.statHi.Statistical.Upper) < b.upper {
		return float64(b.statHi.Statistical.Upper), b.statHi.Statistical
	}
	return b.upper, nil
}

// Contradiction is an error that says that two bounds cannot both hold.
type Contradiction struct{ words string }

func (c *Contradiction) Error() string { return c.words }

// check fails if a lower bound is above an upper one: one of them is then wrong, and
// nothing of the experiment may be believed.
func (b *bounds) check() error {
	if b.fromLo == nil {
		return nil
	}
	place := func(r *record.Placed) string { return fmt.Sprintf("%s: line %d", r.File, r.Line) }
	fail := func(lo *record.Placed, what string, x float64, hi *record.Placed, than string, y float64) error {
		return &Contradiction{fmt.Sprintf("%s: %s %v is above %s %v of %s: one of the two is wrong, please report it", place(lo), what, x, than, y, place(hi))}
	}
	const lowerLimit, upperLimit = "the statistical lower limit", "the statistical upper limit"
	switch {
	case b.lower > b.upper:
		return fail(b.fromLo, "p_lower", b.lower, b.fromHi, "p_upper", b.upper)
	case b.statHi == nil:
		return nil
	}
	// Records with an interval have both of its ends.
	from, to := float64(b.statLo.Statistical.Lower), float64(b.statHi.Statistical.Upper)
	switch {
	case b.lower > to:
		return fail(b.fromLo, "p_lower", b.lower, b.statHi, upperLimit, to)
	case from > b.upper:
		return fail(b.statLo, lowerLimit, from, b.fromHi, "p_upper", b.upper)
	case from > to:
		return fail(b.statLo, lowerLimit, from, b.statHi, upperLimit, to)
	}
	return nil
}

// key identifies what a record is about.
func key(r *record.Placed) string {
	return strings.Join([]string{r.PosteriorSHA256, r.PosteriorScale, strings.Join(r.Activations, ","), r.InputsSHA256, r.InputScale, strconv.Itoa(r.Index), r.Eps,
		strings.Join(r.Clip, ","), r.Property, r.Name}, " ")
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

// ceilingCell shows what drawn boxes can hold at most, a power of ten, rounded up.
func ceilingCell(r *record.Record) cell {
	c := r.Log10Ceiling
	if c == nil {
		return none
	}
	if *c > -0.1 {
		return cell{"1", []string{c.Exact().String()}}
	}
	return cell{"10^-" + record.FormatDown(-*c, 1), []string{c.Exact().String()}}
}

// shareCell counts the records with p_lower >= 0.9.
func shareCell(records []record.Placed) cell {
	n := 0
	for _, p := range records {
		if p.PLower >= 0.9 {
			n++
		}
	}
	return cell{fmt.Sprintf("%d of %d", n, len(records)), []string{strconv.Itoa(n), strconv.Itoa(len(records))}}
}
