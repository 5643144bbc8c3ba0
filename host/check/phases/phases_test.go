package phases

import (
	"testing"

	"psafe/host/prove/slack"
)

// TestPhaseCuts: as many cuts pass as certify makes.
func TestPhaseCuts(t *testing.T) {
	if MostPhaseCuts < slack.PhaseProblems/2 {
		t.Errorf("%d cuts pass, certify makes up to %d", MostPhaseCuts, slack.PhaseProblems/2)
	}
}
