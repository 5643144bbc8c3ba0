package check

import (
	"bytes"
	"strings"
	"testing"
)

// TestConfinedRefuses: what a record says of phases beside their proof is not believed.
func TestConfinedRefuses(t *testing.T) {
	lines := phaseRecords(t)
	for _, of := range []struct{ what, from, to, says string }{
		{"cells", `"method":"phases"`, `"method":"phases","cells":1`, "cells"},
		{"a tau of another method", `"method":"phases"`, `"method":"clbp"`, ""},
	} {
		var c Checker
		bad := resealed(bytes.Replace(lines[0], []byte(of.from), []byte(of.to), 1))
		if v, err := c.Check(t.Context(), bad, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), of.says) {
			t.Errorf("%s: %v %v", of.what, err, v.Refused)
		}
	}
}
