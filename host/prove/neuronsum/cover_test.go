package neuronsum

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// asked is a context that ends after so many questions.
type asked struct {
	context.Context
	left atomic.Int64
}

func newAsked(ctx context.Context, n int) *asked {
	a := &asked{Context: ctx}
	a.left.Store(int64(n))
	return a
}

func (a *asked) Err() error {
	if a.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestCoverInTime: whenever its time is up, a cover's bound is no worse than if that had been
// earlier, though the first cut of one of the nets makes the sum larger; and its tree has as many
// cells as it says.
func TestCoverInTime(t *testing.T) {
	larger := 0
	for _, seed := range []uint64{5, 6, 7} {
		r := rand.New(rand.NewPCG(seed, 57))
		n := newSum(t, sumtest.Net(r, 2, 4, 1, network.Activation{Kind: network.ReLU}))
		box := property.Box{Lo: []float64{-1, -1}, Hi: []float64{1, 1}}
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 0.5 + r.Float64()}
		row.DHi = row.D
		s := property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
		rough := n.withQuality(coarse)
		whole, _ := rough.CellFailUp(box, &s)
		if _, a, b, ok := rough.cut(t.Context(), coverCell{box: box, bound: whole}, &s); ok && a.bound+b.bound > whole && whole < 1 {
			larger++
		}
		before, step := Cover{FailUp: 1}, 1
		if testscale.Deep(t) {
			step = 4
		}
		for left := 0; ; left += 1 + left/step {
			c, err := n.Cover(newAsked(context.Background(), left), []property.Box{box}, &s, 4)
			cells := 0
			for _, axis := range c.Tree {
				if axis < 0 {
					cells++
				}
			}
			if c.FailUp > before.FailUp || cells != c.Cells || !(c.FailUp >= 0) {
				t.Fatalf("net %d, %d questions: %+v after %+v", seed, left, c, before)
			}
			if before = c; err == nil {
				break
			}
		}
		t.Logf("net %d: %+v", seed, before)
	}
	if larger == 0 {
		t.Error("no first cut makes the sum larger")
	}
}

// TestSumsLook: bounds look at every neuron whether to go on, are 1 once they may not, but for those that were known,
// and are begun by nobody then.
func TestSumsLook(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 57))
	n := newSum(t, sumtest.Net(r, 2, 16, 1, network.Activation{Kind: network.ReLU}))
	box := property.Box{Lo: []float64{-0.01, -0.01}, Hi: []float64{0.01, 0.01}}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 3, DHi: 3}
	s := property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}
	for what, f := range map[string]func(*Sum) float64{
		"cells": func(n *Sum) float64 { return first(n.CellFailUp(box, &s)) },
		"points": func(n *Sum) float64 {
			return first(n.SafeUp(property.Box{Lo: box.Lo, Hi: box.Lo}, &property.Safe{Rows: []property.Row{row.Negated()}, Any: s.Any}))
		},
	} {
		want := f(n)
		whole := newAsked(t.Context(), 1<<40)
		got := f(n.Until(whole))
		looks := 1<<40 - int(whole.left.Load())
		if got != want || !(want < 1) || looks < 2*16 {
			t.Fatalf("%s: %v after %d looks, want %v", what, got, looks, want)
		}
		for k := range testscale.Cases(t, 40) {
			few := (k*2654435761 + looks/2) % looks
			a := newAsked(t.Context(), few)
			if got := f(n.Until(a)); got != 1 && got != want || -a.left.Load() > 100 {
				t.Errorf("%s: %v after %d of %d looks, and %d more", what, got, few, looks, -a.left.Load())
			}
		}
	}
}
