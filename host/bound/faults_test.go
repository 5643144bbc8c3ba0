package bound_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/devicetest"
	"psafe/internal/testscale"
)

// asked is a network and what two boxes of inputs are asked.
type asked struct {
	post  *posterior.Posterior
	boxes []property.Box
	rows  [][]property.Row
}

func askOf(r *rand.Rand, post *posterior.Posterior) *asked {
	a := &asked{post: post}
	for i := range 2 {
		x := convtest.Picture(uint64(i), network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
		a.boxes, a.rows = append(a.boxes, convtest.Around(x, 0.1)), append(a.rows, noisyRows(r, post.Outputs()))
	}
	return a
}

// on puts it on a device, with as many weight boxes as boxes of inputs, and has f work there.
func (a *asked) on(dev bound.Device, f func(m *bound.Model, boxes *bound.Boxes, in *bound.Inputs, rows *bound.Rows) ([]float64, error)) ([]float64, error) {
	m, err := bound.NewModel(dev, a.post, 2)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	spec := bound.BoxSpec{}
	for range a.post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{1, 0.5}[:len(a.boxes)])
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseBoxes(boxes)
	in, err := m.UploadInputs(a.boxes)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows(a.rows)
	if err != nil {
		return nil, err
	}
	defer m.ReleaseRows(rows)
	return f(m, boxes, in, rows)
}

// byBoxes bounds margins on two weight boxes, each with both boxes of inputs, or if it is to refine
// with one of them.
func (a *asked) byBoxes(method bound.Propagation, refine bool) func(bound.Device) ([]float64, error) {
	return func(dev bound.Device) ([]float64, error) {
		return a.on(dev, func(m *bound.Model, boxes *bound.Boxes, in *bound.Inputs, rows *bound.Rows) ([]float64, error) {
			query := bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 4, PerBox: 2, Inputs: 2}}
			if refine {
				query.Batch = bound.Batch{Items: 2, PerBox: 1, Inputs: 2}
				more := &bound.Refinement{Rows: a.rows}
				for _, l := range a.post.Layers[:len(a.post.Layers)-1] {
					more.Slope = append(more.Slope, make([]float64, 2*l.Outputs()*len(a.rows[0])))
				}
				query.Refine = func(*bound.Margins) *bound.Refinement { return more }
			}
			var seen []float64
			query.Observe = func(_ string, _ int, x bound.Array) error {
				v, err := bound.ReadAll(dev, x)
				seen = append(seen, v...)
				return err
			}
			n, err := m.Propagate(query)
			if err != nil {
				return nil, err
			}
			return slices.Concat(seen, n.IBP, n.LBP, n.Refined), nil
		})
	}
}

// byOneAndBoth is byBoxes of LBP whose bounds are never enough, so that what was left out is done after all.
func (a *asked) byOneAndBoth(dev bound.Device) ([]float64, error) {
	return a.on(dev, func(m *bound.Model, boxes *bound.Boxes, in *bound.Inputs, rows *bound.Rows) ([]float64, error) {
		n, err := m.Propagate(bound.Query{
			Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 2, PerBox: 1, Inputs: 2},
			Enough: func(int, []float64) bool { return false },
		})
		if err != nil {
			return nil, err
		}
		return slices.Concat(n.IBP, n.LBP), nil
	})
}

// byNoise is concentration LBP with all that it can do.
func (a *asked) byNoise(dev bound.Device) ([]float64, error) { return a.noisy(dev, nil) }

// byLeaves is concentration LBP, and a row in a leaf, of a chain.
func (a *asked) byLeaves(dev bound.Device) (all []float64, err error) {
	_, err = a.noisy(dev, func(s *bound.CLBPSplits) error {
		q := &bound.SplitQuery{Layer: len(a.post.Layers) - 1, Rows: []int{0}}
		for _, l := range a.post.Layers[:q.Layer] {
			n := l.Outputs()
			q.Slope, q.Phase, q.Beta = append(q.Slope, make([]float64, n)), append(q.Phase, make([]float64, n)), append(q.Beta, make([]float64, n))
		}
		q.Phase[0][0], q.Beta[0][0] = 1, 0.5
		n, err := s.Bound(q)
		all = slices.Concat(n.Lo, slices.Concat(n.Mean...), slices.Concat(n.Var...))
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (a *asked) noisy(dev bound.Device, splits func(*bound.CLBPSplits) error) ([]float64, error) {
	return a.on(dev, func(m *bound.Model, _ *bound.Boxes, _ *bound.Inputs, rows *bound.Rows) ([]float64, error) {
		c, err := m.NewDeviations(a.post, momentsOf(a.post))
		if err != nil {
			return nil, err
		}
		defer c.Release()
		in, err := m.UploadNoisy(a.boxes)
		if err != nil {
			return nil, err
		}
		defer m.ReleaseNoisy(in)
		q := bound.Quantiles{Single: 5, Radius: 7, Loose: 6}
		for range a.post.Layers {
			q.Many = append(q.Many, 6)
		}
		n, err := c.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: q, Sharp: m.Sharpens(), Slopes: m.Bends(), Splits: splits})
		if err != nil {
			return nil, err
		}
		var all []float64
		for _, of := range append(n.Others, n) {
			for _, x := range []bound.Noises{of.ByIntervals, of.ByLines} {
				all = append(append(append(all, x.Lo...), slices.Concat(x.Mean...)...), slices.Concat(x.Var...)...)
			}
		}
		for p := range a.boxes {
			n.Sharpen(p)
			lo, mean, variance := n.Sharp(p, 0)
			all = append(append(append(all, lo), mean...), variance...)
		}
		return all, nil
	})
}

// byPhases asks what a tree of phases asks of a chain of two hidden layers of as many units.
func (a *asked) byPhases(dev bound.Device) ([]float64, error) {
	return a.on(dev, func(m *bound.Model, boxes *bound.Boxes, in *bound.Inputs, rows *bound.Rows) (all []float64, err error) {
		s := m.NewSplits(boxes, in, rows)
		defer s.Release()
		units := a.post.Layers[0].Outputs()
		query := func(layer int, rows ...int) *bound.SplitQuery {
			q := &bound.SplitQuery{Layer: layer, Rows: rows, WantRows: true}
			for range layer {
				q.Slope = append(q.Slope, make([]float64, units*len(rows)))
			}
			return q
		}
		for k := range 2 {
			if err := s.Allow(slices.Repeat([]float64{0.01}, units)); err != nil {
				return nil, err
			}
			lo, hi, err := s.Next()
			if err != nil {
				return nil, err
			}
			if all = append(append(all, lo...), hi...); k == 0 {
				continue
			}
			q := query(k, 0, units)
			answer, err := s.Bound(q)
			if err != nil {
				return nil, err
			}
			if err := s.Tighten(q, answer.Bound); err != nil {
				return nil, err
			}
		}
		there, err := s.Assuming([]int{1})
		if err != nil {
			return nil, err
		}
		defer there.Release()
		q, aims := query(2, 1), []bound.Aim{{Layer: 1, Unit: 0}}
		for range 2 {
			q.Phase, q.Beta = append(q.Phase, make([]float64, units)), append(q.Beta, make([]float64, units))
		}
		q.Beta[1][0] = 1
		answer, err := there.Bound(q)
		if err != nil {
			return nil, err
		}
		if _, err := there.TightenAiming(q, aims, answer.Bound); err != nil {
			return nil, err
		}
		pre, err := s.ForwardApprox(1, make([]float64, 2*units), nil, 2)
		if err != nil {
			return nil, err
		}
		return append(append(append(all, answer.Bound...), slices.Concat(answer.S...)...), pre...), nil
	})
}

// byParts asks what is known of hidden layers on a box, and on that as a part of itself.
func (a *asked) byParts(dev bound.Device) ([]float64, error) {
	return a.on(dev, func(m *bound.Model, boxes *bound.Boxes, in *bound.Inputs, rows *bound.Rows) (all []float64, err error) {
		s := m.NewSplits(boxes, in, rows)
		for range 2 {
			defer s.Release()
			for range a.post.Layers[1:] {
				lo, hi, err := s.Next()
				if err != nil {
					return nil, err
				}
				all = append(append(all, lo...), hi...)
			}
			s = s.Within(in)
		}
		return all, nil
	})
}

// TestUnitsInParts: however many coefficients of rows of units are read at a time, bounds are the same, and
// memory is given back.
func TestUnitsInParts(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 2))
	for c := range 4 {
		a := askOf(r, noisyNet(r, network.ReLU, .1, [][]int{{3, 4, 4, 2}, {3, 5, 4, 6, 2}}[c%2]...))
		switch second := &a.boxes[1]; c {
		case 2:
			second.Hi = second.Lo // a point
		case 3:
			second.Lo = make([]float64, 3) // nothing is negative
		}
		var want []float64
		for _, most := range []int{1 << 20, 1, 300} {
			undo := bound.SetMostUnits(most)
			dev := devicetest.NewFaulty(fallback.New(bound.Precision(c % 2)))
			got, err := a.byNoise(dev)
			undo()
			if err != nil || dev.Arrays != 0 {
				t.Fatalf("case %d: %v, %d arrays are left", c, err, dev.Arrays)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("case %d: with %d numbers at a time %v, with all %v", c, most, got, want)
			}
		}
	}
}

// TestEveryCallFails: if one call of a device fails, whichever, and all others succeed, what was asked
// ends with this error and without a number, and gives all memory back.
func TestEveryCallFails(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 0))
	chain := askOf(r, noisyNet(r, network.ReLU, .02, 3, 4, 4, 2))
	one := &asked{chain.post, chain.boxes[:1], chain.rows[:1]}
	conv := askOf(r, convtest.Named("leastConv").Posterior(1))
	whole := &asked{conv.post, conv.boxes[:1], conv.rows[:1]}
	works := map[string]func(bound.Device) ([]float64, error){"convolution, parts": whole.byParts, "chain, phases": one.byPhases, "chain, leaves": one.byLeaves, "chain, refined": chain.byBoxes(bound.LBP, true)}
	for name, a := range map[string]*asked{
		"chain": chain, "convolution": askOf(r, convtest.Named("leastConv").Posterior(1)),
		"pool": askOf(r, convtest.Named("leastPool").Posterior(1)), "sum": askOf(r, convtest.Named("leastSum").Posterior(1)),
	} {
		works[name+", ibp"], works[name+", lbp"], works[name+", clbp"] = a.byBoxes(bound.IBP, false), a.byBoxes(bound.LBP, false), a.byNoise
		if name == "pool" || testscale.Deep(t) {
			works[name+", lbp if it must be"] = a.byOneAndBoth
		}
	}
	errBroken := errors.New("device broken")
	for name, ask := range works {
		for at := 0; ; at++ {
			dev, calls := devicetest.NewFaulty(fallback.New(bound.Float32)), 0
			dev.Before = func(bound.Operation) error {
				if calls++; calls == at {
					return errBroken
				}
				return nil
			}
			numbers, err := func() (v []float64, err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("panic: %v", p)
					}
				}()
				return ask(dev)
			}()
			if dev.Arrays != 0 {
				t.Errorf("%s, call %d: %d arrays are left", name, at, dev.Arrays)
			}
			switch failed := at >= 1 && at <= calls; {
			case failed && (!errors.Is(err, errBroken) || numbers != nil):
				t.Errorf("%s, call %d fails: %d numbers, error %v", name, at, len(numbers), err)
			case !failed && (err != nil || len(numbers) == 0):
				t.Fatalf("%s: %d numbers, error %v", name, len(numbers), err)
			}
			if at > calls {
				t.Logf("%s: %d calls", name, calls)
				break
			}
		}
	}
}
