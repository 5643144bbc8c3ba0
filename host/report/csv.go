package report

import (
	"encoding/csv"
	"io"
)

// tableHead is what a table of records in CSV begins with.
const tableHead = "index,name,label,property,"

// csvTable is a table of RFC 4180: a line of names, then one for each record, in UTF-8. What
// a record does not say is empty.
type csvTable struct {
	out     *csv.Writer
	columns []column
	cells   []string
}

func newCSV(w io.Writer) *csvTable {
	t := &csvTable{out: csv.NewWriter(w), columns: columns()}
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
		t.cells[i] = ""
		if text != nil {
			t.cells[i] = *text
		}
	}
	return t.out.Write(t.cells)
}

func (t *csvTable) Close() error {
	t.out.Flush()
	return t.out.Error()
}
