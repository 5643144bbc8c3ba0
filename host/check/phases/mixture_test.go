package phases

import (
	"testing"

	"psafe/host/read/property"
)

// TestMixtureLess: the factors of a leaf are 2^15ths, and the noise of each row counts with that of the row.
func TestMixtureLess(t *testing.T) {
	row := func(c ...float64) property.Row { return property.Row{CLo: c, CHi: c, D: c[0], DHi: c[0]} }
	safe := property.Safe{Rows: []property.Row{row(1, 2), row(9, 9), row(-3, 5)}}
	got, off, err := mixtureLess(&safe, []int{0, 2}, []float64{0.5, 8}, []byte{0x80, 0, 0x20, 0})
	if err != nil || got.CLo[0] > 0.25 || got.CHi[0] < 0.25 || got.CLo[1] > 3.25 || got.CHi[1] < 3.25 || got.D > 0.25 || !(off >= 2.5 && off < 2.5001) {
		t.Errorf("%v, less %v, %v", got, off, err)
	}
	if got, off, err := mixtureLess(&safe, []int{1}, []float64{7}, nil); err != nil || got.CLo[0] != 9 || off != 7 {
		t.Errorf("one row: %v, less %v, %v", got, off, err)
	}
}
