package check

import (
	"bytes"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/internal/testscale"
)

// TestCheckRequire: records that were stopped since what is required was known pass, and none does
// where it is not known, or another.
func TestCheckRequire(t *testing.T) {
	j := file("advisory-4-32-9.npz", "advisory-property.json", certify.Method{}, bound.Float32)
	j.Require = "0.01"
	stopped := 0
	for _, line := range written(t, j) {
		var c Checker
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
			t.Errorf("%v %v\n%s", err, v.Refused, line)
		}
		if !bytes.Contains(line, []byte(`"stopped":"require"`)) {
			continue
		}
		if stopped++; stopped > 1 && !testscale.Deep(t) {
			continue
		}
		for _, forge := range [][2]string{
			{`--require 0.01`, `--require 0.02`}, {` --require 0.01`, ``}, {`"require":0.01`, `"require":0.02`}, {`"stopped":"require"`, `"stopped":"required"`},
			{`"require":0.01,"verdict":"safe"`, `"require":0.99,"verdict":"unknown"`}, {`--require 0.01`, `--require`},
		} {
			forged := bytes.Replace(line, []byte(forge[0]), []byte(forge[1]), 1)
			if bytes.Equal(forged, line) {
				t.Fatalf("%s is not there: %s", forge[0], line)
			}
			if v, err := c.Check(t.Context(), resealed(forged), false); err != nil || v.Refused == nil {
				t.Errorf("%s in place of %s passes: %v\n%s", forge[1], forge[0], err, forged)
			}
		}
	}
	if stopped == 0 {
		t.Error("nothing was stopped")
	}
}
