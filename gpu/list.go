package gpu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"psafe/gpu/cl"
)

// Info describes an OpenCL device.
type Info struct {
	// ID is platform:device, both counted from 0, as clinfo counts them.
	ID string
	// Platform is the name of the OpenCL implementation.
	Platform, Name, Driver string
	// Version and CVersion are the OpenCL version and the language's.
	Version, CVersion string
	// Type is GPU, CPU, accelerator or custom.
	Type string
	// Memory is the device's memory, MaxAlloc the most of one array, LocalMemory
	// that of a work-group, all in bytes.
	Memory, MaxAlloc, LocalMemory int64
	// FP64 says that float64 is possible.
	FP64 bool
	// ComputeUnits is how many work-groups run at the same time.
	ComputeUnits int
	// VectorFloat and VectorDouble are the native widths of vectors, 1 on GPUs.
	VectorFloat, VectorDouble int
	// PCI is the bus address, UUID the device's, both empty where unknown.
	PCI, UUID string

	platform *cl.Platform
	device   *cl.Device
}

// IsGPU reports whether the device is a GPU.
func (i *Info) IsGPU() bool { return i.device.Type()&cl.DeviceTypeGPU != 0 }

// List returns every OpenCL device of this machine. Where there is no OpenCL,
// the error says what to install, and cl.Absent is true for it. Where a driver
// fails, the devices of the others are returned with its error.
func List() ([]Info, error) {
	platforms, err := cl.GetPlatforms()
	errs := []error{err}
	var list []Info
	for p, platform := range platforms {
		devices, err := platform.GetDevices(cl.DeviceTypeAll)
		errs = append(errs, err)
		for d, device := range devices {
			list = append(list, newInfo(fmt.Sprintf("%d:%d", p, d), platform, device))
		}
	}
	return list, errors.Join(errs...)
}

func newInfo(id string, p *cl.Platform, d *cl.Device) Info {
	return Info{
		ID: id, Platform: p.Name(), Name: d.Name(), Driver: d.DriverVersion(),
		Version: d.Version(), CVersion: d.OpenCLCVersion(), Type: d.Type().String(),
		Memory: d.GlobalMemSize(), MaxAlloc: d.MaxMemAllocSize(), LocalMemory: d.LocalMemSize(),
		FP64: d.HasDouble(), ComputeUnits: d.MaxComputeUnits(),
		VectorFloat: d.NativeVectorWidthFloat(), VectorDouble: d.NativeVectorWidthDouble(),
		PCI: d.PCIBusID(), UUID: d.UUID(), platform: p, device: d,
	}
}

// Selectors lists what Select accepts, for help texts.
const Selectors = "auto, gpu, all-gpus, platform:device as `psafe devices` numbers them, or a part of a device's name"

// Select returns the devices that a selector names:
//
//	auto      the GPU with the most memory, without GPUs the first device
//	gpu       the GPU with the most memory
//	all-gpus  every GPU
//	P:D       device D of platform P
//	other     the first device with that in its name, letter case ignored
//
// There is at least one, or an error that lists what there is.
func Select(selector string) ([]Info, error) {
	list, err := List()
	if len(list) == 0 && err != nil {
		return nil, err
	}
	found := choose(list, selector)
	if len(found) == 0 {
		var names []string
		for _, i := range list {
			names = append(names, fmt.Sprintf("%s %s (%s)", i.ID, i.Name, i.Type))
		}
		return nil, fmt.Errorf("gpu: no OpenCL device matches %q; there is: %s", selector, strings.Join(append(names, "nothing else"), ", "))
	}
	return found, nil
}

func choose(list []Info, selector string) []Info {
	var gpus, named []Info
	best := -1
	for _, i := range list {
		if i.IsGPU() {
			gpus = append(gpus, i)
			if best < 0 || i.Memory > gpus[best].Memory {
				best = len(gpus) - 1
			}
		}
		if i.ID == selector || strings.Contains(strings.ToLower(i.Name), strings.ToLower(selector)) {
			named = append(named, i)
		}
	}
	switch {
	case selector == "all-gpus":
		return gpus
	case (selector == "auto" || selector == "gpu") && best >= 0:
		return gpus[best : best+1]
	case selector == "auto" && len(list) > 0:
		return list[:1]
	case selector == "auto" || selector == "gpu" || selector == "":
		return nil
	}
	if isID(selector) {
		for _, i := range named {
			if i.ID == selector {
				return []Info{i}
			}
		}
		return nil
	}
	return named[:min(1, len(named))]
}

// isID reports whether s has the form P:D.
func isID(s string) bool {
	p, d, ok := strings.Cut(s, ":")
	_, err1 := strconv.Atoi(p)
	_, err2 := strconv.Atoi(d)
	return ok && err1 == nil && err2 == nil
}
