//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// addressSpace is what a process that reads a bomb may have, in KiB as ulimit -v takes it.
const addressSpace = 4 << 20

// ended is how a run of the program ended.
type ended struct {
	status         int
	stdout, stderr string
	// peak is the most memory that it held, cpu the time that it computed.
	peak int64
	cpu  time.Duration
}

// limitedRun runs psafe within addressSpace. What hangs is killed after a while.
func limitedRun(t *testing.T, stdin io.Reader, args ...string) ended {
	t.Helper()
	script := fmt.Sprintf(`ulimit -v %d; exec psafe "$@"`, addressSpace)
	if race {
		script = `exec psafe "$@"`
	}
	cmd := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	told := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(os.Environ(), "PSAFE_DEVICE=cpu", peakFile+"="+told, "GOGC=", "GOMEMLIMIT=") // make test has its own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(10*time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !stop.Stop() {
		t.Fatalf("psafe %s hung", args)
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	state := cmd.ProcessState
	return ended{state.ExitCode(), stdout.String(), stderr.String(), peakIn(told), state.UserTime() + state.SystemTime()}
}

// peakIn reads the peak of memory from a copy of /proc/PID/status, -1 if there is none.
func peakIn(path string) int64 {
	text, _ := os.ReadFile(path)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int64 = -1
	_, _ = fmt.Sscan(after, &kilobytes)
	return kilobytes << 10
}

// refused demands one line that names the file and says what is wrong.
func (e ended) refused(t *testing.T, path, want string) {
	t.Helper()
	if e.status != exitUsage || !strings.HasPrefix(e.stderr, "psafe: ") || strings.Count(e.stderr, "\n") != 1 ||
		!strings.Contains(e.stderr, want) || !strings.Contains(e.stderr, path) && want[0] != '-' || len(e.stderr) > 1000 {
		t.Errorf("status %d, %.2000q; want one line with %q of %s", e.status, e.stderr, want, path)
	}
}

// TestBombs holds the program to the table of limits in docs/files.md: what is small on
// disk and large in memory ends with one line, within 4 GiB of address space.
func TestBombs(t *testing.T) {
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			if b.deep {
				testscale.DeepOnly(t)
			}
			if race && strings.Contains(b.want, " of memory") {
				t.Skip("under the race detector address space has no limit, and what a file may take is what the machine has")
			}
			dir := t.TempDir()
			path := b.make(t, dir)
			args := []string{}
			for _, arg := range strings.Fields(b.command) {
				switch arg {
				case "FILE":
					arg = path
				case "OUT":
					arg = filepath.Join(dir, "out.npz")
				case "NET":
					arg = testFile("tiny-2-3-2-tanh.npz")
				case "POINTS":
					arg = filepath.Join(dir, "points.csv")
					writeTest(t, arg, "0,1\n")
				}
				args = append(args, arg)
			}
			e := limitedRun(t, nil, args...)
			size := int64(0)
			if info, err := os.Stat(path); err == nil {
				size = info.Size()
			}
			t.Logf("%d bytes: %.0f MB at most, %.1f s of computing: %s", size, float64(e.peak)/1e6, e.cpu.Seconds(), strings.ReplaceAll(e.stderr, dir, "."))
			if b.want == "" {
				if e.status != exitDone {
					t.Errorf("status %d: %.500s", e.status, e.stderr)
				}
			} else {
				e.refused(t, path, b.want)
			}
			if (e.peak > b.peak<<20 || e.peak < 0) && !race {
				t.Errorf("took %d MiB, more than %d", e.peak>>20, b.peak)
			}
			// Measured under 4 s, alone on the machine.
			if e.cpu > time.Minute {
				t.Errorf("computed for %v", e.cpu)
			}
		})
	}
}

// places are the flags and arguments that name a file to read; FILE stands for it.
var places = [][]string{
	{"certify", "--posterior", "NET", "--inputs", "FILE", "--eps", "0.1"},
	{"certify", "--posterior", "NET", "--inputs", "FILE.npz:x", "--eps", "0.1"},
	{"certify", "--posterior", "NET", "--inputs", "POINTS", "--eps", "0.1", "--label", "FILE"},
	{"certify", "--posterior", "NET", "--property", "FILE"},
	{"certify", "--posterior", "FILE", "--inputs", "POINTS", "--eps", "0.1"},
	{"predict", "--posterior", "FILE", "--inputs", "POINTS"},
	{"predict", "--posterior", "NET", "--inputs", "FILE"},
	{"predict", "--posterior", "NET", "--inputs", "POINTS", "--label", "FILE"},
	{"verify", "FILE", "--network", "f=NET"},
	{"verify", "QUERY", "--network", "f=FILE"},
	{"inspect", "FILE"},
	{"convert", "FILE", "--out", "OUT"},
	{"crosscheck", "--posterior", "FILE"},
	{"train", "--data", "FILE", "--task", "regression", "--out", "OUT"},
	{"train", "--data", "POINTS", "--labels", "FILE", "--task", "classification", "--out", "OUT"},
	{"plot", "eps", "FILE", "--out", "OUT.svg"},
	{"summary", "FILE"},
	{"report", "FILE", "--out", "OUT.html"},
}

// TestSpecialFiles names what is no regular file at every place where a file is read: it
// is refused at once, and nothing waits.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTest(t, at("points.csv"), "0,1\n")
	writeTest(t, at("q.vnnlib"), "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (= X_0 0))(assert (<= Y_0 0))")
	for _, name := range []string{"fifo", "fifo.npz"} {
		if err := syscall.Mkfifo(at(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PSAFE_DEVICE", "cpu")
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := os.Mkdir(at("folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, what := range map[string]string{at("fifo"): "is a pipe", at("socket"): "is a socket", at("folder"): "is a folder", "/dev/zero": "is a device"} {
		for _, place := range places {
			line := strings.Join(place, " ")
			if what != "is a pipe" && strings.Contains(line, ":x") {
				continue
			}
			want := what
			if what == "is a folder" && (strings.Contains(line, "--posterior FILE") || strings.Contains(line, "f=FILE") || place[0] == "inspect" || place[0] == "convert") {
				want = "arch.json" // of a deepbayes directory
			}
			var args []string
			for _, arg := range place {
				arg = strings.ReplaceAll(arg, "FILE", path)
				arg = strings.ReplaceAll(arg, "OUT", at("out.npz"))
				arg = strings.ReplaceAll(arg, "QUERY", at("q.vnnlib"))
				arg = strings.ReplaceAll(arg, "NET", testFile("tiny-2-3-2-tanh.npz"))
				args = append(args, strings.ReplaceAll(arg, "POINTS", at("points.csv")))
			}
			e := ended{}
			if place[0] == "inspect" || testscale.Deep(t) {
				e = limitedRun(t, nil, args...)
			} else { // all read files by the same call, which that has shown to need no memory
				e.status, e.stdout, e.stderr = endOf(args...)
			}
			if e.refused(t, path, want); t.Failed() {
				t.Fatalf("psafe %s", line)
			}
		}
	}
}

// TestInputsFromPipe: what a pipe at standard input gives is read like a file, and a
// signal ends the waiting for it.
func TestInputsFromPipe(t *testing.T) {
	points := "0.0,1\n0.1,0.9\n"
	path := filepath.Join(t.TempDir(), "points.csv")
	writeTest(t, path, points)
	run := func(stdin io.Reader, name string) string {
		e := limitedRun(t, stdin, "certify", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", name, "--eps", "0.01", "--omit-timing")
		if e.status != exitDone {
			t.Fatal(e.stderr)
		}
		return withoutChecksums(strings.ReplaceAll(e.stdout, name, "NAME"))
	}
	if piped, read := run(strings.NewReader(points), "/dev/stdin"), run(nil, path); piped != read || strings.Count(read, "\n") != 2 {
		t.Errorf("from a pipe:\n%s\nfrom a file:\n%s", piped, read)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("psafe", "certify", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", "/dev/stdin", "--eps", "0.01", "--device", "cpu")
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = r, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.Close()
		// More than a pipe holds: when all is written, the program is reading.
		if _, err := w.WriteString(strings.Repeat("0,1\n", 1<<17)); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		_ = cmd.Process.Signal(signal)
		select {
		case <-done:
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("%v: status %d, %q", signal, code, stderr.String())
			}
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Errorf("%v: waited on", signal)
		}
		w.Close()
	}
}
