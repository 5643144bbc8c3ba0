package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"psafe/host/bound"
	"psafe/internal/child"
)

// A driver takes long to start and to compile kernels. So for --device auto a child lists devices, as probe has
// it, and then waits: "psafe __worker ? COMMAND ...". If this process chooses one of them, it tells the child,
// which tests the device and runs the command on it; otherwise it ends the child. A child that ends before its
// device is opened has written nothing, and that device is passed over as one whose test failed.
const (
	undecided   = "?"
	refusedWord = "refused "
)

// awaitChoice is the child: it lists devices and waits for one.
func awaitChoice(inside *child.Inside) string {
	if _, err := inside.Report.Write(probeReport(probeList)); err != nil {
		os.Exit(exitDevice)
	}
	return <-inside.Word
}

// refuseQuickly ends such a child whose device cannot be opened.
func refuseQuickly(err error) {
	if err != nil && worker != nil && worker.quick {
		tell(refusedWord + inOneLine(fmt.Sprintf("%.900s", err.Error())))
		os.Exit(exitDevice)
	}
}

// listing takes a list of devices before it hands a report on.
type listing struct {
	bounded
	then  *talk
	whole chan struct{}
	done  bool
}

func (l *listing) Write(p []byte) (int, error) {
	if l.done {
		return l.then.Write(p)
	}
	n, err := l.bounded.Write(p)
	if err == nil && bytes.HasSuffix(l.Bytes(), []byte("\n"+probeLast+"\n")) {
		l.done = true
		close(l.whole)
	}
	return n, err
}

// list asks a child what there is: one that waits, if that gives a whole list, or else one that does no more.
func (s *supervised) list(ctx context.Context) (*probed, error) {
	if !s.quick {
		return probe(ctx, listLimit, "list")
	}
	report := &listing{bounded: bounded{most: mostReport}, whole: make(chan struct{})}
	b, err := s.begin(append([]string{workerWord, undecided}, s.command...), func(t *talk) io.Writer { report.then = t; return report })
	if err != nil {
		return nil, err
	}
	s.waiting = b
	select {
	case <-report.whole:
		if found, good := readReport(report.String()); good {
			return found, nil
		}
	case end := <-b.ended:
		b.ended <- end
	case <-time.After(patience(listLimit)):
	case <-ctx.Done():
	}
	s.dismiss()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.quick = false
	return probe(ctx, listLimit, "list")
}

// dismiss ends the child that waits, if one does.
func (s *supervised) dismiss() {
	if b := s.waiting; b != nil {
		s.waiting = nil
		b.c.Kill()
		<-b.ended
		_ = b.close()
	}
}

// ran is how a command ended that was run while a device was chosen.
type ran struct{ err error }

func (e *ran) Error() string { return fmt.Sprintf("it was run: %v", e.err) }

// isLast reports whether no other device is to be tried.
func isLast(ctx context.Context, err error) bool {
	_, done := errors.AsType[*ran](err)
	return done || ctx.Err() != nil
}

// take has a device tested, and notes that it was chosen if it passed. By the child that waits the command is
// run then, too: the error is a *ran.
func (s *supervised) take(ctx context.Context, word string, p bound.Precision, note string) error {
	id := strings.TrimSuffix(word, withCores)
	b := s.waiting
	if b == nil {
		err := testDevice(ctx, id, p)
		if err == nil {
			s.chosen(note)
		}
		return err
	}
	before := len(s.notes)
	s.chosen(note)
	s.waiting, s.device = nil, id
	b.c.Tell(word)
	end, why := s.attend(ctx, b)
	closed, failed := b.close(), s.judge(b.t, end, why)
	opened, refused := b.t.opening()
	switch {
	case opened || why.interrupted || b.t.said() >= 0 || end != nil && (end.OutOfMemory() != "" || end.OwnFault()):
		return &ran{cmp.Or(closed, failed)}
	case end == nil:
		end = &child.End{}
	}
	s.quick, s.device, s.notes = false, "", s.notes[:before]
	switch {
	case refused != "":
		return &refusal{errors.New(refused)}
	case why.late > 0:
		return blamed(fmt.Errorf("%s did not answer in %v", stranger(), why.late))
	}
	return blamed(fmt.Errorf("%s %s", stranger(), end.What()))
}
