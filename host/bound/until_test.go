package bound_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
)

// batched is a device with a batch that suits it.
type batched struct{ bound.Device }

func (batched) PreferredBatchBytes() int64 { return 4711 }

// TestUntil: a device with an end is the device until then, and afterwards fails at
// whatever a pass has to do in each layer.
func TestUntil(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	dev := bound.Until(ctx, fallback.New(bound.Float64))
	a, err := dev.NewArray(2)
	got := make([]float64, 2)
	if err := errors.Join(err, dev.Write(a, []float64{1, 2}), dev.Read(got, a)); err != nil || got[0] != 1 || got[1] != 2 {
		t.Errorf("before the end: %v, %v", got, err)
	}
	if all, err := bound.ReadEach(dev, a, a); err != nil || len(all) != 2 || all[1][1] != 2 {
		t.Errorf("before the end: %v, %v", all, err)
	}
	blind := bound.Until(ctx, batched{fallback.New(bound.Float64)}) // which does not look inside
	b, err := blind.NewArray(2)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := bound.ReadEach(blind, b, b); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadEach: %v", err)
	}
	if _, err := dev.NewArray(2); !errors.Is(err, context.Canceled) {
		t.Errorf("NewArray: %v", err)
	}
	if err := dev.Write(a, got); !errors.Is(err, context.Canceled) {
		t.Errorf("Write: %v", err)
	}
	if err := dev.Read(got, a); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v", err)
	}
	dev.Release(a)
	type preferring interface{ PreferredBatchBytes() int64 }
	if _, ok := dev.(preferring); ok {
		t.Error("a device without a batch that suits it got one")
	}
	if d, ok := bound.Until(ctx, batched{dev}).(preferring); !ok || d.PreferredBatchBytes() != 4711 {
		t.Error("the batch that suits a device is lost")
	}
	if got := bound.BatchBytes(bound.Until(ctx, batched{dev})); got != 4711 {
		t.Errorf("boxes may take %d bytes of a batch", got)
	}
	if got, most := bound.BatchBytes(dev), 64<<20*int64(runtime.GOMAXPROCS(0)); got < 1<<20 || got > most {
		t.Errorf("boxes may take %d bytes of the loops' batches", got)
	}
}

// insider is a device that looks inside of its operations.
type insider struct {
	bound.Device
	over []func() error
}

func (d insider) Within(over func() error) bound.Device {
	return insider{d.Device, append(d.over, over)}
}

func (d insider) Do(op bound.Operation) error {
	if _, is := op.(bound.Affine); !is {
		return d.Device.Do(op)
	}
	for _, over := range d.over {
		if err := over(); err != nil {
			return err
		}
	}
	return nil
}

// batchedInsider says what size of batch suits it, too, as an OpenCL device does.
type batchedInsider struct{ insider }

func (d batchedInsider) PreferredBatchBytes() int64 { return 1 }

func (d batchedInsider) Within(over func() error) bound.Device {
	return batchedInsider{d.insider.Within(over).(insider)}
}

// TestUntilInside: a device that can look inside of its operations asks all that may end the work,
// and so does the host.
func TestUntilInside(t *testing.T) {
	for which := range 4 {
		ended := make([]error, 2)
		dev := bound.Device(insider{Device: fallback.New(bound.Float64)})
		if which >= 2 {
			which, dev = which-2, batchedInsider{dev.(insider)}
		}
		for i := range ended {
			dev = bound.UntilOver(func() error { return ended[i] }, dev)
		}
		if err := errors.Join(bound.Ended(dev), dev.Do(bound.Affine{})); err != nil {
			t.Fatal(err)
		}
		ended[which] = errors.New("enough")
		if err := dev.Do(bound.Affine{}); err != ended[which] {
			t.Errorf("%d: the operation: %v", which, err)
		}
		if err := bound.Ended(dev); err != ended[which] {
			t.Errorf("%d: the host: %v", which, err)
		}
	}
	if err := bound.Ended(fallback.New(bound.Float64)); err != nil {
		t.Error(err)
	}
}
