package phases

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// caseOf is a random posterior of these layers, and a task that keeps the class of a point on a box.
func caseOf(r *rand.Rand, sd, radius float64, sizes ...int) (*posterior.Posterior, property.Task) {
	post := provetest.Noisy(r, sd, r.IntN(4) == 0, sizes...)
	x := make([]float64, sizes[0])
	for j := range x {
		x[j] = r.NormFloat64()
	}
	y := post.LogitsApprox(x)
	box, label := provetest.BoxAround(x, radius), slices.Index(y, slices.Max(y))
	return post, property.Task{Label: label, T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(label, len(y))}
}

func engineOf(t *testing.T, p bound.Precision, post *posterior.Posterior) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(p), nil, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func certified(t *testing.T, e *engine.Engine, how How, task property.Task) *claim.Result {
	t.Helper()
	results, err := Certify(t.Context(), e, how, []property.Task{task})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// safeDraws returns how many of n drawn networks are safe at all points of a grid in T, which is at least as
// many as are safe on T.
func safeDraws(post *posterior.Posterior, task *property.Task, n int) (safe int) {
	const across = 3
	weights, box := post.NewWeights(), &task.T[0]
	pass := post.Network().NewPass(weights)
	for i := range n {
		post.Draw(77, i, weights)
		ok := true
		for at := 0; at < int(math.Pow(across, float64(len(box.Lo)))) && ok; at++ {
			x, k := make([]float64, len(box.Lo)), at
			for j := range x {
				x[j] = box.Lo[j] + (box.Hi[j]-box.Lo[j])*float64(k%across)/(across-1)
				k /= across
			}
			y := pass.Forward(x)
			rows := make([]float64, len(task.S.Rows))
			for r, row := range task.S.Rows {
				rows[r] = row.D
				for i, c := range row.CLo {
					rows[r] += c * y[i]
				}
			}
			ok = task.S.MarginLo(rows) >= -1e-9
		}
		if ok {
			safe++
		}
	}
	return safe
}

// TestLeavesDraws: no lower bound is above the share of drawn networks that are safe on a grid in T, but for
// chance; and bounds are in the middle, from trees with cuts.
func TestLeavesDraws(t *testing.T) {
	draws, cases := 600, testscale.Cases(t, 300/testscale.By(t, 2))
	if testscale.Night() {
		cases, draws = 1000, 10000
	}
	middle, cut, cells, rivals, worst := 0, 0, 0, 0, math.Inf(1)
	for n := range cases {
		r := rand.New(rand.NewPCG(uint64(n), 251))
		post, task := caseOf(r, []float64{0.15, 0.3, 0.3}[n%3], 0.1+0.5*r.Float64(), [][]int{{2, 6, 5, 2}, {2, 8, 2}, {2, 4, 4, 3, 2}, {3, 6, 4, 3}, {4, 6, 5, 2}, {3, 5, 2}}[n%6]...)
		if len(task.S.Rows) > 1 && n%2 == 1 {
			task.S = property.ArgmaxIsNever((task.Label+1)%3, 3)
		}
		got := certified(t, engineOf(t, bound.Precision(n%2), post), How{Cells: []int{1, 6, 1}[n/6%3]}, task)
		lower := got.Lower()
		if lower == 0 {
			continue
		}
		if lower > 0.05 && lower < 0.999 {
			middle++
		}
		for _, tree := range got.Proof.Leaves[0].Trees {
			if len(tree.Cuts) > 1 {
				cut++
			}
		}
		if len(got.Proof.Leaves) > 1 {
			cells++
		}
		if got.Proof.Leaves[0].Rows != nil {
			rivals++
		}
		share := float64(safeDraws(post, &task, draws)) / float64(draws)
		worst = min(worst, share-lower)
		if spread := math.Sqrt(share*(1-share)/float64(draws)) + 1/float64(draws); lower > share+5*spread {
			t.Errorf("case %d: p_lower %v, of %d drawn networks %v are safe", n, lower, draws, share)
		}
	}
	t.Logf("%d of %d in the middle, %d trees are cut, %d have cells, %d alternatives, least distance %v", middle, cases, cut, cells, rivals, worst)
	if cases >= 24 && (middle < 2 || cut < 2 || cells < 1 || rivals < 1) {
		t.Errorf("%d of %d in the middle, %d trees are cut, %d have cells, %d alternatives: the test misses its cases", middle, cases, cut, cells, rivals)
	}
}

// TestLeafCells: cells have taus, budgets and trees of their own, which add up, and are taken where they fail less than
// the whole.
func TestLeafCells(t *testing.T) {
	fails := func(p float64, parts ...*cell) *cell { return &cell{found: &found{failUp: p}, parts: parts} }
	for want, c := range map[float64]*cell{0.75: fails(0.9, fails(0.5), fails(0.25)), 0.4: fails(0.4, fails(0.5), fails(0.25)), 1: {parts: []*cell{{}, fails(0)}}} {
		if got := c.best(); !(got >= want && got < want+1e-9) {
			t.Errorf("a cell and its parts fail with %v, want %v", got, want)
		}
	}
	cut := 0
	for n := range testscale.Cases(t, 20) {
		post, task := caseOf(rand.New(rand.NewPCG(uint64(n+2), 254)), 0.1, []float64{0.2, 0.4}[n%2], 2, 6, 5, 2)
		e := engineOf(t, bound.Float64, post)
		one, many := certified(t, e, How{Cells: 1}, task), certified(t, e, How{Cells: 12}, task)
		if one.Cells != 0 || many.Cells > 12 || len(many.Proof.Leaves) != len(many.Proof.Tau) || (many.Cells > 0) != (many.Proof.Cells != nil) {
			t.Fatalf("case %d: %d and %d cells, %d proofs of %d taus", n, one.Cells, many.Cells, len(many.Proof.Leaves), len(many.Proof.Tau))
		}
		if many.Cells < 2 {
			continue
		}
		cut++
		least := 0.0
		for _, tau := range many.Proof.Tau {
			least += clbp.ChainBudgetUp(e, false, tau)
		}
		if fail := -math.Expm1(many.LogP); !(fail > least) {
			t.Errorf("case %d: %d cells fail with %v, their budgets are %v", n, many.Cells, fail, least)
		}
		if many.Lower() < one.Lower()-0.01 {
			t.Errorf("case %d: %v on %d cells, %v on one", n, many.Lower(), many.Cells, one.Lower())
		}
	}
	if testscale.Cases(t, 20) > 1 && cut == 0 {
		t.Error("no case has cells")
	}
}

// asked are the answers of a device to a result's question at another tau, and how many leaves each row has.
func asked(t *testing.T, e *engine.Engine, task *property.Task, tau float64) (*answer, *question, []int) {
	t.Helper()
	q := &question{box: task.T[0], rows: task.S.Rows, tau: tau}
	root, err := q.ask(t.Context(), e)
	if err != nil || root == nil {
		t.Fatal(root, err)
	}
	s := newMeanNet(e.Normal, q.box, root.known).newSearch(t.Context(), task.S.Any[0], clbp.ChainBudgetUp(e, false, tau))
	s.grow(t.Context(), 32)
	var leaves []int
	q.open = s.net.open
	for _, k := range s.trees {
		k.prune()
		list := k.leaves(nil)
		leaves, q.nodes = append(leaves, len(list)), append(q.nodes, list...)
	}
	got, err := q.ask(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return got, q, leaves
}

// someCut is a case with a tree that has a cut, which fails with something.
func someCut(t *testing.T, sizes ...int) (*engine.Engine, *property.Task, *answer, *question, []int) {
	t.Helper()
	for n := range uint64(60) {
		post, task := caseOf(rand.New(rand.NewPCG(n, 252)), 0.15, 0.25, sizes...)
		e := engineOf(t, bound.Float64, post)
		got, q, leaves := asked(t, e, &task, 1e-5)
		if fail := got.failUp(leaves); slices.Max(leaves) > 2 && fail > 1e-4 && fail < 0.9 {
			return e, &task, got, q, leaves
		}
	}
	t.Fatal("no case has a cut")
	return nil, nil, nil, nil, nil
}

// TestSearchApprox: what the search thinks of leaves is what the device says, but for a per cent.
func TestSearchApprox(t *testing.T) {
	for _, sizes := range [][]int{{3, 6, 5, 2}, {3, 8, 3}, {2, 5, 4, 4, 2}} {
		_, _, got, q, _ := someCut(t, sizes...)
		for at, k := range q.nodes {
			up, v := got.tail(at)
			sum := 0.0
			for _, x := range v {
				sum += x
			}
			if score := up / math.Sqrt(sum); math.Abs(score-k.score) > 0.15*(1+math.Abs(score)) {
				t.Errorf("%v: leaf %d is %v standard deviations above 0, the search said %v", sizes, at, score, k.score)
			}
		}
	}
}

// TestCover: the leaves that are asked about are those of the trees that are written.
func TestCover(t *testing.T) {
	e, task, got, q, leaves := someCut(t, 3, 6, 5, 2)
	if len(got.noises.Lo) != len(q.nodes) {
		t.Errorf("%d bounds of %d leaves", len(got.noises.Lo), len(q.nodes))
	}
	s := newMeanNet(e.Normal, q.box, got.known).newSearch(t.Context(), task.S.Any[0], 0)
	s.grow(t.Context(), 32)
	for r, k := range s.trees {
		k.prune()
		written := 0
		for _, at := range s.proof().Trees[r].Cuts {
			if at < 0 {
				written++
			}
		}
		if n := len(k.leaves(nil)); n != written {
			t.Errorf("row %d: %d leaves, %d are written", r, n, written)
		}
	}
	if slices.Max(leaves) < 3 {
		t.Error("no tree is cut")
	}
}

// TestGradient: the derivatives of scores are those of their differences.
func TestGradient(t *testing.T) {
	for _, sizes := range [][]int{{3, 6, 5, 2}, {3, 8, 3}, {2, 5, 4, 4, 2}} {
		_, task, got, q, _ := someCut(t, sizes...)
		post, _ := caseOf(rand.New(rand.NewPCG(0, 0)), 0.15, 0.25, sizes...)
		n := newMeanNet(post, task.T[0], got.known)
		d := n.descentOf(q.nodes)
		score := func() []float64 {
			d.down()
			return slices.Clone(d.score)
		}
		for _, o := range n.open {
			before := score()
			d.up()
			for r := range q.nodes {
				at := r*d.alpha[o.layer].Cols + o.unit
				s, g := d.s[o.layer].Data[at], d.gradient[o.layer].Data[at]
				to, by := &d.alpha[o.layer].Data[at], g*max(s, 0)
				if f := d.phase[o.layer].Data[at]; f != 0 {
					to, by = &d.beta[o.layer].Data[at], -f*g
				}
				if before[r] < 1 { // there the gradient is that of another goal
					continue
				}
				const step = 1e-6
				old := *to
				*to += step
				after := score()[r]
				*to = old
				want := by / math.Sqrt(d.variance[r])
				score()
				if is := (after - before[r]) / step; math.Abs(is-want) > 0.02*(0.1+math.Abs(want)) {
					t.Fatalf("%v: neuron %v of leaf %d: derivative %v, difference %v", sizes, o, r, want, is)
				}
			}
		}
	}
}

// TestOneTau: a box has one tau, and what is claimed fails with more than its budget.
func TestOneTau(t *testing.T) {
	e, task, _, _, _ := someCut(t, 3, 6, 5, 2)
	r := certified(t, e, How{Cells: 1}, *task)
	if len(r.Proof.Tau) != 1 || r.Proof.Tau[0] != r.Tau {
		t.Fatalf("taus %v, the largest %v", r.Proof.Tau, r.Tau)
	}
	claims := -math.Expm1(r.LogP)
	if least := clbp.ChainBudgetUp(e, false, r.Tau); !(claims > least) {
		t.Errorf("the claim fails with %v, its budget is %v", claims, least)
	}
}

// TestOneHiddenLayer: with one hidden layer the noise of the last layer is not shared by leaves, whose tails
// just add up; with two it is, and many leaves alike cost little more than one.
func TestOneHiddenLayer(t *testing.T) {
	const leaves = 20
	for hidden := 1; hidden <= 2; hidden++ {
		a := &answer{known: &rootBounds{lo: make([][]float64, hidden)}}
		a.noises.Lo = slices.Repeat([]float64{2.5}, leaves)
		for l := range hidden + 1 {
			a.noises.Mean = append(a.noises.Mean, slices.Repeat([]float64{0.1}, leaves))
			a.noises.Var = append(a.noises.Var, slices.Repeat([]float64{[]float64{1, 0.01, 0.01}[l]}, leaves))
		}
		up, v := a.tail(0)
		if levels := hidden + 1; !(up <= 2.5-0.1*float64(levels)) || len(v) != levels {
			t.Errorf("%d hidden layers: %v above 0 with %d variances", hidden, up, len(v))
		}
		one := probability.NoiseTailUp(up, v, 1)
		if one, two := a.failUp([]int{leaves / 2}), a.failUp([]int{leaves / 2, leaves / 2}); math.Abs(two-2*one) > 1e-12 {
			t.Errorf("%d hidden layers: one row fails with %v, two with %v", hidden, one, two)
		}
		switch fail := a.failUp([]int{leaves}); {
		case hidden == 1 && math.Abs(fail-leaves*one) > 1e-9:
			t.Errorf("one hidden layer: %d leaves fail with %v, one with %v", leaves, fail, one)
		case hidden == 2 && !(fail >= one && fail < 3*one):
			t.Errorf("two hidden layers: %d leaves fail with %v, one with %v", leaves, fail, one)
		}
	}
}

// TestEmptyLeaf: a leaf that has no points for the mean network costs what the sign of its neuron costs at
// least, whatever its multiplier is.
func TestEmptyLeaf(t *testing.T) {
	// y = max(x + 1, 0) - 3, x + 1 in [0.5, 1.5]: with the neuron not active there is no x for the mean.
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	one := provetest.Noisy(rand.New(rand.NewPCG(1, 253)), 0, false, 1, 1, 1)
	post.Layers = one.Layers
	spread := func(mean, sd float64) posterior.Params {
		return posterior.NewParams([]float64{mean}, []float64{sd}, posterior.ScaleSD)
	}
	post.Layers[0].Weight, post.Layers[0].Bias = spread(1, 0.01), spread(1, 0.5)
	post.Layers[1].Weight, post.Layers[1].Bias = spread(1, 0.01), spread(-3, 0.01)
	box := property.Box{Lo: []float64{-0.5}, Hi: []float64{0.5}}
	task := property.Task{T: []property.Box{box}, Inner: []property.Box{box}, S: property.Safe{Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}, Any: [][]int{{0}}}}
	e := engineOf(t, bound.Float64, post)
	least := gauss.TailDown(1.5 / 0.5) // of x + 1 <= 0 for one x alone
	for _, beta := range []float64{1, 16, 1024, 1 << 20} {
		q := &question{box: box, rows: task.S.Rows, tau: 1e-6, open: []neuronAt{{0, 0}}}
		k := &node{alpha: []uint8{0}, cuts: []cut{{0, -1, beta}}}
		q.nodes = []*node{k}
		got, err := q.ask(t.Context(), e)
		if err != nil || got == nil {
			t.Fatal(got, err)
		}
		if fail := got.failUp([]int{1}); fail < least {
			t.Errorf("multiplier %v: the leaf fails with %v, the sign of the neuron with more than %v", beta, fail, least)
		}
	}
}

// TestLeavesOfNothing: nothing is claimed of sets that are nothing, of points, and without noise; the boxes of a T
// add up.
func TestLeavesOfNothing(t *testing.T) {
	e, task, _, _, _ := someCut(t, 3, 6, 5, 2)
	one := certified(t, e, How{Cells: 1}, *task)
	twice := *task
	twice.T = []property.Box{task.T[0], task.T[0]}
	two := certified(t, e, How{Cells: 1}, twice)
	if f1, f2 := -math.Expm1(one.LogP), -math.Expm1(two.LogP); !(f2 > 1.5*f1) || len(two.Proof.Leaves) != 2 || len(two.Proof.Tau) != 2 {
		t.Errorf("one box fails with %v, two with %v, %d proofs", f1, f2, len(two.Proof.Leaves))
	}
	point := *task
	point.T = []property.Box{provetest.BoxAround(task.T[0].Lo, 0)}
	never := *task
	never.S.Any = nil
	for what, of := range map[string]property.Task{"a point": point, "nothing": never} {
		if got := certified(t, e, How{Cells: 1}, of); !math.IsInf(got.LogP, -1) || got.Proof.Leaves != nil || got.Tau != 0 {
			t.Errorf("%s: %v %v", what, got.LogP, got.Proof)
		}
	}
	all := -math.Expm1(one.LogP)
	if got := certified(t, e, How{Cells: 1, Known: []float64{1 - 1e-9}}, *task); all < 0.5 && !math.IsInf(got.LogP, -1) && safeDraws(e.Normal, task, 32) < 32 {
		t.Errorf("there was nothing left to be gained, and %v was proved", got.LogP)
	}
	enough := certified(t, e, How{Cells: 1, Decided: func(*claim.Result) bool { return true }}, *task)
	if fail := -math.Expm1(enough.LogP); fail < all {
		t.Errorf("a search that may stop at once fails with %v, one to the end with %v", fail, all)
	}
}
