package campaign

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"psafe/host/record"
	"psafe/internal/testscale"
)

// TestLarge: a million tasks (in deep; else a few thousand) in 64 shards are looked for, counted
// and merged in memory that does not grow with them.
func TestLarge(t *testing.T) {
	n := 4000
	if testscale.Deep(t) {
		n = 1_000_000
	}
	var jobs []Call
	for i := range 8 {
		jobs = append(jobs, Call{Args: []string{fmt.Sprint("j", i), strconv.Itoa(n / 8)}})
	}
	f := fakeCampaign(t, jobs)
	timed := func(what string, g func() error) {
		t.Helper()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		most := uint64(0)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				runtime.ReadMemStats(&after)
				most = max(most, after.HeapInuse)
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		}()
		start := time.Now()
		err := g()
		close(stop)
		<-stopped
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		grown := int64(most) - int64(before.HeapInuse)
		t.Logf("%s: %v, %d MB of heap", what, time.Since(start).Round(time.Millisecond), grown>>20)
		if grown > 200<<20 {
			t.Errorf("%s: %d MB of heap", what, grown>>20)
		}
	}
	timed("run of a shard", func() error {
		_, err := fakeRun(f, Shard{40, 64}, nil).lookAndCertify(t.Context())
		return err
	})
	for i := range 64 {
		if i != 40 {
			putFakes(t, f, Shard{i, 64}.Span(n))
		}
	}
	timed("run of a shard that is done", func() error {
		_, err := fakeRun(f, Shard{40, 64}, nil).lookAndCertify(t.Context())
		return err
	})
	timed("run of all that is done", func() error {
		_, err := fakeRun(f, Shard{0, 1}, nil).lookAndCertify(t.Context())
		return err
	})
	timed("status", func() error {
		s, err := f.Status(t.Context(), 0, time.Now())
		if err == nil && s.Done != n {
			err = fmt.Errorf("%d of %d done", s.Done, n)
		}
		return err
	})
	for _, name := range []string{"r.jsonl", "r.parquet", "r.csv"} {
		out := filepath.Join(t.TempDir(), name)
		timed("merge "+name, func() error { return Merge(t.Context(), f.Dir, Output{Path: out}, func(*record.Record) {}) })
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MB", name, float64(info.Size())/1e6)
	}
}

// putFakes writes the records of a span as an attempt would.
func putFakes(t testing.TB, f *Folder, span Span) {
	t.Helper()
	file, err := os.Create(attemptPath(f.Dir, span) + recordsSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	for n := span.First; n < span.End; n++ {
		job := &f.Jobs[f.JobOf(n)]
		rec, err := fakeOf(job.Args).record(n - job.First)
		if err != nil {
			t.Fatal(err)
		}
		rec.Task, rec.Tasks, rec.Run = n, f.Tasks, f.Campaign
		if err := rec.Write(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
