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

// counting counts the items whose property rows are bounded.
type counting struct {
	bound.Device
	merged int
}

func (c *counting) MergeRows(m bound.MergeRows) error {
	c.merged += m.Items
	return c.Device.MergeRows(m)
}
