// Gpucode reads what a compiler makes of the kernels for GPUs that are not here.
//
//	go run ./internal/gpucode [-update]
//
// Clang compiles all kernels as GPUs get them, in both precisions, for each of targets.
// Faults of a kernel end the program with status 1: a fused multiply-add, subnormal
// numbers flushed, private memory, spilled registers, fewer waves than its budget, or
// more registers or instructions than limits.txt allows. But for the first two, which
// the self-test would refuse, they make a kernel slow and not wrong. How fast one is, and
// what NVIDIA's assembler makes of PTX, GPUs say (psafe bench).
//
// -update writes limits.txt anew. Without clang 15 and libclc 15 there is nothing to do,
// and one line says what to install.
package main

import (
	"flag"
	"fmt"
	"os"

	"psafe/kernels"
)

func main() {
	update := flag.Bool("update", false, "write "+limitsFile+" anew")
	flag.Parse()
	status, err := run(*update)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucode:", err)
		status = 2
	}
	os.Exit(status)
}

func run(update bool) (status int, err error) {
	if why := missing(); why != "" {
		fmt.Println("SKIPPED code for GPUs:", why)
		return 0, nil
	}
	all, err := compileAll(kernels.Program(kernels.Sources()), targets)
	if err != nil {
		return 2, err
	}
	fmt.Print(writeLimits(all))
	if update {
		return 0, os.WriteFile(limitsFile, []byte(writeLimits(all)), 0o644)
	}
	limits, err := readLimits(limitsText)
	if err != nil {
		return 2, fmt.Errorf("%s: %w", limitsFile, err)
	}
	found := faults(all, limits)
	for _, f := range found {
		fmt.Println("FAULT", f)
	}
	if len(found) > 0 {
		return 1, nil
	}
	fmt.Printf("gpucode: %d kernels in %d builds are within their limits\n", len(all)/len(builds()), len(builds()))
	return 0, nil
}
