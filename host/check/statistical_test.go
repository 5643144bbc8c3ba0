package check

import (
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

func TestIntervalRecords(t *testing.T) {
	j := images("glyphs-64-32-10.npz", 2, "0.01", certify.Method{By: new(prove.Statistical), Draws: new(50), NoUpper: true}, bound.Float32)
	line := written(t, j)[0]
	var c Checker
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Statistical {
		t.Fatalf("%v %+v: %s", err, v, line)
	}
	for expression, with := range map[string]string{
		`"confidence":0.99`: `"confidence":0.999`, `"confidence":0.9`: `"confidence":1.9`, `"samples":50`: `"samples":40`,
		`"statement":"`: `"statement":"un`, `"lower":0`: `"lower":0.01`, `"p_lower":0`: `"p_lower":0.01`,
	} {
		if v, _ := c.Check(t.Context(), changed(t, line, expression, with), false); v.Refused == nil || strings.Contains(v.Refused.Error(), "\n") {
			t.Errorf("%s: %v", with, v.Refused)
		}
	}
}
