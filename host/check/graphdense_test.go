package check

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// asDense is a layer with a matrix at several positions as a dense one: every place has a weight
// of its own.
func asDense(l layer) layer {
	d := layer{in: l.in, out: l.out, act: l.act, w: newSpan(l.in * l.out), b: newSpan(l.out)}
	for i := range l.out {
		s, c := l.unit(i, 1)
		_, most := l.unit(i, -1)
		for j := range l.in {
			d.w.lo[j*l.out+i], d.w.hi[j*l.out+i] = s.lo[j], s.hi[j]
		}
		d.b.lo[i], d.b.hi[i] = near(c), -near(most)
	}
	return d
}

// chained is a chain of convolutions, the layers as they are and as dense ones.
func chained(rng *rand.Rand, gamma float64) (places, dense network) {
	s := &sketch{rng: rng, post: &posterior.Posterior{Scale: posterior.ScaleSD}, sd: 1.0 / 16}
	s.img = []net.Image{{Height: 5, Width: 5, Channels: 1}}
	relu := activations[1+rng.IntN(2)]
	for range 2 {
		c := net.Conv{In: s.img[len(s.img)-1], Window: windowOf(2, 1, rng.IntN(2)), Filters: 2, Groups: 1}
		s.put(c, c.Out(), relu, s.sd)
	}
	s.dense(len(s.img)-1, 2, net.Activation{}, s.sd)
	for k := range s.post.Layers {
		s.post.Layers[k].Sources = nil
	}
	f := formats["float64"]
	b, err := boxOf(s.post, &f, []float64{gamma, gamma, gamma}, nil)
	if err != nil {
		panic(err)
	}
	n, err := b.network(s.post)
	if err != nil {
		panic(err)
	}
	dense = network{layers: slices.Clone(n.layers)}
	for k, l := range dense.layers {
		if l.at != nil {
			dense.layers[k] = asDense(l)
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
		x := ballOf(rng, 25, []float64{0, 1.0 / 64, 0.25}[rng.IntN(3)])
		rows := property.ArgmaxIs(0, 2).Rows
		for _, lines := range []bool{false, true} {
			places.lines, dense.lines = lines, lines
			got, _ := places.rowsLo(x, rows)
			want, _ := dense.rowsLo(x, rows)
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
		for what, substitute := range map[string]func(c *arith.Sum) span{
			"alone":   func(c *arith.Sum) span { return l.substitutePlaces(a, z, c) },
			"chords":  func(c *arith.Sum) span { return l.substituteShared(a, z, c, byChords) },
			"centres": func(c *arith.Sum) span { return l.substituteShared(a, z, c, byCentres) },
		} {
			var c arith.Sum
			s := substitute(&c)
			for range 10 {
				at := drawnIn(rng, z.lo, z.hi)
				w, b := drawnIn(rng, l.w.lo, l.w.hi), drawnIn(rng, l.b.lo, l.b.hi)
				row := new(big.Rat)
				for i, v := range a {
					row.Add(row, new(big.Rat).Mul(exactly(v), l.valueAt(i, w, b, at)))
				}
				least := exactly(c.Lo())
				for j := range at {
					least.Add(least, smallest(s.lo[j], s.hi[j], at[j]))
				}
				if least.Cmp(row) > 0 {
					t.Fatalf("case %d %s: a row is %v, at least %v was left", n, what, row.FloatString(15), least.FloatString(15))
				}
			}
		}
	}
}

// valueAt is pre-activation i.
func (l *layer) valueAt(i int, w, b, z []*big.Rat) *big.Rat {
	o, under := i%l.at.channels, l.at.under(i/l.at.channels)
	v := new(big.Rat).Set(b[o])
	for _, k := range l.at.kernels[o] {
		if j := under[k]; j >= 0 {
			v.Add(v, new(big.Rat).Mul(w[int(k)*l.at.channels+o], z[j]))
		}
	}
	return v
}

// smallest is the least s z for s in [lo, hi].
func smallest(lo, hi float64, z *big.Rat) *big.Rat {
	a, b := new(big.Rat).Mul(exactly(lo), z), new(big.Rat).Mul(exactly(hi), z)
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

// randomConvRow is a convolution with intervals for weights, intervals of its inputs and a row.
func randomConvRow(rng *rand.Rand) (l *layer, z span, a []float64) {
	c := net.Conv{In: net.Image{Height: 3, Width: 3, Channels: 2}, Window: windowOf(2, 1, rng.IntN(2)), Filters: 2, Groups: 1 + rng.IntN(2)}
	shape, params, err := shapeOf(c, net.Activation{})
	if err != nil {
		panic(err)
	}
	number := func() float64 { return math.Round(rng.NormFloat64()*64) / 64 }
	list := func(n int, width float64) (lo, hi []float64) {
		for range n {
			x, r := number(), 0.0
			if rng.IntN(4) > 0 {
				r = math.Abs(number()) * width
			}
			lo, hi = append(lo, x-r), append(hi, x+r)
		}
		return lo, hi
	}
	wLo, wHi := list(c.Weights(), 0.25)
	bLo, bHi := list(c.Biases(), 0.25)
	shape.w, shape.b = span{matrix(wLo, params), matrix(wHi, params)}, span{bLo, bHi}
	z.lo, z.hi = list(shape.in, 0.5)
	a = make([]float64, shape.out)
	for i := range a {
		if rng.IntN(2) == 0 {
			a[i] = number() / 3
		}
	}
	return &shape, z, a
}

// TestSharedNoise: mean and variance of the noise in a row are (18) and (17), not below them and
// not above but for roundings. The variance is that at the worst corner of the inputs.
func TestSharedNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 3))
	for n := range testscale.Cases(t, 300) {
		l, z, a := randomConvRow(rng)
		at, sd, sdBias := l.at, make([]float64, len(l.w.lo)), make([]float64, len(l.b.lo))
		for w := range sd {
			sd[w] = (l.w.hi[w] - l.w.lo[w]) / 2
		}
		for o := range sdBias {
			sdBias[o] = (l.b.hi[o] - l.b.lo[o]) / 2
		}
		m := deviations{sd: sd, variance: squaresUp(sd), biasVariance: squaresUp(sdBias), at: at}
		r := newReach(l.in)
		for j := range l.in {
			r.set(j, math.Abs(math.Round(rng.NormFloat64()*8)/8), abs(z.lo[j], z.hi[j]))
		}
		got := m.ofRow(a, &r, z)

		variance, mean := new(big.Rat), 0.0
		s := make([]float64, l.in) // s_j^2
		for o := range at.channels {
			bias := new(big.Rat)
			for p := range at.positions {
				bias.Add(bias, exactly(a[p*at.channels+o]))
			}
			variance.Add(variance, bias.Mul(bias, bias).Mul(bias, exactly(sdBias[o]*sdBias[o])))
			for k := range at.taps {
				// the centre of g_k and its half-width
				centre, half := new(big.Rat), new(big.Rat)
				for p := range at.positions {
					j, v := at.tap[p*at.taps+k], a[p*at.channels+o]
					if j < 0 {
						continue
					}
					sq := sd[k*at.channels+o] * v
					s[j] += sq * sq
					c := new(big.Rat).Add(exactly(z.lo[j]), exactly(z.hi[j]))
					h := new(big.Rat).Sub(exactly(z.hi[j]), exactly(z.lo[j]))
					centre.Add(centre, c.Mul(c, exactly(v/2)))
					half.Add(half, h.Mul(h, exactly(math.Abs(v/2))))
				}
				g := centre.Abs(centre)
				g.Add(g, half)
				variance.Add(variance, g.Mul(g, g).Mul(g, exactly(sd[k*at.channels+o]*sd[k*at.channels+o])))
			}
		}
		for j := range s {
			mean += math.Sqrt(2/math.Pi) * r.radius[j] * math.Sqrt(s[j])
		}
		most, _ := new(big.Rat).Mul(variance, exactly(1+1e-12)).Float64()
		if exactly(got.variance).Cmp(variance) < 0 || got.variance > most+1e-300 {
			t.Errorf("case %d: variance %v, want %v", n, got.variance, variance.FloatString(20))
		}
		if got.mean < mean*(1-1e-13) || got.mean > mean*(1+1e-12) {
			t.Errorf("case %d: mean %v, want %v", n, got.mean, mean)
		}
	}
}

// ofLayers is a posterior of these layers, whose weights have the means and deviations given.
func ofLayers(layers ...posterior.Layer) *posterior.Posterior {
	return &posterior.Posterior{Scale: posterior.ScaleSD, Layers: layers}
}

func weightsOf(mean, sd float64, n int) posterior.Params {
	return posterior.NewParams(slices.Repeat([]float64{mean}, n), slices.Repeat([]float64{sd}, n), posterior.ScaleSD)
}

// TestGlobalAverage: the mean of one weight N(1, 1/4) over 16 positions is that weight. Who takes
// positions for independent certifies 0.9999999999999993 instead of Phi(2).
func TestGlobalAverage(t *testing.T) {
	image := net.Image{Height: 4, Width: 4, Channels: 1}
	conv := net.Conv{In: image, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}
	none := weightsOf(0, 0, 0)
	post := ofLayers(
		posterior.Layer{Layer: net.Layer{Map: conv}, Weight: weightsOf(1, 0.5, 1), Bias: weightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.Layer{Map: net.AvgPool{In: image, Window: windowOf(4, 1, 0)}}, Weight: none, Bias: none},
		posterior.Layer{Layer: net.DenseLayer(1, 1, net.Activation{}), Weight: weightsOf(1, 0, 1), Bias: weightsOf(0, 0, 1)})
	ones := slices.Repeat([]float64{1}, 16)
	task := property.Task{T: []property.Box{{Lo: ones, Hi: ones}}, S: property.Safe{Any: [][]int{{0}}, Rows: []property.Row{{CLo: []float64{1}, CHi: []float64{1}}}}}
	n, err := newAnyNoise(post)
	if err != nil {
		t.Fatal(err)
	}
	fail, err := n.failUp(t.Context(), &task, nil, []float64{1e-6}, atMost(0))
	if err != nil || 1-fail > 0.97725 || 1-fail < 0.97724 {
		t.Errorf("p_lower %v, %v; it is Phi(2) = 0.97725", 1-fail, err)
	}
	c := n.newCellPass(task.T[0], 1e-6, 0)
	if want := 34 * 0x1p-20; c.events != want { // 16 units and their mean are linear: nothing needs their bounds
		t.Errorf("%v events, want %v", c.events, want)
	}
}

// odd is a map that nobody knows.
type odd struct{ net.Conv }

// TestRefusedMaps: what the checker does not know is refused, in a line that names it.
func TestRefusedMaps(t *testing.T) {
	conv := net.Conv{In: net.Image{Height: 2, Width: 2, Channels: 1}, Window: windowOf(1, 1, 0), Filters: 1, Groups: 1}
	post := ofLayers(
		posterior.Layer{Layer: net.Layer{Map: odd{conv}}, Weight: weightsOf(1, 0.5, 1), Bias: weightsOf(0, 0, 1)},
		posterior.Layer{Layer: net.DenseLayer(4, 2, net.Activation{}), Weight: weightsOf(1, 0.1, 8), Bias: weightsOf(0, 0, 2)})
	const want = "layer 0: a check.odd cannot be checked"
	if _, err := newNoisy(post, false); fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	f := formats["float64"]
	b, err := boxOf(post, &f, []float64{1, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.network(post); fmt.Sprint(err) != "posterior: "+want {
		t.Errorf("%v, want %s", err, want)
	}
	if norms := normsUp(post, []property.Box{{Lo: make([]float64, 4), Hi: make([]float64, 4)}}); !math.IsInf(norms[0], 1) {
		t.Errorf("norms %v of a map that is not known", norms)
	}
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
