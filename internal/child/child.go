// Package child runs this program again, as a process that may crash without harm. It may hang or
// flood its output, too. What is run there speaks on a pipe of its own; what it prints otherwise is
// kept, up to a limit, for the message about its end.
//
// A child dies with its parent: it watches a pipe that closes when the parent ends, and
// on Linux the kernel kills it. On Unix it leads a process group, so that it is killed
// with everything that it started, and signals of a terminal reach the parent alone.
package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"psafe/internal/fault"
	"psafe/internal/infile"
)

// Options are how a child is started.
type Options struct {
	// Args are those behind the program's name.
	Args []string
	// Stdin, Stdout and Stderr are for the child's own use (see Outputs); only where
	// CanWork. Without Stdin it has none.
	Stdin, Stdout, Stderr *os.File
	// Report gets what the child says. Where it returns an error, such as ErrFlood, the
	// child is killed.
	Report io.Writer
	// Flood is how many bytes a child may print beside its report, 0 for any number;
	// then it is killed.
	Flood int64
}

// ErrFlood is what a Report returns that has got more than can be true.
var ErrFlood = errors.New("too long a report")

// Child is a process that was started.
type Child struct {
	cmd *exec.Cmd
	// The parent's ends of pipes, which two goroutines in reading read.
	report, chatter, lifeline *os.File
	said                      *tail
	reading                   sync.WaitGroup

	mu sync.Mutex
	// ended says that the process is no more: its number may be another's. killed says that Kill was
	// called before.
	ended, flooded, killed bool
	// starved is how many processes the system had killed for the sake of memory at the start.
	starved int64
}

// Start starts a child. Its error is the system's.
func Start(o Options) (*Child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: &exec.Cmd{Path: exe, Args: append([]string{os.Args[0]}, o.Args...)}}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func(reads bool) (mine, other *os.File) {
		if err != nil {
			return nil, nil
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err != nil {
			return nil, nil
		}
		mine, other = r, w
		if !reads {
			mine, other = w, r
		}
		theirs = append(theirs, other)
		return mine, other
	}
	var report, chatter, life *os.File
	c.report, report = pipe(true)
	c.chatter, chatter = pipe(true)
	c.lifeline, life = pipe(false)
	if err == nil {
		wire(c.cmd, o, report, chatter, life)
		err = c.cmd.Start()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	c.said, c.starved = &tail{limit: o.Flood}, infile.Starved()
	for to, from := range map[io.Writer]*os.File{o.Report: c.report, c.said: c.chatter} {
		fault.Go(&c.reading, func() {
			// A buffer must not fill itself (io.ReaderFrom) past what its Write refuses.
			if _, err := io.Copy(struct{ io.Writer }{to}, from); err != nil {
				c.mu.Lock()
				c.flooded = c.flooded || errors.Is(err, ErrFlood)
				c.mu.Unlock()
				c.Kill()
			}
		})
	}
	return c, nil
}

func (c *Child) close() {
	for _, f := range []*os.File{c.report, c.chatter, c.lifeline} {
		if f != nil {
			f.Close()
		}
	}
}

// Signal sends a signal to the child. It may be called at any time, by any goroutine,
// like Kill.
func (c *Child) Signal(s os.Signal) { _ = c.cmd.Process.Signal(s) }

// Tell tells the child its one word (Inside.Word), before Wait is called.
func (c *Child) Tell(word string) { _, _ = io.WriteString(c.lifeline, word+"\n") }

// Kill ends the child and what it started, at once.
func (c *Child) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.killed = true
		killGroup(c.cmd.Process)
	}
}

// linger is how long a pipe that something still holds is read after the child's end.
const linger = time.Second

// Wait waits for the end of the child and says how it ended. Whatever the child left
// running in its process group is killed.
func (c *Child) Wait() *End {
	err := c.cmd.Wait()
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	c.Kill()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	done := make(chan struct{})
	fault.Go(nil, func() { c.reading.Wait(); close(done) })
	select {
	case <-done:
	case <-time.After(linger):
	}
	c.close() // ends the reading in any case
	<-done
	_, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		return &End{lost: err}
	}
	e := &End{state: c.cmd.ProcessState, said: c.said.text(), flooded: c.flooded}
	e.starved = !killed && e.KilledBy(os.Kill) && infile.Starved() > c.starved
	return e
}

// tail keeps the beginning and the end of what is written to it.
type tail struct {
	limit, n   int64 // a limit of 0 is none
	head, last []byte
}

// How much a tail keeps.
const (
	keepHead = 256 << 10
	keepLast = 4 << 10
)

func (t *tail) Write(b []byte) (int, error) {
	room := min(len(b), keepHead-len(t.head))
	t.head = append(t.head, b[:room]...)
	t.last = append(t.last, b[room:]...)
	if over := len(t.last) - keepLast; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	if t.n += int64(len(b)); t.limit > 0 && t.n > t.limit {
		return len(b), ErrFlood
	}
	return len(b), nil
}

func (t *tail) text() string { return string(t.head) + string(t.last) }
