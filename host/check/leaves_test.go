package check

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// leafRecords are lines of records by sums over leaves that claim something.
func leafRecords(t *testing.T) (lines [][]byte) {
	t.Helper()
	index, radii := "2,5", []string{"0.03"}
	if testscale.Deep(t) {
		index, radii = "0:12", []string{"0.02", "0.03", "0.04"}
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		for _, eps := range radii {
			j := images("glyphs-64-24-24-10.npz", 1, eps, certify.Method{By: new(prove.Phases), NoUpper: true}, p)
			j.Tasks.Points.Index = &index
			for _, line := range written(t, j) {
				if bytes.Contains(line, []byte(`"leaves":[{`)) {
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// withLeaves is a line with another proof, and the checksum that fits.
func withLeaves(t *testing.T, line []byte, change func(p *leafSum)) []byte {
	t.Helper()
	r, err := parseRecord(line)
	if err != nil {
		t.Fatal(err)
	}
	var proofs []leafSum
	if err := json.Unmarshal(r.Proof.Leaves, &proofs); err != nil {
		t.Fatal(err)
	}
	change(&proofs[0])
	text, err := json.Marshal(proofs)
	if err != nil {
		t.Fatal(err)
	}
	return resealed(bytes.Replace(line, r.Proof.Leaves, text, 1))
}

// highest is the tree with the most cuts.
func highest(p *leafSum) *phaseTree { return tallest(&phaseProof{Trees: p.Trees}) }

// TestCheckLeaves: every record passes, and none passes that claims more, or whose proof is of another network,
// ends early, goes on, covers less, is of another tau, or has multipliers that are none.
func TestCheckLeaves(t *testing.T) {
	lines := leafRecords(t)
	if len(lines) < 2 {
		t.Fatalf("only %d records claim something by leaves", len(lines))
	}
	var c Checker
	refused := func(what, says string, line []byte) {
		t.Helper()
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), says) {
			t.Errorf("%s: %v %v\n%.300s", what, err, v.Refused, line)
		}
	}
	cut := 0
	for i, line := range lines {
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("line %d: %v %v\n%s", i, err, v.Refused, line)
			continue
		}
		if i >= 2 && !testscale.Deep(t) {
			continue
		}
		r, _ := parseRecord(line)
		refused("a better bound", "p_lower", claiming(t, line, 1-(1-r.PLower.Lo)*0.97))
		refused("a larger eps", "p_lower", resealed(bytes.Replace(line, []byte(`"eps":"0.`), []byte(`"eps":"0.5`), 1)))
		refused("no proof", "leaves", resealed(bytes.Replace(line, append([]byte(`"leaves":`), r.Proof.Leaves...), []byte(`"leaves":[]`), 1)))
		refused("another budget", "tau", changed(t, line, `"tau":\[[^]]*\]`, `"tau":[1e-8]`))
		refused("two proofs", "leaves", resealed(bytes.Replace(line, []byte(`"leaves":`), []byte(`"phases":[],"leaves":`), 1)))
		for what, of := range map[string]struct {
			says   string
			change func(p *leafSum)
		}{
			"a tree less":       {"rows", func(p *leafSum) { p.Trees = p.Trees[1:] }},
			"a leaf more":       {"goes on", func(p *leafSum) { p.Trees[0].Cuts = append(p.Trees[0].Cuts, leaf) }},
			"a byte more":       {"goes on", func(p *leafSum) { p.Trees[0].Leaves = append(p.Trees[0].Leaves, 0) }},
			"a byte less":       {"bytes left", func(p *leafSum) { p.Trees[0].Leaves = p.Trees[0].Leaves[:len(p.Trees[0].Leaves)-1] }},
			"no tree":           {"ends before", func(p *leafSum) { p.Trees[0].Cuts = []int{} }},
			"a neuron too far":  {"out of order", func(p *leafSum) { p.Open[0][0] = 24 }},
			"neurons in rounds": {"out of order", func(p *leafSum) { p.Open[1] = []int{3, 3} }},
			"a cut too many":    {"the limit is", func(p *leafSum) { p.Trees[0].Cuts = make([]int, mostLeafCuts+1) }},
			"a layer less":      {"layers", func(p *leafSum) { p.Open = p.Open[:1] }},
		} {
			refused(what, of.says, withLeaves(t, line, of.change))
		}
		var how []leafSum
		if err := json.Unmarshal(r.Proof.Leaves, &how); err != nil {
			t.Fatal(err)
		}
		if len(highest(&how[0]).Cuts) == 1 {
			continue
		}
		cut++
		refused("a neuron cut twice", "twice", withLeaves(t, line, func(p *leafSum) {
			tree := highest(p)
			tree.Cuts = append([]int{tree.Cuts[0]}, tree.Cuts...)
			tree.Cuts = append(tree.Cuts, leaf)
		}))
		refused("multipliers below 0", "multiplier", withLeaves(t, line, func(p *leafSum) {
			tree := highest(p)
			tree.Leaves[len(tree.Leaves)-2] |= 0x80
			tree.Leaves[len(tree.Leaves)-1] |= 1
		}))
	}
	if cut == 0 {
		t.Error("no record has a cut")
	}
}

// TestAutoByLeaves: auto adds up tails over leaves where neither clbp nor confined noise prove anything, and its records
// are proved again, also where something is required.
func TestAutoByLeaves(t *testing.T) {
	lower := map[string]float64{}
	for _, require := range []string{"", "0.6"} {
		j := images("glyphs-64-24-24-10.npz", 1, "0.03", certify.Method{}, bound.Float32)
		j.Tasks.Points.Index, j.Require = new("5"), require
		line := written(t, j)[0]
		var c Checker
		if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil || !v.Claims {
			t.Errorf("%q required: %v %v\n%s", require, err, v.Refused, line)
		}
		r, err := parseRecord(line)
		if err != nil || r.Method != "phases" || r.Proof.Leaves == nil {
			t.Fatalf("%q required: %v\n%s", require, err, line)
		}
		lower[require] = r.PLower.Lo
	}
	if !(lower[""] > 0.99 && lower["0.6"] >= 0.6 && lower["0.6"] <= lower[""]) {
		t.Errorf("p_lower %v", lower)
	}
}

// TestLeafCuts: as many cuts pass as certify makes.
func TestLeafCuts(t *testing.T) {
	if mostLeafCuts < slack.LeafNodes/2 {
		t.Errorf("%d cuts pass, certify makes up to %d", mostLeafCuts, slack.LeafNodes/2)
	}
}

// TestLeafRowBelow: wherever hidden bounds are right and neurons have the signs of a leaf, a row is at least its
// bound plus the noise that its coefficients make of the weights, exactly; and the variance of a layer is at least
// what the exact noise has, in the leaf or not.
func TestLeafRowBelow(t *testing.T) {
	inside, outside, cases := 0, 0, testscale.Cases(t, 150)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 217))
		c := newConfinedCase(t, r, [][]int{{2, 4, 3, 2}, {1, 5, 2}, {2, 3, 3, 3, 2}}[n%3]...)
		p := c.n.newCellPass(c.box, 1e-2, 1)
		last := len(c.post.Layers) - 1
		s, constant := p.layers[last].merged(&c.row)
		weights := c.post.NewWeights()
		for i := range 10 {
			by := someLeaf(r, walkOf(&p.pass, c.how.Open))
			f := p.newFall(last, &by)
			lo := p.down(last, s, constant, by)
			c.post.Draw(uint64(n), i, weights)
			x := make([]float64, len(c.box.Lo))
			for j := range x {
				x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
			}
			right, there := true, true
			z, least, row := exactlyAll(x), exactly(lo), exactly(c.row.D)
			for l := range c.post.Layers {
				lay := &c.post.Layers[l]
				var next []*big.Rat
				variance, a := new(big.Rat), c.row.CLo
				if l < last {
					a = f.a[l]
				}
				for i := range lay.Outputs() {
					zeta, noise, v := exactly(weights[2*l+1][i]), exactly(weights[2*l+1][i]), new(big.Rat)
					noise.Sub(noise, exactly(lay.Bias.Mean[i]))
					v.Mul(exactly(lay.Bias.SdLo[i]), exactly(lay.Bias.SdLo[i]))
					for j, in := range z {
						at := j*lay.Outputs() + i
						w := exactly(weights[2*l][at])
						zeta.Add(zeta, new(big.Rat).Mul(w, in))
						noise.Add(noise, new(big.Rat).Mul(w.Sub(w, exactly(lay.Weight.Mean[at])), in))
						sd := new(big.Rat).Mul(exactly(lay.Weight.SdLo[at]), in)
						v.Add(v, sd.Mul(sd, sd))
					}
					least.Add(least, noise.Mul(noise, exactly(a[i])))
					variance.Add(variance, v.Mul(v, new(big.Rat).Mul(exactly(a[i]), exactly(a[i]))))
					if l == last {
						row.Add(row, new(big.Rat).Mul(exactly(c.row.CLo[i]), zeta))
						continue
					}
					right = right && zeta.Cmp(exactly(p.hidden[l].pre.lo[i])) >= 0 && zeta.Cmp(exactly(p.hidden[l].pre.hi[i])) <= 0
					there = there && (by.signs[l] == nil || zeta.Sign()*by.signs[l][i] >= 0)
					if zeta.Sign() < 0 {
						zeta = new(big.Rat)
					}
					next = append(next, zeta)
				}
				if got := p.deviations[l].ofRow(absOf(a), p.reachInto(l), p.into(l)); right && variance.Cmp(exactly(got.variance)) > 0 {
					t.Fatalf("case %d: layer %d: a variance is %v, its bound %v", n, l, variance.FloatString(12), got.variance)
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
		how := &leafSum{Open: make([][]int, len(c.post.Layers)-1), Trees: []phaseTree{{Cuts: []int{leaf}}}}
		const tau = 1e-4
		leaves, err := c.n.leavesUp(t.Context(), &task.S, task.T[0], tau, how, 0)
		cells := c.n.newCellPass(c.box, tau, 1).cellFailUp(&task.S)
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
		p := c.n.newCellPass(c.box, 1e-3, 1)
		open := make([][]int, len(c.post.Layers)-1)
		for i := range 6 {
			open[0] = append(open[0], i)
		}
		// Every leaf has three signs, three slopes and multipliers of 0.
		var cuts []int
		var grow func(at int)
		grow = func(at int) {
			if at == 3 {
				cuts = append(cuts, leaf)
				return
			}
			cuts = append(cuts, at)
			grow(at + 1)
			grow(at + 1)
		}
		grow(0)
		tree := &phaseTree{Cuts: cuts, Leaves: make([]byte, 8*(3+2*3))}
		tails, err := p.leafTails(t.Context(), &c.row, open, tree)
		if err != nil || len(tails) != 8 {
			t.Fatal(len(tails), err)
		}
		up, err := p.treeUp(t.Context(), &c.row, open, tree)
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
		list = append(list, exactly(v))
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
		got, err := triedUp(len(c.fails[0]), uint64(len(c.fails)), func(fail float64) bool { return fail <= c.enough }, func(b int, try uint64) (float64, error) {
			asked++
			return c.fails[try][b], nil
		})
		if err != nil || !(got >= c.want && got <= c.want+1e-12) || asked != c.asked {
			t.Errorf("%v: %v (%v) after %d of %d, want %v", c.fails, got, err, asked, c.asked, c.want)
		}
	}
}
