//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/internal/testscale"
)

// TestPrograms: a program that a driver compiled slowly twice is kept and loaded after that. What is loaded is
// tested: another program, what the driver refuses and what it crashes on are forgotten, and numbers
// are always those of the CPU.
func TestPrograms(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	home := t.TempDir()
	if folder, err := os.UserCacheDir(); os.Getenv("POCL_CACHE_DIR") == "" && err == nil {
		t.Setenv("POCL_CACHE_DIR", filepath.Join(folder, "pocl", "kcache")) // PoCL keeps its own there, too
	}
	t.Setenv("XDG_CACHE_HOME", home)
	_, out, _ := endOf(oneImage("--omit-timing", "--device", "cpu")...)
	want := numbers(t, out)
	var path string // of the one file
	var reads int   // of receipts in a run
	var whole []byte
	const note, some = sha256.Size, sha256.Size + 1 // bytes at least of what is kept
	for _, c := range []struct {
		what     string
		old, new string // replaced in the binary, whose digest is made right
		env      []string
		compiled string // how often a source, and a binary
		kept     int
	}{
		{"a fast driver", "", "", []string{slowVariable + "=1h"}, "1 0", 0},
		{"off", "", "", []string{"PSAFE_CACHE=off"}, "1 0", 0},
		{"slow once", "", "", nil, "1 0", note},
		{"fast then", "", "", []string{slowVariable + "=1h"}, "1 0", note},
		{"slow twice", "", "", nil, "1 0", some},
		{"kept", "", "", nil, "0 1", some},
		{"off again", "", "", []string{"PSAFE_CACHE=off"}, "1 0", some},
		{"another arithmetic", "storeUpTo(x * y + z,", "storeUpTo(fma(x, y, z),", nil, "1 1", 0},
		{"another program", "magnitude += fabs(term)", "magnitude += term", nil, "1 1", 0},
		{"what does not compile", "KERNEL void vary(", "KERNEL void vary{", []string{slowVariable + "=1h"}, "1 1", 0},
		{"no kernel", "KERNEL void vary(", "KERNEL void vari(", nil, "1 1", 0},
		{"no program", "#define", "#refine", []string{slowVariable + "=1h"}, "1 1", 0},
		{"a fault later", "", "", []string{"PSAFE_WRAP_SPOIL=receipts last signs+ 0 0"}, "0 1", 0},
		{"a crash", "", "", []string{"PSAFE_WRAP=segv clCreateProgramWithBinary 1"}, "0 1", 0},
		{"after it", "", "", []string{slowVariable + "=1h"}, "1 0", 0},
	} {
		if !testscale.Deep(t) && !slices.Contains([]string{"slow once", "slow twice", "kept", "another arithmetic", "no program", "a crash"}, c.what) {
			continue
		}
		if whole != nil && c.what != "after it" {
			binary := bytes.Replace(whole[note:], []byte(c.old), []byte(c.new), 1)
			of, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".program"))
			digest := sha256.Sum256(slices.Concat(of, binary))
			if err := errors.Join(err, os.WriteFile(path, slices.Concat(digest[:], binary), 0o600)); err != nil {
				t.Fatal(err)
			}
			if c.old != c.new && bytes.Equal(binary, whole[note:]) {
				t.Fatalf("%s: the program has no %q", c.what, c.old)
			}
		}
		counts := filepath.Join(t.TempDir(), "counts")
		for i, e := range c.env {
			c.env[i] = strings.Replace(e, "last", fmt.Sprint(reads-10), 1) // how many there are depends on the time
		}
		set(t, append([]string{"PSAFE_WRAP_BINARY=1", slowVariable + "=1ns", "PSAFE_CACHE=", "PSAFE_WRAP_COUNTS=" + counts}, c.env...)...)
		status, out, errs := endOf(oneImage("--omit-timing", "--device", "0:0")...)
		if crash := c.what == "a crash"; crash && status != exitDevice || !crash && (status != exitDone || numbers(t, out) != want) {
			t.Errorf("%s: status %d, %s", c.what, status, errs)
		}
		n := readCounts(t, counts)
		if c.what == "kept" {
			reads = n["receipts"]
		}
		if got := fmt.Sprint(n["clCreateProgramWithSource"], n["clCreateProgramWithBinary"]); got != c.compiled {
			t.Errorf("%s: compiled %s, want %s", c.what, got, c.compiled)
		}
		files, err := filepath.Glob(filepath.Join(home, "psafe", "*"))
		if err != nil || len(files) > 1 {
			t.Fatalf("%s: %v, %v", c.what, files, err)
		}
		size := 0
		if len(files) == 1 {
			path = files[0]
			text := []byte(readTest(t, path))
			if size = min(len(text), some); whole == nil && size == some {
				whole = text
			}
		}
		if size != c.kept {
			t.Errorf("%s: at least %d bytes are kept, want %d", c.what, size, c.kept)
		}
	}
}
