package confine

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// wide is a device that is at its best with as much at a time as fits.
type wide struct{ *devicetest.Faulty }

func (d wide) PreferredBatchBytes() int64 { return d.MemoryLimit() }

// counted certifies tasks on a device that calls before of what it does, and says how often rows arrived at inputs.
// recheck is the share of time in which a device beside it, which is not wide, is asked again.
func counted(t *testing.T, post *posterior.Posterior, how How, tasks []property.Task, dev *devicetest.Faulty, isWide bool, recheck float64, before func(bound.Operation) error) (results []*claim.Result, arrived int, err error) {
	t.Helper()
	on := bound.Device(dev)
	if isWide {
		on = wide{dev}
	}
	e, err := engine.New(on, func() bound.Device { return fallback.New(dev.Precision()) }, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	e.Recheck(engine.Recheck{Share: recheck, Tell: func(d *engine.Dropped) { t.Errorf("dropped: %v", d) }})
	dev.Before = func(op bound.Operation) error {
		if _, is := op.(bound.Concretize); is {
			arrived++
		}
		return before(op)
	}
	results, err = Certify(t.Context(), e, how, tasks)
	dev.Before = func(bound.Operation) error { return nil }
	e.Close()
	if dev.Arrays != 0 {
		t.Errorf("%d arrays are left", dev.Arrays)
	}
	return results, arrived, err
}

// same compares all that Certify sets.
func same(a, b []*claim.Result) bool {
	return slices.EqualFunc(a, b, func(a, b *claim.Result) bool {
		return a.LogP == b.LogP && a.Tau == b.Tau && a.Cells == b.Cells && reflect.DeepEqual(a.Proof, b.Proof)
	})
}

func noFault(bound.Operation) error { return nil }

// TestTogether: tasks that go on beside each other have the results that each has alone, cells and alternatives too, and
// rows of all go down at once. Rechecks on a device that is not wide find the same numbers.
func TestTogether(t *testing.T) {
	sum, one := 0, 0
	for n := range testscale.Cases(t, 40) {
		r := rand.New(rand.NewPCG(uint64(n), 223))
		classes := 3 + n%4
		post, tasks := caseOf(r, []float64{0.01, 0.03}[n%2], 0.05+0.35*r.Float64(), [][]int{{4, 12, 10, classes}, {2, 16, classes}, {4, 8, 8, 8, classes}}[n%3]...)
		how := How{Cells: 1 + n%2*7}
		for i := range tasks {
			if (n+i)%3 == 0 { // an OR
				tasks[i].S = property.ArgmaxIsNever((tasks[i].Label+1)%classes, classes)
			}
		}
		p := bound.Precision(n % 2)
		want, alone, err := counted(t, post, how, tasks, devicetest.NewFaulty(fallback.New(p)), false, 0, noFault)
		if err != nil {
			t.Fatal(err)
		}
		got, beside, err := counted(t, post, how, tasks, devicetest.NewFaulty(fallback.New(p)), true, float64(n/2%2), noFault)
		if err != nil || !same(got, want) {
			t.Fatalf("case %d: %v; other results beside each other", n, err)
		}
		sum, one = sum+alone, one+beside
	}
	if t.Logf("rows arrived %d times of tasks alone, %d of tasks beside each other", sum, one); 10*one > 9*sum {
		t.Error("tasks do not go in step")
	}
}

// TestTriedInTurn: of a cell after which others may follow as many sub-problems are looked at on every device.
func TestTriedInTurn(t *testing.T) {
	differ := false
	for n := range testscale.Cases(t, 30) {
		post, tasks := caseOf(rand.New(rand.NewPCG(uint64(n), 227)), 0.01, 0.5, 3, 8, 7, 5)
		left := map[bool][2]int{}
		for _, more := range []bool{true, false} {
			var of [2]int
			for i, on := range []bound.Device{fallback.New(bound.Float64), wide{devicetest.NewFaulty(fallback.New(bound.Float64))}} {
				e, err := engine.New(on, nil, post, 1)
				if err != nil {
					t.Fatal(err)
				}
				noise, err := noiseOf(e)
				if err != nil {
					t.Fatal(err)
				}
				s := &search{e: e, ask: func(a *asked) { answer(t.Context(), e, []*asked{a}) }, noise: noise, task: &tasks[0], left: 1000}
				if _, err := s.try(t.Context(), &cell{box: tasks[0].T[0]}, 200, more); err != nil {
					t.Fatal(err)
				}
				of[i] = s.left
				e.Close()
			}
			left[more] = of
		}
		if of := left[true]; of[0] != of[1] {
			t.Errorf("case %d: %d sub-problems are left, on a wide device %d", n, of[0], of[1])
		}
		differ = differ || left[false][0] != left[false][1]
	}
	if !differ {
		t.Error("trees never grow beside each other")
	}
}

// TestTogetherFaults: whichever call fails of tasks that go on beside each other, once or from then on, results are the
// same, and nothing is left on the device.
func TestTogetherFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 223))
	post, tasks := caseOf(r, 0.02, 0.2, 3, 8, 6, 2)
	calls := 0
	want, _, err := counted(t, post, How{Cells: 1}, tasks, devicetest.NewFaulty(fallback.New(bound.Float32)), true, 0, func(bound.Operation) error { calls++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	for n := 0; n < calls; n += 1 + calls/testscale.Cases(t, 150) {
		for _, once := range []bool{true, false} {
			at := 0
			got, _, err := counted(t, post, How{Cells: 1}, tasks, devicetest.NewFaulty(fallback.New(bound.Float32)), true, 0, func(bound.Operation) error {
				if at++; at == n+1 || at > n && !once {
					return failed
				}
				return nil
			})
			if err != nil || !same(got, want) {
				t.Fatalf("call %d of %d fails, once %v: %v, the same results %v", n, calls, once, err, same(got, want))
			}
		}
	}
}

// large is a wide device with more memory than hosts have.
type large struct{ bound.Device }

func (d large) MemoryLimit() int64         { return 1 << 40 }
func (d large) PreferredBatchBytes() int64 { return 1 << 40 }

// TestMemoryOfTasks: as many tasks go on beside each other as the host has room for, however much the device has.
func TestMemoryOfTasks(t *testing.T) {
	for _, c := range []struct {
		hidden    int
		all, some bool
	}{{12, true, false}, {700, false, true}} {
		post, _ := caseOf(rand.New(rand.NewPCG(4, 223)), 0.02, 0.2, 3, c.hidden, c.hidden, 2)
		e, err := engine.New(large{fallback.New(bound.Float32)}, nil, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		n := atATime(e)
		if all, some := n == MostAtATime, n > 1 && int64(n)*BytesApprox(e) <= 4<<30 && int64(n+1)*BytesApprox(e) > 4<<30; all != c.all || some != c.some {
			t.Errorf("%d neurons: %d tasks of %d bytes beside each other", c.hidden, n, BytesApprox(e))
		}
		e.Close()
	}
}
