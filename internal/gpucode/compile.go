package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"psafe/kernels"
)

// target is a GPU that clang 15 knows.
type target struct {
	name, triple, cpu, library string
	// read takes a build's assembly apart.
	read func(text string, b build) ([]code, error)
}

const (
	clang   = "clang-15"
	libclc  = "/usr/lib/clc/"
	install = "apt install clang-15 libclc-15"
)

// targets are an AMD GPU of 2017 (Vega), one for data centres (MI200), one for games
// (RX 6000, waves of 32), and NVIDIA's Ampere. Of the kernels the PTX for sm_70 differs
// from that for sm_80 in three negations only, and clang 15 does not know Hopper (sm_90).
var targets = []target{
	{"gfx900", "amdgcn-amd-amdhsa", "gfx900", "amdgcn--amdhsa.bc", readAMD},
	{"gfx90a", "amdgcn-amd-amdhsa", "gfx90a", "amdgcn--amdhsa.bc", readAMD},
	{"gfx1030", "amdgcn-amd-amdhsa", "gfx1030", "amdgcn--amdhsa.bc", readAMD},
	{"sm_80", "nvptx64-nvidia-nvcl", "sm_80", "nvptx64--nvidiacl.bc", readPTX},
}

// build is a target in one precision.
type build struct {
	target string
	real64 bool
}

func (b build) String() string {
	if b.real64 {
		return b.target + "/float64"
	}
	return b.target + "/float32"
}

func builds() (list []build) {
	for _, t := range targets {
		list = append(list, build{t.name, false}, build{t.name, true})
	}
	return list
}

// code holds what a kernel became.
type code struct {
	kernel string
	build  build
	// registers of a work-item, of 32 bits, and waves, which a SIMD has room for: of PTX neither is known.
	registers, waves int
	// private memory of a work-item, in bytes; spills are registers in it.
	private, spills int
	// fused counts fused multiply-adds; size is the number of instructions.
	fused, size int
	// flushes says what flushes subnormal numbers or may be contracted later, or is "".
	flushes string
}

// missing returns what is not installed, or "".
func missing() string {
	if _, err := exec.LookPath(clang); err != nil {
		return fmt.Sprintf("no %s (%s)", clang, install)
	}
	for _, t := range targets {
		if _, err := os.Stat(libclc + t.library); err != nil {
			return fmt.Sprintf("no %s (%s)", libclc+t.library, install)
		}
	}
	return ""
}

// compileAll compiles a program for targets in both precisions. The kernels of a build are in the
// order of kernels.All.
func compileAll(source string, targets []target) (all []code, err error) {
	for _, t := range targets {
		for _, real64 := range []bool{false, true} {
			b, shape := build{t.name, real64}, kernels.OnGPU
			shape.Real64 = real64
			text, err := compile(source, t, shape)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", b, err)
			}
			list, err := t.read(text, b)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", b, err)
			}
			by := map[string]code{}
			for _, c := range list {
				by[c.kernel] = c
			}
			for _, k := range shape.Kernels() {
				c, ok := by[k.Name]
				if !ok {
					return nil, fmt.Errorf("%v: the assembly has no kernel %s", b, k.Name)
				}
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// compile returns the assembly of a program.
func compile(source string, t target, shape kernels.Shape) (string, error) {
	args := append([]string{"-x", "cl"}, strings.Fields(shape.Options())...)
	args = append(args, "-O3", "-S", "-o", "-", "-target", t.triple, "-Xclang", "-target-cpu", "-Xclang", t.cpu, "-nogpulib",
		"-Xclang", "-finclude-default-header", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", libclc+t.library, "-")
	c := exec.Command(clang, args...)
	var errs bytes.Buffer
	c.Stdin, c.Stderr = strings.NewReader(source), &errs
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%.2000s", clang, err, errs.String())
	}
	return string(text), nil
}
