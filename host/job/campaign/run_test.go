package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/host/record"
)

func background() context.Context { return context.Background() }

// TestShards: shards of any numbers, one after the other, end with the file of one run, and none
// does what another has done.
func TestShards(t *testing.T) {
	want := single(t, fakeJobs)
	for _, counts := range [][]int{{1}, {4}, {4, 7}, {41}, {50}, {7, 1}} {
		f := fakeCampaign(t, fakeJobs)
		made, closed, opened := 0, 0, 0
		for last, n := range counts {
			for i := range n {
				if last < len(counts)-1 && i%3 == 1 {
					continue // so that the next find some tasks of theirs done, and others not
				}
				found, err := fakeRun(f, Shard{i, n}, func(p *fake) {
					opened++
					p.closed = &closed
					p.change = func(int, *record.Record) error { made++; return nil }
				}).lookAndCertify(t.Context())
				if err != nil || found.Span != (Shard{i, n}).Span(f.Tasks) {
					t.Fatalf("%v: shard %d/%d: %+v, %v", counts, i, n, found, err)
				}
			}
		}
		if got, err := merged(t, f); err != nil || got != want {
			t.Errorf("%v: %v\n%s", counts, err, got)
		}
		if made != f.Tasks || closed != opened || len(left(t, f)["jsonl.partial"]) > 0 {
			t.Errorf("%v: %d of %d tasks made, %d of %d jobs closed, left %q", counts, made, f.Tasks, closed, opened, left(t, f)["jsonl.partial"])
		}
		// Once more: nothing is prepared, nothing is written.
		before := len(left(t, f)["started"])
		if _, err := fakeRun(f, Shard{0, 1}, func(*fake) { t.Error("a job was prepared") }).lookAndCertify(t.Context()); err != nil || len(left(t, f)["started"]) != before {
			t.Errorf("%v: once more: %v", counts, err)
		}
	}
}

// TestRefusedRuns: what is not what was planned is an error of one line before anything of it is
// written, and a file says so.
func TestRefusedRuns(t *testing.T) {
	for _, c := range []struct {
		change func(*fake)
		want   string
	}{
		{func(p *fake) { p.digest = "other" }, "c: has changed since the campaign was planned"},
		{func(p *fake) { p.n++ }, "its files say 21 tasks"},
	} {
		f := fakeCampaign(t, fakeJobs)
		_, err := fakeRun(f, Shard{0, 1}, func(p *fake) {
			if p.name == "c" {
				c.change(p)
			}
		}).lookAndCertify(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), ": 8 of 41 tasks of shard 0/1 are done: run it again") {
			t.Errorf("%v; want %q", err, c.want)
			continue
		}
		files := left(t, f)
		if len(files["jsonl"]) != 0 || len(files["jsonl.partial"]) != 1 || len(files["failed"]) != 1 {
			t.Fatalf("%q", files)
		}
		text, err2 := os.ReadFile(files["jsonl.partial"][0])
		if n := bytes.Count(text, []byte("\n")); err2 != nil || n != 8 {
			t.Errorf("%d records are left, %v", n, err2)
		}
		var failed Failed
		text, err2 = os.ReadFile(files["failed"][0])
		if err2 == nil {
			err2 = json.Unmarshal(text, &failed)
		}
		if err2 != nil || failed.Status != 2 || failed.Error != err.Error() || failed.Shard != "0/1" || failed.Host == "" {
			t.Errorf("%+v, %v", failed, err2)
		}
	}
}

// renamed asks under another name, and so has other ids, while its files are the same.
type renamed struct{ *fake }

func (r renamed) Known(k int) (*record.Record, error) {
	rec, err := r.fake.Known(k)
	rec.Index += 1000
	rec.Identify()
	return rec, err
}

// TestOtherTasks: a job whose tasks are others than were planned writes nothing.
func TestOtherTasks(t *testing.T) {
	f := fakeCampaign(t, fakeJobs)
	r := fakeRun(f, Shard{0, 1}, nil)
	r.Prepare = func(args []string, _ func(int, int)) (Prepared, error) { return renamed{fakeOf(args)}, nil }
	_, err := r.lookAndCertify(t.Context())
	if err == nil || !strings.Contains(err.Error(), "task 0 (index 1000, keeps_class) asks something else than was planned") {
		t.Error(err)
	}
	if files := left(t, f); len(files["jsonl"])+len(files["jsonl.partial"]) > 0 {
		t.Errorf("written: %q", files)
	}
	r = fakeRun(f, Shard{0, 1}, nil)
	r.Numerics++
	if _, err := r.lookAndCertify(t.Context()); err == nil || !strings.Contains(err.Error(), "plan the campaign again") {
		t.Error(err)
	}
}

// TestStopped: a signal and a time limit keep what is finished, and say so.
func TestStopped(t *testing.T) {
	want := single(t, fakeJobs)
	f := fakeCampaign(t, fakeJobs)
	ctx, stop := context.WithCancel(t.Context())
	var told [2]int
	r := fakeRun(f, Shard{0, 1}, func(p *fake) {
		p.change = func(k int, _ *record.Record) error {
			if p.name == "c" && k == 3 {
				stop()
			}
			return nil
		}
	})
	r.Progress = func(done, total int) { told = [2]int{done, total} }
	_, err := r.lookAndCertify(ctx)
	if _, is := errors.AsType[*certify.Interrupted](err); !is || err.Error() != "interrupted: 12 of 41 tasks of shard 0/1 are done: run it again to go on from there" {
		t.Error(err)
	}
	if told != [2]int{12, 41} {
		t.Errorf("progress %v", told)
	}
	r = fakeRun(f, Shard{0, 1}, func(p *fake) { p.pause = time.Minute })
	r.Limit = 20 * time.Millisecond
	_, err = r.lookAndCertify(t.Context())
	if _, is := errors.AsType[*certify.OutOfTime](err); !is || !strings.Contains(err.Error(), "--total-time-limit ended the run: 1") {
		t.Error(err)
	}
	if _, err := fakeRun(f, Shard{0, 1}, nil).lookAndCertify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := merged(t, f); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestTorn: a file that ends anywhere counts as far as its lines do.
func TestTorn(t *testing.T) {
	want := single(t, fakeJobs)
	lines := strings.SplitAfter(want, "\n")
	short := len(lines[0]) + len(lines[1])
	cuts := []int{short + len(lines[2]) - 1} // only the end of the line is missing
	for cut := short; cut <= short+len(lines[2]); cut += 1 + (cut%7)*17 {
		cuts = append(cuts, cut)
	}
	for _, cut := range cuts {
		f := fakeCampaign(t, fakeJobs)
		if err := os.MkdirAll(f.Results(), 0o777); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(f.Results(), "000000000-000000040.0123456789ab.jsonl.partial")
		if err := os.WriteFile(path, []byte(want[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		found, err := fakeRun(f, Shard{0, 1}, nil).Look(t.Context())
		if wanted := strings.Count(want[:cut], "\n"); err != nil || found.Done != wanted {
			t.Fatalf("%d bytes: %+v, %v; want %d records", cut, found, err, wanted)
		}
		if _, err := fakeRun(f, Shard{0, 1}, nil).lookAndCertify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := merged(t, f); err != nil || got != want {
			t.Fatalf("%d bytes: %v\n%s", cut, err, got)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != want[:cut] {
			t.Fatalf("%d bytes: another's file was changed: %v", cut, err)
		}
	}
}

// TestLastName: a file that cannot get its last name is an error, of which a file tells, and its
// records count where they still are.
func TestLastName(t *testing.T) {
	for _, spoil := range []func(partial string) error{
		os.Remove, // somebody has moved it away
		func(partial string) error { // the renaming fails
			return os.Mkdir(strings.TrimSuffix(partial, ".partial"), 0o777)
		},
	} {
		f := fakeCampaign(t, fakeJobs)
		r := fakeRun(f, Shard{0, 1}, nil)
		r.Progress = func(done, total int) {
			if done < total {
				return
			}
			if err := spoil(left(t, f)["jsonl.partial"][0]); err != nil {
				t.Error(err)
			}
		}
		_, err := r.lookAndCertify(t.Context())
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), f.Results()) {
			t.Errorf("%v", err)
		}
		if failed := left(t, f)["failed"]; len(failed) != 1 {
			t.Errorf("%q tell of it", failed)
		}
	}
}

// TestMoved: where a file is not there, the folder that paths start from is named.
func TestMoved(t *testing.T) {
	f := fakeCampaign(t, fakeJobs)
	r := fakeRun(f, Shard{0, 1}, nil)
	r.Prepare = func([]string, func(done, total int)) (Prepared, error) {
		return nil, &os.PathError{Op: "open", Path: "a", Err: os.ErrNotExist}
	}
	if _, err := r.lookAndCertify(t.Context()); err == nil || !strings.Contains(err.Error(), "paths of the campaign start from "+f.BaseDir()) {
		t.Errorf("%v", err)
	}
}
