package check

import (
	"bytes"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/job/certify"
	"psafe/host/prove"
)

// TestCheckBall: a record of a ball is proved again, and one that claims as much of a larger ball, or of
// the box, is not.
func TestCheckBall(t *testing.T) {
	job := images("glyphs-64-32-10.npz", 2, "0.1", certify.Method{By: new(prove.CLBP), Decision: true}, bound.Float64)
	job.Tasks.Points.Norm = "1"
	small := written(t, job)
	job = images("glyphs-64-32-10.npz", 2, "0.1", certify.Method{By: new(prove.CLBP), Decision: true}, bound.Float64)
	large := written(t, job)
	c := &Checker{}
	refused := func(line []byte) error {
		v, err := c.Check(t.Context(), line, false)
		if err != nil {
			t.Fatal(err)
		}
		return v.Refused
	}
	for i, line := range small {
		if err := refused(line); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if r, err := record.Parse(small[0]); err != nil || r.Decision.Verdict != "decision_safe" {
		t.Errorf("the decision on the ball: %v, %s", err, small[0])
	}
	if r, err := record.Parse(large[0]); err != nil || r.Decision.Verdict == "decision_safe" {
		t.Errorf("the decision on the box: %v, %s", err, large[0])
	}
	var f files
	r, err := record.Parse(small[0])
	if err != nil {
		t.Fatal(err)
	}
	q, err := f.question(r, Files{})
	if err == nil {
		err = q.decided(t.Context())
	}
	if q.task.Ball = nil; err != nil || q.decided(t.Context()) == nil {
		t.Errorf("the decision on a ball: %v; or it was taken for one on a box", err)
	}
	// The bounds of the ball in the record of the box, which says another question.
	as := objectOf(t, large[0])
	box := large[0]
	for _, field := range []string{"p_lower", "log10_p_lower", "verdict", "tau", "proof"} {
		from := objectOf(t, small[0]).value(t, field)
		box = bytes.Replace(box, []byte(`"`+field+`":`+as.value(t, field)), []byte(`"`+field+`":`+from), 1)
	}
	if err := refused(resealed(box)); err == nil {
		t.Errorf("what was proved of a ball was taken for a box: %s", box)
	}
	if err := refused(resealed(bytes.Replace(small[0], []byte(`"norm":"1"`), []byte(`"norm":"2"`), 1))); err == nil {
		t.Error("another norm was not noticed")
	}
}
