package cases

import (
	"testing"

	"psafe/host/read/property"
)

// TestCellsOf: trees that end early, go on, or cut what is no coordinate are refused.
func TestCellsOf(t *testing.T) {
	box := property.Box{Lo: []float64{0.5, 0.5}, Hi: []float64{0.5, 0.5}}
	for _, trees := range [][]int{{}, {-2}, {2, -1, -1}, {0, -1}, {0, -1, -1, -1}, {-1, -1}} {
		if cells, err := CellsOf([]property.Box{box}, trees); err == nil {
			t.Errorf("%v makes %v", trees, cells)
		}
	}
}
