package record

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/property"
)

// tableRecords have every kind of value, there and not there.
func tableRecords() []*Record {
	label, seconds := 3, 0.25
	log10, margin := Down(-0.1), Down(0.1)
	return []*Record{
		{Index: 0, Label: &label, Property: "argmax_is:3", Method: "lbp", Gamma: 2.5, PLower: Down(0.1), Log10PLower: &log10, PUpper: Up(0.3),
			Margin: &margin, Require: property.MustExact("0.9"), Verdict: "unsafe", Seconds: &seconds, Seed: 1<<64 - 1, Activations: []string{"relu", "tanh"}, Tasks: 3,
			Statistical: &Statistical{Samples: 10, Safe: 9, Unsafe: 1, Confidence: 0.99, Lower: 0.5, Upper: 1, Statement: statement}},
		{Index: 1, Name: "a \"name\", two\nlines;\x1b[31m \u202eleft", Gamma: 0.5, PUpper: 1, Tau: 1e-300, Require: property.MustExact("1e-3"), Task: 1, Tasks: 3, Activations: []string{}},
		{Index: 2, Clip: []string{"0", "1"}, PLower: Down(math.Nextafter(1, 0)), PUpper: 1, Require: property.MustExact("0.5"), Task: 2, Tasks: 3,
			Derived: &Derived{InfProbLower: 0.25, InfProbUpper: 1}, Verdict: "safe"},
	}
}

// cellsOf returns what a table should say, from the lines that the records are.
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

// rowByJSON is Record.row as it was: by way of the record's line.
func rowByJSON(r *Record, columns []column) ([]*string, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(line, &top); err != nil {
		return nil, err
	}
	row := make([]*string, len(columns))
	for i, c := range columns {
		path := strings.Split(c.name, ".")
		value := top[path[0]]
		for _, name := range path[1:] {
			var inner map[string]json.RawMessage
			if value == nil || json.Unmarshal(value, &inner) != nil {
				value = nil
				break
			}
			value = inner[name]
		}
		if value == nil || string(value) == "null" {
			continue
		}
		text := string(visible(value))
		if c.kind == isText && strings.HasPrefix(text, `"`) {
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, err
			}
			text = shown(text)
		}
		row[i] = &text
	}
	return row, nil
}

// TestRowAsBefore: cells are what the record's line says, whatever its fields are.
func TestRowAsBefore(t *testing.T) {
	records := append(tableRecords(), manyRecords(20)...)
	for i, text := range hostile {
		r := records[i]
		r.Name, r.Device, r.Activations, r.Clip = text, text, []string{text, ""}, []string{}
		r.SafeBoxes, r.PeakBytes, r.Gamma, r.Require = new(0), new(int64(1)<<53), 1e-7, property.MustExact("2/3")
		r.Derived = &Derived{InfMeanLower: new(Down(-1e-9))}
		r.Quantile = &Quantile{Level: property.MustExact([]string{"1/3", "0.05"}[i%2])}
		if i%2 == 0 {
			r.Gamma, r.Activations, r.Require = 1e21, nil, property.Exact{}
		}
	}
	columns := columns()
	for i, r := range records {
		want, err := rowByJSON(r, columns)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.row(columns)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range columns {
			if (got[k] == nil) != (want[k] == nil) || got[k] != nil && *got[k] != *want[k] {
				t.Errorf("record %d: %s is %v, was %v", i, c.name, got[k], want[k])
			}
		}
	}
	if err := WriteTable("r.parquet", io.Discard, records); err != nil { // "2/3" is no number of JSON
		t.Error(err)
	}
	records[0].PLower = Down(math.NaN())
	if _, err := records[0].row(columns); err == nil {
		t.Error("a bound that is none has a row")
	}
}

const wantName = `a "name", two\u000alines;\u001b[31m \u202eleft`

func TestWriteCSV(t *testing.T) {
	records := tableRecords()
	var b bytes.Buffer
	if err := WriteTable("r.csv", &b, records); err != nil {
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

func TestRecordsFile(t *testing.T) {
	for path, want := range map[string]string{"r.csv": "r.csv.jsonl", "R.CSV": "R.CSV.jsonl", "a/r.parquet": "a/r.parquet.jsonl", "r.jsonl": "r.jsonl", "r.json": "r.json", "csv": "csv", "": ""} {
		if got := RecordsFile(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
	for name := range tables {
		path := filepath.Join(t.TempDir(), "r"+name)
		var b bytes.Buffer
		if err := WriteTable(path, &b, tableRecords()); err != nil {
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

// TestFilled: the columns that say something are those of the fields that some record has.
func TestFilled(t *testing.T) {
	for _, records := range [][]*Record{tableRecords(), tableRecords()[1:2]} {
		var filled Filled
		for _, r := range records {
			filled.Add(r)
		}
		names, rows := cellsOf(t, records)
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(rows, func(row map[string]any) bool { _, there := row[name]; return there })
		})
		if !slices.Equal(filled.Names(), names) {
			t.Errorf("%q, want %q", filled.Names(), names)
		}
	}
	var b bytes.Buffer
	if err := writeAll(NewTable("r.csv", &b, "verdict", "statistical.lower", "index"), tableRecords()[:1]); err != nil || b.String() != "verdict,statistical.lower,index\r\nunsafe,0.5,0\r\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

// WriteTable writes records in the form that the name of the file says.
func WriteTable(path string, w io.Writer, records []*Record) error {
	return writeAll(NewTable(path, w), records)
}

func writeAll(t TableWriter, records []*Record) error {
	for _, r := range records {
		if err := t.Write(r); err != nil {
			return err
		}
	}
	return t.Close()
}
