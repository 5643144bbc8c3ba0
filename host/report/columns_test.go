package report

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"psafe/host/property"
)

// tableRecords have every kind of value, there and not there.
func tableRecords() []*Record {
	label, seconds := 3, 0.25
	log10, margin := Down(-0.1), Down(0.1)
	return []*Record{
		{Index: 0, Label: &label, Property: "argmax_is:3", Method: "lbp", Boxes: "centred", Gamma: 2.5, PLower: Down(0.1), Log10PLower: &log10, PUpper: Up(0.3),
			Margin: &margin, Require: property.MustExact("0.9"), Verdict: "unsafe", Seconds: &seconds, Seed: 1<<64 - 1, Activations: []string{"relu", "tanh"}, Tasks: 3,
			Statistical: &Statistical{Samples: 10, Safe: 9, Unsafe: 1, Confidence: 0.99, Lower: 0.5, Upper: 1, Statement: statement}},
		{Index: 1, Name: "a \"name\", two\nlines;\x1b[31m \u202eleft", Gamma: []float64{1, 2.5}, PUpper: 1, Tau: 1e-300, Require: property.MustExact("1e-3"), Task: 1, Tasks: 3, Activations: []string{}},
		{Index: 2, Clip: []string{"0", "1"}, PLower: Down(math.Nextafter(1, 0)), PUpper: 1, Require: property.MustExact("0.5"), Task: 2, Tasks: 3,
			Derived: &Derived{InfProbLower: 0.25, InfProbUpper: 1}, Verdict: "safe"},
	}
}

// cellsOf is what a table should say, from the lines that the records are.
func cellsOf(t *testing.T, records []*Record) (names []string, rows []map[string]any) {
	t.Helper()
	for _, c := range columns() {
		names = append(names, c.name)
	}
	for _, r := range records {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		row := map[string]any{}
		var flatten func(prefix string, fields map[string]any)
		flatten = func(prefix string, fields map[string]any) {
			for k, v := range fields {
				switch v := v.(type) {
				case map[string]any:
					flatten(prefix+k+".", v)
				case []any:
					text, _ := json.Marshal(v)
					if k == "gamma" {
						k = "gamma_by_layer"
					}
					row[prefix+k] = string(text)
				case nil:
				default:
					row[prefix+k] = v
				}
			}
		}
		flatten("", fields)
		delete(row, "checksum")
		rows = append(rows, row)
	}
	return names, rows
}

const wantName = `a "name", two\u000alines;\u001b[31m \u202eleft`

func TestWriteCSV(t *testing.T) {
	records := tableRecords()
	var b bytes.Buffer
	if err := WriteCSV(&b, records); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\r\n"); n != 4 || strings.Count(b.String(), "\n") != 4 {
		t.Errorf("%d ends of lines: %q", n, b.String())
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	names, rows := cellsOf(t, records)
	if strings.Join(lines[0], " ") != strings.Join(names, " ") || len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	for i, row := range rows {
		for j, name := range names {
			want := ""
			if v, there := row[name]; there {
				want = fmt.Sprint(v)
			}
			if name == "name" && i == 1 {
				want = wantName
			}
			if got := lines[i+1][j]; got != want {
				t.Errorf("record %d: %s is %q, want %q", i, name, got, want)
			}
			delete(row, name)
		}
		if len(row) > 0 {
			t.Errorf("record %d: no column has %v", i, row)
		}
	}
}

// TestWriteParquet reads the file as the specification says, with code of its own; it was
// also read, all cells, with github.com/parquet-go/parquet-go.
func TestWriteParquet(t *testing.T) {
	records := tableRecords()
	names, rows := cellsOf(t, records)
	for _, group := range []int{1, 2, 3, rowsOfGroup} {
		var b bytes.Buffer
		if err := writeParquet(&b, records, group); err != nil {
			t.Fatal(err)
		}
		file := b.Bytes()
		end := len(file) - 8
		if string(file[:4]) != "PAR1" || string(file[end+4:]) != "PAR1" {
			t.Fatal("no magic")
		}
		size := int(binary.LittleEndian.Uint32(file[end:]))
		meta := (&compact{b: file[end-size : end]}).object()
		schema, groups := meta[2].([]any), meta[4].([]any)
		if meta[3] != int64(3) || len(schema) != len(names)+1 || schema[0].(map[int]any)[5] != int64(len(names)) || len(groups) != (2+group)/group {
			t.Fatalf("groups of %d: %v", group, meta)
		}
		at := 0
		for _, g := range groups {
			of := int(g.(map[int]any)[3].(int64))
			for j, c := range g.(map[int]any)[1].([]any) {
				chunk := c.(map[int]any)[3].(map[int]any)
				element := schema[j+1].(map[int]any)
				if element[4] != names[j] || chunk[3].([]any)[0] != names[j] || element[1] != chunk[1] || element[3] != int64(1) {
					t.Fatalf("column %d: %v %v", j, element, chunk)
				}
				from := chunk[9].(int64)
				for i, got := range pageOf(t, file[from:from+chunk[7].(int64)], chunk[1].(int64), of) {
					want, there := rows[at+i][names[j]]
					text := fmt.Sprint(want)
					if names[j] == "name" && at+i == 1 {
						text = wantName
					}
					switch v := got.(type) {
					case nil:
						if there {
							t.Errorf("%s is absent, want %v", names[j], want)
						}
					case string:
						if v != text {
							t.Errorf("%s is %q, want %q", names[j], v, text)
						}
					case uint64:
						if element[1] == int64(typeInt64) && strconv.FormatUint(v, 10) != text {
							t.Errorf("%s is %d, want %s", names[j], v, text)
						}
						if f, _ := strconv.ParseFloat(text, 64); element[1] == int64(typeDouble) && math.Float64frombits(v) != f {
							t.Errorf("%s is %v, want %s", names[j], math.Float64frombits(v), text)
						}
					}
				}
			}
			at += of
		}
	}
}

// pageOf reads the one page of a column chunk: nil, string or the bits of a number.
func pageOf(t *testing.T, b []byte, physical int64, rows int) []any {
	t.Helper()
	c := &compact{b: b}
	header := c.object()
	data := header[5].(map[int]any)
	if header[1] != int64(0) || header[2] != int64(len(c.b)) || header[3] != header[2] || data[1] != int64(rows) || data[2] != int64(0) || data[3] != int64(3) {
		t.Fatalf("%v, %d bytes", header, len(c.b))
	}
	levels := int(binary.LittleEndian.Uint32(c.b))
	runs, values := c.b[4:4+levels], c.b[4+levels:]
	var out []any
	for len(runs) > 0 {
		n, k := binary.Uvarint(runs)
		for range n >> 1 {
			if runs[k] == 0 {
				out = append(out, nil)
			} else if physical == typeBytes {
				size := binary.LittleEndian.Uint32(values)
				out = append(out, string(values[4:4+size]))
				values = values[4+size:]
			} else {
				out = append(out, binary.LittleEndian.Uint64(values))
				values = values[8:]
			}
		}
		runs = runs[k+1:]
	}
	if len(out) != rows || len(values) != 0 {
		t.Fatalf("%d values for %d rows, %d bytes left", len(out), rows, len(values))
	}
	return out
}

// compact reads Thrift's compact protocol, as far as it is needed.
type compact struct{ b []byte }

func (c *compact) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	c.b = c.b[n:]
	return v
}

func (c *compact) value(kind byte) any {
	switch kind {
	case 5, 6:
		v, n := binary.Varint(c.b)
		c.b = c.b[n:]
		return v
	case 8:
		n := c.uvarint()
		text := string(c.b[:n])
		c.b = c.b[n:]
		return text
	case 9:
		head := c.b[0]
		c.b = c.b[1:]
		n := uint64(head >> 4)
		if n == 15 {
			n = c.uvarint()
		}
		list := []any{}
		for range n {
			list = append(list, c.value(head&15))
		}
		return list
	case 12:
		return c.object()
	}
	panic(fmt.Sprint("type ", kind))
}

func (c *compact) object() map[int]any {
	fields, id := map[int]any{}, 0
	for {
		head := c.b[0]
		c.b = c.b[1:]
		if head == 0 {
			return fields
		}
		id += int(head >> 4)
		fields[id] = c.value(head & 15)
	}
}

func TestRecordsFile(t *testing.T) {
	for path, want := range map[string]string{"r.csv": "r.csv.jsonl", "R.CSV": "R.CSV.jsonl", "a/r.parquet": "a/r.parquet.jsonl", "r.jsonl": "r.jsonl", "r.json": "r.json", "csv": "csv", "": ""} {
		if got := RecordsFile(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
	for name, write := range tables {
		path := filepath.Join(t.TempDir(), "r"+name)
		var b bytes.Buffer
		if err := write(&b, tableRecords()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+": is a table") || !strings.Contains(err.Error(), path+".jsonl") {
			t.Error(err)
		}
		if err := os.WriteFile(path, []byte("PA"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "line 1: no result record") {
			t.Error(err)
		}
	}
}
