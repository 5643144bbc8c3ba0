package bound

// Lane returns dev, with its arrays, for one of n that work beside each other, each in a goroutine
// of its own and with its share of dev's cores and memory; nil if dev has none to share out, as
// OpenCL devices have not. Bounds are dev's own.
func Lane(dev Device, n int) Device {
	switch d := dev.(type) {
	case until:
		if d.Device = Lane(d.Device, n); d.Device == nil {
			return nil
		}
		return d
	case interface{ Lane(n int) Device }:
		return d.Lane(n)
	}
	return nil
}

// On returns the model on a Lane of its device, which has the same arrays: they are the model's to
// release.
func (m *Model) On(lane Device) *Model {
	on := *m
	on.dev = lane
	return &on
}

// On returns the deviations on a model of Model.On, with the same arrays: they are c's to release.
func (c *Deviations) On(m *Model) *Deviations {
	on := *c
	on.model = m
	if c.sharper != nil {
		on.sharper = c.sharper.Until(func() error { return Ended(m.dev) })
	}
	return &on
}
