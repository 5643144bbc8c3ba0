package psafe_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"psafe/host/bound"
)

// room is a place where every operation of bound.Device must have something: a file
// with a text in it that matches. <op> stands for the operation's name as files have
// it, <Op> for Go's.
type room struct{ file, pattern, what string }

var rooms = []room{
	{"host/bound/<op>.go", `(?m)^type <Op> struct \{`, "the struct, and what its bounds promise"},
	{"fallback/<op>.go", `(?m)^func \(d \*Device\[T\]\) <Op>\(`, "the loop that defines it"},
	{"kernels/<op>.cl", `(?m)^(TILED_)?KERNEL void <op>\(`, "the kernel"},
	{"gpu/<op>.go", `(?m)^func \(d \*Device\) <Op>\(`, "the wrapper"},
	{"host/lab/lockstep/operations.go", `(?m)^func \(d \*Device\) <Op>\(`, "the pair of calls"},
	{"host/lab/testkit/devicetest/<op>.go", `(?m)^func draw<Op>\(`, "the exact result"},
	{"host/lab/testkit/devicetest/devicetest.go", `\{"<Op>", \d+, draw<Op>\}`, "the case"},
	{"host/lab/testkit/devicetest/testdata/mutants.txt", `(?m)^in fallback .*\n.*\n.*\ntest \./fallback .*\b<Op>\b`, "a mistake in the loop"},
	{"host/prove/lying_test.go", `(?m)^func \(d \*lying\) <Op>\(`, "the lie of a device in one operation"},
	{"gpu/mutant_test.go", `\{"[^"]+", "<op>", "`, "a mistake in the kernel"},
	{"docs/architecture.md", "(?m)^\\| `<Op>` \\|", "a row of the table of operations"},
}

// lacks lists what an operation lacks: which files to add or to complete.
func lacks(operation string) (lines []string) {
	named := strings.NewReplacer("<op>", strings.ToLower(operation), "<Op>", operation).Replace
	for _, r := range rooms {
		file, pattern := named(r.file), named(r.pattern)
		if text, err := os.ReadFile(file); err != nil || !regexp.MustCompile(pattern).Match(text) {
			lines = append(lines, fmt.Sprintf("operation %s: add %s to %s: nothing there matches %s", operation, r.what, file, pattern))
		}
	}
	return lines
}

// TestOperations: every operation of bound.Device has its place in every room.
func TestOperations(t *testing.T) {
	device, memory := reflect.TypeFor[bound.Device](), reflect.TypeFor[bound.Memory]()
	for i := range device.NumMethod() {
		name := device.Method(i).Name
		if _, ok := memory.MethodByName(name); ok {
			continue
		}
		for _, line := range lacks(name) {
			t.Error(line)
		}
	}
}

// TestHalfAddedOperation: of one that is in no room, each room's file is named.
func TestHalfAddedOperation(t *testing.T) {
	lines := lacks("Swap")
	if len(lines) != len(rooms) {
		t.Fatalf("%d lines for %d rooms: %q", len(lines), len(rooms), lines)
	}
	for i, r := range rooms {
		if file := strings.ReplaceAll(r.file, "<op>", "swap"); !strings.Contains(lines[i], r.what+" to "+file) {
			t.Errorf("%q does not name %s", lines[i], file)
		}
	}
}
