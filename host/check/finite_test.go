package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/check/record"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// randomSet is a posterior of n random networks with random counts.
func randomSet(t *testing.T, rng *rand.Rand, n int, act net.Activation, sizes ...int) *posterior.Posterior {
	t.Helper()
	shape := sumtest.RandomNoisy(rng, act, 0, sizes...)
	s := &posterior.Finite{}
	for k := range shape.Layers {
		for _, size := range []int{sizes[k] * sizes[k+1], sizes[k+1]} {
			var stack []float64
			for range n * size {
				stack = append(stack, rng.NormFloat64())
			}
			s.Stack = append(s.Stack, stack)
		}
	}
	for range n {
		s.Counts = append(s.Counts, 1+rng.Int64N(5))
	}
	post, err := posterior.FromFinite(shape.Layers, s)
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// proofsOf are certify's proofs as a record has them.
func proofsOf(r *claim.Result) (list []record.NetworkProof) {
	for _, p := range r.Proof.Networks {
		n := record.NetworkProof{Network: p.Network, Cells: p.Cells}
		if p.Witness != nil {
			n.Witness = &record.WitnessProof{Box: p.Witness.Box, At: p.Witness.At}
		}
		list = append(list, n)
	}
	return list
}

// TestSamples: networks that certify decided are decided again the same way, at least as many;
// their shares are bounds of the shares of networks that are safe on a grid.
func TestSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	listed := 0
	for i := range testscale.Cases(t, 200) {
		post := randomSet(t, rng, 12, checktest.Activations[i%len(checktest.Activations)], [][]int{{2, 5, 3}, {1, 4, 4, 2}, {3, 2}}[rng.IntN(3)]...)
		task := checktest.RandomTask(rng, post, 0)
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			r := checktest.Certified(t, p, post, prove.Config{Method: prove.Finite, Cells: []int{0, 1, 30}[i%3]}, []property.Task{task})[0]
			proofs := proofsOf(r)
			listed += len(proofs)
			c, err := countNetworks(t.Context(), post, &task, proofs, r.SafeSamples)
			if err != nil {
				t.Fatalf("%d, %v: %v", i, p, err)
			}
			if len(c.safe) < r.SafeSamples || c.unsafe != r.UnsafeSamples || c.pLowerDown(len(c.safe)) < r.Lower() || c.pUpperUp() > r.Upper() {
				t.Errorf("%d, %v: %+v in [%v, %v], certify has %d safe and %d unsafe, in [%v, %v]", i, p, c, c.pLowerDown(len(c.safe)), c.pUpperUp(), r.SafeSamples, r.UnsafeSamples, r.Lower(), r.Upper())
			}
			for what, forged := range forgedNetworks(proofs, post.Finite().N()) {
				if c, err := countNetworks(t.Context(), post, &task, forged, 0); err == nil && !(len(c.safe) <= r.SafeSamples && c.unsafe <= r.UnsafeSamples) && len(c.safe)+c.unsafe > post.Finite().N()-1 {
					t.Errorf("%d: %s is accepted: %+v", i, what, c)
				}
			}
		}
	}
	if t.Logf("%d networks listed", listed); listed == 0 {
		t.Error("no network was cut or unsafe")
	}
}

// TestWitnessBelowRounding: a network that fails by less than float32 and intervals between layers
// can see is proved unsafe in exact arithmetic, and its witness holds here; a margin that nobody can
// see is not claimed.
func TestWitnessBelowRounding(t *testing.T) {
	for _, margin := range []float64{1e-9, 1e-15} {
		layers := []posterior.Layer{{Layer: net.DenseLayer(1, 2, net.Activation{Kind: net.ReLU})}, {Layer: net.DenseLayer(2, 2, net.Activation{})}}
		// y_0 = 1 + x/3 and y_1 = y_0 + margin for x in [0, 1].
		stack := [][]float64{{1.0 / 3, 0.3}, {0, 0.1}, {1, 1, 0, 0}, {1, 1 + margin}}
		post, err := posterior.FromFinite(layers, &posterior.Finite{Stack: stack, Counts: []int64{3}})
		if err != nil {
			t.Fatal(err)
		}
		task := checktest.RandomTask(rand.New(rand.NewPCG(4, 7)), post, 0)
		task.T, task.Inner = task.T[:1], task.Inner[:1]
		task.S = property.ArgmaxIs(0, 2)
		r := checktest.Certified(t, bound.Float32, post, prove.Config{Method: prove.Finite, Cells: 8}, []property.Task{task})[0]
		want := 0
		if margin == 1e-9 {
			want = 1
		}
		c, err := countNetworks(t.Context(), post, &task, proofsOf(r), r.SafeSamples)
		if err != nil || r.UnsafeSamples != want || c.unsafe != want || r.SafeSamples != 0 {
			t.Errorf("margin %v: %d unsafe and %d safe of 1, %d unsafe by the checker (%v)", margin, r.UnsafeSamples, r.SafeSamples, c.unsafe, err)
		}
	}
}

// forgedNetworks are proofs that do not hold, or that are none.
func forgedNetworks(proofs []record.NetworkProof, n int) map[string][]record.NetworkProof {
	f := map[string][]record.NetworkProof{
		"a network that is none":    append(slices.Clone(proofs), record.NetworkProof{Network: n, Cells: []int{-1}}),
		"a negative network":        append(slices.Clone(proofs), record.NetworkProof{Network: -1, Cells: []int{-1}}),
		"a proof of nothing":        append(slices.Clone(proofs), record.NetworkProof{Network: 0}),
		"a witness that is no text": append(slices.Clone(proofs), record.NetworkProof{Network: 0, Witness: &record.WitnessProof{Box: 0, At: "?"}}),
		"a witness outside of T":    append(slices.Clone(proofs), record.NetworkProof{Network: 0, Witness: &record.WitnessProof{Box: 7, At: ""}}),
	}
	if len(proofs) > 0 {
		f["a network listed twice"] = append(slices.Clone(proofs), proofs[0])
	}
	return f
}

// TestForgedSamples: a safe network with an unsafe one's proof, and the other way round.
func TestForgedSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	post := randomSet(t, rng, 6, net.Activation{Kind: net.ReLU}, 2, 4, 2)
	task := checktest.RandomTask(rng, post, 0)
	task.S = property.Safe{Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{0, 0}, CHi: []float64{0, 0}, D: 1, DHi: 1}}}
	at := task.T[0].EncodePoint(task.T[0].Lo)
	if c, err := countNetworks(t.Context(), post, &task, nil, 0); err != nil || len(c.safe) != 6 || c.pLowerDown(len(c.safe)) != 1 || c.pUpperUp() != 1 {
		t.Errorf("all safe: %+v, %v", c, err)
	}
	if _, err := countNetworks(t.Context(), post, &task, []record.NetworkProof{{Network: 2, Witness: &record.WitnessProof{Box: 0, At: at}}}, 0); err == nil {
		t.Error("a safe network is taken for an unsafe one")
	}
	task.S.Rows[0].D, task.S.Rows[0].DHi = -1, -1
	if c, err := countNetworks(t.Context(), post, &task, []record.NetworkProof{{Network: 2, Witness: &record.WitnessProof{Box: 0, At: at}}}, 0); err != nil || len(c.safe) != 0 || c.unsafe != 1 || c.pLowerDown(len(c.safe)) != 0 || !(c.pUpperUp() < 1) {
		t.Errorf("all unsafe: %+v, %v", c, err)
	}
	trees := slices.Repeat([]int{-1}, len(task.T))
	if _, err := countNetworks(t.Context(), post, &task, []record.NetworkProof{{Network: 2, Cells: trees}}, 0); err == nil {
		t.Error("an unsafe network is taken for a safe one")
	}
	if _, err := countNetworks(t.Context(), sumtest.RandomNoisy(rng, net.Activation{}, 1, 2, 2), &task, nil, 0); err == nil {
		t.Error("normal weights are taken for a finite set")
	}
}
