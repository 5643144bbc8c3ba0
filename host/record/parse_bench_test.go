package record_test

import (
	"strings"
	"testing"

	"psafe/host/record"
	"psafe/internal/testkit/recordtest"
)

// BenchmarkRead: time and memory of a record that is read.
func BenchmarkRead(b *testing.B) {
	text := recordtest.Lines(1000)
	b.SetBytes(int64(len(text) / 1000))
	b.ReportAllocs()
	for n := 0; n < b.N; n += 1000 {
		if _, err := record.ReadRecords("r.jsonl", strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTable: of a record that is written to a table.
func BenchmarkTable(b *testing.B) {
	records, err := record.ReadRecords("r.jsonl", strings.NewReader(recordtest.Lines(1000)))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"r.csv", "r.parquet"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out discard
			table := record.NewTable(name, &out)
			for n := range b.N {
				if err := table.Write(records[n%1000].Record); err != nil {
					b.Fatal(err)
				}
			}
			if err := table.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out)/float64(b.N), "bytes/record")
		})
	}
}

type discard int

func (d *discard) Write(b []byte) (int, error) {
	*d += discard(len(b))
	return len(b), nil
}
