package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"psafe/host/job/certify"
	"psafe/internal/testscale"
)

// TestInterruptedWriters ends every other command that writes at random moments: what it writes is
// not there or whole, and the same command then makes it. A shard of a campaign loses nothing.
func TestInterruptedWriters(t *testing.T) {
	noSignals(t)
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	tiny, cubic := testFile("tiny-2-3-2-tanh.npz"), testFile("cubic-128.npz")
	points := pointsOf(t, strings.Repeat("0.1,0.9\n-0.3,0.2\n", 20))
	psafe(t, exitDone, "certify", "--device", "cpu", "--posterior", tiny, "--inputs", points, "--eps", "0.05,0.1", "--method", "clbp", "--options", "cells=1", "--quiet", "--out", at("r.jsonl"))
	campaign := testCampaign(t, 12, "{method: clbp, cells: 1}")
	psafe(t, exitDone, runShard(campaign, 0, 1)...)
	for name, args := range map[string][]string{
		"merge":    {"merge", campaign, "--out", "OUT.jsonl"},
		"report":   {"report", at("r.jsonl"), "--out", "OUT.html"},
		"plot":     {"plot", "eps", at("r.jsonl"), "--out", "OUT.svg"},
		"convert":  {"convert", cubic, "--out", "OUT.npz"},
		"train":    {"train", "--data", "cubic", "--samples", "40", "--epochs", "2", "--hidden", "4", "--out", "OUT.npz"},
		"table":    {"certify", "--device", "cpu", "--posterior", tiny, "--inputs", points, "--eps", "0.05", "--method", "clbp", "--options", "cells=1", "--omit-timing", "--quiet", "--resume", "--out", "OUT.csv"},
		"exporter": {"exporter", "--out", "OUT.py"},
	} {
		t.Run(name, func(t *testing.T) { interruptedWriter(t, args) })
	}
	t.Run("run", func(t *testing.T) { interruptedShard(t, testCampaign(t, 12, "{method: clbp, cells: 1}")) })
}

// endings are signals that end a program, in the ways that schedulers have.
var endings = [][]syscall.Signal{{syscall.SIGKILL}, {syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGTERM, syscall.SIGKILL}, {syscall.SIGHUP}}

// interruptions returns how many of n to make: one takes half a second of every run of the tests.
func interruptions(t *testing.T, n int) int {
	if testscale.Deep(t) {
		return n
	}
	return 1
}

func interruptedWriter(t *testing.T, args []string) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(28, uint64(time.Now().UnixNano())))
	to := func(name string) (list []string, out string) {
		for _, a := range args {
			if rest, is := strings.CutPrefix(a, "OUT"); is {
				out = filepath.Join(dir, name+rest)
				a = out
			}
			list = append(list, a)
		}
		return list, out
	}
	whole, file := to("whole")
	start := time.Now()
	if e := signalled(t, 0, whole); e.status != exitDone {
		t.Fatalf("undisturbed: %+v", e)
	}
	took, want := time.Since(start), readTest(t, file)
	ended := 0
	for wanted, try := interruptions(t, 50), 0; ended < wanted; try++ {
		cut, out := to("cut")
		e := signalled(t, time.Duration(rng.Float64()*float64(took)), cut, endings[try%len(endings)]...)
		if e.status != exitDone && e.status != exitInterrupted && !e.signal {
			t.Fatalf("%+v", e)
		}
		if e.status != exitDone {
			ended++
		}
		if _, err := os.Stat(out); err == nil && readTest(t, out) != want {
			t.Fatalf("%+v left %d bytes, not the %d of the whole", e, len(readTest(t, out)), len(want))
		} else if errors.Is(err, os.ErrNotExist) {
			if again := signalled(t, 0, cut); again.status != exitDone || readTest(t, out) != want {
				t.Fatalf("after %+v: %+v", e, again)
			}
		}
		for _, left := range []string{out, strings.TrimSuffix(out, ".csv") + ".csv.jsonl", out + certify.PartialSuffix} {
			os.Remove(left)
		}
	}
	t.Logf("%d interruptions, undisturbed in %v", ended, took)
}

// interruptedShard ends a shard again and again until it is done.
func interruptedShard(t *testing.T, dir string) {
	rng := rand.New(rand.NewPCG(29, uint64(time.Now().UnixNano())))
	ended, done := 0, -1
	for wanted := interruptions(t, 60); ended < wanted; {
		e := signalled(t, time.Duration(rng.Float64()*float64(200*time.Millisecond)), runShard(dir, 0, 1), endings[ended%len(endings)]...)
		if e.status == exitDone {
			done++
			if done > 0 { // all is done: begin with another
				mergedTest(t, dir, exitDone)
				dir, done = testCampaign(t, 12, "{method: clbp, cells: 1}"), -1
			}
			continue
		}
		if e.status != exitInterrupted && !e.signal {
			t.Fatalf("%+v", e)
		}
		ended++
	}
	psafe(t, exitDone, runShard(dir, 0, 1)...)
	mergedTest(t, dir, exitDone)
	t.Logf("%d interruptions", ended)
}
