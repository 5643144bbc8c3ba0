package certify_test

import (
	"testing"
)

func TestPhaseReal(t *testing.T) {}
