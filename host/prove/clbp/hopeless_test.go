package clbp

import (
	"math"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
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
	if passes := counted.merged; passes > 30 {
		t.Errorf("%d cells were bounded", passes)
	}
}

// TestUncuttable: a point in decimals is a box of one unit in the last place, and is not cut.
func TestUncuttable(t *testing.T) {
	post, tasks := provetest.Deep(10, 0.2, 4)
	task := tasks[1]
	wide := task.T[0]
	thin := property.Box{Lo: wide.Lo, Hi: make([]float64, len(wide.Lo))}
	for j, lo := range wide.Lo {
		thin.Hi[j] = math.Nextafter(lo, 2)
	}
	for _, c := range []struct {
		box  property.Box
		cuts bool
	}{{wide, true}, {thin, false}} {
		if open := worst([]*cell{{task: &task, box: c.box, fail: 0.5}}, 8); len(open) > 0 != c.cuts {
			t.Errorf("%d cells of %v are cut", len(open), c.box)
		}
	}
	task.T, task.Inner = []property.Box{thin}, nil
	counted := &counting{Device: fallback.New(bound.Float32)}
	e, err := engine.New(counted, nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := Certify(t.Context(), e, 0, []property.Task{task}); err != nil {
		t.Fatal(err)
	}
	if counted.merged > 20 {
		t.Errorf("%d cells of a point were bounded", counted.merged)
	}
}

// counting counts the items whose property rows are bounded.
type counting struct {
	bound.Device
	merged int
}

func (c *counting) Do(op bound.Operation) error {
	if m, is := op.(bound.MergeRows); is {
		c.merged += m.Items
	}
	return c.Device.Do(op)
}
