package cl

import (
	"fmt"
	"strings"
	"unicode"
)

// What a driver says of itself decides how much is allocated for its answers, so
// nothing is believed beyond these limits, which no machine comes near. What a
// driver says beyond them is an error of one line.
const (
	// mostPlatforms of a machine, mostDevices of a platform.
	mostPlatforms = 64
	mostDevices   = 256
	// mostText is the length of an answer in bytes, mostLog that of a compiler's log, mostBinary that
	// of a program's code.
	mostText   = 1 << 20
	mostLog    = 16 << 20
	mostBinary = 64 << 20
	// mostName is what is kept of a name, in characters.
	mostName = 200
	// leastMemory and mostMemory bound the memory of a device and of its largest
	// buffer, in bytes.
	leastMemory = 1 << 16
	mostMemory  = 1 << 44
	// mostUnits is a number of compute units, mostLanes a width of vectors, and
	// mostWorkItems the size of a work-group.
	mostUnits     = 1 << 20
	mostLanes     = 64
	mostWorkItems = 1 << 20
)

// lie is the error of an answer that cannot be true.
func lie(call, device, format string, args ...any) error {
	if device != "" {
		call += fmt.Sprintf(" on %q", device)
	}
	return fmt.Errorf("%s: the driver says %s, which psafe does not believe", call, fmt.Sprintf(format, args...))
}

// believe checks what a device says of its sizes, before anyone plans with them.
func (d *Device) believe() error {
	for _, c := range []struct {
		what              string
		got, least, limit uint64
	}{
		{"bytes of memory", d.globalMem, leastMemory, mostMemory},
		{"bytes of its largest buffer", d.maxAlloc, leastMemory, mostMemory},
		{"bytes of local memory", d.localMem, 0, mostMemory},
		{"compute units", uint64(d.units), 1, mostUnits},
		{"float32 numbers in a vector", uint64(d.nativeFloat), 0, mostLanes},
		{"float64 numbers in a vector", uint64(d.nativeDouble), 0, mostLanes},
	} {
		if c.got < c.least || c.got > c.limit {
			return lie("clGetDeviceInfo", d.name, "%d %s", c.got, c.what)
		}
	}
	d.maxAlloc = min(d.maxAlloc, d.globalMem)
	return nil
}

// clean returns a driver's text without what would command a terminal or break a
// line; keep are characters that stay.
func clean(text, keep string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar || strings.ContainsRune(keep, r) {
			return r
		}
		return '?'
	}, text)
}

// short is a name of a length that fits a line.
func short(name string) string {
	if runes := []rune(name); len(runes) > mostName {
		return string(runes[:mostName]) + "..."
	}
	return name
}
