package prove

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
)

// TestAutoPlan: what auto tries after concentration LBP, cheap methods first; sums of neurons
// of more than two inputs, and grids, only where it is said when to end.
func TestAutoPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 5))
	until := func(*claim.Result) bool { return false }
	for _, c := range []struct {
		sizes []int
		cfg   Config
		rooms []float64
		half  int // how many of them are tried where p_lower is a half
		sums  bool
	}{
		{[]int{2, 3, 2}, Config{}, []float64{noRoom}, 1, true},
		{[]int{3, 3, 2}, Config{}, nil, 0, false},
		{[]int{2, 3, 2}, Config{Decided: until}, []float64{0, 0}, 1, true},
		{[]int{3, 3, 2}, Config{TimeLimit: time.Second}, []float64{noRoomDear, noRoomDear}, 2, true},
		{[]int{5, 3, 2}, Config{Decided: until}, []float64{0, 0}, 2, true},
		{[]int{6, 3, 2}, Config{TimeLimit: time.Second, Decided: until}, nil, 0, false},
		{[]int{2, 3, 3, 2}, Config{TimeLimit: time.Second}, []float64{0, 0}, 2, false},
		{[]int{9, 3, 3, 2}, Config{}, []float64{0, 0}, 2, false},
		{[]int{9, 3, 2}, Config{Decided: until}, []float64{0}, 1, false},
	} {
		e, err := engine.New(fallback.New(bound.Float32), nil, provetest.RandomNet(r, network.ReLU, c.sizes...), 12)
		if err != nil {
			t.Fatal(err)
		}
		var rooms []float64
		half := 0
		for _, g := range rungsOf(e, &c.cfg) {
			rooms = append(rooms, g.room)
			if g.open(&claim.Result{LogP: math.Log(0.5)}) {
				half++
			}
			if !g.open(&claim.Result{LogP: -60}) {
				t.Errorf("%v: a rung is left out where next to nothing is proved", c.sizes)
			}
		}
		rungs, best := rungsOf(e, &c.cfg), []*claim.Result{{LogP: math.Log(0.999999)}, {LogP: math.Log(0.5)}}
		if wanted(rungs, best) != (c.half > 0) || wanted(rungs, best[:1]) || wanted(rungs[c.half:], best) {
			t.Errorf("%v: which methods are wanted", c.sizes)
		}
		if !slices.Equal(rooms, c.rooms) || half != c.half || autoSums(e, &c.cfg) != c.sums {
			t.Errorf("%v: rooms %v, want %v; %d for a half, want %d; sums %v", c.sizes, rooms, c.rooms, half, c.half, autoSums(e, &c.cfg))
		}
		e.Close()
	}
}

// TestAutoPhases: phases are not tried where what is proved unsafe leaves no room for what they
// would prove.
func TestAutoPhases(t *testing.T) {
	phases := rung{enough: content, least: leastByPhases}
	if phases.open(&claim.Result{LogP: math.Inf(-1), UnsafeDown: 0.01}) || !phases.open(&claim.Result{LogP: math.Inf(-1), UnsafeDown: 1e-9}) {
		t.Error("whether phases are tried does not hang on what is proved unsafe")
	}
}

// TestPhasesLater: an answer of phases is the same when it is asked for again after the time of its
// task has ended, as rechecks are, so that no device is dropped for that.
func TestPhasesLater(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 6))
	post := provetest.RandomNet(r, network.ReLU, 9, 8, 8, 2)
	var tasks []property.Task
	for range 6 {
		box := provetest.BoxAround(make([]float64, 9), 0.2)
		tasks = append(tasks, property.Task{T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(0, 2)})
	}
	e, err := engine.New(fallback.New(bound.Float32), func() bound.Device { return fallback.New(bound.Float32) }, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Recheck(engine.Recheck{Share: 1e-9, Tell: func(d *engine.Dropped) { t.Error(d) }})
	if err := Run(t.Context(), []*engine.Engine{e}, Config{Method: Phases, TimeLimit: time.Hour}, tasks, nil, func(*claim.Result) error { return nil }); err != nil {
		t.Error(err)
	}
}
