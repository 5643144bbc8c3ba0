package record

import (
	"encoding/csv"
	"io"
	"regexp"
)

// csvTable is a table of RFC 4180: a line of names, then one for each record, in UTF-8. What
// a record does not say is empty.
type csvTable struct {
	out     *csv.Writer
	columns []column
	cells   []string
}

func newCSV(w io.Writer, columns []column) *csvTable {
	t := &csvTable{out: csv.NewWriter(w), columns: columns}
	t.out.UseCRLF = true
	for _, c := range t.columns {
		t.cells = append(t.cells, c.name)
	}
	_ = t.out.Write(t.cells) // an error stays with out until Close
	return t
}

func (t *csvTable) Write(r *Record) error {
	row, err := r.row(t.columns)
	if err != nil {
		return err
	}
	for i, text := range row {
		switch {
		case text == nil:
			t.cells[i] = ""
		case t.columns[i].kind == isText:
			t.cells[i] = CSVText(*text)
		default:
			t.cells[i] = *text
		}
	}
	return t.out.Write(t.cells)
}

func (t *csvTable) Close() error {
	t.out.Flush()
	return t.out.Error()
}

// formula matches the beginning of a cell that spreadsheets compute, in any of their languages;
// numbers are the texts that begin so and compute nothing: decimals, with commas between.
var (
	formula = regexp.MustCompile(`^[=+\-@\t\r\n＝＋－＠]`)
	numbers = regexp.MustCompile(`^[+-]?[0-9.]+(e[+-]?[0-9]+)?(,[+-]?[0-9.]+(e[+-]?[0-9]+)?)*$`)
)

// CSVText is a text as a cell of CSV such that no spreadsheet takes it for a formula: one that
// begins as such gets an apostrophe in front, unless it is a number, or several.
func CSVText(text string) string {
	if formula.MatchString(text) && !numbers.MatchString(text) {
		return "'" + text
	}
	return text
}
