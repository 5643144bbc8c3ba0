// Package fpcontrol reads and sets the control word of the floating-point unit, MXCSR on amd64 and
// FPCR on arm64: how it rounds, and whether it flushes subnormal numbers to zero.
//
// Every thread has a word of its own, and Go never sets it: the proofs of psafe
// hold because every thread has the one that processes begin with, [Default].
// Foreign code in the process may change it, in the thread that calls it, although
// the ABI forbids that: a library linked with -ffast-math does when it is loaded.
// Whatever Go code runs in that thread later then rounds otherwise, and so do the
// threads that are made from it, which inherit the word.
//
// So three things are done:
//
//  1. Who calls foreign code locks its goroutine to the thread and calls
//     Set(Default) before it unlocks ([psafe/gpu/cl], for every call). While a
//     goroutine is locked, no other runs in its thread, and the runtime lets
//     another thread, made before any foreign code was called, make new ones. So
//     no Go code but the few lines that return from the call ever runs with a
//     changed word, and no thread inherits one.
//  2. Programs ask [Err] when they begin: a library that is loaded with them
//     (LD_PRELOAD) is there before any of their code. Nothing can be mended then,
//     as the runtime's threads have the word already.
//  3. [Check] in loops and [Err] where their results leave is a net below that: it
//     finds a thread with a changed word where nobody expects one.
//
// The x87 unit has a control word, too, which nothing in Go uses on amd64.
package fpcontrol

import (
	"fmt"
	"sync/atomic"
)

// Word is a control word, without the bits that change no result: flags of what has
// happened, which of that traps, and the form of NaNs.
type Word uint32

// found is the first word other than Default that Check has met, plus 1.
var found atomic.Uint64

// Check remembers for Err if this thread's word is not Default. It costs a
// nanosecond or two.
func Check() {
	if w := Get(); w != Default {
		found.CompareAndSwap(0, uint64(w)+1)
	}
}

// Err is an error, in one line, if this thread's word is not Default, or was not
// at a Check in any thread before: then what this process has computed since is
// worth nothing.
func Err() error {
	Check()
	if f := found.Load(); f != 0 {
		return fmt.Errorf("foreign code in this process left the processor's floating-point control word changed (%v): "+
			"no bound that is computed so would be one; a library in LD_PRELOAD or a driver does this, leave it out", Word(f-1))
	}
	return nil
}

// said returns how a word rounds and flushes, in words.
func said(mode Word, modes [4]string, results, arguments bool) string {
	text := ""
	if mode != 0 {
		text += ", rounds " + modes[mode]
	}
	switch {
	case results:
		text += ", flushes subnormal numbers to zero"
	case arguments:
		text += ", takes subnormal arguments as zero"
	}
	return text
}
