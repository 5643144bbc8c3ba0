package check

import (
	"testing"

	"psafe/host/check/cases"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
)

// asProved is the task of a result with the mixtures of its proof among the alternatives.
func asProved(t *testing.T, r *claim.Result) *property.Task {
	t.Helper()
	task := *r.Task
	if r.Proof.Mixtures != nil {
		var err error
		if task.S, err = cases.Mixed(&task.S, r.Proof.Mixtures); err != nil {
			t.Fatal(err)
		}
	}
	return &task
}
