package gpu

import (
	"fmt"
	"slices"

	"psafe/host/bound"
	"psafe/kernels"
)

// wrapped are the kernels that this package launches.
var wrapped = map[string]bool{}

// wraps declares which kernels a file launches.
func wraps(names ...string) struct{} {
	for _, n := range names {
		wrapped[n] = true
	}
	return struct{}{}
}

// The program does not start with an operation or a kernel that is only half there.
func init() {
	if what := halfAdded(bound.Operations(), kernels.All, wrapped); what != "" {
		panic("gpu: " + what)
	}
}

// halfAdded returns which operation has no kernel of its name, which kernel no wrapper, or which
// wrapper no kernel, or "".
func halfAdded(operations []string, all []kernels.Kernel, wrapped map[string]bool) string {
	known := map[string]bool{}
	for _, k := range all {
		known[k.Name] = true
		if !wrapped[k.Name] {
			return fmt.Sprintf("nothing launches kernel %s: add gpu/%s.go with wraps(%q)", k.Name, k.File, k.Name)
		}
	}
	for name := range wrapped {
		if !known[name] {
			return fmt.Sprintf("kernel %s is launched and in no source: add it to kernels", name)
		}
	}
	for _, op := range operations {
		if !slices.ContainsFunc(all, func(k kernels.Kernel) bool { return k.Name == op && k.File == op }) {
			return fmt.Sprintf("operation %s has no kernel: add kernels/%s.cl", op, op)
		}
	}
	return ""
}
