package cl

import (
	"errors"
	"runtime"
	"strings"
	"unsafe"
)

// Program is a set of kernels: source first, code for devices after
// BuildProgram.
type Program struct {
	object
	context *Context
}

// BuildProgram compiles the program for devices, or for all of the context's
// where there are none. An error in the source is a [*BuildError] that holds
// the compiler's log.
func (p *Program) BuildProgram(devices []*Device, options string) error {
	if len(devices) == 0 {
		devices = p.context.devices
	}
	ids := make([]uintptr, len(devices))
	for i, d := range devices {
		ids[i] = d.id
	}
	n, first := list(ids)
	err := check("clBuildProgram", p.lib.buildProgram(p.use(), n, first, cString(options), 0, 0), p.device)
	if err == nil {
		return nil
	}
	b := &BuildError{Options: options}
	errors.As(err, &b.Err)
	var logs []string
	for _, d := range devices {
		// The log explains the error; failing to get it is not another one.
		log, err := p.BuildLog(d)
		if err != nil {
			log = "(no log: " + err.Error() + ")"
		}
		if log == "" {
			continue
		}
		if len(devices) > 1 {
			log = d.name + ":\n" + log
		}
		logs = append(logs, log)
	}
	b.Log = strings.Join(logs, "\n")
	return b
}

// BuildLog returns what the compiler said when it last built the program for
// the device, warnings included; often nothing.
func (p *Program) BuildLog(device *Device) (string, error) {
	id := p.use()
	b, err := infoBytes("clGetProgramBuildInfo", device.name, mostLog, func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return p.lib.getProgramBuildInfo(id, device.id, programBuildLog, size, value, got)
	})
	s, _, _ := strings.Cut(string(b), "\x00")
	return clean(strings.TrimSpace(s), "\n\t"), err
}

// Binary returns the code of a program that was built for the context's one device; empty where the
// driver gives none away.
func (p *Program) Binary() ([]byte, error) {
	const call = "clGetProgramInfo"
	id := p.use()
	n, err := info[uintptr](call, p.device, func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
		return p.lib.getProgramInfo(id, programBinarySizes, size, value, got)
	})
	if err != nil || n == 0 {
		return nil, err
	}
	if n > mostBinary {
		return nil, lie(call, p.device, "that a program has %d bytes", n)
	}
	binary := make([]byte, n)
	var pins runtime.Pinner
	defer pins.Unpin()
	first := &binary[0]
	pins.Pin(first)
	err = check(call, p.lib.getProgramInfo(id, programBinaries, unsafe.Sizeof(first), unsafe.Pointer(&first), nil), p.device)
	return binary, err
}

// Release gives the program back; its kernels keep it alive in the driver.
func (p *Program) Release() error {
	if p == nil {
		return nil
	}
	return p.release("clReleaseProgram", p.lib.releaseProgram)
}

// CreateKernel returns the kernel called name of a program that was built.
func (p *Program) CreateKernel(name string) (*Kernel, error) {
	var code int32
	id := p.lib.createKernel(p.use(), cString(name), &code)
	if err := created("clCreateKernel", id, code, p.device, "kernel %s", name); err != nil {
		return nil, err
	}
	k := &Kernel{name: name}
	k.init(p.lib, id, "Kernel", p.device)
	return k, nil
}
