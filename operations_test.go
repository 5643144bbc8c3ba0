package psafe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	{"fallback/do.go", `(?m)^	case bound.<Op>:$`, "the case of the loop"},
	{"gpu/do.go", `(?m)^	case bound.<Op>:$`, "the case of the wrapper"},
	{"internal/testkit/devicetest/<op>.go", `(?m)^func draw<Op>\(`, "the exact result"},
	{"internal/testkit/devicetest/devicetest.go", `\{"<Op>", \d+, draw<Op>\}`, "the case"},
	{"internal/testkit/devicetest/testdata/mutants.txt", `(?m)^in fallback .*\n.*\n.*\ntest \./fallback .*\b<Op>\b`, "a mistake in the loop"},
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

// operation is the method of every bound.Operation.
var operation = regexp.MustCompile(`(?m)^func \(\w+ (\w+)\) Arrays\(l \*Arrays\)`)

// TestOperations: every operation of bound.Device has its place in every room.
func TestOperations(t *testing.T) {
	files, err := filepath.Glob("host/bound/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range operation.FindAllSubmatch(text, -1) {
			name := string(m[1])
			names = append(names, strings.ToLower(name))
			for _, line := range lacks(name) {
				t.Error(line)
			}
		}
	}
	listed := bound.Operations()
	slices.Sort(listed)
	slices.Sort(names)
	if !slices.Equal(listed, names) {
		t.Errorf("the list in host/bound/operations.go has %q, the files of host/bound define %q", listed, names)
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
