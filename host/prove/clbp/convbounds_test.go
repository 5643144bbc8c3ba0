package clbp

import (
	"context"
	"fmt"
	"math"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// This file compares convolutional networks with an independent program of float64 without
// outward rounding: bounds must be at least as good, but for rounding.

// byBounds is concentration LBP without cells.
func byBounds(ctx context.Context, e *engine.Engine, tasks []property.Task) ([]*claim.Result, error) {
	return Certify(ctx, e, 1, tasks)
}

// lowerOf is p_lower of one task by a method on the fallback.
func lowerOf(t *testing.T, p bound.Precision, post *posterior.Posterior, by engine.Certifier, task property.Task) float64 {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, post, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	results, err := by(t.Context(), e, []property.Task{task})
	if err != nil {
		t.Fatal(err)
	}
	return results[0].Lower()
}

// formulaCases are the cases for a run of the tests, one of each network among them.
func formulaCases(t testing.TB) []convtest.Case {
	var all []convtest.Case
	for _, c := range convtest.Cases() {
		if testscale.Deep(t) || c.Net != "mnist_lenet" || c.Seed == 62 {
			all = append(all, c)
		}
	}
	return all
}

// TestConvolutionBounds: p_lower of concentration LBP, with whatever tau it chooses, is at
// least that of the independent program with the best of its own.
func TestConvolutionBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	for _, c := range formulaCases(t) {
		post := c.Posterior()
		for _, p := range testscale.Few(t, []bound.Precision{bound.Float64, bound.Float32}, 1) {
			slack := map[bound.Precision]float64{bound.Float64: 1e-6, bound.Float32: 1e-3}[p]
			t.Run(fmt.Sprintf("%s/%v", c.Name(), p), func(t *testing.T) {
				got := lowerOf(t, p, post, byBounds, c.Task(post))
				if t.Logf("p_lower %.9f, independent program %.9f", got, c.PLower); got < c.PLower-slack {
					t.Errorf("p_lower %.9f, independent program %.9f: below it by %.3g", got, c.PLower, c.PLower-got)
				}
			})
		}
	}
}

// noisesAt runs one tau and returns the noise of both forms.
func noisesAt(t *testing.T, p bound.Precision, post *posterior.Posterior, task *property.Task, tau float64) (n *bound.CLBPMargins, events float64) {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, post, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	m, c := method{e: e}, &cell{task: task, box: task.T[0], fail: 1}
	err = m.propagate(e.Model, []*cell{c}, Quantiles(m.e, p, tau), nil, func(_ *cell, got *bound.CLBPMargins, _ int) error { n = got; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n, m.budgetUp(c, n, 0, tau) / tau
}

// TestConvolutionNoise: by either form and with the tau of the independent program, no row's
// bound is below its, and no mean and no variance of noise above, level by level; and no more
// events are paid. As both are computed by the same formulas, what is below its would lack something.
func TestConvolutionNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	for _, c := range formulaCases(t) {
		post := c.Posterior()
		task := c.Task(post)
		t.Run(c.Name(), func(t *testing.T) {
			n, events := noisesAt(t, bound.Float64, post, &task, c.Tau)
			if events > c.Events*(1+1e-5) {
				t.Errorf("%v events, independent program %v", events, c.Events)
			}
			if events < c.Events*(1-1e-9) {
				t.Errorf("only %v events, independent program %v", events, c.Events)
			}
			// Radii below a pool are not cut to the widths of intervals, as they are in that program.
			sameNoise(t, "intervals", &n.ByIntervals, c.Intervals, 1e-4)
			sameNoise(t, "lines", &n.ByLines, c.Lines, 1e-4)
			noLessNoise(t, "intervals", &n.ByIntervals, c.Intervals)
			noLessNoise(t, "lines", &n.ByLines, c.Lines)
		})
	}
}

// sameNoise compares one form. Means may be above the others by meanSlack of them.
func sameNoise(t *testing.T, form string, got *bound.Noises, want []convtest.Noise, meanSlack float64) {
	t.Helper()
	if got.Lo == nil {
		t.Errorf("%s: no bound", form)
		return
	}
	const rel = 1e-7
	for r, w := range want {
		lo, mean, variance := got.At(r)
		if len(mean) != len(w.E) {
			t.Errorf("%s row %d: noise of %d levels, want %d", form, r, len(mean), len(w.E))
			continue
		}
		if lo < w.Lo-rel*(1+math.Abs(w.Lo)) {
			t.Errorf("%s row %d: bound %.12g, independent program %.12g", form, r, lo, w.Lo)
		}
		for l := range mean {
			// Ours come from above, as the rows do.
			at := len(mean) - 1 - l
			if mean[at] > w.E[l]*(1+rel+meanSlack)+1e-12 || variance[at] > w.V[l]*(1+rel)+1e-15 {
				t.Errorf("%s row %d level %d: mean %.9g, variance %.9g; independent program %.9g, %.9g", form, r, l+1, mean[at], variance[at], w.E[l], w.V[l])
			}
		}
	}
}

// noLessNoise sees whether means or variances are below what formulas say.
func noLessNoise(t *testing.T, form string, got *bound.Noises, want []convtest.Noise) {
	t.Helper()
	for r, w := range want {
		_, mean, variance := got.At(r)
		for l := range min(len(mean), len(w.E)) {
			at := len(mean) - 1 - l
			if mean[at] < w.E[l]*(1-1e-9) || variance[at] < w.V[l]*(1-1e-9) {
				t.Errorf("%s row %d level %d: only mean %.9g, variance %.9g; independent program %.9g, %.9g", form, r, l+1, mean[at], variance[at], w.E[l], w.V[l])
			}
		}
	}
}

// TestEventCounts: what tau is paid for, counted by hand (docs/theory.md, section 4.3).
func TestEventCounts(t *testing.T) {
	for name, want := range map[string]bound.Events{
		// 48 units under 12 windows of 4: upper ends, stars and the other members; 8 units.
		"tinyA": {Ends: 48 + 12 + 36 + 2*8, Radii: 48 + 8},
		// 72 units; two layers of 108 that nothing but their sum uses; the sum, under 27 windows of 4.
		"tinyD": {Ends: 2*72 + 108 + 27 + 81, Radii: 72 + 108, Loose: 2 * 2 * 108},
	} {
		post := convtest.Named(name).Posterior(1)
		for _, eps := range []float64{0, 0x1p-6} {
			task := convtest.KeepsClass(post, convtest.Picture(14, convtest.Named(name).Image), eps, 0)
			n, _ := noisesAt(t, bound.Float64, post, &task, 1e-4)
			want := want
			if eps == 0 {
				want.Radii = 0
			}
			if n.Events[0] != want {
				t.Errorf("%s, half-width %v: %+v, want %+v", name, eps, n.Events[0], want)
			}
		}
	}
}

// TestConvolutionBoxes: the largest half-widths that the independent program accepts, of boxes
// around the mean, are accepted, and rows' bounds there are not below its: IBP beside IBP, LBP
// beside the better of places by themselves and shared.
func TestConvolutionBoxes(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	for _, c := range formulaCases(t) {
		if c.Box == nil {
			continue
		}
		post := c.Posterior()
		task := c.Task(post)
		for _, word := range []string{"ibp", "sep", "share"} {
			want, method := c.Box[word], bound.LBP
			if word == "ibp" {
				method = bound.IBP
			}
			if want.Gamma == nil {
				continue
			}
			t.Run(c.Name()+"/"+word, func(t *testing.T) {
				margins := boxMargins(t, bound.Float64, post, &task, method, *want.Gamma)
				if !(task.S.MarginLo(margins) >= 0) {
					t.Errorf("half-width %v is not accepted", *want.Gamma)
				}
				for r, got := range margins {
					if got < want.Margin[r]-1e-9 {
						t.Errorf("row %d at half-width %v: %.12g, independent program %.12g: below it by %.3g", r, *want.Gamma, got, want.Margin[r], want.Margin[r]-got)
					}
				}
			})
		}
	}
}

// boxMargins are the bounds of rows in the box of half-width gamma around the mean.
func boxMargins(t *testing.T, p bound.Precision, post *posterior.Posterior, task *property.Task, method bound.Propagation, gamma float64) []float64 {
	t.Helper()
	m, err := bound.NewModel(fallback.New(p), post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	spec := bound.BoxSpec{}
	for range post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{p.Nearest(gamma)})
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseBoxes(boxes)
	in, err := m.UploadInputs(task.T[:1])
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows([][]property.Row{task.S.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseRows(rows)
	margins, err := m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return margins.Lo(0)
}
