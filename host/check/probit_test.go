package check

import (
	"strings"
	"testing"

	"psafe/host/job/certify"
	"psafe/host/prove"
)

// TestCheckProbit: records of the probit rule are proved again. Of one of it and one of the average that
// which claims more is refused where it says to be the other.
func TestCheckProbit(t *testing.T) {
	job := decisionJobs(t)["float64 a covariance"]
	byProbit := *job
	byProbit.Method.Link = certify.LinkProbit
	average, probit := written(t, job), written(t, &byProbit)
	var c Checker
	refused := 0
	for i := range average {
		if v, err := c.Check(t.Context(), probit[i], false); err != nil || v.Refused != nil {
			t.Fatalf("%v, %v: %s", err, v.Refused, probit[i])
		}
		for _, line := range [][]byte{changed(t, probit[i], ` --link probit`, ``), changed(t, average[i], `--target decision`, `--target decision --link probit`)} {
			v, err := c.Check(t.Context(), line, false)
			if err != nil {
				t.Fatal(err)
			}
			if v.Refused != nil && strings.HasPrefix(v.Refused.Error(), "decision: ") { // the other one claims less
				refused++
			}
		}
	}
	if refused < len(average) {
		t.Errorf("only %d of %d are refused for what they claim", refused, 2*len(average))
	}
	other := file("tiny-2-3-2-tanh.npz", "", certify.Method{By: new(prove.CLBP), Decision: true}, 0)
	other.Tasks = job.Tasks
	line := changed(t, written(t, other)[0], `--target decision`, `--target decision --link probit`)
	if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), "last layer that alone is random") {
		t.Errorf("a posterior that is random everywhere: %v, %v", err, v.Refused)
	}
}
