package record

import (
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"psafe/host/read/property"
)

// parquetMagic begins a table of records in Parquet.
const parquetMagic = "PAR1"

// createdBy holds what files name as their maker: no version, so that those of two builds are alike.
const createdBy = "psafe"

// A group of rows is in memory until it is complete: it ends after rowsOfGroup records, or
// where the texts in it that differ from those of the record before have textOfGroup bytes.
const (
	rowsOfGroup = 1 << 16
	textOfGroup = 8 << 20
)

// parquetTable is a Parquet file: every column is optional, text is UTF-8, whole numbers are
// INT64 and others DOUBLE, which for bounds is the float64 that was proved and for require the
// nearest one. The same records give the same bytes, on every machine: codecs have fast ways
// on some processors, so nothing is compressed, but columns of text have dictionaries, which
// is what makes files small.
type parquetTable struct {
	out     *parquet.GenericWriter[any]
	columns []column
	// last is the row before, text how many bytes of text are in the group.
	last parquet.Row
	text int
}

func newParquet(w io.Writer, rows int64, columns []column) *parquetTable {
	return &parquetTable{columns: columns, last: make(parquet.Row, len(columns)),
		out: parquet.NewGenericWriter[any](w, parquetSchema(columns),
			&parquet.WriterConfig{CreatedBy: createdBy},
			parquet.MaxRowsPerRowGroup(rows))}
}

func (t *parquetTable) Write(r *Record) error {
	row, err := r.parquetRow(t.columns)
	if err != nil {
		return err
	}
	if _, err := t.out.WriteRows([]parquet.Row{row}); err != nil {
		return err
	}
	for i, v := range row {
		if t.columns[i].kind == isText && !parquet.Equal(v, t.last[i]) {
			t.text += len(v.ByteArray())
		}
	}
	t.last = row
	if t.text < textOfGroup {
		return nil
	}
	t.text = 0
	return t.out.Flush()
}

func (t *parquetTable) Close() error { return t.out.Close() }

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

// value returns what the text of a cell says.
func (k kind) value(text string) (parquet.Value, error) {
	switch k {
	case isWhole:
		v, err := strconv.ParseInt(text, 10, 64)
		return parquet.Int64Value(v), err
	case isCount:
		v, err := strconv.ParseUint(text, 10, 64)
		return parquet.Int64Value(int64(v)), err
	case isNumber:
		if fraction := property.FractionOfJSON(text); fraction != text {
			e, err := property.NewExact(fraction)
			return parquet.DoubleValue(e.Approx()), err
		}
		v, err := strconv.ParseFloat(text, 64)
		return parquet.DoubleValue(v), err
	}
	return parquet.ByteArrayValue([]byte(text)), nil
}
