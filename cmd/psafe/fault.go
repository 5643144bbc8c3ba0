package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"psafe/internal/fault"
)

// A panic in whatever goroutine is a fault of psafe. It ends the program with a line and a
// status of its own, as a signal does: what is finished is on the disk. Where a child computes,
// it does so there; what Go ends itself in a child, such as a stack that overflows, its
// supervisor tells of.

// faults holds what a fault needs to know of the program.
var faults = struct {
	sync.Mutex
	stderr io.Writer
	// beside is the file or folder of results, as an absolute path, empty if there is none.
	beside string
	status int
}{stderr: os.Stderr, status: exitFault}

// faultStatus sets the status that a fault from now on ends the program with.
func faultStatus(status int) {
	faults.Lock()
	defer faults.Unlock()
	faults.status = status
}

// faultBeside sets where the results of the program are to be.
func faultBeside(path string) {
	if full, err := filepath.Abs(path); err == nil { // a campaign changes the folder
		faults.Lock()
		defer faults.Unlock()
		faults.beside = full
	}
}

// faultTo sets where standard error is, if it is not os.Stderr.
func faultTo(stderr io.Writer) {
	faults.Lock()
	defer faults.Unlock()
	faults.stderr = stderr
}

// mistake is the error of what a fault of psafe has ended.
type mistake struct {
	status int
	// what was panicked, or Go's word for it. trace says where its trace is, kept where finished
	// records are; both may be empty.
	what, trace, kept string
	// asking is what a process asked, and did nothing else, that it ended; empty for psafe itself.
	asking string
}

func (m *mistake) Error() string {
	if m.asking != "" {
		return fmt.Sprintf("a fault of psafe ended the process that asked %s: %s (report it with its trace, %s)", m.asking, m.what, m.trace)
	}
	text := "a fault of psafe, not of what it was given, ended it: " + m.what + ": finished records are safe"
	if m.kept != "" {
		text += " (" + m.kept + ")"
	}
	if m.trace != "" {
		text += "; report it with its trace, " + m.trace
	}
	return text
}

func isMistake(err error) bool { _, is := errors.AsType[*mistake](err); return is }

// mostFault is the length of the part of a panic that the line has.
const mostFault = 400

// newMistake writes the trace. It is ended by a panic, so it waits for nothing and nobody.
func newMistake(what, trace, kept string) *mistake {
	faults.Lock()
	stderr, beside, status := faults.stderr, faults.beside, faults.status
	faults.Unlock()
	if len(what) > mostFault {
		what = what[:mostFault] + "..."
	}
	text := fmt.Sprintf("psafe %s, %s, %s/%s\n%q\n\n%s\n\n%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Args, what, trace)
	return &mistake{status: status, what: what, trace: leaveTrace(stderr, beside, text), kept: kept}
}

// leaveTrace puts a trace beside the results, else into the folder for temporary files, else
// on standard error, where PSAFE_TRACE=1 always has it, and says where it is.
func leaveTrace(stderr io.Writer, beside, text string) string {
	folders := []string{os.TempDir()}
	if info, err := os.Stat(beside); err == nil && info.IsDir() {
		folders = []string{beside, os.TempDir()}
	} else if beside != "" {
		folders = []string{filepath.Dir(beside), os.TempDir()}
	}
	if os.Getenv("PSAFE_TRACE") == "1" {
		folders = nil
	}
	for _, folder := range folders {
		// Not by outfile, which lets nobody begin a file once the program is ending.
		path := filepath.Join(folder, fmt.Sprintf("psafe-fault-%08x.txt", rand.Uint32()))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			continue
		}
		_, err = io.WriteString(f, text)
		if e := f.Close(); err == nil && e == nil {
			return path
		}
		os.Remove(path)
	}
	fmt.Fprint(stderr, strings.ReplaceAll(text, "\t", "    "))
	return "above this line"
}

// guarded is program, which a panic ends by endFault. A process that asks drivers is left to Go:
// who started it tells of its end.
func guarded(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] != probeWord {
		faultTo(&door{w: stderr})
		fault.Ends(endFault)
		defer fault.Catch()
	}
	return program(args, stdout, stderr)
}

// faultTidying is the time that a fault waits for a disk or a terminal that takes nothing.
const faultTidying = 5 * time.Second

// endFault ends the program after a panic.
func endFault(what any, trace []byte) {
	faults.Lock()
	stderr, status := faults.stderr, faults.status
	faults.Unlock()
	said := fmt.Sprint(what)
	endNow(stderr, faultTidying, &mistake{status: status, what: said}, func(kept string) error { return newMistake(said, string(trace), kept) })
}
