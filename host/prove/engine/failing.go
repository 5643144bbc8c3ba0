package engine

import (
	"errors"
	"fmt"

	"psafe/host/bound"
)

// A device that fails is asked once more, for halves of a chunk, and then the spare device is. One
// that is lost, or that fails again and again, is dropped as one that lies is: chunks would be tried on it
// for as long as there is work, each for nothing.

// mostFailures is how many more times than successes excuse a device may fail before it is dropped, and
// excuse how many times that is for each.
const (
	mostFailures = 8
	excuse       = 0.25
)

// isLost reports whether a device says of itself that it cannot be used any more.
func isLost(err error) bool {
	e, is := errors.AsType[interface {
		error
		DeviceLost() bool
	}](err)
	return is && e.DeviceLost()
}

// isUnfit reports whether err is a file's fault, which no other device would mend.
func isUnfit(err error) bool {
	_, is := errors.AsType[*bound.Unfit](err)
	return is
}

// failed takes in that the device has failed at a kind of work, which the spare one is to do. Its error
// is a *Dropped, and ends the work under way, if what rests on the device has to be computed again.
func (e *Engine) failed(work string, fault error) error {
	e.fault, e.moved = fault, e.moved+1
	e.failures++
	if _, err := e.spareModel(); err != nil {
		return err
	}
	if !isLost(fault) && e.failures < mostFailures {
		return nil
	}
	if err := e.drop(work, fmt.Sprintf("failed: %v", fault)); e.recheck.team != nil {
		return err
	}
	return nil
}

// inHalves does a chunk that the device has failed at: once more on the device, in halves, unless it
// is lost, and then on the spare one.
func inHalves[P any](e *Engine, work string, chunk []P, ask Asker[P], fault error) error {
	half := (len(chunk) + 1) / 2
	for _, part := range [][]P{chunk[:half], chunk[half:]} {
		if len(part) == 0 {
			continue
		}
		again := fault
		if !isLost(fault) && e.recheck.off == nil {
			var err error
			if again, err = onDevice(e, work, part, ask); again == nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		if over := e.timing.over(); over != nil {
			return over
		}
		if e.spare == nil {
			return fault
		}
		if e.recheck.off == nil {
			if err := e.failed(work, again); err != nil {
				return err
			}
		}
		if err := onSpare(e, part, ask); err != nil {
			return err
		}
	}
	return nil
}

// Somewhere prepares something on the device, or where that fails on the spare one.
func Somewhere[T any](e *Engine, work string, prepare func(on *bound.Model) (T, error)) (T, error) {
	if e.recheck.off == nil {
		v, err := prepare(e.Model)
		if err == nil || isUnfit(err) || e.spare == nil {
			return v, err
		}
		if over := e.timing.over(); over != nil {
			return v, over
		}
		if err := e.failed(work, err); err != nil {
			return v, err
		}
	}
	spare, err := e.spareModel()
	if err != nil {
		var none T
		return none, err
	}
	return prepare(spare)
}
