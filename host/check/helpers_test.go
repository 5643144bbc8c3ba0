package check

import (
	"testing"

	"psafe/host/check/sums"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// gridFail is the bound of a grid by the alternatives of S.
func gridFail(t *testing.T, post *posterior.Posterior, task *property.Task, grids [][][]float64) float64 {
	t.Helper()
	n, err := sums.New(post)
	if err != nil {
		t.Fatal(err)
	}
	points, err := sums.Grids(task.T, grids, nil)
	if err != nil {
		t.Fatal(err)
	}
	fail, err := n.GridsFailUp(t.Context(), points, n.PlansAt(task.T[0], &task.S), nil, anyFail)
	if err != nil {
		t.Fatal(err)
	}
	return fail
}
