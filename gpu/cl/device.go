package cl

import (
	"fmt"
	"strings"
)

// DeviceType is a set of kinds of device.
type DeviceType uint64

// The kinds of device, and a set that only [Platform.GetDevices] takes.
const (
	DeviceTypeCPU         DeviceType = 1 << 1
	DeviceTypeGPU         DeviceType = 1 << 2
	DeviceTypeAccelerator DeviceType = 1 << 3
	DeviceTypeCustom      DeviceType = 1 << 4
	DeviceTypeAll         DeviceType = 0xFFFFFFFF
)

// String returns the kinds: "GPU", "CPU", "CPU|GPU"; "default" where none is known.
func (t DeviceType) String() string {
	if t == DeviceTypeAll {
		return "all"
	}
	var s []string
	for _, k := range []struct {
		bit  DeviceType
		name string
	}{
		{DeviceTypeCPU, "CPU"}, {DeviceTypeGPU, "GPU"},
		{DeviceTypeAccelerator, "accelerator"}, {DeviceTypeCustom, "custom"},
	} {
		if t&k.bit != 0 {
			s = append(s, k.name)
		}
	}
	if s == nil {
		return "default"
	}
	return strings.Join(s, "|")
}

// Device is one OpenCL device. What it says of itself was read when
// [Platform.GetDevices] returned it.
type Device struct {
	lib      *library
	id       uintptr
	platform *Platform

	name, vendor, version, driverVersion, cVersion, extensions string

	kind                          DeviceType
	units                         uint32
	localMem, globalMem, maxAlloc uint64
	nativeFloat, nativeDouble     uint32
	hasDouble                     bool
	pciBus, uuid                  string
}

// Name returns the device's name, for example "NVIDIA H100".
func (d *Device) Name() string { return d.name }

// Vendor returns who made the device.
func (d *Device) Vendor() string { return d.vendor }

// Version returns "OpenCL <major>.<minor> <more>".
func (d *Device) Version() string { return d.version }

// DriverVersion returns the driver's version, in the vendor's own form.
func (d *Device) DriverVersion() string { return d.driverVersion }

// OpenCLCVersion returns the highest version of the language that is compiled
// by default, "OpenCL C <major>.<minor> <more>".
func (d *Device) OpenCLCVersion() string { return d.cVersion }

// OpenCLVersion returns the numbers in [Device.Version]; 0, 0 where it has
// another form than the standard's. Below 1.2 half of this package's calls do
// not exist.
func (d *Device) OpenCLVersion() (major, minor int) {
	if n, _ := fmt.Sscanf(d.version, "OpenCL %d.%d", &major, &minor); n != 2 {
		return 0, 0
	}
	return major, minor
}

// Type returns the kind of device.
func (d *Device) Type() DeviceType { return d.kind }

// MaxComputeUnits returns how many work-groups can run at the same time.
func (d *Device) MaxComputeUnits() int { return int(d.units) }

// LocalMemSize returns the bytes of local memory of a work-group.
func (d *Device) LocalMemSize() int64 { return int64(d.localMem) }

// GlobalMemSize returns the bytes of the device's memory. CPU devices report
// the machine's, or a guess; never plan with all of it.
func (d *Device) GlobalMemSize() int64 { return int64(d.globalMem) }

// MaxMemAllocSize returns the most bytes of one buffer, often a quarter of
// GlobalMemSize.
func (d *Device) MaxMemAllocSize() int64 { return int64(d.maxAlloc) }

// NativeVectorWidthFloat returns how many float32 the device works on at once
// in one work-item; 1 on GPUs.
func (d *Device) NativeVectorWidthFloat() int { return int(d.nativeFloat) }

// NativeVectorWidthDouble is NativeVectorWidthFloat for float64, 0 without
// [Device.HasDouble].
func (d *Device) NativeVectorWidthDouble() int { return int(d.nativeDouble) }

// HasDouble reports whether kernels may use double, which is optional in 1.2.
func (d *Device) HasDouble() bool { return d.hasDouble }

// HasExtension reports whether the device lists the extension name.
func (d *Device) HasExtension(name string) bool {
	for f := range strings.FieldsSeq(d.extensions) {
		if f == name {
			return true
		}
	}
	return false
}

// PCIBusID returns where the device is plugged in, as "0000:3b:00.0", the form
// that vendors' own tools print; empty where the driver does not say.
func (d *Device) PCIBusID() string { return d.pciBus }

// UUID returns the device's unique identifier, as
// "01234567-89ab-cdef-0123-456789abcdef"; empty where the driver does not say.
func (d *Device) UUID() string { return d.uuid }
