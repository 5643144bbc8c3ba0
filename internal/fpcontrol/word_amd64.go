package fpcontrol

import "fmt"

// Default rounds to nearest and keeps subnormal numbers.
const Default Word = 0

// What changes results in MXCSR, and what traps instead of giving any. A process
// begins with all traps masked.
const (
	daz, rounding, ftz = 1 << 6, 3 << 13, 1 << 15
	masks              = 0x3f << 7
)

// Get returns this thread's word.
func Get() Word { return Word(getMXCSR() & (daz | rounding | ftz)) }

// Set makes w this thread's word, lets nothing trap, and forgets what has happened.
func Set(w Word) { setMXCSR(uint32(w)&(daz|rounding|ftz) | masks) }

func getMXCSR() uint32
func setMXCSR(w uint32)

// String returns what is other than in Default.
func (w Word) String() string {
	return fmt.Sprintf("MXCSR %#x%s", uint32(w|masks), said(w>>13&3, [4]string{"", "downward", "upward", "toward zero"}, w&ftz != 0, w&daz != 0))
}
