package check

import (
	"testing"

	"psafe/host/check/cases"
	"psafe/host/check/sums"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// gridFail is the bound of a grid by the alternative of S that fails least, all of rows alone.
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
	least := 1.
	for _, all := range task.S.Any {
		rows, err := cases.Chosen(&task.S, all)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := n.GridsFailUp(t.Context(), points, rows, nil, anyFail)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, fail)
	}
	return least
}
