//go:build unix

package child

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain is the children too: "__child WHAT".
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "__child" {
		os.Exit(m.Run())
	}
	inside := Enter(os.Args[2] == "outputs")
	if inside == nil {
		os.Exit(99)
	}
	behave(os.Args[2], inside)
}

func behave(what string, inside *Inside) {
	fmt.Fprintln(inside.Report, what)
	switch what {
	case "outputs":
		fmt.Fprint(inside.Stdout, "out")
		fmt.Fprint(inside.Stderr, "err")
		fmt.Println("chatter")
		os.Exit(7)
	case "panic":
		panic("a mistake")
	case "report":
		for {
			fmt.Fprintln(inside.Report, strings.Repeat("x", 1000))
		}
	case "flood":
		for {
			fmt.Println(strings.Repeat("y", 1000))
		}
	case "grandchild": // it holds what is printed
		c := exec.Command("sleep", "1000")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			os.Exit(98)
		}
		fmt.Println("left", c.Process.Pid)
		os.Exit(0)
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "sleep":
		time.Sleep(time.Hour)
	case "parent": // of one that sleeps
		c, err := Start(Options{Args: []string{"__child", "sleep"}, Report: inside.Report})
		if err != nil {
			os.Exit(98)
		}
		fmt.Fprintln(inside.Report, c.cmd.Process.Pid)
		c.Wait()
	}
	os.Exit(0)
}

// short takes a report of some bytes.
type short struct{ bytes.Buffer }

func (s *short) Write(b []byte) (int, error) {
	if s.Len() > 5000 {
		return 0, ErrFlood
	}
	return s.Buffer.Write(b)
}

// ends runs a child to its end.
func ends(t *testing.T, what string, o Options) (*End, string) {
	t.Helper()
	var report short
	o.Args, o.Report = []string{"__child", what}, &report
	c, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Wait(), report.String()
}

// TestEnds: how children end, and what is told of it.
func TestEnds(t *testing.T) {
	for what, c := range map[string]struct {
		status int
		says   string
		own    bool
	}{
		"good":       {0, "status 0", false},
		"panic":      {2, "status 2", true},
		"report":     {-1, "flooded its output", false},
		"flood":      {-1, "flooded its output, saying \"yyy", false},
		"grandchild": {0, "status 0, saying \"left", false},
		"killed":     {-1, "killed", false},
	} {
		start := time.Now()
		end, report := ends(t, what, Options{Flood: 1 << 20})
		if end.Status() != c.status || !strings.Contains(end.What(), c.says) || end.OwnFault() != c.own || !strings.HasPrefix(report, what+"\n") {
			t.Errorf("%s: status %d, %s, own fault %v, report %.20q", what, end.Status(), end.What(), end.OwnFault(), report)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", what, took)
		}
		if len(end.Said()) > keepHead+keepLast {
			t.Errorf("%s: %d bytes kept", what, len(end.Said()))
		}
		var pid int
		if _, err := fmt.Sscanf(end.Said(), "left %d", &pid); err == nil {
			gone(t, pid)
		}
	}
}

// TestOutputs: a child writes to its parent's outputs, and what a library prints goes
// elsewhere.
func TestOutputs(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	end, report := ends(t, "outputs", Options{Stdout: w, Stderr: w})
	w.Close()
	text, err := io.ReadAll(r)
	if err != nil || string(text) != "outerr" || report != "outputs\n" || end.Said() != "chatter\n" || end.Status() != 7 {
		t.Errorf("%q, %v, report %q, said %q, status %d", text, err, report, end.Said(), end.Status())
	}
}

// TestOrphan: a child dies with its parent.
func TestOrphan(t *testing.T) {
	var report short
	c, err := Start(Options{Args: []string{"__child", "parent"}, Report: &report})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	c.Signal(syscall.SIGKILL) // the parent alone: the sleeper leads a group of its own
	c.Wait()
	var pid int
	for line := range strings.Lines(report.String()) {
		if n, _ := fmt.Sscan(line, &pid); n == 1 {
			break
		}
	}
	if pid == 0 {
		t.Fatalf("no child: %q", report.String())
	}
	gone(t, pid)
}

// gone waits until there is no such process, but perhaps one that nobody has waited for.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// TestByHand: whoever starts a child without its pipes is refused.
func TestByHand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(exe, "__child", "good").Run(); err == nil || err.Error() != "exit status 99" {
		t.Errorf("%v", err)
	}
}

// TestOwnFault: who is at fault, by what the Go runtime prints.
func TestOwnFault(t *testing.T) {
	end := func(said string) *End {
		c := exec.Command("sh", "-c", "exit 2")
		_ = c.Run()
		return &End{state: c.ProcessState, said: said}
	}
	for said, own := range map[string]bool{
		"panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:":                                       true,
		"fatal error: all goroutines are asleep - deadlock!\n":                                                         true,
		"fatal error: runtime: out of memory\n":                                                                        true,
		"SIGSEGV: segmentation violation\nPC=0x7f m=0 sigcode=1\nsignal arrived":                                       false,
		"fatal error: unexpected signal during runtime execution\n[signal SIGSEGV: segmentation violation code=0x1]\n": false,
		"fatal: bad g in signal handler\n":                                                                             false,
		"a driver's last words\n":                                                                                      false,
		"":                                                                                                             false,
	} {
		if e := end(said); e.OwnFault() != own {
			t.Errorf("%q: own fault %v", said, !own)
		}
	}
	for said, memory := range map[string]string{
		"fatal error: runtime: out of memory\n": "runtime: out of memory", "fatal error: out of memory allocating heap arena map\n": "out of memory", "fatal error: newosproc\n": "newosproc",
		"fatal error: runtime: cannot allocate memory\n": "runtime: cannot allocate memory", "runtime: failed to create new OS thread (have 5 already; errno=11)\n": "failed to create new OS thread",
		"fakecgo: pthread_create failed: 11\nSIGABRT: abort\nPC=0x7f": "fakecgo: pthread_create failed", "terminate called after throwing an instance of 'std::bad_alloc'\n": "std::bad_alloc",
		"LLVM ERROR: out of memory\nAllocation failed\n": "out of memory", "fatal error: failed to reserve page summary memory\n": "failed to reserve page summary memory",
		"panic: out of memory\n": "", "fatal error: stack overflow\n": "", "a driver's words: out of memory": "", "": "",
	} {
		if got := end(said).OutOfMemory(); got != memory {
			t.Errorf("%q: out of memory %q, want %q", said, got, memory)
		}
	}
	if got := end("x\n\x1b[2J" + strings.Repeat("é", 300)).What(); strings.ContainsRune(got, '\x1b') || len([]rune(got)) > 300 {
		t.Errorf("%q", got)
	}
	if got := end("SIGSEGV: segmentation violation\nPC=0").What(); got != "crashed (SIGSEGV: segmentation violation)" {
		t.Errorf("%q", got)
	}
}
