package child

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
)

// End is how a child ended; the zero value is that of one that does not end though it was killed.
type End struct {
	state   *os.ProcessState
	said    string
	flooded bool
	// starved says that the system killed it for the sake of memory.
	starved bool
	// lost is why the system does not know how it ended.
	lost error
}

// Status is the exit status, -1 if a signal ended it.
func (e *End) Status() int {
	if e.lost != nil || e.state == nil {
		return -1
	}
	return e.state.ExitCode()
}

// Said is what the child printed beside its report, the beginning and the end of it.
func (e *End) Said() string { return e.said }

// Patterns of what the Go runtime prints when it ends a program.
var (
	crashed = regexp.MustCompile(`(?m)^(?:\[signal )?(SIG[A-Z]+: [a-z ]+)`)
	goFault = regexp.MustCompile(`(?m)^(panic: |fatal error: )(.*)$`)
	foreign = regexp.MustCompile(`(?m)^(fatal error: unexpected signal|SIG[A-Z]+: |fatal: )`)
)

// OwnFault says that the program itself is at fault, and not a library in it: a panic,
// a deadlock, memory that ran out. Said is then its trace.
func (e *End) OwnFault() bool {
	return e.Status() == 2 && goFault.MatchString(e.said) && !foreign.MatchString(e.said)
}

// memory matches the words of Go's runtime, of C++ and of LLVM where they get no more memory, threads or
// descriptors.
var memory = regexp.MustCompile(`(?m)^(?:fatal error: |runtime: |terminate called after throwing an instance of '|LLVM ERROR: )?(` +
	`(?:runtime: )?(?:out of memory|cannot allocate memory|cannot map pages|failed to reserve page summary memory|failed to create new OS thread|newosproc|netpollinit failed|eventfd failed)` +
	`|fakecgo: pthread_create failed|std::bad_alloc)`)

// OutOfMemory is in a few words what the process did not get, memory or threads, that ended it; empty
// if something else did.
func (e *End) OutOfMemory() string {
	switch found := memory.FindStringSubmatch(e.said); {
	case e.Status() == 0:
		return ""
	case e.starved:
		return "the system has killed it"
	case found != nil:
		return found[1]
	}
	return ""
}

// KilledBy says that a signal ended the process.
func (e *End) KilledBy(s os.Signal) bool {
	return e.state != nil && e.state.String() == "signal: "+s.String()
}

// Fault is Go's word for it, where OwnFault is true.
func (e *End) Fault() string { return goFault.FindStringSubmatch(e.said)[2] }

// What says in a few words what the process did when it ended before it had said that
// it was done: "crashed (SIGSEGV: segmentation violation)".
func (e *End) What() string {
	switch status := e.Status(); {
	case e.lost != nil:
		return "ended in a way that the system does not know: " + e.lost.Error()
	case e.state == nil:
		return "cannot be ended"
	case e.flooded:
		return "flooded its output" + e.quote()
	case crashed.MatchString(e.said):
		return fmt.Sprintf("crashed (%s)", crashed.FindStringSubmatch(e.said)[1])
	case status < 0:
		return fmt.Sprintf("was ended (%v)", e.state) + e.quote()
	default:
		return fmt.Sprintf("ended the process with status %d", status) + e.quote()
	}
}

// mostQuoted is how much of a line is shown, in characters.
const mostQuoted = 200

// quote is the last line that the child printed, for the end of a message.
func (e *End) quote() string {
	lines := strings.Split(strings.TrimSpace(e.said), "\n")
	last := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, strings.TrimSpace(lines[len(lines)-1])))
	if len(last) == 0 {
		return ""
	}
	if len(last) > mostQuoted {
		last = append(last[:mostQuoted], '.', '.', '.')
	}
	return fmt.Sprintf(", saying %q", string(last))
}
