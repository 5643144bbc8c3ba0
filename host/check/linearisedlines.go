package check

import (
	"slices"
)

// Which lines describe what feeds the layers of linearised networks (docs/theory.md, section 5.8): a choice, which
// records name.

// chooseLine says of hidden neuron number at, counted over the layers, whether the line above is taken, given what
// half-widths both leave. Any choice is sound.
type chooseLine func(at int, below, above float64) bool

func linesBelow(int, float64, float64) bool        { return false }
func linesNarrow(_ int, below, above float64) bool { return above < below*(1-0x1p-20) }
func linesListed(list []int) chooseLine {
	return func(at int, _, _ float64) bool { _, is := slices.BinarySearch(list, at); return is }
}
