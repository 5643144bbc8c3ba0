//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// cluster is a Slurm of two nodes on this machine: scripts/slurm-one.sh.
type cluster struct {
	t     *testing.T
	dir   string
	stdin io.Writer
}

// newCluster starts a cluster, which ends with the test and leaves nothing running, or skips
// the test where none can be had. Commands of Slurm talk to it from then on.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start a Slurm cluster")
	}
	for _, tool := range []string{"slurmctld", "slurmd", "munged", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: install slurm-wlm and munge", tool)
		}
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no process-id namespaces, which the nodes of the cluster need: %s", out)
	}
	c := &cluster{t: t, dir: filepath.Join(t.TempDir(), "cluster")}
	cmd := exec.Command("bash", "../../scripts/slurm-one.sh", c.dir)
	stdin, errIn := cmd.StdinPipe()
	stdout, errOut := cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	c.stdin = stdin
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("slurm-one.sh: %v", err)
		}
		c.leaves()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("slurm-one.sh: %q, %v\n%s", line, err, c.logs())
	}
	t.Setenv("SLURM_CONF", filepath.Join(c.dir, "slurm.conf"))
	return c
}

// leaves reports what of the cluster still runs.
func (c *cluster) leaves() {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), c.dir) {
			c.t.Errorf("still there: %q", line)
		}
	}
}

// tell has slurm-one.sh kill or start a node.
func (c *cluster) tell(order string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.stdin, order); err != nil {
		c.t.Fatal(err)
	}
	c.t.Log(order)
}

// logs are the ends of what the daemons wrote, or of files in another folder.
func (c *cluster) logs() string { return ends(filepath.Join(c.dir, "log"), "*.out") }

func ends(dir, names string) string {
	all := ""
	paths, _ := fs.Glob(os.DirFS(dir), names)
	for _, path := range paths {
		text, _ := fs.ReadFile(os.DirFS(dir), path)
		all += path + ":\n" + string(text[max(0, len(text)-3000):]) + "\n"
	}
	return all
}

// slurm runs a command of Slurm and returns the lines of its output.
func (c *cluster) slurm(args ...string) []string {
	c.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// until asks every half second, and starts jobs at once that Slurm has queued again and would
// leave for two minutes.
func (c *cluster) until(what string, limit time.Duration, is func() bool) {
	c.t.Helper()
	for start := time.Now(); !is(); time.Sleep(time.Second / 2) {
		if time.Since(start) > limit {
			c.t.Fatalf("not after %v: %s\n%s\n%s", limit, what, strings.Join(c.slurm("squeue"), "\n"), c.logs())
		}
		for _, line := range c.slurm("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i %r") {
			if job, reason, _ := strings.Cut(line, " "); reason == "BeginTime" {
				// It may have started meanwhile.
				_ = exec.Command("scontrol", "update", "JobId="+job, "StartTime=now").Run()
			}
		}
	}
	c.t.Logf("%s", what)
}

// started is a start of a shard, as the stand-in for psafe on the nodes writes it down.
type started struct{ shard, restarts, node, gpu string }

// starts returns the starts of shards so far, in their order.
func starts(t *testing.T, log string) []started {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var list []started
	for line := range strings.Lines(string(text)) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(w) != 4 {
			t.Fatalf("%s: %q", log, line)
		}
		list = append(list, started{w[0], w[1], w[2], w[3]})
	}
	return list
}

// wrapper is psafe on the nodes: it writes down that a shard starts and where; shard 5 finds,
// the first time, that its device broke.
const wrapper = `#!/bin/sh
[ "$1" = run ] || exec %[1]s "$@"
echo "$SLURM_ARRAY_TASK_ID ${SLURM_RESTART_COUNT:-0} $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES" >> %[2]s
[ "$SLURM_ARRAY_TASK_ID ${SLURM_RESTART_COUNT:-0}" != "5 0" ] || exit 3
exec %[1]s "$@"
`

// campaignOfGlyphs is a campaign of 16,000 tasks, a minute or two of work on one core.
func campaignOfGlyphs() string {
	var eps []string
	for i := range 40 {
		eps = append(eps, fmt.Sprintf("0.%03d", 2*i+1))
	}
	return `posteriors: [glyphs-64-32-10.npz, glyphs-64-24-24-10.npz]
inputs: glyphs-test-images-idx3-ubyte.gz
eps: [` + strings.Join(eps, ", ") + `]
methods: [clbp, {method: clbp, precision: float64}]
`
}

// TestSlurm runs a campaign of 16 shards on a real Slurm of two nodes. A device breaks, a
// shard comes to the end of its time, and a node dies with what runs on it and comes back;
// the job that merges starts by itself, and its file is that of one run, byte for byte.
func TestSlurm(t *testing.T) {
	testscale.DeepOnly(t)
	if testing.Short() {
		t.Skip("takes minutes: not with -short")
	}
	c := newCluster(t)
	dir := t.TempDir()
	if err := copyTestdata(dir); err != nil {
		t.Fatal(err)
	}
	second := "glyphs-64-24-24-10.npz"
	writeTest(t, filepath.Join(dir, second), readTest(t, filepath.Join("../../testdata", second)))
	program, log := filepath.Join(dir, "psafe"), filepath.Join(dir, "starts")
	c.slurm("go", "build", "-o", program, ".")
	onNodes := filepath.Join(dir, "psafe on nodes")
	if err := os.WriteFile(onNodes, fmt.Appendf(nil, wrapper, program, log), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(dir, "campaign.yaml")
	writeTest(t, spec, campaignOfGlyphs())

	alone, folder := filepath.Join(dir, "alone"), filepath.Join(dir, "100% of it's shards")
	merged, want := filepath.Join(dir, "merged.jsonl"), filepath.Join(dir, "alone.jsonl")
	c.slurm(program, "plan", spec, "--out", alone)
	c.slurm(program, "plan", spec, "--out", folder)
	start := time.Now()
	c.slurm(program, "run", alone, "--device", "cpu", "--omit-timing")
	c.slurm(program, "merge", alone, "--out", want)
	t.Logf("one run: %.0f s", time.Since(start).Seconds())

	defer func() {
		if t.Failed() {
			t.Logf("%s\n%v", ends(filepath.Join(folder, "logs"), "*.log"), starts(t, log))
		}
	}()
	start = time.Now()
	t.Log(c.slurm("sh", "-c", `"$0" submit slurm "$1" --shards 16 --gpus 1 --cpus 1 --mem 1G --psafe "$2" --out "$3" -- --device cpu --omit-timing | sh`, program, folder, onNodes, merged))
	late := c.faults(log, func() {
		said := c.slurm(program, "status", folder, "--shards", "16")
		t.Log(said[len(said)-1])
	})
	c.until("all jobs ended", 15*time.Minute, func() bool { return c.slurm("squeue", "--noheader")[0] == "" })
	t.Logf("the campaign: %.0f s", time.Since(start).Seconds())

	if a, b := readTest(t, want), readTest(t, merged); a != b {
		t.Errorf("merged %d bytes are not those of one run, %d", len(b), len(a))
	}
	// What the attempts had written that were killed or told to stop.
	left, err := fs.Glob(os.DirFS(folder), "results/*.partial")
	kept := 0
	for _, name := range left {
		kept += strings.Count(readTest(t, filepath.Join(folder, name)), "\n")
	}
	if t.Logf("%d attempts left %d records", len(left), kept); err != nil || len(left) == 0 || kept == 0 {
		t.Errorf("nothing was gone on with: %v", err)
	}
	c.wereStarted(starts(t, log), late)
}

// faults kills n2 once it is well under way, tells a shard on n1 that its time is up, and has
// n2 come back; between them it calls look. It returns the number of that shard.
func (c *cluster) faults(log string, look func()) (late string) {
	c.until("n2 has begun its third shard", 10*time.Minute, func() bool {
		n := 0
		for _, s := range starts(c.t, log) {
			if s.node == "n2" {
				n++
			}
		}
		return n >= 3
	})
	c.tell("kill n2")
	job := ""
	c.until("a shard runs on n1", time.Minute, func() bool {
		for _, job = range c.slurm("squeue", "--noheader", "--array", "--states=RUNNING", "--nodelist=n1", "--sort=-M", "--format=%i") {
			if _, late, _ = strings.Cut(job, "_"); late != "" && late != "5" {
				return true
			}
		}
		return false
	})
	// What Slurm does a minute before the time limit. The status of scancel is any, and it
	// waits for ever for a shard that has ended meanwhile.
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	_ = exec.CommandContext(ctx, "scancel", "--batch", "--signal=USR1", job).Run()
	c.t.Logf("the time of %s is up", job)
	c.until("n2 is down", 2*time.Minute, func() bool {
		return strings.HasPrefix(c.slurm("sinfo", "--noheader", "--nodes=n2", "--format=%T")[0], "down")
	})
	look()
	c.tell("start n2")
	return late
}

// wereStarted holds the starts of shards to what happened to them.
func (c *cluster) wereStarted(all []started, late string) {
	again, gpus := map[string]int{}, map[string]bool{}
	for _, s := range all {
		if s.restarts != "0" {
			again[s.shard]++
			c.t.Logf("shard %s: SLURM_RESTART_COUNT=%s, on %s with CUDA_VISIBLE_DEVICES=%s", s.shard, s.restarts, s.node, s.gpu)
			continue // Slurm 22.05 sometimes forgets the GPU of a job that scontrol update started
		}
		gpus[s.node+" "+s.gpu] = true
	}
	for shard, why := range map[string]string{"5": "its device broke", late: "its time was up"} {
		if again[shard] == 0 {
			c.t.Errorf("shard %s did not start again, although %s", shard, why)
		}
	}
	if delete(again, "5"); len(again) < 2 {
		c.t.Errorf("no shard of the node that died started again: %v", all)
	}
	for _, want := range []string{"n1 0", "n1 1", "n2 0", "n2 1"} {
		if !gpus[want] {
			c.t.Errorf("no shard had the GPU %s: %v", want, gpus)
		}
	}
	if len(gpus) != 4 {
		c.t.Errorf("GPUs of shards: %v", gpus)
	}
}
