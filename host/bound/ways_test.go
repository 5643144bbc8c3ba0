package bound_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/devicetest"
)

// TestEnough: bounds that are not enough are those of a pass that leaves nothing out, bit for bit, whatever else
// is in the batch; of those that are enough, rows are left out.
func TestEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 7))
	left, gained := false, false
	for _, name := range []string{"tinyA", "tinyB", "leastPool", "leastSum"} {
		a := askOf(r, convtest.Named(name).Posterior(1))
		for _, gamma := range []float64{1. / 128, 1, 4} {
			t.Run(fmt.Sprintf("%s/%v", name, gamma), func(t *testing.T) {
				all, operations := a.enough(t, gamma, nil)
				none, both := a.enough(t, gamma, func(int) bool { return false })
				first, _ := a.enough(t, gamma, func(item int) bool { return item == 0 })
				every, few := a.enough(t, gamma, func(int) bool { return true })
				if !slices.EqualFunc(none, all, slices.Equal) || !slices.Equal(first[1], all[1]) || !slices.Equal(first[0], every[0]) {
					t.Errorf("all rows %v; none is enough %v; item 0 is %v; both are %v", all, none, first, every)
				}
				if few >= operations {
					t.Errorf("%d operations with everything left out, %d without", few, operations)
				}
				left, gained = left || both <= operations+20, gained || both > operations+20
			})
		}
	}
	if !left || !gained {
		t.Errorf("left out rows gain nothing somewhere: %v, and something: %v", left, gained)
	}
}

// TestEnoughLeads: what a pool's stars lead by is bounded after all, in a network where that gains.
func TestEnoughLeads(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 45))
	a := askOf(r, convtest.Random(r, convtest.Shape{Blocks: 2, Spread: .4, Outputs: 2, Side: 1}))
	all, _ := a.enough(t, 1, nil)
	if none, _ := a.enough(t, 1, func(int) bool { return false }); !slices.EqualFunc(none, all, slices.Equal) {
		t.Errorf("all rows %v; none is enough %v", all, none)
	}
}

// enough bounds two items of one weight box by LBP, which are enough where is says so, nil to ask for all, and
// counts the operations.
func (a *asked) enough(t *testing.T, gamma float64, is func(item int) bool) (lo [][]float64, operations int) {
	dev := devicetest.NewFaulty(fallback.New(bound.Float32))
	m, err := bound.NewModel(dev, a.post, 4)
	if err != nil {
		t.Fatal(err)
	}
	spec := bound.BoxSpec{Sampled: true}
	for range a.post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{gamma})
	}
	boxes, err := m.Draw(spec)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.UploadInputs(a.boxes)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.UploadRows(a.rows)
	if err != nil {
		t.Fatal(err)
	}
	dev.Before = func(op bound.Operation) error {
		if op != nil {
			operations++
		}
		return nil
	}
	query, before := bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 2, PerBox: 2, Inputs: 2}}, dev.Arrays
	if is != nil {
		query.Enough = func(item int, lo []float64) bool { return is(item) }
	}
	margins, err := m.Propagate(query)
	if err != nil || dev.Arrays != before {
		t.Fatalf("%v; %d arrays are left", err, dev.Arrays-before)
	}
	return [][]float64{margins.Lo(0), margins.Lo(1)}, operations
}
