package check

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// bentTask is a network with ReLU and a row that a wide box leaves open or nearly so.
func bentTask(rng *rand.Rand, sd float64, sizes ...int) (*posterior.Posterior, *property.Task) {
	post := sumtest.RandomNoisy(rng, net.Activation{Kind: net.ReLU}, sd, sizes...)
	b := property.Box{}
	eps := []float64{0.1, 0.3, 1}[rng.IntN(3)]
	for range sizes[0] {
		x := rng.NormFloat64()
		b.Lo, b.Hi = append(b.Lo, x-eps), append(b.Hi, x+eps)
	}
	y := post.LogitsApprox(b.Lo)
	row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
	row.D = (1+3*rng.Float64())*(1+math.Abs(y[0]-y[1])) - y[0] + y[1]
	row.DHi = row.D
	return post, &property.Task{Label: -1, T: []property.Box{b}, Inner: []property.Box{b}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
}

// TestSlopesAsCertify: of wide boxes both programs claim the same with other lower slopes, of one
// hidden layer and of several; and some claims cannot be had without them.
func TestSlopesAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 11))
	claimed, bent := 0, 0
	for i := range max(30, testscale.Cases(t, 300)) {
		post, task := bentTask(rng, []float64{0.03, 0.1, 0.3}[i%3], [][]int{{2, 6, 5, 2}, {3, 8, 2}, {2, 5, 4, 4, 2}, {2, 20, 2}}[i%4]...)
		n, err := newAnyNoise(post)
		if err != nil {
			t.Fatal(err)
		}
		precision := bound.Precision(i / 4 % 2)
		r := certified(t, precision, post, prove.Config{Method: prove.CLBP, Cells: 1, NoUpper: true}, []property.Task{*task})[0]
		if !(r.Lower() > 0) {
			continue
		}
		claimed++
		want := -math.Expm1(r.LogP)
		plain := n.newCellPass(task.T[0], r.Proof.Tau[0], 1)
		if plain.bent = false; plain.cellFailUp(&task.S) > want*(1+1e-3)+1e-9 && n.newCellPass(task.T[0], r.Proof.Tau[0], 0).cellFailUp(&task.S) > want*(1+1e-3)+1e-9 {
			bent++
		}
		if fail, err := n.failUp(context.Background(), task, r.Proof.Cells, r.Proof.Tau, atMost(want)); err != nil || fail > want {
			t.Errorf("%d: fails %v, certify says %v, %v", i, fail, want, err)
		}
		if want < 1e-3 { // which certify may be content with
			continue
		}
		// The checker computes more tails than certify.
		if fail := n.newCellPass(task.T[0], r.Proof.Tau[0], uint64(1+i%2)).cellFailUp(&task.S); fail < want*(1-0.1)-1e-6 {
			t.Errorf("%d %v: fails %v, certify says %v, much more", i, precision, fail, want)
		}
	}
	t.Logf("%d claims, %d by other lower slopes", claimed, bent)
	if claimed == 0 || bent == 0 {
		t.Errorf("%d claims, %d by other lower slopes: too few were tested", claimed, bent)
	}
}

// TestSlopesHold: with other lower slopes drawn networks are unsafe no more often than is said.
func TestSlopesHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 12))
	said := 0
	for i := range testscale.Cases(t, 60) {
		post, task := bentTask(rng, 0.3, [][]int{{2, 5, 4, 2}, {1, 6, 6, 2}, {2, 8, 2}}[i%3]...)
		n, err := newNoisy(post, false)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 10000
		drawn, _ := sumtest.DrawnUnsafe(post, task, task.T[0].Lo, draws)
		for _, tau := range []float64{1e-3, 1e-5} {
			fail := min(n.newCellPass(task.T[0], tau, 1).cellFailUp(&task.S), n.newCellPass(task.T[0], tau, 2).cellFailUp(&task.S))
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
		post, task := bentTask(rng, 0, [][]int{{2, 5, 4, 2}, {1, 6, 6, 2}, {2, 8, 2}}[i%3]...)
		n, err := newNoisy(post, false)
		if err != nil {
			t.Fatal(err)
		}
		p, row := n.newCellPass(task.T[0], 1e-3, 1), &task.S.Rows[0]
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
		s, c := p.layers[len(p.layers)-1].merged(row)
		for _, a := range []float64{2, -1, math.NaN()} { // no lower slopes
			for l, lower := range p.lowersBy(func(_, _ float64) float64 { return a }) {
				if !slices.Equal(lower, p.hidden[l].lower) {
					t.Fatalf("%d: lines %v, the usual ones are %v", i, lower, p.hidden[l].lower)
				}
			}
		}
		for rule, lower := range p.otherLowers() {
			for l := range lower {
				for j, line := range lower[l] {
					if !(line.a >= 0 && line.a <= 1) || line.b != 0 || p.hidden[l].pre.lo[j] >= 0 && line.a != 1 {
						t.Fatalf("%d: rule %d has the line %v for [%v, %v]", i, rule, line, p.hidden[l].pre.lo[j], p.hidden[l].pre.hi[j])
					}
					if line != p.hidden[l].lower[j] {
						differ++
					}
				}
			}
			lo := p.down(len(p.layers)-1, s, c, way{lower: lower})
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
	for _, act := range activations {
		post := sumtest.RandomNoisy(rng, act, 0.1, 2, 8, 8, 2)
		n, err := newNoisy(post, false)
		if err != nil {
			t.Fatal(err)
		}
		if n.bends() != (act.Kind == net.ReLU) {
			t.Errorf("%v: bends is %v", act, n.bends())
		}
		post.Layers[1].Activation = net.Activation{Kind: net.ReLU}
		if n, err = newNoisy(post, false); err != nil || !n.bends() {
			t.Fatal(err, n.bends())
		}
		p := n.newCellPass(property.Box{Lo: []float64{-2, -2}, Hi: []float64{2, 2}}, 1e-3, 1)
		changed := [2]bool{}
		for _, lower := range p.otherLowers() {
			for l := range changed {
				changed[l] = changed[l] || !slices.Equal(lower[l], p.hidden[l].lower)
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

// TestSlopesRecord: an image of which nothing is shown but with other lower slopes is proved again,
// and a record that claims a little more, or has other budgets or another radius, is not.
func TestSlopesRecord(t *testing.T) {
	for _, precision := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
		for posterior, index := range map[string]string{"glyphs-64-32-10.npz": "37", "glyphs-64-24-24-10.npz": "30"} {
			j := images(posterior, 1, "0.03", certify.Method{By: new(prove.CLBP), NoUpper: true}, precision)
			j.Tasks.Points.Index = new(index)
			line := written(t, j)[0]
			r, err := parseRecord(line)
			if err != nil {
				t.Fatal(err)
			}
			var f files
			q, err := f.question(r, Files{})
			if err != nil {
				t.Fatal(err)
			}
			if r.PLower.is(0) {
				t.Fatalf("%s: nothing is claimed", posterior)
			}
			n, err := newNoisy(q.post, false)
			if err != nil {
				t.Fatal(err)
			}
			pass := n.newCellPass(q.task.T[0], r.Tau, 1)
			if pass.bent = false; pass.cellFailUp(&q.task.S) < 1.05-r.PLower.Lo {
				t.Fatalf("%s: it does without other slopes", posterior)
			}
			proved, err := byNoise(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var c Checker
			for what, forged := range map[string][]byte{
				"genuine": line,
				"more":    claiming(t, line, more(rand.New(rand.NewPCG(1, 2)), proved.float(), 1)),
				"eps":     changed(t, line, `"eps":"0.03"`, `"eps":"0.04"`),
				"tau":     changed(t, changed(t, line, `"tau":\[[^]]*\]`, `"tau":[0.001]`), `"tau":[0-9.e-]*,`, `"tau":0.001,`),
			} {
				v, err := c.Check(t.Context(), forged, false)
				if err != nil || (v.Refused == nil) != (what == "genuine") {
					t.Errorf("%s %s: %v %v", posterior, what, err, v.Refused)
				}
			}
		}
	}
}
