package certify

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"psafe/host/record"
	"psafe/internal/outfile"
)

// Refuse says what cannot be written, before anything is read: what exists and is neither gone
// on with nor to be replaced. Run asks too.
func (j *Job) Refuse() error {
	if j.Out.Path == "" {
		return nil
	}
	inputs, records := j.inputs(), record.RecordsFile(j.Out.Path)
	old, oldTable := outfile.Keep, outfile.Keep
	if j.Out.Overwrite || j.Out.Resume { // earlier says whose records those are that are there
		old = outfile.Replace
	}
	if _, err := os.Lstat(records); j.Out.Overwrite || j.Out.Resume && err == nil { // the table is written again, and compared
		oldTable = outfile.Replace
	}
	err := outfile.Refuse(records, old, inputs...)
	if err == nil && record.IsTable(j.Out.Path) {
		err = outfile.Refuse(j.Out.Path, oldTable, append(inputs, records)...)
	}
	if _, there := errors.AsType[*outfile.Exists](err); there && !j.Out.Resume {
		return fmt.Errorf("--out %w, --resume goes on if it is this run's", err)
	}
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}

// oldTable is what becomes of a table that is there when all records are.
func (o *Output) oldTable() outfile.Old {
	switch {
	case o.Overwrite:
		return outfile.Replace
	case o.Resume: // the table of a run that had ended
		return outfile.Same
	}
	return outfile.Keep
}

// WriteTable writes the table at path of the records beside it, which are on the disk; columns are as in Output.
func WriteTable(path string, old outfile.Old, columns, inputs []string) error {
	file, err := outfile.Create(path, old, inputs...)
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	defer file.Discard()
	records := record.RecordsFile(path)
	if columns == nil && strings.EqualFold(filepath.Ext(path), ".csv") {
		var filled record.Filled
		err = record.Each(records, func(p record.Placed) error { filled.Add(p.Record); return nil })
		columns = filled.Names()
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	rows := record.NewTable(path, buffered, columns...)
	if err == nil {
		err = record.Each(records, func(p record.Placed) error { return rows.Write(p.Record) })
	}
	if err == nil {
		err = rows.Close()
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w: the records are in %s", path, outfile.Reason(err), records)
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}
