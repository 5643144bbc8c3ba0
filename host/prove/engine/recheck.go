package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"psafe/host/bound"
	"psafe/host/bound/selfcheck"
	"psafe/host/prove/claim"
)

// Devices promise equal bits, so an engine's device is compared with the spare one for as
// long as it works: some of the answers are asked for again and have to agree, number by
// number. A result rests on several kinds of work, and is held back (held.go) until a recheck
// of every one of them has agreed that came after it.

// Recheck describes how often an engine's answers are asked for again on the spare device. It
// concerns no result of a device that keeps its promise.
type Recheck struct {
	// Share is the share of the time that goes into asking again, in [0, 1]: while less has,
	// one answer of a chunk is asked for again. It is of time since a spare device may be a
	// thousand times slower than a device. Above 0 an answer of the first chunk of every kind
	// of work is asked for again in any case, and one of the last chunk; at 1 all answers are.
	Share float64
	// Seed chooses the answers.
	Seed uint64
	// Tell, if set, is told of a device that is dropped, by the goroutine of its engine.
	Tell func(*Dropped)
}

// Dropped reports why a device is not asked any more: a number that is not the spare device's, or a
// result that the spare device gives otherwise.
type Dropped struct {
	// Device and Spare are names; Work is what was asked for, and Differs says in words how
	// the answer of Device is another than that of Spare.
	Device, Spare, Work, Differs string
	// Found is set if the device's result contradicted itself and the spare device's did
	// not; there is no Work then.
	Found *claim.Contradiction
}

// Error is one line that names the device and what differed.
func (d *Dropped) Error() string {
	if d.Found != nil {
		return fmt.Sprintf("device %s is dropped: its %v, and on %s they do not", d.Device, d.Found, d.Spare)
	}
	return fmt.Sprintf("device %s is dropped: %s %s", d.Device, d.Work, d.Differs)
}

// Answer holds what a device was asked for of one item of a chunk.
type Answer struct {
	// Numbers are all that was read from the device for the item.
	Numbers []float64
	// Take writes to the item what follows from them.
	Take func()
}

// Asker asks a model for the answers of a part of a chunk. No number of an answer depends on
// which other items are in the part.
type Asker[P any] func(on *bound.Model, part []P) ([]Answer, error)

// recheck holds what an engine knows of its device's reliability.
type recheck struct {
	Recheck
	// off is set once the device has been dropped: all is asked of the spare one then.
	off *Dropped
	// launched counts the chunks that the device has answered.
	launched uint64
	// works are the kinds of work of these chunks, and the operations that they are made of.
	works []*work
	// began is when that began, spent how long rechecks have taken since.
	began time.Time
	spent time.Duration
	// team holds back what rests on the engine, nil if nothing does.
	team *team
}

// work is a kind of work, and what is known of how the device does it.
type work struct {
	name string
	// again compares the device with the spare one in the latest chunk.
	again func() error
	// since is the first chunk after which no recheck of the work has agreed, 0 if there is none.
	since uint64
	// agreed reports whether a recheck has, ever, and took how long the latest was.
	agreed bool
	took   time.Duration
}

// operations is the work that all others are made of. A wrong number may be lost on the way
// to an answer, as where another bound is better, and not in the next answer. So the operations
// are compared one by one, too: in small jobs that have every one of them.
const operations = "the self-check"

// Recheck sets how often the device is compared with the spare one; before, it is not.
// Without a spare device there is nothing to compare with.
func (e *Engine) Recheck(r Recheck) {
	e.recheck.Recheck, e.recheck.began = r, time.Now()
}

// recheckSome asks the spare device for some of the answers that the device gave, of a kind
// of work. The error is a *Dropped if a number differs.
func recheckSome[P any](e *Engine, name string, chunk []P, answers []Answer, ask Asker[P]) error {
	r := &e.recheck
	switch {
	case r.Share == 0 || e.spare == nil:
		return nil
	case r.Share == 1:
		return compare(e, name, chunk, answers, ask)
	}
	r.launched++
	one := rand.New(rand.NewPCG(r.Seed, r.launched)).IntN(len(chunk))
	items, given := []P{chunk[one]}, []Answer{answers[one]} // copies: what is kept is small
	w := r.did(name, func() error { return compare(e, name, items, given, ask) })
	r.did(operations, e.compareOperations)
	// What waits for rechecks gets them first.
	if w.agreed && (r.holds() || !r.affordable()) {
		return nil
	}
	return r.do(w)
}

// did notes that the latest chunk is of a kind of work, or made of it.
func (r *recheck) did(name string, again func() error) *work {
	at := slices.IndexFunc(r.works, func(w *work) bool { return w.name == name })
	if at < 0 {
		at, r.works = len(r.works), append(r.works, &work{name: name})
	}
	w := r.works[at]
	if w.again = again; w.since == 0 {
		w.since = r.launched
	}
	return w
}

// do does a recheck of a kind of work. If it agrees, all chunks so far are confirmed, as far
// as they are of it.
func (r *recheck) do(w *work) error {
	start := time.Now()
	err := w.again()
	w.took = time.Since(start)
	r.spent += w.took
	if err == nil {
		w.since, w.agreed, w.again = 0, true, nil
	}
	return err
}

// doubted is the kind of work of which chunks wait for a recheck the longest, nil if none do.
func (r *recheck) doubted() *work {
	var oldest *work
	for _, w := range r.works {
		if w.since > 0 && (oldest == nil || w.since < oldest.since) {
			oldest = w
		}
	}
	return oldest
}

// affordable reports whether less time has gone into rechecks than may.
func (r *recheck) affordable() bool {
	return r.spent.Seconds() <= r.Share*time.Since(r.began).Seconds()
}

// Results wait no longer than mostHeld for rechecks that take up to cheapRecheck, whatever
// share of the time that is: they are not on the disk before. For dearer ones they wait up to
// heldTimes as long as those take.
const (
	mostHeld     = 4 * time.Second
	cheapRecheck = mostHeld / 10
	heldTimes    = 20
)

// holds reports whether results wait for rechecks.
func (r *recheck) holds() bool { return r.team != nil && len(r.team.held) > 0 }

// overdue reports whether results have waited long enough for their rechecks.
func (r *recheck) overdue() bool {
	if !r.holds() {
		return false
	}
	var takes time.Duration
	for _, w := range r.works {
		if w.since > 0 {
			takes += w.took
		}
	}
	waited := time.Since(r.team.held[0].since)
	return waited > mostHeld && takes <= max(cheapRecheck, waited/heldTimes)
}

// compare asks the spare device for the answers of items, a kind of work, and compares.
func compare[P any](e *Engine, name string, items []P, given []Answer, ask Asker[P]) error {
	spare, err := e.spareModel()
	if err != nil {
		return err
	}
	for len(items) > 0 {
		few := min(len(items), spareChunk)
		again, err := ask(spare, items[:few])
		if err != nil {
			return err
		}
		for i := range again {
			if differs := differ(given[i].Numbers, again[i].Numbers, spare.Device().Name()); differs != "" {
				return e.drop(name, differs)
			}
		}
		items, given = items[few:], given[few:]
	}
	return nil
}

// compareOperations compares what every operation of the device gives in small jobs.
func (e *Engine) compareOperations() error {
	spare, err := e.spareModel()
	if err != nil {
		return err
	}
	if e.expected == nil {
		if e.expected, err = selfcheck.Brief(spare.Device()); err != nil {
			return err
		}
	}
	traces, err := selfcheck.Brief(e.Device)
	if over := e.timing.over(); err != nil && over != nil {
		return over
	}
	if err != nil { // whether it lies, nobody can say any more
		return e.drop(operations, fmt.Sprintf("failed: %v", err))
	}
	for i, t := range traces {
		if operation := t.Differs(e.expected[i].Digest()); operation != "" {
			return e.drop(operations, fmt.Sprintf("gave other numbers in %s (job %q) than %s has", operation, t.Job, spare.Device().Name()))
		}
	}
	return nil
}

// differ returns what is different in two answers, the second of them spare's: the first number
// with other bits, or how many there are. It is "" if nothing is. All NaN are alike.
func differ(a, b []float64, spare string) string {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; math.Float64bits(x) != math.Float64bits(y) && !(math.IsNaN(x) && math.IsNaN(y)) {
			return fmt.Sprintf("gave %x (%.6g) where %s has %x (%.6g)", x, x, spare, y, y)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("gave %d numbers where %s has %d", len(a), spare, len(b))
	}
	return ""
}

// confirm does the rechecks that results wait for, those first that are waited for the longest:
// all of them, or as many as are affordable.
func (e *Engine) confirm(all bool) error {
	r := &e.recheck
	for w := r.doubted(); w != nil && (all || r.affordable()); w = r.doubted() {
		if err := r.do(w); err != nil {
			return err
		}
	}
	return nil
}

// drop ends the use of the device, which does a kind of work otherwise than the spare one.
func (e *Engine) drop(work, differs string) error {
	return e.dropFor(&Dropped{Device: e.Device.Name(), Spare: e.backup.Device().Name(), Work: work, Differs: differs})
}

// dropFor ends the use of the device.
func (e *Engine) dropFor(why *Dropped) error {
	e.recheck.off, e.recheck.works = why, nil
	if e.recheck.Tell != nil {
		e.recheck.Tell(why)
	}
	return why
}

// isDropped reports whether err is that of a device that was dropped.
func isDropped(err error) bool {
	_, is := errors.AsType[*Dropped](err)
	return is
}
