package crosscheck

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/lab/lockstep"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
)

// shifted is the fallback with by added to the lower and upper ends that Affine writes; it
// counts arrays.
type shifted struct {
	bound.Device
	by   float64
	live *int
}

func (s shifted) NewArray(n int) (bound.Array, error) {
	*s.live++
	return s.Device.NewArray(n)
}

func (s shifted) Release(a bound.Array) {
	if a != nil {
		*s.live--
	}
	s.Device.Release(a)
}

func (s shifted) Do(op bound.Operation) error {
	err := s.Device.Do(op)
	a, is := op.(bound.Affine)
	if err != nil || s.by == 0 || !is {
		return err
	}
	for _, ends := range []bound.Array{a.Pre.Lo, a.Pre.Hi} {
		v := make([]float64, ends.Len())
		if err := s.Read(v, ends); err != nil {
			return err
		}
		for i := range v {
			v[i] += s.by
		}
		if err := s.Write(ends, v); err != nil {
			return err
		}
	}
	return nil
}

func read(t *testing.T, name string) *posterior.Posterior {
	t.Helper()
	p, err := format.Read(filepath.Join("..", "..", "..", "testdata", name), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trial is a job on two fallbacks, which shift what by says.
type trial struct {
	Settings
	live, open int
	equal      []Equal
	overlap    []Overlap
}

func newTrial(post *posterior.Posterior, by func(device int, p bound.Precision) float64) *trial {
	c := &trial{}
	c.Settings = Settings{
		Posterior: post, Tasks: OwnTasks(post, 1), Seed: 1,
		Methods: methods, Precisions: []bound.Precision{bound.Float32, bound.Float64},
		Equal:   func(e Equal) { c.equal = append(c.equal, e) },
		Overlap: func(o Overlap) { c.overlap = append(c.overlap, o) },
	}
	c.Open = func(p bound.Precision) (*Pair, error) {
		c.open++
		return &Pair{shifted{fallback.New(p), by(0, p), &c.live}, shifted{fallback.New(p), by(1, p), &c.live}, func() { c.open-- }}, nil
	}
	return c
}

// closed checks that everything was given back.
func (c *trial) closed(t *testing.T) {
	t.Helper()
	if c.open != 0 || c.live != 0 {
		t.Errorf("%d pairs are open, %d arrays were not released", c.open, c.live)
	}
}

// TestEqual: a device is equal to itself by every method, and its precisions overlap.
func TestEqual(t *testing.T) {
	for _, name := range []string{"one-weight.npz", "tiny-2-3-2-tanh.npz", "cubic-128.npz"} {
		c := newTrial(read(t, name), func(int, bound.Precision) float64 { return 0 })
		if err := c.Run(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(c.equal) != 6 || len(c.overlap) != 3 {
			t.Fatalf("%s: %d equal, %d overlap", name, len(c.equal), len(c.overlap))
		}
		for i, e := range c.equal {
			if e.Method != c.Methods[i%3] || e.Precision != c.Precisions[i/3] || e.Numbers == 0 || e.Operations == 0 || e.Devices != "cpu beside cpu" {
				t.Errorf("%s: %+v", name, e)
			}
		}
		for i, o := range c.overlap {
			if o.Method != c.Methods[i] || o.Total == 0 || o.Inside > o.Total || !(o.Gap < 1e-2) {
				t.Errorf("%s: %+v", name, o)
			}
		}
		c.closed(t)
	}
}

// TestOtherKinds: posteriors whose weights are not independent, and dropout, are compared by what clbp asks of a
// device, in both precisions; a number that one device has otherwise is found, though clbp asks again.
func TestOtherKinds(t *testing.T) {
	for _, name := range []string{"correlated-2-8-3.npz", "swag-2-8-3.npz", "dropout-2-8-3.npz"} {
		for _, by := range []float64{0, 0x1p-9} {
			c := newTrial(read(t, name), func(device int, p bound.Precision) float64 { return by * float64(device) })
			c.Methods = c.Methods[2:]
			err := c.Run(t.Context())
			if _, ok := errors.AsType[*Difference](err); by != 0 && (!ok || !strings.HasPrefix(err.Error(), "clbp float32: DIFFERENCE in affine: ")) {
				t.Errorf("%s: devices differ: %v", name, err)
			}
			if by == 0 && (err != nil || len(c.equal) != 2 || len(c.overlap) != 1 || c.equal[1].Numbers == 0 || c.overlap[0].Total != 6) {
				t.Errorf("%s: %v, %+v, %+v", name, err, c.equal, c.overlap)
			}
			c.closed(t)
		}
		if Fits(read(t, name), prove.LBP) == nil {
			t.Errorf("%s: weight boxes", name)
		}
	}
}

// TestDifference: a number that one device has otherwise is found, and so are precisions that
// contradict each other where the devices agree.
func TestDifference(t *testing.T) {
	post := read(t, "tiny-2-3-2-tanh.npz")
	c := newTrial(post, func(device int, p bound.Precision) float64 {
		if device == 1 && p == bound.Float64 {
			return 0x1p-40
		}
		return 0
	})
	err := c.Run(t.Context())
	d, lock := errors.AsType[*lockstep.Difference](err)
	if _, ok := errors.AsType[*Difference](err); !ok || !lock || d.Operation != "affine" || !strings.HasPrefix(err.Error(), "ibp float64: DIFFERENCE in affine: ") {
		t.Errorf("devices: %v", err)
	}
	if len(c.equal) != 3 || len(c.overlap) != 0 {
		t.Errorf("devices: %d equal before, %d overlap", len(c.equal), len(c.overlap))
	}
	c.closed(t)

	for _, by := range []float64{100, -100} {
		c = newTrial(post, func(_ int, p bound.Precision) float64 {
			if p == bound.Float64 {
				return by
			}
			return 0
		})
		err = c.Run(t.Context())
		const want = "ibp: DIFFERENCE between precisions in pre.lo of layer 0 at index 0: float64 ["
		if _, ok := errors.AsType[*Difference](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("precisions, by %v: %v", by, err)
		}
		c.closed(t)
	}
}

// TestErrors: other errors are as they come.
func TestErrors(t *testing.T) {
	c := newTrial(read(t, "one-weight.npz"), func(int, bound.Precision) float64 { return 0 })
	c.Methods = []prove.Method{prove.Finite}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "finite") {
		t.Errorf("unknown method: %v", err)
	}
	c.closed(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	c.closed(t)
	closed := errors.New("closed")
	c.Open = func(bound.Precision) (*Pair, error) { return nil, closed }
	if err := c.Run(t.Context()); err != closed {
		t.Errorf("no devices: %v", err)
	}
	if _, err := ParseMethod("sideways"); err == nil {
		t.Error("ParseMethod took it")
	}
}

// TestOverlap: which bounds count as lower and as upper ones.
func TestOverlap(t *testing.T) {
	inf := math.Inf(1)
	narrow := []bounds{{"pre.lo", 0, []float64{1, -inf}}, {"pre.hi", 0, []float64{2, 3}}, {"margin.ibp", 1, []float64{5}}, {"radius", 0, []float64{1}}, {"pool.star", 1, []float64{3}}, {"pool.lead", 1, []float64{0.5}}}
	wide := []bounds{{"pre.lo", 0, []float64{0.5, 0}}, {"pre.hi", 0, []float64{2, 2.5}}, {"margin.ibp", 1, []float64{5.25}}, {"radius", 0, []float64{1.25}}, {"pool.star", 1, []float64{7}}, {"pool.lead", 1, []float64{9}}}
	// Inside: the first pre.lo, the first pre.hi and the radius; the margin is a lower bound.
	if o, err := overlap(narrow, wide); err != nil || o != (Overlap{Inside: 3, Total: 6, Gap: 0.5}) {
		t.Errorf("%+v, %v", o, err)
	}
	wide[1].values[0] = 0.75
	if o, err := overlap(narrow, wide); err == nil {
		t.Errorf("[1, 2] and [0.5, 0.75]: %+v", o)
	}
}

// TestOwnTasks: they fit any posterior, and the same seed gives the same ones.
func TestOwnTasks(t *testing.T) {
	for _, name := range []string{"one-weight.npz", "cubic-128.npz", "tiny-2-3-2-tanh.npz"} {
		post := read(t, name)
		again, other := OwnTasks(post, 3), OwnTasks(post, 4)
		for i, task := range OwnTasks(post, 3) {
			if err := task.Check(post.Inputs(), post.Outputs()); err != nil {
				t.Errorf("%s: task %d: %v", name, i, err)
			}
			if first := task.T[0].Lo[0]; again[i].T[0].Lo[0] != first || other[i].T[0].Lo[0] == first {
				t.Errorf("%s: task %d does not follow the seed", name, i)
			}
		}
	}
}
