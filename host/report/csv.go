package report

import (
	"encoding/csv"
	"io"
)

// tableHead is what a table of records in CSV begins with.
const tableHead = "index,name,label,property,"

// WriteCSV writes records as a table of RFC 4180: a line of names, then one for each record,
// in UTF-8. What a record does not say is empty.
func WriteCSV(w io.Writer, records []*Record) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	columns := columns()
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.name
	}
	if err := out.Write(cells); err != nil {
		return err
	}
	for _, r := range records {
		row, err := r.row(columns)
		if err != nil {
			return err
		}
		for i, text := range row {
			cells[i] = ""
			if text != nil {
				cells[i] = *text
			}
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
