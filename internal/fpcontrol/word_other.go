//go:build !amd64 && !arm64

package fpcontrol

// Default rounds to nearest and keeps subnormal numbers.
const Default Word = 0

// What Get sees of a word.
const (
	roundsUp Word = 1 << iota
	roundsDown
	flushes
)

// one, tiny and least are variables, so that no compiler computes with them.
var one, tiny, least = 1.0, 0x1p-60, 0x1p-1074

// Get returns this thread's word, as it shows in results: on this processor psafe
// cannot read it. Toward zero shows as downward.
func Get() (w Word) {
	if one+tiny != 1 {
		w |= roundsUp
	}
	if one-tiny != 1 {
		w |= roundsDown
	}
	if least*one == 0 || 0x1p-1022*(one/2) == 0 {
		w |= flushes
	}
	return w
}

// Set does nothing: on this processor psafe finds changed words, by Check, and
// cannot mend them.
func Set(Word) {}

// String returns what is other than in Default.
func (w Word) String() string {
	mode := w & (roundsUp | roundsDown)
	return "not to be read here" + said(mode, [4]string{"", "upward", "downward or toward zero", "strangely"}, w&flushes != 0, w&flushes != 0)
}
