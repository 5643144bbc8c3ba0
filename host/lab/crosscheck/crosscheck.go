// Package crosscheck compares two devices on the same jobs: every number of every operation, then
// the bounds of both precisions. It is how somebody who has a new device, driver or kind of network
// finds out whether "the same bits on every device" holds there. It certifies nothing. Package main
// of psafe opens the devices and prints the results.
package crosscheck

import (
	"context"
	"errors"
	"fmt"

	"psafe/host/bound"
	"psafe/host/lab/lockstep"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// MostTasks is the greatest number of tasks compared; others are left out.
const MostTasks = 16

// Settings describe what psafe crosscheck does.
type Settings struct {
	// Posterior has independent normal weights, or is one of which concentration LBP alone is asked.
	Posterior *posterior.Posterior
	// Tasks fit the posterior; OwnTasks makes some.
	Tasks      []property.Task
	Methods    []prove.Method
	Precisions []bound.Precision
	// Seed holds the seed of the weight boxes.
	Seed uint64
	// Open gives the devices. It is called once for each of Precisions.
	Open func(bound.Precision) (*Pair, error)
	// Equal is told of each method and precision as soon as the devices have agreed on it,
	// Overlap of each method at the end, if it ran in both precisions.
	Equal   func(Equal)
	Overlap func(Overlap)
}

// Pair is the two devices in one precision; Close ends their use.
type Pair struct {
	A, B  bound.Device
	Close func()
}

// methods are the methods that bound: prove.IBP and prove.LBP on weight boxes, and concentration LBP.
var methods = []prove.Method{prove.IBP, prove.LBP, prove.CLBP}

// ParseMethod reads one of the methods that can be compared.
func ParseMethod(word string) (prove.Method, error) {
	for _, m := range methods {
		if m.String() == word {
			return m, nil
		}
	}
	return 0, fmt.Errorf("%q is none of ibp, lbp, clbp", word)
}

// Fits returns in one line why a posterior cannot be compared by a method; nil if it can.
func Fits(post *posterior.Posterior, m prove.Method) error {
	return (&prove.Config{Method: m}).Fits(post)
}

// Equal reports that two devices wrote the same bits.
type Equal struct {
	Method    prove.Method
	Precision bound.Precision
	// Devices names both.
	Devices string
	// Numbers is how many numbers were compared, Operations how many operations wrote them.
	Numbers    int64
	Operations int
}

// Difference describes what a crosscheck looks for: two devices of which one wrote other bits (it
// wraps a *lockstep.Difference), or bounds of both precisions that contradict each other. It is one
// line that names the place and the values in hexadecimal.
type Difference struct{ Err error }

func (e *Difference) Error() string { return e.Err.Error() }
func (e *Difference) Unwrap() error { return e.Err }

// Run compares. Errors: *Difference at the first one; the context's if it ended; that of Open
// or of a device.
func (j *Settings) Run(ctx context.Context) error {
	found := map[run][]bounds{}
	for _, p := range j.Precisions {
		if err := j.devices(ctx, p, found); err != nil {
			return err
		}
	}
	for _, m := range j.Methods {
		narrow, wide := found[run{m, bound.Float64}], found[run{m, bound.Float32}]
		if narrow == nil || wide == nil {
			continue
		}
		o, err := overlap(narrow, wide)
		if err != nil {
			return &Difference{fmt.Errorf("%s: DIFFERENCE between precisions in %w", m, err)}
		}
		o.Method = m
		j.Overlap(o)
	}
	return nil
}

// run is one comparison of the devices.
type run struct {
	method    prove.Method
	precision bound.Precision
}

// devices compares the devices in a precision, by every method, and keeps the bounds.
func (j *Settings) devices(ctx context.Context, p bound.Precision, found map[run][]bounds) error {
	pair, err := j.Open(p)
	if err != nil {
		return err
	}
	defer pair.Close()
	for _, m := range j.Methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		both := lockstep.New(pair.A, pair.B)
		w := j.work(both)
		err := w.run(ctx, m)
		if both.First != nil { // which may have been asked again, in parts, without one
			err = both.First
		}
		if err != nil {
			if d, ok := errors.AsType[*lockstep.Difference](err); ok {
				return &Difference{fmt.Errorf("%s %v: DIFFERENCE in %w", m, p, d)}
			}
			return err
		}
		found[run{m, p}] = w.found
		j.Equal(Equal{m, p, both.Name(), both.Compared, both.Operations})
	}
	return nil
}
