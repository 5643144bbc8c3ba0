package check

import (
	"errors"
	"fmt"
	"slices"
)

// Which lines describe what feeds the layers of linearised networks (docs/theory.md, section 5.8): a choice, which
// records name.

// withLines is n with the lines of a proof of so many cells.
func (n *noisy) withLines(lines [][]int, cells int) (*noisy, error) {
	if n.linear == nil {
		return nil, errors.New("proof: lines are of networks that are linearised below the last layer")
	}
	hidden, some := 0, false
	for _, l := range n.mean[:len(n.mean)-1] {
		hidden += l.out
	}
	for _, list := range lines {
		last := -1
		for _, at := range list {
			if at <= last || at >= hidden {
				return nil, fmt.Errorf("proof: lines of neuron %d behind %d, of %d", at, last, hidden)
			}
			last, some = at, true
		}
	}
	if !some || len(lines) != cells {
		return nil, fmt.Errorf("proof: lines of %d cells, of %d, or of no neuron", len(lines), cells)
	}
	linear, with := *n.linear, *n
	linear.lines, with.linear = lines, &linear
	return &with, nil
}

// chooseLine says of hidden neuron number at, counted over the layers, whether the line above is taken, given what
// half-widths both leave. Any choice is sound.
type chooseLine func(at int, below, above float64) bool

func linesBelow(int, float64, float64) bool        { return false }
func linesNarrow(_ int, below, above float64) bool { return above < below*(1-0x1p-20) }
func linesListed(list []int) chooseLine {
	return func(at int, _, _ float64) bool { _, is := slices.BinarySearch(list, at); return is }
}
