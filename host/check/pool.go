package check

import (
	"bytes"
	"context"
	"runtime"
	"sync"

	"psafe/internal/fault"
)

// Put hands a line of a result file over to be checked, as Checker.Check takes it; told is called with what that returns, in
// the order of lines, by who calls Put or by OnCores. The line may be written to afterwards. The error is the first of
// told, of this line or of one before, or that of the context.
type Put func(line []byte, onlyRead bool, told func(Verdict, error) error) error

// OnCores checks the lines that lines puts, on all cores. What is told does not depend on how many there are. If ctx
// ends, that is the error: then it waits for nothing, and also what came of lines behind one that has no verdict is
// told. What is at work ends at its next look at ctx.
func OnCores(ctx context.Context, given Files, lines func(Put) error) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pool{ctx: inner, lines: make(chan *pooled)}
	var wait sync.WaitGroup
	c := &Checker{Given: given}
	for range runtime.GOMAXPROCS(0) {
		fault.Go(&wait, func() {
			for l := range p.lines {
				l.verdict, l.err = c.Check(inner, l.line, l.onlyRead)
				close(l.done)
			}
		})
	}
	err := lines(p.put)
	close(p.lines)
	if err == nil {
		if err = p.tell(0); err == nil {
			wait.Wait()
		}
	}
	if ctx.Err() == nil {
		return err
	}
	for _, l := range p.queue {
		if err := p.tellReady(l); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pool holds lines to be checked; queue are those that nothing was told of.
type pool struct {
	ctx   context.Context
	lines chan *pooled
	queue []*pooled
}

// pooled is a line; done is closed once it has a verdict or an error.
type pooled struct {
	line     []byte
	onlyRead bool
	told     func(Verdict, error) error
	done     chan struct{}
	verdict  Verdict
	err      error
}

// put is a Put.
func (p *pool) put(line []byte, onlyRead bool, told func(Verdict, error) error) error {
	// Some lines may be ahead of one that takes long.
	if err := p.tell(4 * runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	l := &pooled{line: bytes.Clone(line), onlyRead: onlyRead, told: told, done: make(chan struct{})}
	select {
	case p.lines <- l:
		p.queue = append(p.queue, l)
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// tell tells what came of the first lines as far as it is there, and waits until at most so many are left.
func (p *pool) tell(left int) error {
	for len(p.queue) > 0 {
		l := p.queue[0]
		select {
		case <-l.done:
		default:
			if len(p.queue) <= left {
				return nil
			}
			select {
			case <-l.done:
			case <-p.ctx.Done():
				return p.ctx.Err()
			}
		}
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		p.queue = p.queue[1:]
		if err := l.told(l.verdict, l.err); err != nil {
			return err
		}
	}
	return nil
}

// tellReady tells what came of a line that has a verdict, after the context has ended.
func (p *pool) tellReady(l *pooled) error {
	select {
	case <-l.done:
	default:
		return nil
	}
	if l.err != nil { // that of the context
		return nil
	}
	return l.told(l.verdict, nil)
}
