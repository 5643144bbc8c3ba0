package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// keptClass asks whether the class of the mean network stays on a ball.
func keptClass(rng *rand.Rand, post *posterior.Posterior, eps float64) property.Task {
	b := ballOf(rng, post.Inputs(), eps)
	y := post.LogitsApprox(b.Lo)
	class := 0
	for c := range y {
		if y[c] > y[class] {
			class = c
		}
	}
	boxes := []property.Box{b}
	return property.Task{Label: class, T: boxes, Inner: boxes, S: property.ArgmaxIs(class, post.Outputs())}
}

// TestGraphGenuine: what certify claims of networks that are graphs by concentration LBP is
// proved again.
func TestGraphGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	lower, upper, retried := 0, 0, 0
	names := []string{}
	for kind := range sketches {
		names = append(names, kind)
	}
	slices.Sort(names)
	for i := range testscale.Cases(t, 300) {
		var post *posterior.Posterior
		sd := []float64{1.0 / 256, 1.0 / 64, 1.0 / 16}[rng.IntN(3)]
		kind := names[i%len(names)]
		if i%3 == 0 {
			kind, post = "random", convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(4), Spread: sd, Outputs: 3})
		} else {
			post = sketched(rng, kind, activations[1+rng.IntN(len(activations)-1)], sd)
		}
		task := keptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 32}[rng.IntN(3)])
		n, err := newNoisy(post)
		if err != nil {
			t.Fatal(err)
		}
		n.graph.depth = i / 3 % 3
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, r := range certifiedTo(t, n.graph.depth, p, post, prove.Config{Method: prove.CLBP, Cells: []int{0, 1, 4}[i%3]}, []property.Task{task}) {
				if r.Lower() > 0 {
					lower++
					enough := -math.Expm1(r.LogP)
					fail, err := n.failUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, atMost(arith.Inf))
					if err != nil {
						t.Fatal(err)
					}
					if fail > enough {
						retried++
						before := fail
						fail, _ = n.failUp(t.Context(), r.Task, r.Proof.Cells, r.Proof.Tau, atMost(enough))
						t.Logf("%d %s %v: fail %v, retried %v, claimed %v", i, kind, p, before, fail, enough)
					}
					if fail > enough {
						t.Errorf("%d %s %v: fails %v (%.3g more), certify says %v (%d cells)", i, kind, p, fail, fail/enough-1, enough, r.Cells)
					}
				}
				if u := r.Proof.Upper; u != nil && u.Method == "clbp" {
					upper++
					got, err := n.safeUp(t.Context(), r.Task, witnessOf(t, r.Task, u.Witness), u.Tau, atMost(r.Upper()))
					if err != nil || got > r.Upper() {
						t.Errorf("%d %s %v: p_upper %v, certify says %v, %v", i, kind, p, got, r.Upper(), err)
					}
				}
			}
		}
	}
	t.Logf("%d lower, %d upper bounds, %d retried", lower, upper, retried)
	if testscale.Factor(t) >= 0.1 && (lower == 0 || upper == 0) {
		t.Error("certify claims nothing")
	}
}

// TestGraphBoxesGenuine: of weight boxes, too.
func TestGraphBoxesGenuine(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 2))
	below := 0
	cases := testscale.Costly(t, 200)
	for i := range cases {
		post := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(4), Spread: 1.0 / 64, Outputs: 3})
		task := keptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 32}[rng.IntN(3)])
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			for _, m := range []bound.Propagation{bound.IBP, bound.LBP} {
				want, box := propagatedTo(t, i%3, post, p, m, 3*rng.Float64(), task.T[0], task.S.Rows)
				n, err := (&weightBox{box.Lo, box.Hi}).network(post)
				if err != nil {
					t.Fatal(err)
				}
				n.lines, n.graph.depth = m == bound.LBP, i%3
				got, _ := n.rowsLo(task.T[0], task.S.Rows)
				for r := range got {
					if got[r] >= want[r] {
						continue
					}
					below++
					for n.by.try = 1; got[r] < want[r] && n.by.try < tries; n.by.try++ {
						again, _ := n.rowsLo(task.T[0], task.S.Rows)
						got[r] = max(got[r], again[r])
					}
					if got[r] < want[r] {
						t.Errorf("%d %v %v: row %d: certify has %v, check %v", i, p, m, r, want[r], got[r])
					}
				}
			}
		}
	}
	t.Logf("%d of %d rows needed another try", below, cases*12)
}

// TestGraphSamples: networks of a finite posterior that certify decided are decided again.
func TestGraphSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	safe, unsafe := 0, 0
	for i := range testscale.Cases(t, 60) {
		shape := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(3), Spread: 0, Outputs: 3})
		const n = 8
		s := &posterior.Samples{}
		for _, g := range shape.Params() {
			var stack []float64
			for range n {
				for _, mean := range g.Mean {
					stack = append(stack, mean+0.3*rng.NormFloat64())
				}
			}
			s.Stack = append(s.Stack, stack)
		}
		for range n {
			s.Counts = append(s.Counts, 1+rng.Int64N(5))
		}
		post, err := posterior.FromSamples(shape.Layers, s)
		if err != nil {
			t.Fatal(err)
		}
		task := keptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 16}[rng.IntN(3)])
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			r := certified(t, p, post, prove.Config{Method: prove.Finite, Cells: []int{0, 20}[i%2]}, []property.Task{task})[0]
			c, err := countNetworks(t.Context(), post, &task, proofsOf(r), r.SafeSamples)
			if err != nil || len(c.safe) < r.SafeSamples || c.unsafe != r.UnsafeSamples {
				t.Errorf("%d, %v: %+v, certify has %d safe and %d unsafe, %v", i, p, c, r.SafeSamples, r.UnsafeSamples, err)
			}
			safe, unsafe = safe+len(c.safe), unsafe+c.unsafe
		}
	}
	t.Logf("%d networks safe, %d unsafe", safe, unsafe)
	if testscale.Factor(t) >= 0.1 && (safe == 0 || unsafe == 0) {
		t.Error("all networks are alike")
	}
}

// TestPoolsGenuine: records of max pools over convolutions by weight boxes are proved again, and by
// the first choice of lines: where differences decide as they do for certify, nothing is left to
// luck but roundings.
func TestPoolsGenuine(t *testing.T) {
	index, least := "0,7,29,31,32,42,48,50", 8
	if testscale.Deep(t) {
		index, least = "0:60", 60
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		j := images("glyphs-conv-8-10.npz", 0, "0.02", certify.Method{By: new(prove.LBP), NoUpper: true}, p)
		j.Tasks.Points.Index = &index
		claims := 0
		var c Checker
		for _, line := range written(t, j) {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("%v %v\n%s", err, v.Refused, line)
			}
			r, err := parseRecord(line)
			if err != nil {
				t.Fatal(err)
			}
			if !r.claims() {
				continue
			}
			claims++
			q, err := c.files.question(r, Files{})
			if err != nil {
				t.Fatal(err)
			}
			gamma, err := q.Gamma.of(len(q.post.Layers))
			if err != nil {
				t.Fatal(err)
			}
			f := formats[q.Precision]
			b, err := boxOf(q.post, &f, gamma, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := q.verify(t.Context(), b, q.Margin.Hi, 1); err != nil || !(v.margin >= q.Margin.Hi) {
				t.Errorf("%v, index %d: certify has margin %v, the first choice of lines %v, %v", p, q.Index, q.Margin, v.margin, err)
			}
		}
		if claims < least*3/4 {
			t.Errorf("%v: %d claims", p, claims)
		}
	}
}
