package bench

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
)

// TestJob: the job's own records, and times that add up to the whole.
func TestJob(t *testing.T) {
	points := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(points, []byte("0,1\n1,0\n0.5,0.5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	method := prove.CLBP
	job := certify.Job{
		Posterior: certify.Posterior{Path: "../../../testdata/tiny-2-3-2-tanh.npz"},
		Tasks:     certify.Tasks{Points: certify.Points{Inputs: points, Eps: "0.01", Property: property.KeepsClass}},
		Method:    certify.Method{By: &method},
		Open: func(p bound.Precision) (*certify.Devices, error) {
			time.Sleep(10 * time.Millisecond)
			return &certify.Devices{List: []bound.Device{fallback.New(p)}}, nil
		},
	}
	own := func(c Cost) (Cost, error) { return c, nil }
	s, err := Job(t.Context(), job, own)
	if err != nil {
		t.Fatal(err)
	}
	if sum := s.Opening + s.Waiting + s.Parallel + s.Serial; s.Tasks != 3 || s.Opening < 0.01 || s.Serial <= 0 || sum < s.Wall*0.999 || s.Wall < s.Opening {
		t.Errorf("%+v", s)
	}
	if s.Launches == 0 || s.Calls <= s.Launches || s.Passes == 0 || s.Kernels <= 0 || s.Kernels != s.Waiting {
		t.Errorf("%+v", s)
	}
	given := Cost{Launches: 7, Kernels: time.Second, Waiting: time.Millisecond}
	if s, err = Job(t.Context(), job, func(Cost) (Cost, error) { return given, nil }); err != nil || s.Launches != 7 || s.Kernels != 1 || s.Waiting != 0.001 {
		t.Errorf("%+v, %v", s, err)
	}
	lost := errors.New("lost")
	_, err = Job(t.Context(), job, func(Cost) (Cost, error) { return Cost{}, lost })
	if _, ok := errors.AsType[*certify.DeviceError](err); !ok || !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

// TestCounting: what a device can do besides goes on.
func TestCounting(t *testing.T) {
	plain, wide := counting(fallback.New(bound.Float32), &count{}), counting(many{fallback.New(bound.Float32)}, &count{})
	if bound.Wide(plain) || !bound.Wide(wide) {
		t.Errorf("wide: %v, %v", bound.Wide(plain), bound.Wide(wide))
	}
	over := errors.New("over")
	for _, d := range []bound.Device{plain, wide} {
		if _, err := bound.UntilOver(func() error { return over }, d).NewArray(1); !errors.Is(err, over) {
			t.Errorf("%v", err)
		}
	}
}

// TestCountingLanes: a job has the lanes that it has where nobody counts, whose operations nobody stands still for.
func TestCountingLanes(t *testing.T) {
	var c count
	lane := bound.Lane(bound.UntilOver(func() error { return nil }, counting(fallback.New(bound.Float32), &c)), 2)
	if lane == nil || bound.Lane(counting(many{fallback.New(bound.Float32)}, &c), 2) != nil {
		t.Fatalf("lane %v", lane)
	}
	for _, d := range []bound.Device{lane, bound.UntilOver(func() error { return nil }, lane)} {
		a, err := d.NewArray(1 << 16)
		if err != nil {
			t.Fatal(err)
		}
		before := c.operations.Load()
		if err := d.Do(bound.SquareRows{Square: a, A: a, N: 1 << 16}); err != nil || c.operations.Load() != before+1 || c.computing.Load() == 0 || c.waiting.Load() > 0 {
			t.Errorf("%v, %d operations, %d ns, %d of them waited for", err, c.operations.Load(), c.computing.Load(), c.waiting.Load())
		}
	}
}

// many likes batches as large as its memory.
type many struct{ bound.Device }

func (d many) PreferredBatchBytes() int64 { return d.MemoryLimit() }
