package check

import (
	"bytes"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

// TestCheckShortForms: records of properties in words are proved again from the record
// alone, and one of another class or number is not.
func TestCheckShortForms(t *testing.T) {
	for words, forged := range map[string][2]string{
		"top_k:2":               {"top_k:2:0", "top_k:2:1"},
		"top_k:3":               {"top_k:3:0", "top_k:3:1"},
		"margin:0.5":            {"margin:0.5:0", "margin:500:0"},
		"margin:1/3":            {"margin:1/3:0", "margin:500:0"},
		"class_change_only:1,2": {"class_change_only:1,2:0", "class_change_only:1,2:3"},
		"argmax_in:0,4":         {"argmax_in:0,4", "argmax_in:1,4"},
	} {
		j := images("glyphs-64-32-10.npz", 1, "0.005", certify.Method{By: new(prove.CLBP), NoUpper: true}, bound.Float32)
		j.Tasks.Points.Property = words
		var c Checker
		line := written(t, j)[0]
		if !strings.Contains(string(line), `"property":"`+forged[0]+`"`) || strings.Contains(string(line), `"p_lower":0,`) {
			t.Errorf("%s: %s", words, line)
		}
		v, err := c.Check(t.Context(), line, false)
		if err != nil || v.Refused != nil {
			t.Errorf("%s: %v %v", words, err, v.Refused)
		}
		if v, err = c.Check(t.Context(), resealed(bytes.Replace(line, []byte(forged[0]+`"`), []byte(forged[1]+`"`), 1)), false); err != nil || v.Refused == nil {
			t.Errorf("%s as %s: %v, passes", words, forged[1], err)
		}
	}
}
