package relax

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// asDense is a layer with a matrix at several positions as a dense one: every place has a weight
// of its own.
func asDense(l Layer) Layer {
	d := Layer{In: l.In, Out: l.Out, Act: l.Act, W: NewSpan(l.In * l.Out), B: NewSpan(l.Out)}
	for i := range l.Out {
		s, c := l.Unit(i, 1)
		_, most := l.Unit(i, -1)
		for j := range l.In {
			d.W.Lo[j*l.Out+i], d.W.Hi[j*l.Out+i] = s.Lo[j], s.Hi[j]
		}
		d.B.Lo[i], d.B.Hi[i] = near(c), -near(most)
	}
	return d
}

// chained is a chain of convolutions, the layers as they are and as dense ones.
func chained(rng *rand.Rand, gamma float64) (places, dense Network) {
	s := &checktest.Sketch{Rng: rng, Post: &posterior.Posterior{Scale: posterior.ScaleSD}, Sd: 1.0 / 16}
	s.Img = []net.Image{{Height: 5, Width: 5, Channels: 1}}
	relu := checktest.Activations[1+rng.IntN(2)]
	for range 2 {
		c := net.Conv{In: s.Img[len(s.Img)-1], Window: checktest.WindowOf(2, 1, rng.IntN(2)), Filters: 2, Groups: 1}
		s.Put(c, c.Out(), relu, s.Sd)
	}
	s.Dense(len(s.Img)-1, 2, net.Activation{}, s.Sd)
	for k := range s.Post.Layers {
		s.Post.Layers[k].Sources = nil
	}
	n, err := boxAround(s.Post, []float64{gamma, gamma, gamma}).Network(s.Post)
	if err != nil {
		panic(err)
	}
	dense = Network{Layers: slices.Clone(n.Layers)}
	for k, l := range dense.Layers {
		if l.At != nil {
			dense.Layers[k] = asDense(l)
		}
	}
	return *n, dense
}

// TestGraphDense: without width of weights a convolution is the dense layer that it makes; by
// intervals it always is, and by lines it is at least as good, since it also knows that weights
// are shared.
func TestGraphDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	better := 0
	for n := range testscale.Cases(t, 200) {
		gamma := []float64{0, 1, 3}[n%3]
		places, dense := chained(rng, gamma)
		x := checktest.BallOf(rng, 25, []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)])
		rows := property.ArgmaxIs(0, 2).Rows
		for _, lines := range []bool{false, true} {
			places.Lines, dense.Lines = lines, lines
			got := places.RowsLo(x, rows)
			want := dense.RowsLo(x, rows)
			tol := 1e-12 * (1 + math.Abs(want[0]))
			if equal := !lines || gamma == 0; got[0] < want[0]-tol || equal && got[0] > want[0]+tol {
				t.Errorf("case %d gamma %v lines %v: %v, as a dense network %v", n, gamma, lines, got[0], want[0])
			}
			if got[0] > want[0]+1e-3*math.Abs(want[0]) {
				better++
			}
		}
	}
	if better == 0 {
		t.Error("shared weights are never better")
	}
}

// TestSharedRows: rows over a convolution are at every network of a box and all its inputs at
// least what substitution leaves of them, in all forms; with a sign that is certain the shared
// form is exact.
func TestSharedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	for n := range testscale.Cases(t, 300) {
		l, z, a := randomConvRow(rng)
		for what, substitute := range map[string]func(c *arith.Sum) Span{
			"alone":   func(c *arith.Sum) Span { return l.substitutePlaces(a, z, c) },
			"chords":  func(c *arith.Sum) Span { return l.substituteShared(a, z, c, byChords) },
			"centres": func(c *arith.Sum) Span { return l.substituteShared(a, z, c, byCentres) },
		} {
			var c arith.Sum
			s := substitute(&c)
			for range 10 {
				at := checktest.DrawnIn(rng, z.Lo, z.Hi)
				w, b := checktest.DrawnIn(rng, l.W.Lo, l.W.Hi), checktest.DrawnIn(rng, l.B.Lo, l.B.Hi)
				row := new(big.Rat)
				for i, v := range a {
					row.Add(row, new(big.Rat).Mul(checktest.Exactly(v), l.valueAt(i, w, b, at)))
				}
				least := checktest.Exactly(c.Lo())
				for j := range at {
					least.Add(least, smallest(s.Lo[j], s.Hi[j], at[j]))
				}
				if least.Cmp(row) > 0 {
					t.Fatalf("case %d %s: a row is %v, at least %v was left", n, what, row.FloatString(15), least.FloatString(15))
				}
			}
		}
	}
}

// valueAt is pre-activation i.
func (l *Layer) valueAt(i int, w, b, z []*big.Rat) *big.Rat {
	o, under := i%l.At.Channels, l.At.Under(i/l.At.Channels)
	v := new(big.Rat).Set(b[o])
	for _, k := range l.At.Kernels[o] {
		if j := under[k]; j >= 0 {
			v.Add(v, new(big.Rat).Mul(w[int(k)*l.At.Channels+o], z[j]))
		}
	}
	return v
}

// smallest is the least s z for s in [lo, hi].
func smallest(lo, hi float64, z *big.Rat) *big.Rat {
	a, b := new(big.Rat).Mul(checktest.Exactly(lo), z), new(big.Rat).Mul(checktest.Exactly(hi), z)
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// randomConvRow is a convolution with intervals for weights, intervals of its inputs and a row.
func randomConvRow(rng *rand.Rand) (l *Layer, z Span, a []float64) {
	c := checktest.RandomConvRow(rng)
	shape, params, err := ShapeOf(c.Conv, net.Activation{})
	if err != nil {
		panic(err)
	}
	shape.W, shape.B = Span{Lo: Matrix(c.W[0], params), Hi: Matrix(c.W[1], params)}, Span{Lo: c.B[0], Hi: c.B[1]}
	return &shape, Span{Lo: c.In[0], Hi: c.In[1]}, c.Row
}

// TestTwoPlaces: a parameter in two places of the matrix, or an input under two taps, breaks
// (17), (18) and (29), and is refused.
func TestTwoPlaces(t *testing.T) {
	low := &net.Lowered{Positions: 1, Taps: 2, Channels: 1, Tap: []int32{0, 0}, Weight: []int32{0, 1}}
	if _, err := placesOf(low, 1); err == nil {
		t.Error("an input under two taps passes")
	}
	low.Tap = []int32{0, 2}
	if _, err := placesOf(low, 2); err == nil {
		t.Error("an input that is not there passes")
	}
	low.Tap = []int32{0, -1}
	at, err := placesOf(low, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := paramsOf(low, at, 2); err != nil {
		t.Error(err)
	}
	low.Weight = []int32{1, 1}
	if _, err := paramsOf(low, at, 2); err == nil {
		t.Error("a weight in two places passes")
	}
}

// near is a sum of one number.
func near(c arith.Sum) float64 { return arith.Middle(c.Lo(), c.Hi()) }
