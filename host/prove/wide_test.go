package prove_test

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/internal/testkit/provetest"
)

// sized is a device that notes the largest batch of a product of matrices; a wide one likes batches as
// large as its memory.
type sized struct {
	bound.Device
	most *int
}

func (d sized) Do(op bound.Operation) error {
	if a, is := op.(bound.Affine); is {
		*d.most = max(*d.most, a.Items)
	}
	return d.Device.Do(op)
}

type wide struct{ sized }

func (d wide) PreferredBatchBytes() int64 { return d.MemoryLimit() }

// TestWide: on a device that likes batches as large as its memory, no constant for caches cuts tasks
// into groups; the numbers are the same.
func TestWide(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(1, 7)), 1e-6, false, 2, 3, 2)
	tasks := manyTasks(4, post, 300)
	cfg := prove.Config{Method: prove.CLBP, Cells: 1}
	var narrowly, widely int
	dev := fallback.New(bound.Float32)
	want := onDevice(t, sized{dev, &narrowly}, post, cfg, tasks)
	got := onDevice(t, wide{sized{dev, &widely}}, post, cfg, tasks)
	if diff := sameResults(got, want); diff != "" {
		t.Error(diff)
	}
	if widely != len(tasks) || narrowly >= len(tasks) {
		t.Errorf("batches of up to %d of %d tasks on a wide device, of %d on another", widely, len(tasks), narrowly)
	}
}
