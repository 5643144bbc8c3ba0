package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"

	"psafe/host/read/property"
)

// TestWriteParquet reads the file back with the reader of the same module and compares every
// cell with the records.
func TestWriteParquet(t *testing.T) {
	records := tableRecords()
	names, rows := cellsOf(t, records)
	rows[1]["name"] = wantName
	kinds := columns()
	for _, group := range []int64{1, 2, 3, rowsOfGroup} {
		var b bytes.Buffer
		if err := writeAll(newParquet(&b, group, columns()), records); err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if by := file.Metadata().CreatedBy; by != createdBy {
			t.Errorf("created by %q", by)
		}
		if groups := file.RowGroups(); int64(len(groups)) != (2+group)/group {
			t.Errorf("groups of %d: %d", group, len(groups))
		}
		fields := file.Schema().Fields()
		if len(fields) != len(names) {
			t.Fatalf("%d columns, want %d", len(fields), len(names))
		}
		for j, f := range fields {
			if f.Name() != names[j] || !f.Optional() || f.Type().String() != wantTypes[kinds[j].kind] {
				t.Errorf("column %d is %s %s, want %s %s", j, f.Name(), f.Type(), names[j], wantTypes[kinds[j].kind])
			}
		}
		got := rowsOf(t, file)
		if len(got) != len(rows) {
			t.Fatalf("%d rows, want %d", len(got), len(rows))
		}
		for i, row := range got {
			for j, v := range row {
				compareCell(t, names[j], v, kinds[j].kind, rows[i][names[j]])
			}
		}
	}
}

var wantTypes = map[kind]string{isText: "STRING", isWhole: "INT(64,true)", isCount: "INT(64,false)", isNumber: "DOUBLE"}

// rowsOf is all rows of a file, of all its groups.
func rowsOf(t *testing.T, file *parquet.File) (list []parquet.Row) {
	t.Helper()
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		t.Cleanup(func() { rows.Close() })
		for {
			row := make([]parquet.Row, 1)
			n, err := rows.ReadRows(row)
			if n == 1 {
				list = append(list, row[0].Clone())
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

// compareCell compares a cell with what the record's line says, nil for nothing: numbers by
// their bits.
func compareCell(t *testing.T, name string, v parquet.Value, k kind, want any) {
	t.Helper()
	if v.IsNull() || want == nil {
		if !v.IsNull() || want != nil {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
		return
	}
	got, text := "", fmt.Sprint(want)
	switch k {
	case isWhole:
		got = strconv.FormatInt(v.Int64(), 10)
	case isCount:
		got = strconv.FormatUint(v.Uint64(), 10)
	case isNumber:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Float64bits(f) != math.Float64bits(v.Double()) {
			t.Errorf("%s is %v, want %s (%v)", name, v.Double(), text, err)
		}
		return
	default:
		got = string(v.ByteArray())
	}
	if got != text {
		t.Errorf("%s is %q, want %q", name, got, text)
	}
}

// manyRecords are n records as a run of certify on images gives them.
func manyRecords(n int) []*Record {
	r := rand.New(rand.NewPCG(1, 2))
	records := make([]*Record, n)
	for i := range records {
		p, seconds, label := r.Float64(), r.Float64(), r.IntN(10)
		log10, margin := Down(math.Log10(p)), Down(r.NormFloat64())
		records[i] = &Record{
			Index: i, Label: &label, Property: fmt.Sprintf("argmax_is:%d", label), Eps: "0.01", Clip: []string{"0", "1"}, Method: "clbp", Cells: 1,
			Tau: 1e-9 * r.Float64(), PLower: Down(p), Log10PLower: &log10, PUpper: 1, Margin: &margin, Require: property.MustExact("0.95"),
			Verdict: "unknown", Guarantee: Guarantee, Precision: "float64", Device: "cpu", Seed: 1<<64 - 1, Seconds: &seconds,
			Posterior: "glyphs-64-32-10.npz", PosteriorSHA256: strings.Repeat("0123456789abcdef", 4), PosteriorScale: "sd",
			Activations: []string{"relu"}, Inputs: "images.gz", InputsSHA256: strings.Repeat("fedcba9876543210", 4), Version: "0", Task: i, Tasks: n, Run: "0123456789abcdef",
		}
	}
	return records
}

// hostile are texts that would break out of a table.
var hostile = []string{"PAR1", "=cmd|' /C calc'!A0", "\x00", "\xff\xfe\xed\xa0\x80", "\u202e\U000e0001", strings.Repeat("long ", 5000), "a,b\r\n\"c\"", "../../etc", "null", "\U0010ffff"}

// TestParquetMany: many records in several groups keep every cell, the same bytes come out
// each time, also beside other writers (dictionaries are hashed with random seeds), and a file
// is small.
func TestParquetMany(t *testing.T) {
	records := manyRecords(3000)
	for i := 0; i < len(records); i += 7 {
		records[i].Name, records[i].Label = hostile[i/7%len(hostile)]+strconv.Itoa(i), nil
	}
	var once bytes.Buffer
	if err := writeAll(newParquet(&once, 1000, columns()), records); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			var again bytes.Buffer
			if err := writeAll(newParquet(&again, 1000, columns()), records); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(once.Bytes(), again.Bytes()) {
				t.Error("other bytes the second time")
			}
		})
	}
	all.Wait()
	file, err := parquet.OpenFile(bytes.NewReader(once.Bytes()), int64(once.Len()))
	if err != nil {
		t.Fatal(err)
	}
	got := rowsOf(t, file)
	if len(got) != len(records) || len(file.RowGroups()) != 3 {
		t.Fatalf("%d rows in %d groups", len(got), len(file.RowGroups()))
	}
	list := columns()
	_, want := cellsOf(t, records)
	for i, row := range got {
		if name, there := want[i]["name"]; there {
			want[i]["name"] = shown(name.(string))
		}
		for j, v := range row {
			compareCell(t, list[j].name, v, list[j].kind, want[i][list[j].name])
		}
	}
}

// TestParquetBytes: neither another version of the module nor another processor may change
// the file unseen.
func TestParquetBytes(t *testing.T) {
	h := sha256.New()
	if err := WriteTable("r.parquet", h, tableRecords()); err != nil {
		t.Fatal(err)
	}
	const want = "64310f7010288a5e2ce43ab38fbd2161d10db287fecf1d572373890010b203a8"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the file of the same records has digest %s, had %s: a new field changes it; if a new version of parquet-go writes other bytes, say so in CHANGELOG.md", got, want)
	}
}

// TestParquetLongTexts: a group ends early where its texts are long, unless they are the same.
func TestParquetLongTexts(t *testing.T) {
	records := manyRecords(20)
	long := strings.Repeat("x", 1<<20)
	for i := range records {
		records[i].Name, records[i].Posterior = long+strconv.Itoa(i), long
	}
	var b bytes.Buffer
	if err := WriteTable("r.parquet", &b, records); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	for _, g := range file.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	if fmt.Sprint(rows) != "[7 8 5]" {
		t.Errorf("groups of %v rows", rows)
	}
	for i, row := range rowsOf(t, file) {
		if want := records[i].Name; string(row[1].ByteArray()) != want {
			t.Errorf("row %d has another name", i)
		}
	}
}

// TestParquetFails: what the file's disk says comes out, wherever it says it.
func TestParquetFails(t *testing.T) {
	var whole bytes.Buffer
	records := manyRecords(200)
	if err := WriteTable("r.parquet", &whole, records); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	for room := 0; room < whole.Len(); room += 997 {
		if err := WriteTable("r.parquet", &small{room, full}, records); !errors.Is(err, full) {
			t.Errorf("room for %d of %d bytes: %v", room, whole.Len(), err)
		}
	}
}

type small struct {
	room int
	err  error
}

func (s *small) Write(b []byte) (int, error) {
	if len(b) > s.room {
		return 0, s.err
	}
	s.room -= len(b)
	return len(b), nil
}

// BenchmarkParquet: time, memory and size of 10,000 records.
func BenchmarkParquet(b *testing.B) {
	records := manyRecords(10000)
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		if err := WriteTable("r.parquet", &out, records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "bytes")
}
