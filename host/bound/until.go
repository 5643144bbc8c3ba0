package bound

import (
	"context"
	"runtime"
)

// Until is dev for work that has to stop when ctx ends: from then on it gives no memory and
// moves no numbers, and the error is ctx's. A pass over a network asks for memory at every
// layer, so it stops within one operation, however deep the network is, and where dev can look
// inside of its operations (it has a method Within, as the fallback does, and OpenCL devices while
// they wait), within a part of one.
// Bounds that come out are dev's own.
func Until(ctx context.Context, dev Device) Device { return UntilOver(ctx.Err, dev) }

// UntilOver is Until for work that has to stop when over returns an error, which is what
// the device fails with, and may go on when it returns nil again.
func UntilOver(over func() error, dev Device) Device {
	u := until{looking(dev, over), over}
	if batched, ok := dev.(preferring); ok {
		return untilBatched{u, batched}
	}
	return u
}

// looking is dev, looking inside of its operations whether to go on, if it can.
func looking(dev Device, over func() error) Device {
	switch d := dev.(type) {
	case until:
		d.Device = looking(d.Device, over)
		return d
	case untilBatched:
		d.Device = looking(d.Device, over)
		return d
	case interface {
		Within(over func() error) Device
	}:
		return d.Within(over)
	}
	return dev
}

// Ended says why work on a device that Until has made has to stop, nil if it may go on: for what
// takes long on the host.
func Ended(dev Device) error {
	var u until
	switch d := dev.(type) {
	case until:
		u = d
	case untilBatched:
		u = d.until
	default:
		return nil
	}
	if err := u.over(); err != nil {
		return err
	}
	return Ended(u.Device)
}

// preferring is a device that says what size of batch suits it.
type preferring interface{ PreferredBatchBytes() int64 }

// Wide reports whether a device likes batches as large as its memory, as GPUs do: others are at their best
// while what one operation writes is still in a cache when the next reads it.
func Wide(dev Device) bool {
	p, ok := dev.(preferring)
	return ok && p.PreferredBatchBytes() >= dev.MemoryLimit()
}

// BatchItems is how many items a pass should have at most that writes much for each, so that what one
// operation writes is still in a cache when the next reads it (measured: docs/performance.md). No
// result depends on it.
func BatchItems(dev Device) int {
	switch _, prefers := dev.(preferring); {
	case Wide(dev):
		return 1024
	case prefers:
		return 32
	}
	return 4 * runtime.GOMAXPROCS(0)
}

// cachedByCore is what arrays may take of a cache for each core.
const cachedByCore = 12 << 20

// BatchBytes is how many bytes of arrays a pass of several weight boxes should have at most, for the same
// reason: they share no weights, so that more of them at once gain nothing. No result depends on it.
func BatchBytes(dev Device) int64 {
	if d, prefers := dev.(preferring); prefers {
		return d.PreferredBatchBytes()
	}
	return int64(runtime.GOMAXPROCS(0)) * cachedByCore
}

type until struct {
	Device
	over func() error
}

type untilBatched struct {
	until
	preferring
}

func (u until) NewArray(n int) (Array, error) {
	if err := u.over(); err != nil {
		return nil, err
	}
	return u.Device.NewArray(n)
}

func (u until) Write(dst Array, src []float64) error {
	if err := u.over(); err != nil {
		return err
	}
	return u.Device.Write(dst, src)
}

func (u until) Read(dst []float64, src Array) error {
	if err := u.over(); err != nil {
		return err
	}
	return u.Device.Read(dst, src)
}

// ReadSeveral is Read of several arrays, with one wait if the device can do that.
func (u until) ReadSeveral(dst [][]float64, src []Array) error {
	if err := u.over(); err != nil {
		return err
	}
	return ReadSeveral(u.Device, dst, src)
}
