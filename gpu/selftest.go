package gpu

func (d *Device) selfTest() error { return nil }
