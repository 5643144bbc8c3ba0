package gpu

import (
	"fmt"
	"sync"
	"time"

	"psafe/host/bound"
	"psafe/internal/fault"
)

// A driver may hang in any call, and nothing ends a call of foreign code. So all calls that a device
// makes once it is open are made by a goroutine of its own, one at a time, and whoever wants
// one waits for no longer than it can be worth. After that the device is lost: the goroutine is left
// in its call for good, nobody waits for it again and no other call is made. What a call reads or
// writes is memory that was made for it: what it leaves there later nobody looks at, and what it
// still reads nobody changes.

// How long a call may take: patience, or a quarter of it once the work has to end; and a hundred times
// what the queue needs at the best rate that the device has shown, if that is more. A machine that
// is busy slows the queue down, but not a hundred times.
const (
	patience = 60 * time.Second
	factor   = 100
	// opening is patience while the device is opened and tested, when drivers compile: whoever
	// opens one in a process of its own (cmd/psafe) is done with it no later.
	opening = 300 * time.Second
)

// driver is what makes the calls.
type driver struct {
	start sync.Once
	calls chan func()
	// patience replaces the constant, over says why the work has to end, nil if it need not.
	patience time.Duration
	over     func() error
	timer    *time.Timer
	hung     bool
}

// Within has the device wait less patiently for its driver once over returns an error.
func (d *Device) Within(over func() error) bound.Device {
	d.driver.over = over
	return d
}

// drive is what f returns, which calls the driver and touches nothing that anybody else does before it
// has returned, nor ever if it does not in time: then the error is that of a lost device. what names
// the operation.
func drive[T any](d *Device, what string, f func() (T, error)) (T, error) {
	var none T
	r := &d.driver
	if r.hung {
		return none, d.lost
	}
	r.start.Do(func() {
		r.calls = make(chan func())
		r.timer = time.NewTimer(time.Hour)
		calls := r.calls
		fault.Go(nil, func() {
			for call := range calls {
				call()
			}
		})
	})
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1) // which takes an answer that nobody waits for
	r.calls <- func() {
		v, err := f()
		answered <- answer{v, err}
	}
	// Time is counted in ticks: a process that was stopped for hours has seen one.
	most := r.patience
	if most <= 0 {
		most = patience
	}
	tick := most / 100
	for waited, late := time.Duration(0), time.Duration(0); ; waited += tick {
		r.timer.Reset(tick)
		select {
		case a := <-answered:
			return a.value, a.err
		case <-r.timer.C:
		}
		if r.over != nil && r.over() != nil {
			late += tick
		}
		if could := factor * d.ahead.needs(); waited >= max(most, could) || late >= max(most/4, could) {
			r.hung = true
			close(r.calls)
			return none, d.distrust(what, "did not answer in %v", (waited + tick).Round(time.Millisecond))
		}
	}
}

// driven is drive for calls that have nothing but an error.
func driven(d *Device, what string, f func() error) error {
	_, err := drive(d, what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Lost is the error after which the device cannot be used any more, nil before.
func (d *Device) Lost() error {
	if d.lost == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.Name(), d.lost)
}
