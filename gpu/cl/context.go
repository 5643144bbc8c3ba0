package cl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// Context holds what the devices in it share: buffers, programs, queues.
type Context struct {
	object
	devices []*Device
}

// CreateContext makes a context of one or more devices of one platform; it
// panics on none and on devices of several platforms.
func CreateContext(devices []*Device) (*Context, error) {
	if len(devices) == 0 {
		panic("cl: CreateContext of no devices")
	}
	ids := make([]uintptr, len(devices))
	names := make([]string, len(devices))
	for i, d := range devices {
		if d.platform != devices[0].platform {
			panic("cl: CreateContext of devices of several platforms: " + devices[0].name + " and " + d.name)
		}
		ids[i], names[i] = d.id, d.name
	}
	// The platform is named although it follows from the devices: some loaders
	// find the driver by it.
	properties := []uintptr{contextPlatform, devices[0].platform.id, 0}
	lib, name := devices[0].lib, strings.Join(names, ", ")
	var code int32
	n, first := list(ids)
	id := lib.createContext(&properties[0], n, first, 0, 0, &code)
	if err := created("clCreateContext", id, code, name, ""); err != nil {
		return nil, err
	}
	c := &Context{devices: append([]*Device(nil), devices...)}
	c.init(lib, id, "Context", name)
	return c, nil
}

// created checks a clCreate... call. A driver that returns neither an object nor
// an error code is broken, and must not make one that panics later.
func created(call string, id uintptr, code int32, device, format string, args ...any) error {
	if code == int32(Success) && id == 0 {
		return &Error{call, OutOfHostMemory, device, "the driver returned nothing and no error code"}
	}
	return checkf(call, code, device, format, args...)
}

// Release gives the context back; the driver keeps it alive until all that was
// created in it is released as well.
func (c *Context) Release() error {
	if c == nil {
		return nil
	}
	return c.release("clReleaseContext", c.lib.releaseContext)
}

// CommandQueueProperty is a set of properties of a queue.
type CommandQueueProperty uint64

// CommandQueueProfilingEnable makes [Event.GetProfilingInfo] work.
const CommandQueueProfilingEnable CommandQueueProperty = 1 << 1

// CreateCommandQueue makes a queue on one of the context's devices.
func (c *Context) CreateCommandQueue(device *Device, properties CommandQueueProperty) (*CommandQueue, error) {
	var code int32
	id := c.lib.createCommandQueue(c.use(), device.id, uint64(properties), &code)
	if err := created("clCreateCommandQueue", id, code, device.name, ""); err != nil {
		return nil, err
	}
	q := &CommandQueue{}
	q.init(c.lib, id, "CommandQueue", device.name)
	return q, nil
}

// CreateProgramWithSource makes a program of source texts, which are compiled
// as if concatenated. Texts may be empty; no text at all panics.
func (c *Context) CreateProgramWithSource(sources []string) (*Program, error) {
	if len(sources) == 0 {
		panic("cl: CreateProgramWithSource of no source")
	}
	// The array that C reads holds pointers to Go memory, which is allowed only
	// for pinned memory. Lengths are given, so no terminating zero is needed;
	// but a length of 0 would mean "up to the zero", so there is one.
	var pins runtime.Pinner
	defer pins.Unpin()
	texts := make([]*byte, len(sources))
	lengths := make([]uintptr, len(sources))
	for i, s := range sources {
		texts[i], lengths[i] = cString(s), uintptr(len(s))
		pins.Pin(texts[i])
	}
	var code int32
	id := c.lib.createProgramWithSource(c.use(), uint32(len(texts)), &texts[0], &lengths[0], &code)
	if err := created("clCreateProgramWithSource", id, code, c.device, ""); err != nil {
		return nil, err
	}
	p := &Program{context: c}
	p.init(c.lib, id, "Program", c.device)
	return p, nil
}

// CreateProgramWithBinary makes a program of what [Program.Binary] returned once, for the context's one
// device. It has to be built. The binary must not be empty.
func (c *Context) CreateProgramWithBinary(binary []byte) (*Program, error) {
	var pins runtime.Pinner // as for sources
	defer pins.Unpin()
	first, length := &binary[0], uintptr(len(binary))
	pins.Pin(first)
	var status, code int32
	id := c.lib.createProgramWithBinary(c.use(), 1, &c.devices[0].id, &length, &first, &status, &code)
	if err := created("clCreateProgramWithBinary", id, code, c.device, ""); err != nil {
		return nil, err
	}
	p := &Program{context: c}
	p.init(c.lib, id, "Program", c.device)
	if err := check("clCreateProgramWithBinary", status, c.device); err != nil {
		return nil, errors.Join(err, p.Release())
	}
	return p, nil
}

// CreateEmptyBuffer makes a buffer of size bytes with undefined contents. Many
// drivers allocate when the buffer is first used, and report only then that it
// does not fit. A size of 0 or less panics: OpenCL has no empty buffers.
func (c *Context) CreateEmptyBuffer(flags MemFlag, size int) (*MemObject, error) {
	if size <= 0 {
		panic(fmt.Sprintf("cl: CreateEmptyBuffer of %d bytes", size))
	}
	var code int32
	mem := c.lib.createBuffer(c.use(), uint64(flags), uintptr(size), nil, &code)
	if err := created("clCreateBuffer", mem, code, c.device, "%d bytes", size); err != nil {
		return nil, err
	}
	b := &MemObject{size: size}
	b.init(c.lib, mem, "MemObject", c.device)
	return b, nil
}
