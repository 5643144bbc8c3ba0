package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// parquetMagic is what a table of records in Parquet begins with.
const parquetMagic = "PAR1"

// createdBy is what files say has made them: no version, so that those of two builds are alike.
const createdBy = "psafe"

// rowsOfGroup is how many records are written together: their columns fit in memory.
const rowsOfGroup = 1 << 16

// WriteParquet writes records as a Parquet file: every column is optional, text is UTF-8,
// whole numbers are INT64 and others DOUBLE, which for bounds is the float64 that was proved
// and for require the nearest one. The same records give the same bytes, on every machine:
// codecs have fast ways on some processors, so nothing is compressed, but columns of text
// have dictionaries, which is what makes files small.
func WriteParquet(w io.Writer, records []*Record) error { return writeParquet(w, records, rowsOfGroup) }

func writeParquet(w io.Writer, records []*Record, rows int64) error {
	columns := columns()
	out := parquet.NewGenericWriter[any](w, parquetSchema(columns),
		&parquet.WriterConfig{CreatedBy: createdBy},
		parquet.MaxRowsPerRowGroup(rows))
	for _, r := range records {
		row, err := r.parquetRow(columns)
		if err != nil {
			return err
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
	}
	return out.Close()
}

func parquetSchema(columns []column) *parquet.Schema {
	nodes := parquet.Group{}
	for _, c := range columns {
		node := parquet.Leaf(parquet.DoubleType)
		switch c.kind {
		case isText:
			node = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
		case isWhole:
			node = parquet.Leaf(parquet.Int64Type)
		case isCount:
			node = parquet.Uint(64)
		}
		nodes[c.name] = parquet.Optional(node)
	}
	return parquet.NewSchema("records", inOrder{nodes, columns})
}

// inOrder is a group whose fields come as columns do; those of parquet.Group come by name.
type inOrder struct {
	parquet.Group
	columns []column
}

func (g inOrder) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	var fields []parquet.Field
	for _, c := range g.columns {
		fields = append(fields, byName[c.name])
	}
	return fields
}

// parquetRow is the row of r, with a value of the column's type for every cell.
func (r *Record) parquetRow(columns []column) (parquet.Row, error) {
	texts, err := r.row(columns)
	if err != nil {
		return nil, err
	}
	row := make(parquet.Row, len(columns))
	for i, text := range texts {
		if text == nil {
			row[i] = parquet.NullValue().Level(0, 0, i)
			continue
		}
		value, err := columns[i].kind.value(*text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", columns[i].name, err)
		}
		row[i] = value.Level(0, 1, i)
	}
	return row, nil
}

// value is what the text of a cell says.
func (k kind) value(text string) (parquet.Value, error) {
	switch k {
	case isWhole:
		v, err := strconv.ParseInt(text, 10, 64)
		return parquet.Int64Value(v), err
	case isCount:
		v, err := strconv.ParseUint(text, 10, 64)
		return parquet.Int64Value(int64(v)), err
	case isNumber:
		v, err := strconv.ParseFloat(text, 64)
		return parquet.DoubleValue(v), err
	}
	return parquet.ByteArrayValue([]byte(text)), nil
}
