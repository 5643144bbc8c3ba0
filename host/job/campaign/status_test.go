package campaign

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/record"
)

// TestStatus: each state, from the files alone; tasks count once, whoever has records of them.
func TestStatus(t *testing.T) {
	want := single(t, fakeJobs)
	f := fakeCampaign(t, fakeJobs)
	now := time.Now()
	age := func(path string, seconds int) {
		t.Helper()
		if at := now.Add(-time.Duration(seconds) * time.Second); os.Chtimes(path, at, at) != nil {
			t.Fatal(path)
		}
	}
	word := func(span Span, name string, value any, seconds int) {
		t.Helper()
		path := putAttempt(t, f, name, want, span, nil)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := writeNew(path, value); err != nil {
			t.Fatal(err)
		}
		age(path, seconds)
	}
	started := func(i, seconds int, name string) {
		word(Shard{i, 8}.Span(41), name+".started", Started{Shard: Shard{i, 8}.String(), Time: now.Add(-time.Duration(seconds) * time.Second), Process: Process{Host: "node" + name[:1]}}, seconds)
	}
	failed := func(i, seconds, status int, name string) {
		word(Shard{i, 8}.Span(41), name+".failed", Failed{Status: status, Error: "because"}, seconds)
	}
	partial := func(i, records, seconds int, name string) {
		span := Shard{i, 8}.Span(41)
		path := putAttempt(t, f, name+".jsonl.partial", want, Span{span.First, span.First + records}, nil)
		full := filepath.Join(f.Results(), filepath.Base(attemptPath(f.Dir, span)))
		full = full[:len(full)-12] + name + ".jsonl.partial"
		if err := os.Rename(path, full); err != nil {
			t.Fatal(err)
		}
		age(full, seconds)
	}
	const a, b, c, d, e, g = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "dddddddddddd", "eeeeeeeeeeee", "ffffffffffff"
	started(0, 100, a) // done, by two that overlap
	age(putAttempt(t, f, a+".jsonl", want, Span{0, 5}, nil), 50)
	age(putAttempt(t, f, b+".jsonl", want, Span{3, 7}, nil), 50)
	started(1, 25, b) // 5 tasks from 5: running, since 20 seconds with 4 records
	partial(1, 4, 5, b)
	started(2, 500, c) // lost
	partial(2, 1, 400, c)
	started(3, 300, d) // failed after it, and others before
	partial(3, 2, 200, d)
	failed(3, 199, 3, d)
	started(4, 50, e) // a signal
	partial(4, 2, 10, e)
	failed(4, 10, 4, e)
	started(5, 5, g)               // is beginning
	started(6, 30, "000000000000") // its driver ended it, and its parent says so
	partial(6, 1, 9, "000000000000")
	word(Shard{6, 8}.Span(41), "111111111111.failed", Failed{Status: 3, Error: "the driver", Process: Process{Host: "node0"}}, 8)
	s, err := f.Status(t.Context(), 0, now)
	if err != nil {
		t.Fatal(err)
	}
	var states, dones []string
	for _, shard := range s.Shards {
		states = append(states, string(shard.State))
		dones = append(dones, string(rune('0'+shard.Done)))
	}
	if got := strings.Join(states, " "); got != "done running lost failed stopped running failed missing" || strings.Join(dones, "") != "54122010" || s.Done != 15 {
		t.Errorf("%s; %s; %d done", got, strings.Join(dones, ""), s.Done)
	}
	if s.Rate == nil || *s.Rate != 0.2 || s.ETA == nil || *s.ETA != 26*5 {
		text, _ := json.Marshal(s)
		t.Errorf("%s", text)
	}
	if s.Shards[3].Error != "because" || s.Shards[3].Host != "noded" || s.Shards[2].Error != "no sign for 6m40s" || s.Shards[1].Host != "nodeb" || s.Shards[7].Process != nil {
		t.Errorf("%+v", s.Shards)
	}
	// Counted by others, the same tasks.
	for _, n := range []int{1, 3, 41, 100} {
		s, err := f.Status(t.Context(), n, now)
		sum := 0
		if err == nil {
			for _, shard := range s.Shards {
				sum += shard.Done
			}
		}
		if err != nil || sum != 15 || s.Done != 15 || len(s.Shards) != n {
			t.Errorf("%d shards: %d done, %+v, %v", n, sum, s, err)
		}
	}
	if _, err := f.Status(t.Context(), -1, now); err == nil {
		t.Error("-1 shards")
	}
}

// TestStatusOfRun: while a shard runs it is running, on this machine.
func TestStatusOfRun(t *testing.T) {
	f := fakeCampaign(t, fakeJobs)
	if s, err := f.Status(t.Context(), 0, time.Now()); err != nil || s.Done != 0 || s.States[Absent] != 1 || s.Rate != nil {
		t.Errorf("%+v, %v", s, err)
	}
	host, _ := os.Hostname()
	seen := 0
	_, err := fakeRun(f, Shard{2, 4}, func(p *fake) {
		p.change = func(k int, _ *record.Record) error {
			s, err := f.Status(context.Background(), 0, time.Now())
			if err != nil || len(s.Shards) != 4 || s.Shards[2].State != Running || s.Done != seen || s.Shards[2].Host != host {
				t.Errorf("record %d: %+v, %v", k, s, err)
			}
			seen++
			return nil
		}
	}).lookAndCertify(t.Context())
	if err != nil || seen != 10 {
		t.Errorf("%d records, %v", seen, err)
	}
	if s, err := f.Status(t.Context(), 0, time.Now()); err != nil || s.Shards[2].State != Done || s.States[Absent] != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}
