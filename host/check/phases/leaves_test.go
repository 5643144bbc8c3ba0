package phases

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/check/cases"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// TestLeafRowBelow: wherever hidden bounds are right and neurons have the signs of a leaf, a row is at least its
// bound plus the noise that its coefficients make of the weights, exactly; and the variance of a layer is at least
// what the exact noise has, in the leaf or not.
func TestLeafRowBelow(t *testing.T) {
	inside, outside, cases := 0, 0, testscale.Cases(t, 150)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 217))
		c := newConfinedCase(t, r, [][]int{{2, 4, 3, 2}, {1, 5, 2}, {2, 3, 3, 3, 2}}[n%3]...)
		p := c.n.NewCellPass(c.box, 1e-2, 1)
		last := len(c.post.Layers) - 1
		s, constant := p.Layers[last].Merged(&c.row)
		weights := c.post.NewWeights()
		for i := range 10 {
			by := someLeaf(r, walkOf(&p.Pass, c.how.Open))
			f := p.NewFall(last, &by)
			lo := p.Down(last, s, constant, by)
			c.post.Draw(uint64(n), i, weights)
			x := make([]float64, len(c.box.Lo))
			for j := range x {
				x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
			}
			right, there := true, true
			z, least, row := exactlyAll(x), checktest.Exactly(lo), checktest.Exactly(c.row.D)
			for l := range c.post.Layers {
				lay := &c.post.Layers[l]
				var next []*big.Rat
				variance, a := new(big.Rat), c.row.CLo
				if l < last {
					a = f.A[l]
				}
				for i := range lay.Outputs() {
					zeta, noise, v := checktest.Exactly(weights[2*l+1][i]), checktest.Exactly(weights[2*l+1][i]), new(big.Rat)
					noise.Sub(noise, checktest.Exactly(lay.Bias.Mean[i]))
					v.Mul(checktest.Exactly(lay.Bias.SdLo[i]), checktest.Exactly(lay.Bias.SdLo[i]))
					for j, in := range z {
						at := j*lay.Outputs() + i
						w := checktest.Exactly(weights[2*l][at])
						zeta.Add(zeta, new(big.Rat).Mul(w, in))
						noise.Add(noise, new(big.Rat).Mul(w.Sub(w, checktest.Exactly(lay.Weight.Mean[at])), in))
						sd := new(big.Rat).Mul(checktest.Exactly(lay.Weight.SdLo[at]), in)
						v.Add(v, sd.Mul(sd, sd))
					}
					least.Add(least, noise.Mul(noise, checktest.Exactly(a[i])))
					variance.Add(variance, v.Mul(v, new(big.Rat).Mul(checktest.Exactly(a[i]), checktest.Exactly(a[i]))))
					if l == last {
						row.Add(row, new(big.Rat).Mul(checktest.Exactly(c.row.CLo[i]), zeta))
						continue
					}
					right = right && zeta.Cmp(checktest.Exactly(p.Hidden[l].Pre.Lo[i])) >= 0 && zeta.Cmp(checktest.Exactly(p.Hidden[l].Pre.Hi[i])) <= 0
					there = there && (by.Signs[l] == nil || zeta.Sign()*by.Signs[l][i] >= 0)
					if zeta.Sign() < 0 {
						zeta = new(big.Rat)
					}
					next = append(next, zeta)
				}
				if got := p.Deviations[l].OfRow(absOf(a), p.ReachInto(l), p.Into(l)); right && variance.Cmp(checktest.Exactly(got.Variance)) > 0 {
					t.Fatalf("case %d: layer %d: a variance is %v, its bound %v", n, l, variance.FloatString(12), got.Variance)
				}
				z = next
			}
			switch {
			case !right:
			case !there:
				outside++
			case row.Cmp(least) < 0:
				t.Fatalf("case %d: a row is %v, its bound with noise %v", n, row.FloatString(12), least.FloatString(12))
			default:
				inside++
			}
		}
	}
	if cases >= 15 && (inside < 20 || outside < 20) {
		t.Errorf("%d rows in their leaves, %d outside", inside, outside)
	}
}

// TestLeavesLikeCells: trees of one leaf with the usual lines fail with no less than concentration LBP does, and with
// about as much in some case.
func TestLeavesLikeCells(t *testing.T) {
	close := 0
	for n := range testscale.Cases(t, 600) {
		r := rand.New(rand.NewPCG(uint64(n), 219))
		c := newConfinedCase(t, r, [][]int{{2, 4, 3, 2}, {1, 5, 2}, {2, 3, 3, 3, 2}}[n%3]...)
		c.row.D += 4 * r.Float64()
		task := &property.Task{T: []property.Box{c.box}, S: property.Safe{Rows: []property.Row{c.row}, Any: [][]int{{0}}}}
		how := &LeafProof{Open: make([][]int, len(c.post.Layers)-1), Trees: []Tree{{Cuts: []int{cases.Leaf}}}}
		const tau = 1e-4
		leaves, err := LeavesUp(t.Context(), c.n, &task.S, task.T[0], tau, how, 0)
		cells := c.n.NewCellPass(c.box, tau, 1).CellFailUp(&task.S)
		if err != nil || leaves < cells*(1-1e-12) {
			t.Errorf("case %d: %v: leaves fail with %v, cells with %v", n, err, leaves, cells)
		}
		if cells < 0.5 && leaves < 1.01*cells {
			close++
		}
	}
	if close < 3 {
		t.Errorf("only %d cases are about the same", close)
	}
}

// TestCheckOneHiddenLayer: the tails of leaves of a network with one hidden layer just add up, those of one with two
// share the last layer's noise.
func TestCheckOneHiddenLayer(t *testing.T) {
	shared := 0
	for n := range 20 {
		r := rand.New(rand.NewPCG(uint64(n), 220))
		c := newConfinedCase(t, r, [][]int{{2, 6, 2}, {2, 6, 4, 2}}[n%2]...)
		c.row.D += 3 * r.Float64()
		p := c.n.NewCellPass(c.box, 1e-3, 1)
		open := make([][]int, len(c.post.Layers)-1)
		for i := range 6 {
			open[0] = append(open[0], i)
		}
		// Every leaf has three signs, three slopes and multipliers of 0.
		var cuts []int
		var grow func(at int)
		grow = func(at int) {
			if at == 3 {
				cuts = append(cuts, cases.Leaf)
				return
			}
			cuts = append(cuts, at)
			grow(at + 1)
			grow(at + 1)
		}
		grow(0)
		tree := &Tree{Cuts: cuts, Leaves: make([]byte, 8*(3+2*3))}
		tails, err := leafTails(t.Context(), p, &c.row, open, tree)
		if err != nil || len(tails) != 8 {
			t.Fatal(len(tails), err)
		}
		up, err := treeUp(t.Context(), p, &c.row, open, tree)
		plain, less := leavesTailUp(tails, false), leavesTailUp(tails, true)
		want := plain
		if n%2 == 1 {
			want = less
		} else if less < 0.99*plain {
			shared++
		}
		if err != nil || up != want {
			t.Errorf("case %d: %v: %v, want %v: added up %v, shared %v", n, err, up, want, plain, less)
		}
	}
	if shared == 0 {
		t.Error("sharing makes no difference in any case")
	}
}

func exactlyAll(x []float64) (list []*big.Rat) {
	for _, v := range x {
		list = append(list, checktest.Exactly(v))
	}
	return list
}

// TestSharedTail: (65) is at least the sum that it bounds, at most a few per cent above, and counts only where the
// last layer's noise is shared.
func TestSharedTail(t *testing.T) {
	q := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	gained, cases := 0, testscale.Cases(t, 60)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 218))
		var leaves []leafTail
		last := 0.1 + r.Float64()
		for range 2 + r.IntN(10) {
			leaves = append(leaves, leafTail{t: 0.2 + 5*r.Float64(), last: last, below: []float64{0.05 + r.Float64()}})
		}
		sum := func(g float64) float64 {
			s := 0.0
			for _, l := range leaves {
				if l.t+g < 0 {
					return 1
				}
				s += q((l.t + g) / math.Sqrt(l.below[0]))
			}
			return min(1, s)
		}
		const steps = 4000
		exact := sum(0) / 2
		for k := range steps {
			z := 9 * (float64(k) + 0.5) / steps
			exact += sum(-z*math.Sqrt(last)) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 9 / steps
		}
		up, plain := leavesTailUp(leaves, true), leavesTailUp(leaves, false)
		if !(up >= exact*(1-1e-4)) || up > exact*1.06+1e-5 || up > plain {
			t.Errorf("case %d: %v, the sum is %v, not shared %v", n, up, exact, plain)
		}
		if up < 0.8*plain {
			gained++
		}
	}
	if cases >= 6 && gained == 0 {
		t.Error("no case has gained anything by what leaves share")
	}
}

// TestTriedUp: a try that shows nothing is the last one, at the box where that is known; others go on until
// their least is enough.
func TestTriedUp(t *testing.T) {
	for _, c := range []struct {
		fails  [][]float64 // by try and box
		enough float64
		want   float64
		asked  int
	}{
		{[][]float64{{1, 0.1}, {0.1, 0.1}}, 0.5, 1, 1},
		{[][]float64{{0.6, 0.6, 0.1}, {0.1, 0.1, 0.1}}, 0.5, 1, 2},
		{[][]float64{{0.3, 0.1}, {0.1, 0.3}, {0.2, 0.2}}, 0.25, 0.2, 4},
		{[][]float64{{0.3, 0.1}, {1, 0}, {0, 0}}, 0.25, 0.4, 3},
	} {
		asked := 0
		got, err := TriedUp(len(c.fails[0]), uint64(len(c.fails)), func(fail float64) bool { return fail <= c.enough }, func(b int, try uint64) (float64, error) {
			asked++
			return c.fails[try][b], nil
		})
		if err != nil || !(got >= c.want && got <= c.want+1e-12) || asked != c.asked {
			t.Errorf("%v: %v (%v) after %d of %d, want %v", c.fails, got, err, asked, c.asked, c.want)
		}
	}
}
