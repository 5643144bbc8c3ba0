package branch

import (
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/internal/testscale"
)

// TestRefine: ranges that trees of hidden neurons have narrowed hold every pre-activation, and leave
// much less open.
func TestRefine(t *testing.T) {
	before, after := 0.0, 0.0
	for n := range testscale.Cases(t, 60) {
		r := rand.New(rand.NewPCG(uint64(n), 81))
		prec := bound.Precision(n % 2)
		c := newPhaseCase(t, r, prec, [][]int{{1, 9, 8, 6, 3}, {2, 8, 6, 5, 2}, {4, 7, 7, 6, 4}}[n%3]...)
		for j := range c.box.Hi {
			c.box.Hi[j]++
		}
		p := newPhased(&Task{Box: c.box, Safe: &c.safe, Most: 1 << 20}, c.net)
		pieces := c.somePieces(r)
		if err := alone(p, c.model, c.around(r, prec, n%5 == 0), func() error {
			if n%3 == 2 {
				before += p.known.width(p.open)
			}
			for _, perSide := range []int{6, 60} { // the second begins with what the first has found
				if err := p.refine(perSide); err != nil {
					return err
				}
				c.checkHidden(t, p, pieces)
			}
			p.task.Most, p.trees = p.tried+1+n%40, map[int][]*side{} // ends between two cuts
			if err := p.refine(60); err != nil {
				return err
			}
			c.checkHidden(t, p, pieces)
			if n%3 == 2 {
				after += p.known.width(p.open)
			}
			for _, o := range p.open {
				if !p.known.open(o.layer, o.unit) {
					t.Errorf("case %d: neuron %v has one sign and is open", n, o)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("width of all triangles %.2f, refined %.2f", before, after)
	if after > 0.9*before {
		t.Errorf("width of all triangles: %.2f, refined %.2f", before, after)
	}
}

// TestRefineLimits: what cuts do not decide soon has hidden neurons refined, which look at no more
// sub-problems than a task allows, every one of which is told, and end when they are stopped.
func TestRefineLimits(t *testing.T) {
	c := newPhaseCase(t, rand.New(rand.NewPCG(5, 82)), bound.Float64, 3, 12, 12, 12, 2)
	for i := range c.box.Lo {
		c.box.Lo[i], c.box.Hi[i] = -3, 3
	}
	told := 0
	task := &Task{Box: c.box, Safe: &c.safe, Most: 3000, Count: func(n int) { told += n }}
	p := newPhased(task, c.net)
	if err := alone(p, c.model, c.weightBox(bound.Float64), func() error {
		before := p.known.width(p.open)
		proved, err := p.tree()
		if proved || p.tried > task.Most || p.tried != told || p.tried < 1000 {
			t.Errorf("proved %v after %d sub-problems of %d, %d told", proved, p.tried, task.Most, told)
		}
		if after := p.known.width(p.open); after > 0.8*before {
			t.Errorf("width of all triangles %.2f, after %d sub-problems %.2f", before, p.tried, after)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	looks := 0
	task.Count, task.Most, task.Stop = nil, 1<<20, func() bool { looks++; return looks > 40 }
	if got, err := task.On(c.model, c.net, c.weightBox(bound.Float64)); err != nil || got.Proved || looks > 42 {
		t.Errorf("%v: proved %v though it was stopped; asked %d times", err, got.Proved, looks)
	}
}
