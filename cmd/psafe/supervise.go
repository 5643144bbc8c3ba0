package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"psafe/gpu/cl"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/internal/child"
	"psafe/internal/fault"
)

// A command that computes on an OpenCL device runs in a child, "psafe __worker DEVICES
// COMMAND ...", with the inputs and outputs of this process. This process loads no driver:
// it passes signals on, and if a driver ends the child it says so in a line. The child
// reports, one line each:
//
//	opening    a driver is about to open devices and to test them
//	opened     it has
//	refused    a device did not pass: what follows says why (quick.go)
//	done N     the command ended with exit status N; the child exits with it at once
const workerWord = "__worker"

// worker is what a child of supervise knows; nil in a process that nobody supervises.
var worker *struct {
	report *os.File
	// devices are what the supervisor made of the words for devices.
	devices []string
	// quick says that the supervisor takes another device if this one is refused.
	quick bool
}

// tell reports to the supervisor, if there is one.
func tell(line string) {
	if worker != nil {
		fmt.Fprintln(worker.report, line)
	}
}

// runWorker is the child: it runs the command.
func runWorker(args []string) int {
	var inside *child.Inside
	if len(args) >= 2 {
		inside = child.Enter(true)
	}
	if inside == nil {
		fmt.Fprintf(os.Stderr, "psafe: no command %q: psafe help lists them\n", workerWord)
		return exitUsage
	}
	worker = &struct {
		report  *os.File
		devices []string
		quick   bool
	}{report: inside.Report}
	faultTo(&door{w: inside.Stderr})
	if args[0] == undecided {
		worker.devices, worker.quick = []string{awaitChoice(inside)}, true
	} else if err := json.Unmarshal([]byte(args[0]), &worker.devices); err != nil {
		panic("psafe: " + err.Error())
	}
	status := program(args[1:], inside.Stdout, inside.Stderr)
	tell("done " + strconv.Itoa(status))
	return status
}

// exited is the error of a command whose child has said everything.
type exited struct{ status int }

func (e *exited) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// supervised is a command that may use OpenCL.
type supervised struct {
	// command are the arguments of this process.
	command        []string
	stdout, stderr io.Writer
	// device is what drivers are needed for, empty where none is.
	device string
	// keep is the file or folder in which records stay that are finished, empty if there
	// is none. again says how to go on from there.
	keep, again string
	// work, if it is set, is about how many multiplications the command takes: then --device auto
	// means an OpenCL CPU where that is worth its start. With explain what auto means, and why, is
	// among the notes.
	work    func() float64
	explain bool
	// quick says that nothing is lost if the child that begins is not the one that computes: its outputs are
	// empty, and its inputs can be read again. waiting is that child, once it has listed devices.
	quick   bool
	waiting *begun
	// notes wait until devices are opened: only then are the arguments known to be valid, and
	// something to be computed.
	notes []string
}

// later keeps a note.
func (s *supervised) later(line string) { s.notes = append(s.notes, line) }

// showNotes prints what was kept.
func (s *supervised) showNotes() {
	for _, line := range s.notes {
		printLine(s.stderr, noColour, "psafe: note:", line)
	}
	s.notes = nil
}

func newSupervised(ctx context.Context, stdout, stderr io.Writer, keep string) *supervised {
	return &supervised{command: commandLine(ctx), stdout: stdout, stderr: stderr, keep: keep, again: "add --resume"}
}

// supervised is run for a command with these flags.
func (d *deviceFlags) supervised(ctx context.Context, s *supervised) (done bool, err error) {
	p, err := d.number()
	if err != nil {
		return false, err
	}
	d.opening = s.showNotes
	return s.run(ctx, p, &d.device)
}

// run decides where a command is computed. The words for devices become cpu or what the
// child gives them as; if done, a child has run the command and err is its end.
func (s *supervised) run(ctx context.Context, p bound.Precision, words ...*string) (done bool, err error) {
	if worker != nil {
		for i, w := range words {
			*w = worker.devices[i]
		}
		return false, nil
	}
	if err := patienceMistaken(); err != nil {
		return true, err
	}
	var devices []string
	for _, w := range words {
		if *w == "" {
			*w = "auto"
		}
		if *w == "auto" && cl.Installed() {
			s.quick = s.quick && len(words) == 1 && child.CanWork
			*w, err = s.chooseDevice(ctx, p)
			s.dismiss()
			if ran, is := errors.AsType[*ran](err); is {
				return true, ran.err
			} else if err != nil {
				return true, err
			}
		}
		devices = append(devices, *w)
	}
	if s.device = usesDriver(devices); !child.CanWork || s.device == "" && !watchesOver() {
		return false, nil
	}
	return s.inChild(ctx, devices)
}

// usesDriver is the first of devices that a driver is needed for, empty if none is.
func usesDriver(devices []string) string {
	i := slices.IndexFunc(devices, func(w string) bool { return w != "cpu" })
	if i < 0 || !cl.Installed() {
		return ""
	}
	return devices[i]
}

// inChild runs the command in a child; a command that needs no driver goes on here where no child can be
// started.
func (s *supervised) inChild(ctx context.Context, devices []string) (done bool, err error) {
	list, err := json.Marshal(devices)
	if err != nil {
		panic("psafe: " + err.Error())
	}
	s.command = append([]string{workerWord, string(list)}, s.command...)
	err = s.supervise(ctx)
	if _, none := errors.AsType[*noChild](err); none && s.device == "" {
		return false, nil
	}
	return true, err
}

// noChild says that no process can be started.
type noChild struct{ err error }

func (e *noChild) Error() string {
	return fmt.Sprintf("no process can be started for %s: %v", stranger(), e.err)
}
func (e *noChild) Unwrap() error { return e.err }

// How long a child has after a signal before it is killed, a little more than it takes to end
// by itself: what is finished is on the disk already.
const grace = respite + 3*tidying

// begun is a child with the outputs of this process, what it reports, and its end; close is for after that.
type begun struct {
	c     *child.Child
	t     *talk
	ended chan *child.End
	close func() error
}

// begin starts a child, whose report goes through reader.
func (s *supervised) begin(command []string, reader func(*talk) io.Writer) (*begun, error) {
	stdout, outDone, err := asFile(s.stdout)
	if err != nil {
		return nil, err
	}
	stderr, errDone, err := asFile(s.stderr)
	if err != nil {
		return nil, errors.Join(err, outDone())
	}
	b := &begun{t: &talk{lines: make(chan string, 16), done: -1}, ended: make(chan *child.End, 1), close: func() error { return errors.Join(outDone(), errDone()) }}
	if b.c, err = startChild(child.Options{Args: command, Stdin: os.Stdin, Stdout: stdout, Stderr: stderr, Report: reader(b.t)}); err != nil {
		return nil, errors.Join(&noChild{err}, b.close())
	}
	fault.Go(nil, func() { b.ended <- b.c.Wait() })
	return b, nil
}

// supervise runs the command in a child. Its error has the exit status with which this
// process is to end.
func (s *supervised) supervise(ctx context.Context) error {
	b, err := s.begin(s.command, func(t *talk) io.Writer { return t })
	if err != nil {
		return err
	}
	end, why := s.attend(ctx, b)
	if err := b.close(); err != nil {
		return err
	}
	return s.judge(b.t, end, why)
}

// why a child was killed.
type why struct {
	interrupted bool
	late        time.Duration
	opening     bool // is where it ended
	done        bool // it had said that it was, and did not end
}

// attend passes signals on until the child ends; its end is nil if it does not even when it is killed.
func (s *supervised) attend(ctx context.Context, b *begun) (*child.End, why) {
	c := b.c
	supervising.Store(true)
	defer supervising.Store(false)
	pass, suspend := child.Signals()
	pass = slices.DeleteFunc(pass, signal.Ignored) // as nohup has it
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(pass, suspend)...)
	defer signal.Stop(signals)

	var w why
	var tooLate, finished, gone, limit, unsignalled <-chan time.Time
	cancelled := ctx.Done()
	kill := func() {
		c.Kill()
		gone = time.After(grace)
	}
	interrupt := func(s os.Signal) {
		if w.interrupted {
			kill() // a second signal ends at once
			return
		}
		w.interrupted, tooLate = true, time.After(grace)
		c.Signal(s)
	}
	for {
		select {
		case end := <-b.ended:
			return end, w
		case s := <-signals:
			if s == suspend {
				c.Suspend()
				continue
			}
			interrupt(s)
		case <-cancelled: // by a signal, which is under way to signals, or by a caller
			cancelled, unsignalled = nil, time.After(grace/20)
		case <-unsignalled:
			if !w.interrupted {
				interrupt(os.Interrupt)
			}
		case <-tooLate:
			kill()
		case <-finished:
			w.done = true
			kill()
		case <-gone: // a driver keeps it in the kernel, where nothing ends it
			return nil, w
		case <-limit:
			w.late = patience(testLimit)
			kill()
		case line := <-b.t.lines:
			if line == doneLine {
				finished = time.After(grace)
				continue
			}
			w.opening = line == "opening"
			if !s.quick || line == "opened" { // until then another device may be taken
				s.showNotes()
			}
			if limit = nil; w.opening {
				limit = time.After(patience(testLimit))
			}
		}
	}
}

// judge makes an error of a child's end.
func (s *supervised) judge(t *talk, end *child.End, w why) error {
	where := ""
	if info, err := os.Stat(s.keep); s.keep != "" && err == nil && info.Size() > 0 {
		where = ": what is finished is in " + plain(s.keep)
	}
	if done := t.said(); done >= 0 && (w.done || end != nil && done == end.Status()) {
		if done == exitDone {
			return nil
		}
		return &exited{done}
	}
	eraseBar(s.stderr) // that nobody ended
	switch {
	case w.interrupted:
		return &certify.Interrupted{Words: where}
	case end == nil:
		end = &child.End{}
	}
	kept := strings.TrimPrefix(where, ": ")
	if where != "" {
		where += ": " + s.again + " to go on from there"
	}
	switch memory := end.OutOfMemory(); {
	case memory != "":
		return &outOfMemory{memory, where}
	case end.OwnFault():
		return newMistake(end.Fault(), end.Said(), kept)
	case s.device == "":
		return endOfCPU(end, where, kept)
	}
	what, when := end.What(), "in the middle of the run"
	if w.late > 0 {
		what = fmt.Sprintf("did not answer in %v", w.late)
	}
	if w.opening {
		when = "while the device was opened and tested"
	}
	return blamed(&certify.DeviceError{Err: fmt.Errorf("--device %s: %s %s %s%s", s.device, stranger(), what, when, where)})
}

// asFile is a file that ends up in w, and what to call when nobody writes to it any more.
func asFile(w io.Writer) (f *os.File, done func() error, err error) {
	if f, ok := behind(w).(*os.File); ok {
		return f, func() error { return nil }, nil
	}
	r, f, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	copied := make(chan error, 1)
	fault.Go(nil, func() {
		_, err := io.Copy(w, r)
		copied <- err
	})
	return f, func() error {
		err := f.Close()
		return errors.Join(err, <-copied, r.Close())
	}, nil
}
