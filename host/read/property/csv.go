package property

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"psafe/internal/nearest"
)

const (
	// maxLine bounds a line of a CSV file in bytes, and all lines of a quoted field
	// together; maxColumns bounds its columns.
	maxLine    = 32 << 20
	maxColumns = 1 << 20
	// blockNumbers is about how many numbers are kept together.
	blockNumbers = 1 << 16
)

// readCSV reads comma-separated decimals, a point per line. The first line is a
// header if no field of it is a number. scale is nil for 1. Errors name the line
// and the column, from 1.
func readCSV(s *source, opt InputOptions, scale *big.Rat) (*Points, error) {
	if bom := "\xef\xbb\xbf"; s.begins(bom) {
		_, _ = s.Discard(len(bom))
	}
	if err := notNumbered(s); err != nil {
		return nil, err
	}
	t := csvTable{reader: csv.NewReader(&plainText{r: s})}
	t.reader.ReuseRecord = true
	fields, err := t.start(opt)
	if err == nil {
		if err := fitsDim(t.points.Dim, opt.Dim); err != nil {
			return nil, t.perhapsClass(err, opt.Dim)
		}
	}
	for ; err == nil; fields, err = t.reader.Read() {
		if err := t.add(fields); err != nil {
			return nil, err
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, csvError(err)
	}
	if t.points.n == 0 {
		return nil, errors.New("holds no point; give at least one line of numbers")
	}
	return &t.points, t.points.setScale(scale)
}

// plainText passes text on and refuses what is none, and lines that are too long or have
// too many columns, before the reader of CSV holds them.
type plainText struct {
	r io.Reader
	// line, length and commas are those of the line so far; quoted says that its end is
	// inside of quotes, where a line break ends nothing.
	line, length, commas int
	quoted               bool
	// rest are the first bytes of a character that is not complete.
	rest []byte
}

func (p *plainText) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if e := p.check(b[:n], err == io.EOF); e != nil {
		return 0, e
	}
	return n, err
}

var errNotText = errors.New("is neither IDX nor NumPy and not text either; give one of these or CSV")

// check counts what comes next; last says that nothing will.
func (p *plainText) check(text []byte, last bool) error {
	for _, c := range text {
		switch p.length++; {
		case c == 0:
			return errNotText
		case c == '"':
			p.quoted = !p.quoted
		case c == '\n' && !p.quoted:
			p.line, p.length, p.commas = p.line+1, 0, 0
		case c == ',':
			p.commas++
		}
		if p.length > maxLine {
			return fmt.Errorf("line %d: is longer than %d bytes; write one point on each line", p.line+1, maxLine)
		}
		if p.commas >= maxColumns {
			return fmt.Errorf("line %d: has more than %d columns; write one point on each line", p.line+1, maxColumns)
		}
	}
	whole := append(p.rest, text...)
	end := len(whole)
	for k := 1; !last && k < utf8.UTFMax && k <= len(whole); k++ {
		if c := whole[len(whole)-k]; utf8.RuneStart(c) {
			if !utf8.FullRune(whole[len(whole)-k:]) {
				end -= k
			}
			break
		}
	}
	if !utf8.Valid(whole[:end]) {
		return errNotText
	}
	p.rest = append(p.rest[:0:0], whole[end:]...)
	return nil
}

// csvTable is a CSV file being read.
type csvTable struct {
	reader *csv.Reader
	// label is the column of the class, -1 if there is none.
	label  int
	points Points
	// header are the names of the columns, nil without a header line.
	header []string
}

// perhapsClass adds to the error that a point has too many coordinates what to do if one of
// them is the class.
func (t *csvTable) perhapsClass(err error, dim int) error {
	switch {
	case t.label >= 0 || t.points.Dim != dim+1:
		return err
	case t.header == nil:
		return fmt.Errorf("%w; if one column is the class, say --label-column last, or first", err)
	}
	return fmt.Errorf("%w; if one column is the class, name it with --label-column: the header has %s", err, names(t.header))
}

// names lists the first columns of a header.
func names(header []string) string {
	var list []string
	for _, name := range trimmed(header[:min(len(header), 8)]) {
		list = append(list, quote(name))
	}
	if len(header) > len(list) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// start reads the header line, if there is one, finds the label column and
// returns the first line of numbers.
func (t *csvTable) start(opt InputOptions) ([]string, error) {
	fields, err := t.reader.Read()
	if err != nil {
		return nil, err
	}
	if err := notCommas(fields, opt.Dim); err != nil {
		return nil, err
	}
	header, err := isHeader(fields, opt.LabelColumn)
	if err != nil {
		return nil, err
	}
	switch labelColumn := opt.LabelColumn; labelColumn {
	case "", "none":
		t.label = -1
	case "first":
		t.label = 0
	case "last":
		t.label = len(fields) - 1
	default:
		if t.label, err = findColumn(fields, labelColumn, header); err != nil {
			return nil, err
		}
	}
	t.points.Dim = len(fields)
	if t.label >= 0 {
		t.points.Dim--
	}
	if t.points.Dim == 0 {
		return nil, errors.New("line 1: the label is the only column; a point needs at least one number")
	}
	t.points.Shape = []int{t.points.Dim}
	t.points.per = max(1, blockNumbers/t.points.Dim)
	if header {
		t.header = slices.Clone(fields) // the reader takes the slice again
		return t.reader.Read()
	}
	return fields, nil
}

// findColumn is the column that the header calls name.
func findColumn(fields []string, name string, header bool) (int, error) {
	if !header {
		return 0, fmt.Errorf("has no header line to find the label column %s in; use first, last or none", quote(name))
	}
	found := -1
	for k, f := range fields {
		if strings.TrimSpace(f) == name {
			if found >= 0 {
				return 0, fmt.Errorf("line 1: columns %d and %d are both called %s; rename one", found+1, k+1, quote(name))
			}
			found = k
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("line 1: no column is called %s; the header has %s%s", quote(name), names(fields), nearest.Hint(name, trimmed(fields)))
	}
	return found, nil
}

// trimmed are the names of the columns, without the spaces around them.
func trimmed(header []string) []string {
	var list []string
	for _, f := range header {
		list = append(list, strings.TrimSpace(f))
	}
	return list
}

// add stores one line as a point.
func (t *csvTable) add(fields []string) error {
	p := &t.points
	if p.n == maxPoints || p.n >= maxCSVNumbers/p.Dim {
		line, _ := t.reader.FieldPos(0)
		return fmt.Errorf("line %d: a CSV file may have %d points and %d numbers; split it, or save it as .npy", line, maxPoints, maxCSVNumbers)
	}
	if p.n%p.per == 0 {
		p.blocks = append(p.blocks, block{})
	}
	b := &p.blocks[len(p.blocks)-1]
	for k, f := range fields {
		lo, hi, err := ParseDecimal(strings.TrimSpace(f))
		if err == nil && k == t.label {
			var c int
			if lo != hi {
				err = fmt.Errorf("%s is not a class; use whole numbers from 0", quote(f))
			} else if c, err = label(lo); err == nil {
				p.Labels = append(p.Labels, c)
			}
		} else if err == nil {
			b.lo, b.hi = append(b.lo, lo), append(b.hi, hi)
		}
		if err != nil {
			line, _ := t.reader.FieldPos(k)
			if k == t.label && isName(f) {
				return namesOfClasses(line, k, f)
			}
			return fmt.Errorf("line %d: column %d: %w", line, k+1, err)
		}
	}
	p.n++
	return nil
}

// csvError is an error of package csv with the mend; one without a line of its
// own passes unchanged.
func csvError(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("line %d: %w; write numbers separated by commas, as many on every line", p.Line, p.Err)
	}
	return err
}
