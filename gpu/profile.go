package gpu

import (
	"slices"
	"strings"
	"time"

	"psafe/gpu/cl"
)

// KernelTime is what one kernel has cost since the device was opened.
type KernelTime struct {
	Name     string
	Launches int
	// Seconds on the device, without waiting in the queue.
	Seconds float64
	// Bytes of the arrays it had to read and write at least once, and Flops, the
	// multiplications and additions of the definition.
	Bytes, Flops int64
}

// Arrays is what a device has had to do for arrays since it was opened.
type Arrays struct {
	// Made is how many were asked for, Buffers how many of them needed new memory, and Fills how
	// many were filled before use.
	Made, Buffers, Fills int
	// FilledBytes is how much was filled, MostBytes the most that all buffers took together.
	FilledBytes, MostBytes int64
}

// Arrays returns these numbers.
func (d *Device) Arrays() Arrays { return d.pool.count }

// Waited is how long the host has waited for the device since it was opened, and how long ago that was:
// in the rest of the time it launched, or did work of its own, beside the device's or alone.
func (d *Device) Waited() (waited, of time.Duration) { return d.waited, time.Since(d.opened) }

// wait is f, whose time the host waits for the device.
func (d *Device) wait(f func() error) error {
	start := time.Now()
	defer func() { d.waited += time.Since(start) }()
	return f()
}

type timed struct {
	name  string
	event *cl.Event
	work
}

// profile collects times. Events are asked only after the queue was waited for.
type profile struct {
	on      bool
	pending []timed
	total   map[string]*KernelTime
}

func (p *profile) reset() { p.total = map[string]*KernelTime{} }

func (d *Device) collect() error {
	p := &d.profile
	pending := p.pending
	if p.pending = nil; len(pending) == 0 {
		return nil
	}
	took, err := drive(d, "Profile", func() ([]time.Duration, error) {
		var all []time.Duration
		for _, t := range pending {
			took, err := t.event.Duration()
			if err == nil {
				err = t.event.Release()
			}
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	for i, t := range pending {
		k := p.total[t.name]
		if k == nil {
			k = &KernelTime{Name: t.name}
			p.total[t.name] = k
		}
		k.Launches++
		k.Seconds += took[i].Seconds()
		k.Bytes += t.bytes
		k.Flops += t.flops
	}
	return nil
}

// ForgetProfile has Profile begin anew.
func (d *Device) ForgetProfile() error {
	err := d.Finish()
	d.profile.reset()
	return err
}

// Profile returns the costs of each kernel that has run, by name. It waits for
// the queue. Without Options.Profile there are none.
func (d *Device) Profile() ([]KernelTime, error) {
	if err := d.Finish(); err != nil {
		return nil, err
	}
	var list []KernelTime
	for _, k := range d.profile.total {
		list = append(list, *k)
	}
	slices.SortFunc(list, func(a, b KernelTime) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
