package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// randomPosterior is a network of 1 to 3 layers.
func randomPosterior(r *rand.Rand) *posterior.Posterior {
	if network.Kinds != 7 { // identity and the six that follow
		panic("randomPosterior does not draw an activation that there is")
	}
	kinds := []network.Activation{relu, relu, tanh, {Kind: network.Sigmoid}, {Kind: network.LeakyReLU, Slope: 0.01 + 0.9*r.Float64()},
		{Kind: network.Softplus}, {Kind: network.ELU, Slope: 1 - 0.9*r.Float64()}}
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	in, layers := 1+r.IntN(3), 1+r.IntN(3)
	// Much noise in one network of ten, none in some weights of others.
	spread := math.Exp(-4 + 3.5*r.Float64())
	if r.IntN(10) == 0 {
		spread = 1 + 2*r.Float64()
	}
	for k := range layers {
		out := 1 + r.IntN(8)
		if k == layers-1 {
			out = 1 + r.IntN(3)
		}
		draw := func(n int, size float64) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j] = size * r.NormFloat64()
				if r.IntN(6) > 0 {
					sd[j] = size * spread * (0.2 + r.Float64())
				}
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		l := posterior.Layer{Layer: network.DenseLayer(in, out, network.Activation{}), Weight: draw(in*out, 1.5/math.Sqrt(float64(in))), Bias: draw(out, 0.7)}
		if k < layers-1 {
			l.Activation = kinds[r.IntN(len(kinds))]
		}
		p.Layers, in = append(p.Layers, l), out
	}
	return p
}

// randomBox is a box, in some or all coordinates without width.
func randomBox(r *rand.Rand, n int) property.Box {
	b := property.Box{Lo: make([]float64, n), Hi: make([]float64, n)}
	point := r.IntN(3) == 0
	size := math.Exp(-5 + 5.5*r.Float64())
	for j := range n {
		b.Lo[j] = 2*r.Float64() - 1
		if r.IntN(3) == 0 {
			b.Lo[j] = math.Abs(b.Lo[j])
		}
		b.Hi[j] = b.Lo[j]
		if !point && r.IntN(5) > 0 {
			b.Hi[j] += size * r.Float64()
		}
	}
	return b
}

// nested is a box inside of b: half as wide, somewhere in it.
func nested(r *rand.Rand, b property.Box) property.Box {
	c := property.Box{Lo: slices.Clone(b.Lo), Hi: slices.Clone(b.Hi)}
	for j, lo := range b.Lo {
		w := b.Hi[j] - lo
		c.Lo[j] = min(lo+w/2*r.Float64(), b.Hi[j])
		c.Hi[j] = min(c.Lo[j]+w/2, b.Hi[j])
	}
	return c
}

// randomSafe is a conjunction or disjunction of rows. Their offsets are moved
// together so that a random share of networks is safe.
func randomSafe(r *rand.Rand, net *testNet, points [][]float64) property.Safe {
	out := net.layers[len(net.layers)-1].Outputs()
	var s property.Safe
	for range 1 + r.IntN(3) {
		row := property.Row{CLo: make([]float64, out)}
		for i := range out {
			row.CLo[i] = float64(r.IntN(3)-1) + float64(r.IntN(2))*r.NormFloat64()
		}
		row.CLo[r.IntN(out)] = 1
		row.CHi = row.CLo
		row.D = 0.3 * r.NormFloat64()
		row.DHi = row.D
		s.Rows = append(s.Rows, row)
	}
	switch n := len(s.Rows); {
	case n > 1 && r.IntN(2) == 0:
		s.Any = [][]int{{0}, nil}
		for i := 1; i < n; i++ {
			s.Any[1] = append(s.Any[1], i)
		}
	default:
		s.Any = [][]int{nil}
		for i := range n {
			s.Any[0] = append(s.Any[0], i)
		}
	}
	var margins []float64
	for range 60 {
		net.redraw(r)
		m, _ := net.worst(&s, points)
		margins = append(margins, m)
	}
	slices.Sort(margins)
	// Up to three times the spread beyond the largest: bounds are loose, and it is
	// they that shall lie within (0, 1).
	at := margins[r.IntN(len(margins))]
	if r.IntN(4) > 0 {
		at = margins[3] - 1.5*r.Float64()*(margins[50]-margins[3])
	}
	for i := range s.Rows {
		s.Rows[i].D -= at
		s.Rows[i].DHi = s.Rows[i].D
	}
	return s
}

// tally counts what the cases were worth.
type tally struct {
	mu           sync.Mutex
	lower, upper map[string]int
	// How far enlarging T raised p_lower, p_upper, and p_lower by boxes.
	raised, fell, box float64
	// mixed is by how much p_lower was raised where it rests on mixtures.
	mixed float64
	draws int
}

func (c *tally) add(name string, r *claim.Result) {
	if l := r.Lower(); l > 0.01 && l < 0.999 {
		c.lower[name]++
	}
	if u := r.Upper(); u > 0.01 && u < 0.999 {
		c.upper[name]++
	}
}

// TestConsistency: bounds of random posteriors agree with networks drawn at random,
// with decisions of drawn networks, and with each other.
func TestConsistency(t *testing.T) {
	cases := testscale.Costly(t, 1000/testscale.By(t, 2))
	count := &tally{lower: map[string]int{}, upper: map[string]int{}}
	t.Run("cases", func(t *testing.T) {
		const shards = 4
		for s := range shards {
			t.Run(fmt.Sprint(s), func(t *testing.T) {
				t.Parallel()
				for i := s; i < cases; i += shards {
					consistent(t, i, count)
				}
			})
		}
	})
	t.Logf("%d cases, %d draws; p_lower in (0.01, 0.999): %v; p_upper: %v", cases, count.draws, count.lower, count.upper)
	t.Logf("enlarging T raised p_lower by up to %.2g, by boxes %.2g, by mixtures %.2g, p_upper by up to %.2g", count.raised, count.box, count.mixed, count.fell)
	if cases < 30 {
		return // too few for shares
	}
	// Otherwise the comparison says nothing.
	for name, share := range map[string]float64{"clbp": 0.3, "auto": 0.35, "drawn": 0.1} {
		if n := count.lower[name]; float64(n) < share*float64(cases) {
			t.Errorf("%s: %d of %d lower bounds lie within (0.01, 0.999): choose other cases", name, n, cases)
		}
	}
	if n := count.upper["clbp"]; float64(n) < 0.07*float64(cases) {
		t.Errorf("%d of %d upper bounds lie within (0.01, 0.999): choose other cases", n, cases)
	}
}

// method is a method by name.
type method struct {
	name string
	cfg  prove.Config
}

// consistent is one case: T and a T inside of it, all methods.
func consistent(t *testing.T, i int, count *tally) {
	r := rand.New(rand.NewPCG(20240229, uint64(i)))
	post := randomPosterior(r)
	boxes := []property.Box{randomBox(r, post.Inputs())}
	if r.IntN(4) == 0 {
		boxes = append(boxes, randomBox(r, post.Inputs()))
	}
	consistentOn(t, i, r, post, boxes, gridOf([]int{17, 7, 4}[post.Inputs()-1], boxes...), count)
}

// consistentOn is a case with a posterior and the boxes of T; points are some of T.
func consistentOn(t *testing.T, i int, r *rand.Rand, post *posterior.Posterior, boxes []property.Box, points [][]float64, count *tally) {
	net := &testNet{layers: post.Layers}
	whole := inner(safeOn(randomSafe(r, net, points), boxes...))
	part := whole
	part.T = nil
	for _, b := range boxes {
		part.T = append(part.T, nested(r, b))
	}
	part = inner(part)
	p := bound.Precision(i % 2)
	// How many cells are tried is most of the time.
	cells := []int{1, 3, 10, 30}
	results := map[string][]*claim.Result{}
	for _, c := range []method{
		{"clbp", prove.Config{Method: prove.CLBP, Cells: cells[r.IntN(4)]}},
		{"auto", prove.Config{Method: prove.Auto, Cells: cells[r.IntN(3)]}},
		{"drawn", prove.Config{Method: prove.LBP, Samples: 12, Gamma: 0.5, Seed: uint64(i)}},
		{"statistical", prove.Config{Method: prove.Statistical, Samples: 100, Seed: uint64(i), Confidence: 1 - 2*sureness, Cells: 16}},
	} {
		results[c.name] = run(t, p, post, c.cfg, whole, part)
	}
	mostLower, leastUpper := 0.0, 1.0
	for _, list := range results {
		mostLower, leastUpper = max(mostLower, list[0].Lower()), min(leastUpper, list[0].Upper())
	}
	drawn := simulate(r, net, &whole, points, 150)
	if drawn.share(drawn.notUnsafe) < mostLower+0.1 || leastUpper < drawn.share(drawn.surelySafe)+0.1 {
		// Nothing of the first draws is kept, so that the number of draws depends on
		// nothing that is counted.
		drawn = simulate(r, net, &whole, points, 1500)
	}
	count.mu.Lock()
	defer count.mu.Unlock()
	count.draws += drawn.n
	st := results["statistical"][0].Statistic
	if st.Lower > drawn.upper() || st.Upper < drawn.lower() {
		t.Errorf("case %d: limits %v to %v of %+v, simulation %v to %v", i, st.Lower, st.Upper, *st, drawn.lower(), drawn.upper())
	}
	for name, list := range results {
		count.add(name, list[0])
		lo, hi := list[0].Lower(), list[0].Upper()
		if most := min(st.Upper, drawn.upper()); lo > most {
			t.Errorf("case %d: %s: p_lower %v, P_safe is at most %v", i, name, lo, most)
		}
		if least := max(st.Lower, drawn.lower()); hi < least {
			t.Errorf("case %d: %s: p_upper %v, P_safe is at least %v", i, name, hi, least)
		}
		for _, other := range results { // T is safe no more often than a part of it
			if o := min(other[0].Upper(), other[1].Upper()); lo > o {
				t.Errorf("case %d: %s: p_lower %v, p_upper %v of T or a part of it", i, name, lo, o)
			}
		}
		count.monotone(t, i, name, list[0], list[1])
	}
}

// A wider T may get a better bound, as the searches behind bounds do not end at the
// best: cells, budgets and slopes of clbp and auto, points of upper bounds, widths of
// boxes. Every bound is sound, and P_safe itself is monotone. 0.002, 0.001 and 0.03
// were seen; 0.52 by mixtures of alternatives, whose factors are chosen before anything is
// bounded, and once for all widths of boxes; 0.077 by auto's sums of neurons, which count a draw
// once for each vertex of a cell where it fails, and vertices far apart share fewer.
const (
	lowerSlack, upperSlack = 0.02, 0.02
	autoSlack              = 0.1
	boxSlack               = 0.1
)

// monotone compares the bounds of T and of a part of it.
func (c *tally) monotone(t *testing.T, i int, name string, whole, part *claim.Result) {
	raised, fell := whole.Lower()-part.Lower(), whole.Upper()-part.Upper()
	slack := lowerSlack
	switch {
	case len(whole.Proof.Mixtures) > 0:
		slack, c.mixed = 1, max(c.mixed, raised)
	case name == "drawn":
		slack, c.box = boxSlack, max(c.box, raised)
	case name == "auto":
		slack, c.raised = autoSlack, max(c.raised, raised)
	default:
		c.raised = max(c.raised, raised)
	}
	if name != "drawn" {
		c.fell = max(c.fell, fell)
	}
	if raised > slack || fell > upperSlack {
		t.Errorf("case %d: %s: %v to %v of T, %v to %v of a part of it", i, name, whole.Lower(), whole.Upper(), part.Lower(), part.Upper())
	}
}
