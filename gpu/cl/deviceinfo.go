package cl

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// read asks for all that Device holds. What OpenCL 1.2 demands of every device
// must be answered; the rest keeps its zero value where it is not.
func (d *Device) read() error {
	q := deviceQuery{d: d}
	d.name = short(q.str(deviceName))
	d.vendor = short(q.str(deviceVendor))
	d.version = short(q.str(deviceVersion))
	d.driverVersion = short(q.str(deviceDriverVersion))
	d.cVersion = short(q.str(deviceOpenCLCVersion))
	d.extensions = q.str(deviceExtensions)
	d.kind = DeviceType(value[uint64](&q, deviceType))
	d.units = value[uint32](&q, deviceMaxComputeUnits)
	d.localMem = value[uint64](&q, deviceLocalMemSize)
	d.globalMem = value[uint64](&q, deviceGlobalMemSize)
	d.maxAlloc = value[uint64](&q, deviceMaxMemAllocSize)
	d.nativeFloat = value[uint32](&q, deviceNativeVectorFloat)
	if q.err != nil {
		return q.err
	}

	// A 1.1 device without doubles may refuse these two.
	d.hasDouble = optional[uint64](d, deviceDoubleFPConfig) != 0
	d.nativeDouble = optional[uint32](d, deviceNativeVectorDouble)
	d.pciBus = d.readPCIBusID()
	if d.HasExtension("cl_khr_device_uuid") {
		if b := d.optionalBytes(deviceUUID); len(b) == 16 {
			d.uuid = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
	}
	return d.believe()
}

// readPCIBusID asks by the standard's extension, then by the vendors'.
func (d *Device) readPCIBusID() string {
	const form = "%04x:%02x:%02x.%x"
	if d.HasExtension("cl_khr_pci_bus_info") {
		// struct { cl_uint domain, bus, device, function; }
		if b := d.optionalBytes(devicePCIBusInfo); len(b) == 16 {
			u := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
			return fmt.Sprintf(form, u(0), u(1), u(2), u(3))
		}
	}
	if d.HasExtension("cl_nv_device_attribute_query") {
		// The slot is device * 8 + function.
		bus, err1 := info[uint32]("clGetDeviceInfo", d.name, d.query(devicePCIBusNV))
		slot, err2 := info[uint32]("clGetDeviceInfo", d.name, d.query(devicePCISlotNV))
		if err1 == nil && err2 == nil {
			return fmt.Sprintf(form, optional[uint32](d, devicePCIDomainNV), bus, slot>>3, slot&7)
		}
	}
	if d.HasExtension("cl_amd_device_attribute_query") {
		// struct { cl_uint type; cl_char unused[17], bus, device, function; }
		if b := d.optionalBytes(deviceTopologyAMD); len(b) >= 24 && binary.NativeEndian.Uint32(b) == 1 {
			return fmt.Sprintf(form, 0, b[21], b[22], b[23])
		}
	}
	return ""
}

// deviceQuery asks one question after another and keeps the first failure.
type deviceQuery struct {
	d   *Device
	err error
}

func (q *deviceQuery) str(name uint32) string {
	if q.err != nil {
		return ""
	}
	var s string
	s, q.err = infoString("clGetDeviceInfo", q.d.name, q.d.query(name))
	return s
}

func value[T scalar](q *deviceQuery, name uint32) T {
	var v T
	if q.err == nil {
		v, q.err = info[T]("clGetDeviceInfo", q.d.name, q.d.query(name))
	}
	return v
}

// optional is a value that a device need not know; zero where it does not.
func optional[T scalar](d *Device, name uint32) T {
	v, err := info[T]("clGetDeviceInfo", d.name, d.query(name))
	if err != nil {
		var zero T
		return zero
	}
	return v
}

func (d *Device) optionalBytes(name uint32) []byte {
	b, err := infoBytes("clGetDeviceInfo", d.name, mostText, d.query(name))
	if err != nil {
		return nil
	}
	return b
}

func (d *Device) query(name uint32) query {
	return func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return d.lib.getDeviceInfo(d.id, name, size, value, got)
	}
}
