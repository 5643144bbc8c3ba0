package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// smallCampaign plans a campaign of 120 tasks in 4 jobs, some tenths of a second in all.
func smallCampaign(t *testing.T) (dir string) {
	return testCampaign(t, 10, "[{method: neuronsum, cells: 2}, {method: clbp, cells: 1}]")
}

// testCampaign plans a campaign of so many points with three radii under two posteriors.
func testCampaign(t *testing.T, n int, methods string) (dir string) {
	t.Helper()
	var points strings.Builder
	for i := range n {
		fmt.Fprintf(&points, "%.4f,%.4f\n", 0.9-1.5*float64(i)/float64(n), 1.5*float64(i)/float64(n)-0.8)
	}
	base := t.TempDir()
	writeTest(t, filepath.Join(base, "points.csv"), points.String())
	for _, name := range []string{"0.npz", "1.npz"} {
		writeTest(t, filepath.Join(base, name), readTest(t, testFile("tiny-2-3-2-tanh.npz")))
	}
	writeTest(t, filepath.Join(base, "campaign.yaml"), `posteriors: [0.npz, {path: 1.npz, scale-factor: 0.5}]
inputs: points.csv
eps: [0.1, 0.05, 1/30]
methods: `+methods+"\n")
	dir = filepath.Join(base, "out")
	if e := signalled(t, 0, []string{"plan", filepath.Join(base, "campaign.yaml"), "--out", dir}); e.status != exitDone {
		t.Fatalf("%+v", e)
	}
	return dir
}

// runShard is the command of a shard.
func runShard(dir string, i, n int) []string {
	return []string{"run", dir, "--device", "cpu", "--omit-timing", "--quiet", "--shard", fmt.Sprintf("%d/%d", i, n)}
}

// mergedTest merges a campaign; status is that of psafe merge.
func mergedTest(t *testing.T, dir string, want int) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "r.jsonl")
	if e := signalled(t, 0, []string{"merge", dir, "--out", out}); e.status != want {
		t.Fatalf("%+v", e)
	}
	if want != exitDone {
		return ""
	}
	return readTest(t, out)
}

// TestCampaignInterruptions ends shards, two processes at each, at random moments in every
// way that there is, first the one and then 2 (deep: 4 and 7): what is merged is the file of one
// run that nobody disturbed, whose records psafe check proves.
func TestCampaignInterruptions(t *testing.T) {
	noSignals(t)
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	dir := smallCampaign(t)
	start := time.Now()
	if e := signalled(t, 0, runShard(dir, 0, 1)); e.status != exitDone {
		t.Fatalf("%+v", e)
	}
	took := time.Since(start)
	want := mergedTest(t, dir, exitDone)
	ways := []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	kills, shards := 1, []int{1, 2} // kills of each process of a shard
	if testscale.Deep(t) {
		kills, shards = 2, []int{4, 7}
	}
	for range testscale.Cases(t, 10) {
		dir := smallCampaign(t)
		for _, n := range shards {
			var all sync.WaitGroup
			for k := range 2 * n {
				all.Go(func() {
					for range kills {
						e := signalled(t, time.Duration(rand.Float64()*float64(took)), runShard(dir, k/2, n), ways[rand.IntN(len(ways))])
						if e.status != exitDone && e.status != exitInterrupted && !e.signal {
							t.Errorf("%+v", e)
						}
					}
				})
			}
			all.Wait()
		}
		last := shards[len(shards)-1]
		for i := range last {
			if e := signalled(t, 0, runShard(dir, i, last)); e.status != exitDone {
				t.Fatalf("%+v", e)
			}
		}
		if got := mergedTest(t, dir, exitDone); got != want {
			t.Fatalf("killed and run again:\n%s\nundisturbed:\n%s", got, want)
		}
	}
	records := filepath.Join(t.TempDir(), "r.jsonl")
	writeTest(t, records, want)
	t.Chdir(filepath.Dir(dir)) // paths in records are those of the campaign file
	psafe(t, exitDone, "check", records)
}

// TestCampaignSignals: SIGTERM ends psafe run in time, within one pass of a minute too, and its
// file says so.
func TestCampaignSignals(t *testing.T) {
	noSignals(t)
	net, points := deepNet(t, 2000, 8)
	base := t.TempDir()
	writeTest(t, filepath.Join(base, "c.yaml"), fmt.Sprintf("posteriors: %s\ninputs: %s\neps: 0.001\n", net, points))
	dir := filepath.Join(base, "out")
	if e := signalled(t, 0, []string{"plan", filepath.Join(base, "c.yaml"), "--out", dir}); e.status != exitDone {
		t.Fatalf("%+v", e)
	}
	for _, s := range testscale.Few(t, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 1) {
		e := interrupted(t, 700*time.Millisecond, runShard(dir, 0, 1), s)
		t.Logf("%v: answered after %v: %s", s, e.after, e.text)
	}
	e := signalled(t, 0, append(runShard(dir, 0, 1), "--total-time-limit", "700ms"))
	if e.status != exitTime || !strings.Contains(e.text, "--total-time-limit ended the run") || e.after > 20*time.Second {
		t.Errorf("%+v", e)
	}
	failed, err := filepath.Glob(filepath.Join(dir, "results", "*.failed"))
	if err != nil || len(failed) < 2 {
		t.Errorf("%q, %v", failed, err)
	}
	var stdout, stderr bytes.Buffer
	if got := program([]string{"status", dir}, &stdout, &stderr); got != exitDone || !strings.Contains(stdout.String(), "stopped") {
		t.Errorf("status %d, %s%s", got, stdout.String(), stderr.String())
	}
}

// TestCampaignProgress: one progress for all jobs of a shard, of tasks.
func TestCampaignProgress(t *testing.T) {
	dir := smallCampaign(t)
	cmd := exec.Command("psafe", "run", dir, "--device", "cpu", "--progress", "json", "--quiet")
	text, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || !strings.Contains(lines[0], `"done":0,"total":120`) || !strings.Contains(lines[len(lines)-1], `"done":120,"total":120`) {
		t.Errorf("%v, %s", err, text)
	}
	for range 2 {
		cmd = exec.Command("psafe", "run", dir)
		cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX=2")
		text, err = cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(text), "JOB_COMPLETION_INDEX is 2: give --shards n") {
			t.Errorf("%v, %s", err, text)
		}
	}
}

// TestCampaignWithoutRecords: of a campaign that nobody has begun nothing can be said.
func TestCampaignWithoutRecords(t *testing.T) {
	dir := smallCampaign(t)
	for _, args := range [][]string{{"summary", dir}, {"report", dir, "--out", filepath.Join(t.TempDir(), "r.html")}} {
		if e := signalled(t, 0, args); e.status != exitUsage || !strings.HasPrefix(e.text, "psafe: "+dir+": none of its 120 tasks has a record so far: ") || strings.Count(e.text, "\n") != 1 {
			t.Errorf("%s: %+v", args[0], e)
		}
	}
}
