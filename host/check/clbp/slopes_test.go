package clbp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestSlopesHold: with other lower slopes drawn networks are unsafe no more often than is said.
func TestSlopesHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 12))
	said := 0
	for i := range testscale.Cases(t, 60) {
		post, task := checktest.BentTask(rng, 0.3, [][]int{{2, 5, 4, 2}, {1, 6, 6, 2}, {2, 8, 2}}[i%3]...)
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 10000
		drawn, _ := sumtest.DrawnUnsafe(post, task, task.T[0].Lo, draws)
		for _, tau := range []float64{1e-3, 1e-5} {
			fail := min(n.NewCellPass(task.T[0], tau, 1).CellFailUp(&task.S), n.NewCellPass(task.T[0], tau, 2).CellFailUp(&task.S))
			if fail < 1 {
				said++
			}
			if drawn > fail+5*math.Sqrt(fail*(1-min(fail, 1))/draws)+5.0/draws {
				t.Errorf("%d tau %v: %v of drawn networks are unsafe, the bound is %v", i, tau, drawn, fail)
			}
		}
	}
	if said == 0 {
		t.Error("nothing was bounded")
	}
}

// TestSlopesExactly: where no weight deviates, a row is nowhere below its bound with any of the
// lower slopes, in exact arithmetic, and the slopes are in [0, 1].
func TestSlopesExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 13))
	exactly := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	differ, tight := 0, 0
	for i := range testscale.Cases(t, 300) {
		post, task := checktest.BentTask(rng, 0, [][]int{{2, 5, 4, 2}, {1, 6, 6, 2}, {2, 8, 2}}[i%3]...)
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		p, row := n.NewCellPass(task.T[0], 1e-3, 1), &task.S.Rows[0]
		var least *big.Rat
		for v := range 81 {
			x := []*big.Rat{}
			for j, lo := range task.T[0].Lo {
				share := big.NewRat(int64([]int{v % 9, v / 9}[j]), 8)
				width := new(big.Rat).Sub(exactly(task.T[0].Hi[j]), exactly(lo))
				x = append(x, width.Add(width.Mul(width, share), exactly(lo)))
			}
			if y := exactMargin(post, row, x); least == nil || y.Cmp(least) < 0 {
				least = y
			}
		}
		s, c := p.Layers[len(p.Layers)-1].Merged(row)
		for _, a := range []float64{2, -1, math.NaN()} { // no lower slopes
			for l, lower := range p.lowersBy(func(_, _ float64) float64 { return a }) {
				if !slices.Equal(lower, p.Hidden[l].Lower) {
					t.Fatalf("%d: lines %v, the usual ones are %v", i, lower, p.Hidden[l].Lower)
				}
			}
		}
		for rule, lower := range p.otherLowers() {
			for l := range lower {
				for j, line := range lower[l] {
					if !(line.A >= 0 && line.A <= 1) || line.B != 0 || p.Hidden[l].Pre.Lo[j] >= 0 && line.A != 1 {
						t.Fatalf("%d: rule %d has the line %v for [%v, %v]", i, rule, line, p.Hidden[l].Pre.Lo[j], p.Hidden[l].Pre.Hi[j])
					}
					if line != p.Hidden[l].Lower[j] {
						differ++
					}
				}
			}
			lo := p.Down(len(p.Layers)-1, s, c, relax.Way{Lower: lower})
			if exactly(lo).Cmp(least) > 0 {
				t.Errorf("%d: with rule %d the bound is %v, the row %v", i, rule, lo, least.FloatString(20))
			}
			if l, _ := least.Float64(); lo > l-1e-3 {
				tight++
			}
		}
	}
	if differ == 0 || tight == 0 {
		t.Errorf("%d lines are other ones, %d bounds are tight: too few", differ, tight)
	}
}

// TestSlopesOfReLU: other activations keep their lines, beside ReLU too.
func TestSlopesOfReLU(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 14))
	for _, act := range checktest.Activations {
		post := sumtest.RandomNoisy(rng, act, 0.1, 2, 8, 8, 2)
		n, err := New(post, false)
		if err != nil {
			t.Fatal(err)
		}
		if n.bends() != (act.Kind == net.ReLU) {
			t.Errorf("%v: bends is %v", act, n.bends())
		}
		post.Layers[1].Activation = net.Activation{Kind: net.ReLU}
		if n, err = New(post, false); err != nil || !n.bends() {
			t.Fatal(err, n.bends())
		}
		p := n.NewCellPass(property.Box{Lo: []float64{-2, -2}, Hi: []float64{2, 2}}, 1e-3, 1)
		changed := [2]bool{}
		for _, lower := range p.otherLowers() {
			for l := range changed {
				changed[l] = changed[l] || !slices.Equal(lower[l], p.Hidden[l].Lower)
			}
		}
		if changed[0] != (act.Kind == net.ReLU) || !changed[1] {
			t.Errorf("%v and ReLU: other lines in layers %v", act, changed)
		}
	}
}

// exactMargin is the value of a row of a network of certain weights with ReLU, at x.
func exactMargin(post *posterior.Posterior, row *property.Row, z []*big.Rat) *big.Rat {
	for k := range post.Layers {
		l := &post.Layers[k]
		y := make([]*big.Rat, l.Outputs())
		for i := range y {
			y[i] = new(big.Rat).SetFloat64(l.Bias.Mean[i])
			for j := range z {
				y[i].Add(y[i], new(big.Rat).Mul(z[j], new(big.Rat).SetFloat64(l.Weight.Mean[j*len(y)+i])))
			}
			if k < len(post.Layers)-1 && y[i].Sign() < 0 {
				y[i] = new(big.Rat)
			}
		}
		z = y
	}
	v := new(big.Rat).SetFloat64(row.D)
	for i, y := range z {
		v.Add(v, new(big.Rat).Mul(y, new(big.Rat).SetFloat64(row.CLo[i])))
	}
	return v
}
