package certify

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/testscale"
)

// manyPoints is a job of n cheap tasks.
func manyPoints(t *testing.T, n int) *Job {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 3))
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%.3f,%.3f\n", r.Float64(), r.Float64())
	}
	return &Job{Posterior: Posterior{Path: testFile("tiny-2-3-2-tanh.npz")}, Tasks: around(file(t, "x.csv", b.String()), "0.01"),
		Method: Method{By: new(prove.IBP), NoUpper: true, Draws: new(1), Gamma: new(0.5)}, Open: onCPU, Out: Output{OmitTiming: true}}
}

// TestMadeOnce: the tasks of the first chunk are made once, others once more, and each is what it is.
func TestMadeOnce(t *testing.T) {
	defer func(n int) { chunkTasks = n }(chunkTasks)
	chunkTasks = 40
	const n, from = 100, 7 // as of a run that goes on
	r, err := manyPoints(t, n).read()
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int32
	at := r.tasks.at
	r.tasks.at = func(k int) (property.Task, error) { made.Add(1); return at(k) }
	if err := r.survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was taken is made again
		for first := from; first < n; {
			chunk, err := r.chunk(first-from, n-from, 1, func(i int) int { return from + i })
			if err != nil || len(chunk) == 0 {
				t.Fatal(err)
			}
			for i, got := range chunk {
				if want, _ := at(first + i); !reflect.DeepEqual(got, want) {
					t.Errorf("task %d is %+v, want %+v", first+i, got, want)
				}
			}
			first += len(chunk)
		}
	}
	if want := int32(n + (n - chunkTasks) + (n - from)); made.Load() != want {
		t.Errorf("%d tasks were made, want %d", made.Load(), want)
	}
	chunk, err := r.chunk(0, n, 2, func(i int) int { return i })
	if err != nil || len(chunk) != 2*chunkTasks {
		t.Errorf("%d tasks in a chunk twice as large as others, %v", len(chunk), err)
	}
}

// TestMemory: neither tasks nor records are kept, also of a run that goes on: what is alive does not
// grow with their number. What there is of a point of the data file is below a hundred bytes.
func TestMemory(t *testing.T) {
	defer func(n int) { chunkTasks = n }(chunkTasks)
	chunkTasks = 128
	n := 1500
	if testscale.Deep(t) {
		n, chunkTasks = 100_000, 4096
	}
	const perTask = 250 // bytes; a task and its record are some thousand
	alive := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	j := manyPoints(t, n)
	j.Out.Path = filepath.Join(t.TempDir(), "r.jsonl")
	each := func(what string) {
		t.Helper()
		told, before := 0, int64(0)
		if err := j.Each(t.Context(), func(r *record.Record) {
			if r.Task != told {
				t.Fatalf("%s: task %d is number %d", what, r.Task, told)
			}
			told++
			switch told {
			case n / 3:
				before = alive()
			case n - 1:
				if grown := alive() - before; grown > perTask*int64(n)*2/3 {
					t.Errorf("%s: %d bytes more after %d more records", what, grown, n*2/3)
				}
			}
		}); err != nil || told != n {
			t.Fatalf("%s: %d records, %v", what, told, err)
		}
	}
	each("run")
	want, err := os.ReadFile(j.Out.Path)
	if err != nil {
		t.Fatal(err)
	}
	j.Out.Resume = true
	each("a run that is done")
	cut := len(want) * 9 / 10
	if err := os.Rename(j.Out.Path, j.Out.Path+PartialSuffix); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(j.Out.Path+PartialSuffix, int64(cut)); err != nil {
		t.Fatal(err)
	}
	each("a run that goes on")
	if got, err := os.ReadFile(j.Out.Path); err != nil || string(got) != string(want) {
		t.Errorf("other records after going on, %v", err)
	}
}

// TestChangedMeanwhile: what was looked at is what a run goes on with, or it does not go on.
func TestChangedMeanwhile(t *testing.T) {
	j := manyPoints(t, 3)
	j.Out.Path = filepath.Join(t.TempDir(), "r.jsonl")
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	partial := j.Out.Path + PartialSuffix
	if err := os.Rename(j.Out.Path, partial); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(partial)
	if err != nil {
		t.Fatal(err)
	}
	j.Out.Resume = true
	r, err := j.read()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.survey(t.Context()); err != nil {
		t.Fatal(err)
	}
	old, err := r.earlier(t.Context())
	if err != nil || old.done != 3 || old.bytes != int64(len(text)) {
		t.Fatalf("%+v, %v", old, err)
	}
	other := strings.Replace(string(text), `"p_lower":0`, `"p_lower":1`, 1)
	for what, now := range map[string]string{"changed": other, "shorter": string(text[:100]), "gone": ""} {
		err := os.WriteFile(partial, []byte(now), 0o666)
		if what == "gone" {
			err = os.Remove(partial)
		}
		if err != nil {
			t.Fatal(err)
		}
		if p, err := j.Out.openPartial(old); err == nil || !strings.Contains(err.Error(), "r.jsonl.partial") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", what, p, err)
		}
		if left, err := os.ReadFile(partial); what != "gone" && (err != nil || string(left) != now) {
			t.Errorf("%s: the file was written to: %v", what, err)
		}
	}
}
