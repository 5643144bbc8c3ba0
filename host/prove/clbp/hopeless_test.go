package clbp

import (
	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/lab/testkit/provetest"
	"psafe/host/prove/engine"
	"testing"
)

// TestHopelessCells: where nothing can be shown, that takes few passes, not hundreds.
func TestHopelessCells(t *testing.T) {
	post, tasks := provetest.Deep(10, 0.2, 4)
	counted := &counting{Device: fallback.New(bound.Float32)}
	e, err := engine.New(counted, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := Certify(t.Context(), e, 0, tasks[1:2])
	if err != nil || list[0].Lower() > 0 {
		t.Fatalf("%v, %v", list, err)
	}
	if passes := counted.merged; passes > 20 {
		t.Errorf("%d cells were bounded", passes)
	}
}

// TestUpperWhereOpen: an upper bound is looked for where p_lower leaves it something to say.
func TestUpperWhereOpen(t *testing.T) {
	for _, sd := range []float64{1e-6, 0.3} {
		post, tasks := provetest.Deep(2, sd, 1)
		counted := &counting{Device: fallback.New(bound.Float32)}
		e, err := engine.New(counted, nil, post, 12)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		list, err := Certify(t.Context(), e, 0, tasks)
		if err != nil {
			t.Fatal(err)
		}
		lower, before := list[0].Lower(), counted.merged
		if err := Uppers(t.Context(), e, list); err != nil {
			t.Fatal(err)
		}
		if nearly := lower >= 1-Enough; nearly != (sd < 0.1) || nearly != (counted.merged == before) {
			t.Errorf("deviation %v: p_lower %v, %d items bounded for it and %d more for p_upper", sd, lower, before, counted.merged-before)
		}
	}
}

// counting counts the items whose property rows are bounded.
type counting struct {
	bound.Device
	merged int
}

func (c *counting) MergeRows(m bound.MergeRows) error {
	c.merged += m.Items
	return c.Device.MergeRows(m)
}
