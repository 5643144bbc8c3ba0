package report

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Numbers of the Parquet format (parquet.thrift of github.com/apache/parquet-format) and of
// Thrift's compact protocol.
const (
	parquetMagic = "PAR1"

	typeInt64, typeDouble, typeBytes = 2, 5, 6
	convertedUTF8, convertedUint64   = 0, 14
	optional                         = 1 // repetition
	encodingPlain, encodingRLE       = 0, 3
	uncompressed                     = 0

	thriftI32, thriftI64, thriftBytes, thriftList, thriftStruct = 5, 6, 8, 9, 12
)

// rowsOfGroup is how many records are written together: their columns fit in memory.
const rowsOfGroup = 1 << 16

// WriteParquet writes records as a Parquet file: every column is optional, text is UTF-8,
// whole numbers are INT64 and others DOUBLE, which for bounds is the float64 that was proved
// and for require the nearest one. Nothing is compressed: one page of plain values for each
// column and 65,536 records.
func WriteParquet(w io.Writer, records []*Record) error { return writeParquet(w, records, rowsOfGroup) }

func writeParquet(w io.Writer, records []*Record, rows int) error {
	p := &parquetWriter{w: w, columns: columns()}
	if err := p.write([]byte(parquetMagic)); err != nil {
		return err
	}
	for from := 0; from < len(records); from += rows {
		if err := p.group(records[from:min(from+rows, len(records))]); err != nil {
			return err
		}
	}
	footer := p.footer(len(records))
	return p.write(append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), parquetMagic...))
}

type parquetWriter struct {
	w       io.Writer
	at      int64 // how many bytes are written
	columns []column
	groups  [][]byte // RowGroup, in thrift
}

func (p *parquetWriter) write(b []byte) error {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return err
}

// group writes a row group: a page for each column.
func (p *parquetWriter) group(records []*Record) error {
	pages := make([]page, len(p.columns))
	for _, r := range records {
		row, err := r.row(p.columns)
		if err != nil {
			return err
		}
		for i, text := range row {
			if err := pages[i].add(p.columns[i].kind, text); err != nil {
				return fmt.Errorf("%s: %w", p.columns[i].name, err)
			}
		}
	}
	begin := p.at
	var chunks [][]byte
	for i := range pages {
		offset := p.at
		body := pages[i].body()
		header := pageHeader(len(body), len(records))
		if err := p.write(append(header, body...)); err != nil {
			return err
		}
		chunks = append(chunks, chunk(&p.columns[i], offset, p.at-offset, len(records)))
	}
	var g thrift
	g.structs(1, chunks)
	g.number(2, thriftI64, p.at-begin)
	g.number(3, thriftI64, int64(len(records)))
	p.groups = append(p.groups, g.end())
	return nil
}

// page is the values of a column, and which records have one.
type page struct {
	values []byte
	levels []byte // runs of definition levels
	run    int    // the length of the last, which is not in levels yet
	there  byte   // its level: 1 for a value, 0 for none
}

func (g *page) add(k kind, text *string) error {
	there := byte(1)
	if text == nil {
		there = 0
	}
	if there != g.there {
		g.endRun()
		g.there = there
	}
	g.run++
	if text == nil {
		return nil
	}
	switch k {
	case isWhole:
		v, err := strconv.ParseInt(*text, 10, 64)
		g.values = binary.LittleEndian.AppendUint64(g.values, uint64(v))
		return err
	case isCount:
		v, err := strconv.ParseUint(*text, 10, 64)
		g.values = binary.LittleEndian.AppendUint64(g.values, v)
		return err
	case isNumber:
		v, err := strconv.ParseFloat(*text, 64)
		g.values = binary.LittleEndian.AppendUint64(g.values, math.Float64bits(v))
		return err
	}
	g.values = append(binary.LittleEndian.AppendUint32(g.values, uint32(len(*text))), *text...)
	return nil
}

func (g *page) endRun() {
	if g.run > 0 {
		g.levels = append(binary.AppendUvarint(g.levels, uint64(g.run)<<1), g.there)
	}
	g.run = 0
}

// body is the page: the levels with their length, then the values.
func (g *page) body() []byte {
	g.endRun()
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(g.levels))), g.levels...), g.values...)
}

func pageHeader(bytes, rows int) []byte {
	var data thrift
	data.number(1, thriftI32, int64(rows))
	data.number(2, thriftI32, encodingPlain)
	data.number(3, thriftI32, encodingRLE)
	data.number(4, thriftI32, encodingRLE)
	var h thrift
	h.number(1, thriftI32, 0) // a data page
	h.number(2, thriftI32, int64(bytes))
	h.number(3, thriftI32, int64(bytes))
	h.object(5, data.end())
	return h.end()
}

// chunk is a ColumnChunk.
func chunk(c *column, offset, size int64, rows int) []byte {
	var meta thrift
	meta.number(1, thriftI32, c.kind.physical())
	meta.list(2, thriftI32, 2)
	meta.zigzag(encodingPlain)
	meta.zigzag(encodingRLE)
	meta.list(3, thriftBytes, 1)
	meta.bytes(c.name)
	meta.number(4, thriftI32, uncompressed)
	meta.number(5, thriftI64, int64(rows))
	meta.number(6, thriftI64, size)
	meta.number(7, thriftI64, size)
	meta.number(9, thriftI64, offset)
	var out thrift
	out.number(2, thriftI64, offset)
	out.object(3, meta.end())
	return out.end()
}

func (k kind) physical() int64 {
	switch k {
	case isWhole, isCount:
		return typeInt64
	case isNumber:
		return typeDouble
	}
	return typeBytes
}

// footer is the FileMetaData.
func (p *parquetWriter) footer(rows int) []byte {
	var root thrift
	root.text(4, "schema")
	root.number(5, thriftI32, int64(len(p.columns)))
	schema := [][]byte{root.end()}
	for _, c := range p.columns {
		var e thrift
		e.number(1, thriftI32, c.kind.physical())
		e.number(3, thriftI32, optional)
		e.text(4, c.name)
		switch c.kind {
		case isText:
			e.number(6, thriftI32, convertedUTF8)
		case isCount:
			e.number(6, thriftI32, convertedUint64)
		}
		schema = append(schema, e.end())
	}
	var f thrift
	f.number(1, thriftI32, 1)
	f.structs(2, schema)
	f.number(3, thriftI64, int64(rows))
	f.structs(4, p.groups)
	f.text(6, "psafe")
	return f.end()
}

// thrift is a struct in Thrift's compact protocol: its fields must come in ascending order.
type thrift struct {
	b    []byte
	last byte // the number of the last field
}

func (t *thrift) field(id, kind byte) {
	t.b = append(t.b, (id-t.last)<<4|kind) // no gap is as large as 16
	t.last = id
}

func (t *thrift) zigzag(v int64) { t.b = binary.AppendVarint(t.b, v) }

func (t *thrift) number(id, kind byte, v int64) {
	t.field(id, kind)
	t.zigzag(v)
}

func (t *thrift) bytes(text string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(text))), text...)
}

func (t *thrift) text(id byte, text string) {
	t.field(id, thriftBytes)
	t.bytes(text)
}

func (t *thrift) list(id, of byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|of)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xf0|of), uint64(n))
}

func (t *thrift) structs(id byte, list [][]byte) {
	t.list(id, thriftStruct, len(list))
	for _, s := range list {
		t.b = append(t.b, s...)
	}
}

func (t *thrift) object(id byte, s []byte) {
	t.field(id, thriftStruct)
	t.b = append(t.b, s...)
}

func (t *thrift) end() []byte { return append(t.b, 0) }
