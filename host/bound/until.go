package bound

import "context"

// Until is dev for work that has to stop when ctx ends: from then on it gives no memory and
// moves no numbers, and the error is ctx's. A pass over a network asks for memory at every
// layer, so it stops within one operation, however deep the network is. Bounds that come
// out are dev's own.
func Until(ctx context.Context, dev Device) Device { return UntilOver(ctx.Err, dev) }

// UntilOver is Until for work that has to stop when over returns an error, which is what
// the device fails with, and may go on when it returns nil again.
func UntilOver(over func() error, dev Device) Device {
	u := until{dev, over}
	if batched, ok := dev.(preferring); ok {
		return untilBatched{u, batched}
	}
	return u
}

// preferring is a device that says what size of batch suits it.
type preferring interface{ PreferredBatchBytes() int64 }

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
