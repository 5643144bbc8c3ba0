//go:build unix

package infile

import "syscall"

// nonBlocking opens a pipe without a writer at once.
const nonBlocking = syscall.O_NONBLOCK
