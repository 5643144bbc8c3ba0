package prove_test

import (
	"errors"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// lostError is the error of a device that says of itself that it is lost.
type lostError struct{}

func (lostError) Error() string    { return "hung" }
func (lostError) DeviceLost() bool { return true }

// TestFailsForGood: a device that fails from some call on, in all calls or in most, is dropped after a
// few of them, and one that is lost at once: the run ends with the results of the spare device, and the
// device is not asked for every chunk.
func TestFailsForGood(t *testing.T) {
	for _, c := range testscale.Few(t, []struct {
		file string
		cfg  prove.Config
	}{
		{"tiny-2-3-2-tanh.npz", prove.Config{Method: prove.CLBP, Cells: 24}}, {"tiny-2-3-2-tanh.npz", prove.Config{Method: prove.LBP, Samples: 40, Gamma: 0.3}},
		{"swag-2-8-3.npz", prove.Config{Method: prove.CLBP, Cells: 8}}, {"correlated-2-8-3.npz", prove.Config{Method: prove.CLBP, Cells: 8}},
		{"dropout-2-8-3.npz", prove.Config{Method: prove.CLBP, Cells: 4}},
	}, 3) {
		post := read(t, c.file)
		tasks := inGroups(manyTasks(3, post, 12/testscale.By(t, 2)))
		certify := func(dev bound.Device, before func(), tell func(*engine.Dropped)) (all []*claim.Result, err error) {
			e, err := engine.New(dev, func() bound.Device { return fallback.New(bound.Float32) }, post, 12)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.Recheck(engine.Recheck{Share: .005, Tell: tell})
			before()
			err = prove.Run(t.Context(), []*engine.Engine{e}, c.cfg, tasks, nil, func(r *claim.Result) error { all = append(all, r); return nil })
			return all, err
		}
		want, err := certify(fallback.New(bound.Float32), func() {}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int{1, 300} {
			for _, fault := range []error{errors.New("CL_INVALID_MEM_OBJECT"), lostError{}} {
				calls, failed, running := 0, 0, false
				dev := devicetest.NewFaulty(fallback.New(bound.Float32))
				dev.Before = func(bound.Operation) error {
					if !running {
						return nil
					}
					if calls++; calls < from {
						return nil
					}
					failed++
					return fault
				}
				var why []*engine.Dropped
				got, err := certify(dev, func() { running = true }, func(d *engine.Dropped) { why = append(why, d) })
				if err != nil {
					t.Errorf("%s by %v, %v from call %d on: %v", c.file, c.cfg.Method, fault, from, err)
					continue
				}
				if diff := sameResults(got, want); diff != "" {
					t.Errorf("%s by %v, %v from call %d on: %s", c.file, c.cfg.Method, fault, from, diff)
				}
				if calls < from {
					continue
				}
				most := 40
				if fault == (lostError{}) {
					most = 3
				}
				if len(why) != 1 || !strings.Contains(why[0].Error(), "failed: ") || failed > most {
					t.Errorf("%s by %v, %v from call %d on: %d calls failed, dropped for %v", c.file, c.cfg.Method, fault, from, failed, why)
				}
			}
		}
	}
}
