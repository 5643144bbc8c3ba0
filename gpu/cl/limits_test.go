//go:build !noopencl && (linux || darwin) && (amd64 || arm64)

package cl

import (
	"math"
	"strings"
	"testing"
	"unicode"
)

// TestLies: counts, lengths and sizes that cannot be true are an error of one line,
// and nothing is allocated for them.
func TestLies(t *testing.T) {
	f := openFake(t)
	for what, lie := range map[string]func(){
		"2147483647 platforms":         func() { f.setPlatforms(math.MaxInt32) },
		"65 platforms":                 func() { f.setPlatforms(mostPlatforms + 1) },
		"2147483647 devices":           func() { f.devices(math.MaxInt32) },
		"18446744073709551615 bytes":   func() { f.length(math.MaxUint64) },
		"1048577 bytes":                func() { f.length(mostText + 1) },
		"0 bytes of memory":            func() { f.lie(deviceGlobalMemSize, 0) },
		"17592186044417 bytes of mem":  func() { f.lie(deviceGlobalMemSize, mostMemory+1) },
		"0 bytes of its largest":       func() { f.lie(deviceMaxMemAllocSize, 0) },
		"1 bytes of its largest":       func() { f.lie(deviceMaxMemAllocSize, 1) },
		"18446744073709551615 bytes o": func() { f.lie(deviceMaxMemAllocSize, math.MaxUint64) },
		"9223372036854775808 bytes of": func() { f.lie(deviceLocalMemSize, 1<<63) },
		"0 compute units":              func() { f.lie(deviceMaxComputeUnits, 0) },
		"4294967295 compute units":     func() { f.lie(deviceMaxComputeUnits, math.MaxUint32) },
		"4294967295 float32 numbers":   func() { f.lie(deviceNativeVectorFloat, math.MaxUint32) },
		"4294967295 float64 numbers":   func() { f.lie(deviceNativeVectorDouble, math.MaxUint32) },
		"a program has 67108865 bytes": func() { f.lie(programBinarySizes, mostBinary+1) },
		"work-groups of 0":             func() { f.lie(kernelWorkGroupSize, 0) },
		"work-groups of 1844674407370": func() { f.lie(kernelWorkGroupSize, math.MaxUint64) },
	} {
		f.reset()
		lie()
		err := life(f)
		wantIn(t, err, what, "does not believe")
		if n := f.live(); n != 0 {
			t.Errorf("%s: %d objects leaked", what, n)
		}
	}
	// The largest buffer is no larger than the memory.
	f.reset()
	f.lie(deviceMaxMemAllocSize, mostMemory)
	c, q := f.setup(t)
	defer q.Release()
	defer c.Release()
	if d := c.devices[0]; d.MaxMemAllocSize() != d.GlobalMemSize() {
		t.Errorf("a buffer of %d bytes of %d", d.MaxMemAllocSize(), d.GlobalMemSize())
	}
}

// TestCleanText: what a driver calls itself cannot command a terminal.
func TestCleanText(t *testing.T) {
	f := openFake(t)
	f.setName(cString("\x1b]0;owned\a\x1b[2J\r\nGood\xff\u202eName\u0085 " + strings.Repeat("x", 3000)))
	c, q := f.setup(t)
	defer q.Release()
	defer c.Release()
	name := c.devices[0].Name()
	if !strings.HasPrefix(name, "?]0;owned??[2J??Good??Name? xxx") || len(name) > 4*mostName {
		t.Errorf("%q", name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			t.Errorf("%q has %q", name, r)
		}
	}
}
