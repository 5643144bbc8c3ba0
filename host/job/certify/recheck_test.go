package certify

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/record"
)

// unsigned is a device that loses the minus signs of what is read, from a read on.
type unsigned struct {
	bound.Device
	from int
}

func (d *unsigned) Name() string { return "unsigned" }

func (d *unsigned) Read(dst []float64, src bound.Array) error {
	err := d.Device.Read(dst, src)
	if d.from--; d.from < 0 {
		for i := range dst {
			dst[i] = math.Abs(dst[i])
		}
	}
	return err
}

// onUnsigned opens that device, with the fallback behind it if it may have one.
func onUnsigned(from int, spare bool) Opener {
	return func(p bound.Precision) (*Devices, error) {
		d := &Devices{List: []bound.Device{&unsigned{fallback.New(p), from}}}
		if spare {
			d.Spare = func() bound.Device { return fallback.New(p) }
		}
		return d, nil
	}
}

// tenDigits are ten images with a radius at which nine are unsafe.
func tenDigits() *Job {
	j := digits()
	j.Tasks.Points.Index, j.Tasks.Points.Eps = new("0:10"), "0.05"
	return j
}

// withoutDevice is lines of records without the field that says what computed them.
func withoutDevice(t *testing.T, lines string) string {
	t.Helper()
	var all strings.Builder
	for line := range strings.Lines(lines) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"device", "sum", "run", "checksum"} {
			delete(fields, name)
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(text, '\n'))
	}
	return all.String()
}

// TestDeviceThatLosesSigns: a device that passed every test when it was opened and then
// loses the signs of what is read gets nothing into a record. A note and the records name it.
func TestDeviceThatLosesSigns(t *testing.T) {
	for _, word := range []prove.Method{prove.Auto, prove.CLBP} {
		job := func() *Job { j := tenDigits(); j.Method.By = new(word); return j }
		want := withoutDevice(t, lines(t, job()))
		if !strings.Contains(want, `"verdict":"unsafe"`) {
			t.Fatalf("%s: no image is unsafe", word)
		}
		for _, from := range []int{0, 1, 5, 9} {
			j := job()
			j.Open = onUnsigned(from, true)
			var told []Note
			j.Note = func(n Note) { told = append(told, n) }
			got := lines(t, j)
			if withoutDevice(t, got) != want {
				t.Errorf("%s from read %d: %s\nwant %s", word, from, got, want)
			}
			if len(told) != 1 {
				t.Fatalf("%s from read %d: %d notes", word, from, len(told))
			}
			why := told[0].(*Dropped)
			if line := why.String(); !strings.HasPrefix(line, "device unsigned is dropped: ") || strings.Contains(line, "\n") {
				t.Errorf("note %q", line)
			}
			if quoted, _ := json.Marshal("cpu, as " + why.Why.Error()); !strings.Contains(got, string(quoted)) {
				t.Errorf("%s from read %d: no record names %s: %s", word, from, quoted, got)
			}
		}
	}
}

// TestInterruptedRechecks: what was finished before the run was interrupted gets its last rechecks,
// and is kept.
func TestInterruptedRechecks(t *testing.T) {
	for _, word := range []prove.Method{prove.CLBP} {
		ctx, cancel := context.WithCancel(t.Context())
		j := tenDigits()
		j.Method.By, j.Recheck, j.Open = new(word), new(1e-12), onUnsigned(math.MaxInt, true)
		j.TimeLimit = new(time.Hour) // the first group is one image
		j.Out.Path = filepath.Join(t.TempDir(), "r.jsonl")
		finished := 0
		j.Progress = func(done, of int) {
			if finished = done; done > 0 && done < of {
				cancel()
			}
		}
		_, err := j.Run(ctx)
		cancel()
		if _, is := errors.AsType[*Interrupted](err); !is || finished == 0 || finished == 10 {
			t.Fatalf("%s: %v after %d of 10", word, err, finished)
		}
		kept, err := os.ReadFile(j.Out.Path + PartialSuffix)
		if n := strings.Count(string(kept), "\n"); err != nil || n != finished {
			t.Errorf("%s: %d records are kept of %d: %v", word, n, finished, err)
		}
	}
}

// TestContradiction: if the only device contradicts itself, the run ends with an error that
// names the input and both numbers, and no record of that input is written.
func TestContradiction(t *testing.T) {
	for _, word := range []prove.Method{prove.Auto, prove.CLBP} {
		j := tenDigits()
		j.Method.By, j.Open = new(word), onUnsigned(0, false)
		j.Out.Path = filepath.Join(t.TempDir(), "r.jsonl")
		records, err := j.Run(t.Context())
		found, is := errors.AsType[*Contradiction](err)
		if !is {
			t.Fatalf("%s: %v", word, err)
		}
		inner, is := errors.AsType[*claim.Contradiction](err)
		if !is || inner.Low <= inner.High || strings.Contains(err.Error(), "\n") || !strings.Contains(found.Error(), "please report") {
			t.Errorf("%s: %v", word, err)
		}
		for _, r := range records {
			if float64(r.PLower) > float64(r.PUpper) {
				t.Errorf("%s: p_lower %v, p_upper %v", word, r.PLower, r.PUpper)
			}
		}
		if _, err := os.Stat(j.Out.Path); err == nil {
			t.Errorf("%s: there is a result file", word)
		}
	}
}

// TestLastDoor: no record with p_lower above p_upper is written, wherever it came from.
func TestLastDoor(t *testing.T) {
	for _, c := range []struct {
		lower, upper float64
		passes       bool
	}{{0, 1, true}, {0.25, 0.25, true}, {0.5, 0.25, false}, {math.NaN(), 1, false}, {0, math.NaN(), false}} {
		err := lastDoor(&record.Record{Index: 3, PLower: record.Down(c.lower), PUpper: record.Up(c.upper)})
		if _, refused := errors.AsType[*Contradiction](err); refused == c.passes {
			t.Errorf("p_lower %v, p_upper %v: %v", c.lower, c.upper, err)
		}
	}
}
