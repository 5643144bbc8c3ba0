package claim

import (
	"testing"

	"psafe/host/read/property"
)

// TestAheadBy: a row that is just so far above 0 is at its edge, and the set it was of is as it was.
func TestAheadBy(t *testing.T) {
	s := property.ArgmaxIs(0, 3)
	ahead := AheadBy(s, 0.25)
	for r := range ahead.Rows {
		if d, hi := ahead.Rows[r].D, ahead.Rows[r].DHi; d > -0.25 || hi < -0.25 || d < -0.2501 || s.Rows[r].D != 0 {
			t.Errorf("row %d: from %v to %v, it was %v", r, d, hi, s.Rows[r].D)
		}
	}
}
