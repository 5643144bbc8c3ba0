package check

import (
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/check/record"
	"psafe/host/check/relax"
	"psafe/host/job/certify"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestGraphSamples: networks of a finite posterior that certify decided are decided again.
func TestGraphSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 3))
	safe, unsafe := 0, 0
	for i := range testscale.Cases(t, 60) {
		shape := convtest.Random(rng, convtest.Shape{Blocks: 1 + rng.IntN(3), Spread: 0, Outputs: 3})
		const n = 8
		s := &posterior.Finite{}
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
		post, err := posterior.FromFinite(shape.Layers, s)
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.KeptClass(rng, post, []float64{0, 1.0 / 256, 1.0 / 16}[rng.IntN(3)])
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			r := checktest.Certified(t, p, post, prove.Config{Method: prove.Finite, Cells: []int{0, 20}[i%2]}, []property.Task{task})[0]
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
		j := images("glyphs-conv-8-10.npz", 0, "0.02", certify.Method{By: new(prove.LBP), NoUpper: true, Draws: new(1), Gamma: new(2.0)}, p)
		j.Tasks.Points.Index = &index
		claims := 0
		var c Checker
		for _, line := range written(t, j) {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("%v %v\n%s", err, v.Refused, line)
			}
			r, err := record.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Claims() {
				continue
			}
			claims++
			q, err := c.files.question(r, Files{})
			if err != nil {
				t.Fatal(err)
			}
			f := relax.Formats[q.Precision]
			for _, n := range q.Proof.Boxes {
				b, err := relax.BoxOf(q.post, &f, q.Gamma, func(a, w int) float32 { return arith.Normal(q.Seed, uint64(n), uint32(a), uint32(w)) })
				if err != nil {
					t.Fatal(err)
				}
				if margin, err := q.marginOn(t.Context(), b, 1); err != nil || !(margin >= 0) {
					t.Errorf("%v, index %d: box %d has margin %v by the first choice of lines, %v", p, q.Index, n, margin, err)
				}
			}
		}
		if claims < least*3/4 {
			t.Errorf("%v: %d claims", p, claims)
		}
	}
}
