package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"psafe/fallback"
	"psafe/host/bound"
)

// deviceFlags choose where to compute.
type deviceFlags struct {
	device, precision string
}

func (d *deviceFlags) add(f *pflag.FlagSet) {
	f.StringVar(&d.device, "device", os.Getenv("PSAFE_DEVICE"), "cpu (the default; also from PSAFE_DEVICE)")
	f.StringVar(&d.precision, "precision", "float32", "number format of the bounds, float32 or float64; both are sound")
}

// open returns the device, and what makes the device of last resort.
func (d *deviceFlags) open(stderr io.Writer) (bound.Device, func() bound.Device, error) {
	p, err := bound.ParsePrecision(d.precision)
	if err != nil {
		return nil, nil, fmt.Errorf("--precision: %w", err)
	}
	switch d.device {
	case "", "auto", "cpu":
		return fallback.New(p), nil, nil
	}
	return nil, nil, &statusError{exitDevice, fmt.Errorf("--device %s: this version computes on the CPU only: use --device cpu", d.device)}
}
