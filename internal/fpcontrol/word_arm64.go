package fpcontrol

import "fmt"

// Default rounds to nearest and keeps subnormal numbers.
const Default Word = 0

// What changes results in FPCR: arguments that are flushed (FIZ), other rules for
// subnormal numbers and vectors (AH, NEP), the rounding mode, results that are
// flushed (FZ).
const (
	fiz, alternative = 1 << 0, 3 << 1
	rounding, fz     = 3 << 22, 1 << 24
)

// Get returns this thread's word.
func Get() Word { return Word(getFPCR() & (fiz | alternative | rounding | fz)) }

// Set makes w this thread's word, and lets nothing trap.
func Set(w Word) { setFPCR(uint64(w) & (fiz | alternative | rounding | fz)) }

func getFPCR() uint64
func setFPCR(w uint64)

// String returns what is other than in Default.
func (w Word) String() string {
	return fmt.Sprintf("FPCR %#x%s", uint32(w), said(w>>22&3, [4]string{"", "upward", "downward", "toward zero"}, w&fz != 0, w&(fz|fiz) != 0))
}
