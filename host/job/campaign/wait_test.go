package campaign

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestWaiting: a wait ends where a shard has failed for good, and nowhere else.
func TestWaiting(t *testing.T) {
	want, now := single(t, fakeJobs), time.Now()
	at := func(i int) Span { return Shard{i, 8}.Span(41) }
	const mine, others = "00ff", "00aa"
	fails := func(i, status int, submission string) func(*testing.T, *Folder) {
		return func(t *testing.T, f *Folder) {
			p := Process{Host: "node1", Scheduler: map[string]string{SubmissionVariable: submission}}
			if err := writeNew(attemptPath(f.Dir, at(i))+failedSuffix, Failed{Shard{i, 8}.String(), status, "because", now, p}); err != nil {
				t.Fatal(err)
			}
		}
	}
	begins := func(i int) func(*testing.T, *Folder) {
		return func(t *testing.T, f *Folder) {
			if err := writeNew(attemptPath(f.Dir, at(i))+startedSuffix, Started{Shard: Shard{i, 8}.String(), Time: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
	finishes := func(i int) func(*testing.T, *Folder) {
		return func(t *testing.T, f *Folder) { putAttempt(t, f, "aaaaaaaaaaaa.jsonl", want, at(i), nil) }
	}
	type events []func(*testing.T, *Folder)
	for name, c := range map[string]struct {
		submission    string
		retries       int
		before, after events
		over          bool
	}{
		"nothing":                             {mine, 3, nil, nil, false},
		"a wrong flag":                        {mine, 3, nil, events{fails(1, 2, mine)}, true},
		"a contradiction":                     {mine, 3, nil, events{fails(1, 1, mine)}, true},
		"its time limit":                      {mine, 3, nil, events{fails(1, 5, mine)}, true},
		"in no submission":                    {"", 3, nil, events{fails(1, 2, "")}, true},
		"before the merge began":              {mine, 3, events{fails(1, 2, mine)}, nil, true},
		"before it was mended":                {mine, 3, events{fails(1, 2, others)}, nil, false},
		"before, in no submission":            {"", 3, events{fails(1, 2, "")}, nil, false},
		"before, and again":                   {mine, 3, events{fails(1, 2, others)}, events{fails(1, 2, mine)}, true},
		"evicted often":                       {mine, 1, nil, events{fails(1, 4, mine), fails(1, 4, mine), fails(1, 4, mine)}, false},
		"a device that broke as often as may": {mine, 2, nil, events{fails(1, 3, mine), fails(1, 3, mine)}, false},
		"once more":                           {mine, 2, nil, events{fails(1, 3, mine), fails(1, 3, mine), fails(1, 3, mine)}, true},
		"other shards":                        {mine, 2, nil, events{fails(1, 3, mine), fails(2, 3, mine), fails(3, 3, mine)}, false},
		"none may fail":                       {mine, 0, nil, events{fails(1, 3, mine)}, true},
		"somebody is at it again":             {mine, 3, nil, events{fails(1, 2, mine), begins(1)}, false},
		"somebody is at another":              {mine, 3, nil, events{fails(1, 2, mine), begins(2)}, true},
		"somebody has done it":                {mine, 3, nil, events{fails(1, 2, mine), finishes(1)}, false},
		"another is done":                     {mine, 3, nil, events{fails(1, 2, mine), finishes(2)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := fakeCampaign(t, fakeJobs)
			if err := os.MkdirAll(f.Results(), 0o777); err != nil {
				t.Fatal(err)
			}
			w := Waiting{Folder: f, Submission: c.submission, Retries: c.retries}
			for _, happens := range c.before {
				happens(t, f)
			}
			s, err := w.Look(t.Context(), now)
			for _, happens := range c.after {
				if err != nil || s.Done > 0 {
					t.Fatalf("%+v, %v", s, err)
				}
				happens(t, f)
			}
			if len(c.after) > 0 {
				s, err = w.Look(t.Context(), now)
			}
			_, over := errors.AsType[*GivenUp](err)
			if over != c.over || err != nil && !over || s.Tasks != 41 {
				t.Fatalf("%+v, %v", s, err)
			}
			if over && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), f.Dir+": shard 1/8 failed for good") || !strings.Contains(err.Error(), "on node1: because: mend it")) {
				t.Error(err)
			}
		})
	}
}
