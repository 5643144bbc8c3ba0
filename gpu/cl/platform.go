package cl

import (
	"errors"
	"fmt"
	"unsafe"
)

// Platform is one vendor's OpenCL implementation.
type Platform struct {
	lib           *library
	id            uintptr
	name, version string
}

// GetPlatforms returns the platforms of this machine. Where there is no OpenCL
// it returns none and an error for which [Absent] is true. A platform that does
// not tell its name is left out and named in the error; the others are valid
// although the error is not nil.
func GetPlatforms() ([]*Platform, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	return opened().lib.platforms()
}

// platformIDs returns at least one platform, or an error.
func (l *library) platformIDs() ([]uintptr, error) {
	none := fmt.Errorf("%w (%s)", ErrNoPlatform, l.name)
	var n uint32
	code := l.getPlatformIDs(0, nil, &n)
	if Code(code) == PlatformNotFound {
		return nil, none
	}
	if err := check("clGetPlatformIDs", code, ""); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, none
	}
	if n > mostPlatforms {
		return nil, lie("clGetPlatformIDs", "", "that there are %d platforms", n)
	}
	ids := make([]uintptr, n)
	if err := check("clGetPlatformIDs", l.getPlatformIDs(n, &ids[0], &n), ""); err != nil {
		return nil, err
	}
	return ids[:min(len(ids), int(n))], nil
}

func (l *library) platforms() ([]*Platform, error) {
	ids, err := l.platformIDs()
	if err != nil {
		return nil, err
	}
	var found []*Platform
	var errs []error
	for _, id := range ids {
		p := &Platform{lib: l, id: id}
		if err := p.read(); err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, p)
	}
	return found, errors.Join(errs...)
}

func (p *Platform) read() error {
	for _, about := range []struct {
		what uint32
		text *string
	}{{platformName, &p.name}, {platformVersion, &p.version}} {
		text, err := infoString("clGetPlatformInfo", "", func(size uintptr, value unsafe.Pointer, got *uintptr) int32 {
			return p.lib.getPlatformInfo(p.id, about.what, size, value, got)
		})
		if err != nil {
			return err
		}
		*about.text = short(text)
	}
	return nil
}

// Name returns the platform's name, for example "NVIDIA CUDA".
func (p *Platform) Name() string { return p.name }

// Version returns "OpenCL <major>.<minor> <more>", of the platform and not of a device.
func (p *Platform) Version() string { return p.version }

// GetDevices returns the platform's devices of the given types. A platform
// without any is normal: no devices and no error. A device that does not
// answer is left out and named in the error; the others are valid although the
// error is not nil.
func (p *Platform) GetDevices(types DeviceType) ([]*Device, error) {
	var n uint32
	code := p.lib.getDeviceIDs(p.id, uint64(types), 0, nil, &n)
	if Code(code) == DeviceNotFound || code == int32(Success) && n == 0 {
		return nil, nil
	}
	if err := check("clGetDeviceIDs", code, p.name); err != nil {
		return nil, err
	}
	if n > mostDevices {
		return nil, lie("clGetDeviceIDs", p.name, "that there are %d devices", n)
	}
	ids := make([]uintptr, n)
	if err := check("clGetDeviceIDs", p.lib.getDeviceIDs(p.id, uint64(types), n, &ids[0], &n), p.name); err != nil {
		return nil, err
	}
	var found []*Device
	var errs []error
	for _, id := range ids[:min(len(ids), int(n))] {
		d := &Device{lib: p.lib, id: id, platform: p}
		if err := d.read(); err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, d)
	}
	return found, errors.Join(errs...)
}
