// Gpucode reads what a compiler makes of the kernels for GPUs that are not here.
//
//	go run ./internal/gpucode [-update] [-markdown] [-keep folder]
//
// Clang compiles all kernels as GPUs get them, in both precisions, for each of targets.
// Faults of a kernel end the program with status 1: a fused multiply-add, subnormal
// numbers flushed, private memory, spilled registers, fewer waves than its budget, or
// more registers or instructions than limits.txt allows. But for the first two, which
// the self-test would refuse, they make a kernel slow and not wrong.
//
// -update writes limits.txt anew, -markdown prints all as a
// table, -keep leaves the assembly in a folder. Without clang 15 and libclc 15 there
// is nothing to do, and one line says what to install.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"psafe/kernels"
)

func main() {
	update := flag.Bool("update", false, "write "+limitsFile+" anew")
	markdown := flag.Bool("markdown", false, "print the table in Markdown")
	keep := flag.String("keep", "", "folder that keeps the assembly")
	flag.Parse()
	status, err := run(*update, *markdown, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpucode:", err)
		status = 2
	}
	os.Exit(status)
}

func run(update, markdown bool, keep string) (status int, err error) {
	if why := missing(); why != "" {
		fmt.Println("SKIPPED code for GPUs:", why)
		return 0, nil
	}
	all, err := compileAll(kernels.Program(kernels.Sources()), targets, keep)
	if err != nil {
		return 2, err
	}
	fmt.Print(table(all, markdown))
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

// table lists every kernel in every build.
func table(all []code, markdown bool) string {
	rows := [][]string{{"kernel", "build", "registers", "scalar", "local B", "waves", "private B", "spills", "size", "inner loops"}}
	for _, c := range all {
		rows = append(rows, []string{
			c.kernel, c.build.String(), fmt.Sprint(c.registers), fmt.Sprint(c.scalar), fmt.Sprint(c.local), fmt.Sprint(c.waves),
			fmt.Sprint(c.private), fmt.Sprint(c.spills), fmt.Sprint(c.size), loopText(c.loops),
		})
	}
	var b strings.Builder
	for i, r := range rows {
		if markdown {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(r, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(r)))
			}
			continue
		}
		fmt.Fprintf(&b, "%-15s %-16s %9s %6s %7s %5s %9s %6s %5s  %s\n", r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9])
	}
	return b.String()
}

// loopText shows the counts of the inner loops that compute, the largest first.
func loopText(loops []loop) string {
	var list []string
	for _, l := range loops {
		list = append(list, l.String())
	}
	return strings.Join(list, " ")
}
