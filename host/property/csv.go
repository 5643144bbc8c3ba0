package property

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readCSV reads comma-separated decimals, a point per line. The first line is a
// header if no field of it is a number. labelColumn is that of InputOptions,
// scale is nil for 1. Errors name the line and the column, from 1.
func readCSV(data []byte, labelColumn string, scale *big.Rat) (*Points, error) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("is neither IDX nor NumPy and not text either; give one of these or CSV")
	}
	t := csvTable{reader: csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))}
	t.reader.ReuseRecord = true
	fields, err := t.start(labelColumn)
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
	return &t.points, t.points.setFloats(t.lo, t.hi, scale)
}

// csvTable is a CSV file being read.
type csvTable struct {
	reader *csv.Reader
	// label is the column of the class, -1 if there is none.
	label  int
	points Points
	lo, hi []float64
}

// start reads the header line, if there is one, finds the label column and
// returns the first line of numbers.
func (t *csvTable) start(labelColumn string) ([]string, error) {
	fields, err := t.reader.Read()
	if err != nil {
		return nil, err
	}
	header, err := isHeader(fields)
	if err != nil {
		return nil, err
	}
	switch labelColumn {
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
	if header {
		return t.reader.Read()
	}
	return fields, nil
}

// isHeader tells the header line from numbers. A line of both is an error: it
// may be data with a typing mistake, and must not be skipped. So is a field that
// looks like a number in another notation, or has no letter.
func isHeader(fields []string) (bool, error) {
	number, word := -1, -1
	for k, f := range fields {
		_, notDecimal := scanDecimal(strings.TrimSpace(f))
		_, notFloat := strconv.ParseFloat(strings.TrimSpace(f), 64)
		if notDecimal != nil && (notFloat == nil || !strings.ContainsFunc(f, unicode.IsLetter)) {
			return false, fmt.Errorf("line 1: column %d is %s, which is neither a decimal number nor a name; mend it", k+1, quote(f))
		}
		if _, err := scanDecimal(strings.TrimSpace(f)); err == nil {
			number = k
		} else {
			word = k
		}
	}
	if number >= 0 && word >= 0 {
		return false, fmt.Errorf("line 1: column %d is %s, which is not a number, but column %d is one; mend it, or name every column with a word",
			word+1, quote(fields[word]), number+1)
	}
	return number < 0, nil
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
		return 0, fmt.Errorf("line 1: no column is called %s; use a name of the header, first, last or none", quote(name))
	}
	return found, nil
}

// add stores one line as a point.
func (t *csvTable) add(fields []string) error {
	for k, f := range fields {
		lo, hi, err := ParseDecimal(strings.TrimSpace(f))
		if err == nil && k == t.label {
			var c int
			if lo != hi {
				err = fmt.Errorf("%s is not a class; use whole numbers from 0", quote(f))
			} else if c, err = label(lo); err == nil {
				t.points.Labels = append(t.points.Labels, c)
			}
		} else if err == nil {
			t.lo, t.hi = append(t.lo, lo), append(t.hi, hi)
		}
		if err != nil {
			line, _ := t.reader.FieldPos(k)
			return fmt.Errorf("line %d: column %d: %w", line, k+1, err)
		}
	}
	t.points.n++
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
