package record

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"psafe/host/read/property"
)

// A result file whose name ends in .csv or .parquet is a table of the records, for programs
// that read tables. It leaves out what identifies their certificates: the records themselves
// are beside it, in FILE.jsonl.

// tables are the ways to write one, by the ending of its name.
var tables = map[string]func(io.Writer, []column) TableWriter{
	".csv":     func(w io.Writer, of []column) TableWriter { return newCSV(w, of) },
	".parquet": func(w io.Writer, of []column) TableWriter { return newParquet(w, rowsOfGroup, of) },
}

// TableWriter writes a table, record by record, in memory that does not grow with their
// number. Nothing is complete before Close, whose error counts; Close does not close what
// the table is written to. After an error of Write there is no table.
type TableWriter interface {
	Write(*Record) error
	Close() error
}

// NewTable begins a table in the form that the name of the file says, which must be a table's
// (it panics otherwise), of the columns with these names in their order, or of all if there are none.
func NewTable(path string, w io.Writer, names ...string) TableWriter {
	begin := tables[strings.ToLower(filepath.Ext(path))]
	if begin == nil {
		panic(fmt.Sprintf("record: NewTable: %s is no table", path))
	}
	of := columns()
	if len(names) > 0 {
		all := of
		of = nil
		for _, name := range names {
			of = append(of, all[slices.IndexFunc(all, func(c column) bool { return c.name == name })])
		}
	}
	return begin(w, of)
}

// Columns are the names of all columns of tables.
func Columns() (names []string) {
	for _, c := range columns() {
		names = append(names, c.name)
	}
	return names
}

// Filled finds the columns in which some record says something. Its zero value is ready.
type Filled struct {
	columns []column
	is      []bool
}

// Add looks at a record.
func (f *Filled) Add(r *Record) {
	if f.columns == nil {
		f.columns = columns()
		f.is = make([]bool, len(f.columns))
	}
	of := reflect.ValueOf(r).Elem()
	for i := range f.columns {
		if !f.is[i] {
			_, f.is[i] = f.columns[i].of(of)
		}
	}
}

// Names are those of these columns.
func (f *Filled) Names() (names []string) {
	for i, c := range f.columns {
		if f.is[i] {
			names = append(names, c.name)
		}
	}
	return names
}

// RecordsFile is the file that the records of a run go to whose result file is path: path
// itself, or for a table path.jsonl.
func RecordsFile(path string) string {
	if IsTable(path) {
		return path + ".jsonl"
	}
	return path
}

// IsTable reports whether a result file is a table, by its name.
func IsTable(path string) bool { return tables[strings.ToLower(filepath.Ext(path))] != nil }

// kind is the type of a column.
type kind int

const (
	isText   kind = iota
	isWhole       // int64
	isCount       // uint64
	isNumber      // float64
)

// column is a column of a table: a field of the record, or one of a field that is an object
// (then its name is both, joined by a point).
type column struct {
	name string
	kind kind
	// at leads to the field, through one that is an object.
	at []int
	// omitted reports whether its zero value is not written.
	omitted bool
}

// columns are the fields of records in their order, but for proof.
func columns() []column { return columnsOf(reflect.TypeFor[Record](), "", nil) }

func columnsOf(t reflect.Type, prefix string, path []int) []column {
	var list []column
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := append(path[:len(path):len(path)], i)
		c := column{name: prefix + name, at: at, omitted: options == "omitempty"}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case name == "proof":
			continue
		case of == reflect.TypeFor[property.Exact]():
			c.kind = isNumber
		case of.Kind() == reflect.Int || of.Kind() == reflect.Int64:
			c.kind = isWhole
		case of.Kind() == reflect.Uint64:
			c.kind = isCount
		case of.Kind() == reflect.Float64:
			c.kind = isNumber
		case of.Kind() == reflect.Struct:
			list = append(list, columnsOf(of, name+".", at)...)
			continue
		}
		list = append(list, c)
	}
	return list
}

// row is the texts of a record's cells, nil where it says nothing: numbers as the record
// writes them, so that decimals of bounds are bounds, and lists as JSON.
func (r *Record) row(columns []column) ([]*string, error) {
	row, texts, record := make([]*string, len(columns)), make([]string, len(columns)), reflect.ValueOf(r).Elem()
	for i := range columns {
		c := &columns[i]
		v, there := c.of(record)
		if !there {
			continue
		}
		text, err := cell(v)
		if err != nil {
			return nil, err
		}
		texts[i] = text
		row[i] = &texts[i]
	}
	return row, nil
}

// of is the value that a cell has, if there is one.
func (c *column) of(record reflect.Value) (v reflect.Value, there bool) {
	v = record
	for _, i := range c.at {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if c.omitted && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
		return v, false
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, false
		}
		v = v.Elem()
	}
	return v, v.Kind() != reflect.Slice || !v.IsNil()
}

// cell is the text of a value as the record's line has it, texts without their quotes.
func cell(v reflect.Value) (string, error) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		if !utf8.ValidString(text) {
			text = string([]rune(text)) // as encoding/json does
		}
		return shown(text), nil
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	text, err := json.Marshal(v.Interface())
	return string(visible(text)), err
}

// shown is text with escapes, as in JSON, in place of what a terminal obeys or does not show:
// control characters, marks without a shape, and ends of lines and paragraphs.
func shown(text string) string {
	unseen := func(c rune) bool {
		return (c < ' ' || c > '~') && unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case !unseen(c):
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			first, second := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, first, second)
		}
	}
	return b.String()
}
