package certify

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"psafe/host/bound"
)

// Devices promise equal bits, so an engine's device is compared with the spare one for as
// long as it works: some of the answers are asked for again and have to agree, number by
// number. What comes after the latest such recheck is held back (held.go) until the next.

// Recheck says how often an engine's answers are asked for again on the spare device. It
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

// Dropped says why a device is not asked any more: a number that is not the spare
// device's, or a result that the spare device gives otherwise.
type Dropped struct {
	// Device and Spare are names; Work is what was asked for.
	Device, Spare, Work string
	// Is and Want are the first number that differs, on Device and on Spare.
	Is, Want float64
	// Found is set if the device's result contradicted itself and the spare device's did
	// not; there is no Work then.
	Found *Contradiction
}

// Error is one line that names the device and what differed.
func (d *Dropped) Error() string {
	if d.Found != nil {
		return fmt.Sprintf("device %s is dropped: its %v, and on %s they do not", d.Device, d.Found, d.Spare)
	}
	return fmt.Sprintf("device %s is dropped: %s gave %x (%.6g) where %s has %x (%.6g)", d.Device, d.Work, d.Is, d.Is, d.Spare, d.Want, d.Want)
}

// answer is what a device was asked for of one item of a chunk.
type answer struct {
	// numbers are all that was read from the device for the item.
	numbers []float64
	// take writes to the item what follows from them.
	take func()
}

// asker asks a model for the answers of a part of a chunk. No number of an answer depends on
// which other items are in the part.
type asker[P any] func(on *bound.Model, part []P) ([]answer, error)

// recheck is what an engine knows of its device's reliability.
type recheck struct {
	Recheck
	// off is set once the device has been dropped: all is asked of the spare one then.
	off *Dropped
	// launched counts the chunks that the device has answered, confirmed is the number of
	// the latest of which an answer was asked for again.
	launched, confirmed uint64
	// began is when that began, spent how long rechecks have taken since.
	began time.Time
	spent time.Duration
	// last is how long the latest took.
	last time.Duration
	// again asks again for an answer of chunk number launched.
	again func() error
	// seen are the kinds of work of which an answer has been asked for again.
	seen map[string]bool
	held []held
}

// Recheck sets how often the device is compared with the spare one; before, it is not.
// Without a spare device there is nothing to compare with.
func (e *Engine) Recheck(r Recheck) {
	e.recheck.Recheck, e.recheck.began, e.recheck.seen = r, time.Now(), map[string]bool{}
}

// recheckSome asks the spare device for some of the answers that the device gave, of a kind
// of work. The error is a *Dropped if a number differs.
func recheckSome[P any](e *Engine, work string, chunk []P, answers []answer, ask asker[P]) error {
	r := &e.recheck
	if r.Share == 0 || e.spare == nil {
		return nil
	}
	if r.launched++; r.Share == 1 {
		err := compareAll(e, work, chunk, answers, ask)
		if err != nil { // nothing is taken in, so no result waits for this chunk
			r.launched--
		}
		return err
	}
	one := rand.New(rand.NewPCG(r.Seed, r.launched)).IntN(len(chunk))
	items, given := []P{chunk[one]}, []answer{answers[one]} // copies: what r.again keeps is small
	r.again = func() error { return compareAll(e, work, items, given, ask) }
	if r.seen[work] && !r.affordable() {
		return nil
	}
	return r.again()
}

// affordable says that less time has gone into rechecks than may.
func (r *recheck) affordable() bool {
	return r.spent.Seconds() <= r.Share*time.Since(r.began).Seconds()
}

// Results wait no longer than mostHeld for a recheck that takes up to cheapRecheck, whatever
// share of the time that is: they are not on the disk before.
const (
	mostHeld     = 4 * time.Second
	cheapRecheck = mostHeld / 10
)

// overdue says that results have waited long enough for a recheck.
func (r *recheck) overdue() bool {
	return len(r.held) > 0 && time.Since(r.held[0].since) > mostHeld && r.last <= cheapRecheck
}

// compareAll asks the spare device for the answers of items and compares. If all agree, the
// device is confirmed up to the chunk that it answered last.
func compareAll[P any](e *Engine, work string, items []P, given []answer, ask asker[P]) error {
	r := &e.recheck
	defer func(start time.Time) {
		r.last = time.Since(start)
		r.spent += r.last
	}(time.Now())
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
			if at := differ(given[i].numbers, again[i].numbers); at >= 0 {
				return e.drop(&Dropped{Device: e.dev.Name(), Spare: spare.Device().Name(), Work: work, Is: given[i].numbers[at], Want: again[i].numbers[at]})
			}
		}
		items, given = items[few:], given[few:]
	}
	r.seen[work], r.confirmed, r.again = true, r.launched, nil
	return nil
}

// differ is the first index at which two answers have other bits, -1 if there is none. All
// NaN are alike.
func differ(a, b []float64) int {
	if len(a) != len(b) {
		panic(fmt.Sprintf("certify: an answer of %d numbers was one of %d before", len(b), len(a)))
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return i
		}
	}
	return -1
}

// confirm asks again for an answer of the latest chunk, unless that has been done.
func (e *Engine) confirm() error {
	if e.recheck.off != nil || e.recheck.again == nil {
		return nil
	}
	return e.recheck.again()
}

// drop ends the use of the device.
func (e *Engine) drop(why *Dropped) error {
	e.recheck.off, e.recheck.again = why, nil
	if e.recheck.Tell != nil {
		e.recheck.Tell(why)
	}
	return why
}

// isDropped says that err is that of a device that was dropped.
func isDropped(err error) bool {
	_, is := errors.AsType[*Dropped](err)
	return is
}
