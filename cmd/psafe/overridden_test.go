package main

import (
	"slices"
	"strings"
)

// overridden is a command line of which each flag stays in its last place alone: tests add
// flags to a line that has them, which psafe refuses.
func overridden(args []string) []string {
	args = slices.Clone(args)
	for i := len(args) - 1; i >= 0; i-- {
		if !strings.HasPrefix(args[i], "--") {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			if args[j] != args[i] || args[i] == "--options" && keyOf(args[j+1]) != keyOf(args[i+1]) {
				continue
			}
			n := 1
			if j+1 < len(args) && !strings.HasPrefix(args[j+1], "--") {
				n = 2 // with its value
			}
			args = slices.Delete(args, j, j+n)
			i -= n
		}
	}
	return args
}

// keyOf is the key of a value of --options.
func keyOf(option string) string {
	key, _, _ := strings.Cut(option, "=")
	return key
}
