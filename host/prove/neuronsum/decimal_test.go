package neuronsum

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// decimalBox holds the real numbers k/10, which are no float64, as property.ParseDecimal
// reads them.
func decimalBox(t *testing.T, texts ...string) property.Box {
	t.Helper()
	var b property.Box
	for _, text := range texts {
		lo, hi, err := property.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		b.Lo, b.Hi = append(b.Lo, lo), append(b.Hi, hi)
	}
	return b
}

// TestDecimalPoint: at a point written in decimals the bounds are those of the float64
// beside it, for every activation; at it they are compared with integrals.
func TestDecimalPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(64, 1))
	texts := []string{"0.1", "-0.3", "0.7"}
	for trial := range max(2*len(sumtest.Activations), testscale.Cases(t, 30)) {
		act := sumtest.Activations[trial%len(sumtest.Activations)]
		in := 1 + trial/5%3
		box := decimalBox(t, texts[:in]...)
		point := property.Box{Lo: box.Lo, Hi: box.Lo}
		p := sumtest.Net(r, in, 1+r.IntN(8), 1, act)
		n, row := newSum(t, p), oneRow(2*r.NormFloat64())
		s := sumtest.Single(row)
		if got, want := n.rowFailUp(box, row), n.rowFailUp(point, row); got < want*(1-1e-9) || got > 1.0001*want+1e-12 {
			t.Errorf("trial %d, %v, %d inputs: fails <= %v, at the nearest float64 %v", trial, act, in, got, want)
		}
		if got, want := first(n.SafeUp(box, s)), first(n.SafeUp(point, s)); got < want*(1-1e-9) || got > 1.0001*want+1e-12 {
			t.Errorf("trial %d, %v, %d inputs: safe <= %v, at the nearest float64 %v", trial, act, in, got, want)
		}
	}
	p := sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{1, -0.5, 0.25}, []float64{0.5, 0.3, 0.4}, 1, 0.2, 1)
	box := decimalBox(t, texts...)
	at := 1.425 - 2.05*math.Sqrt(0.05*0.05+0.09*0.09+0.28*0.28+0.04)
	got, truth := newSum(t, p).rowFailUp(box, oneRow(-at)), oneNeuronFails(p, box, at, false)
	t.Logf("fails <= %v, integral %v", got, truth)
	if got < truth*(1-oracleError) || got > 1.25*truth {
		t.Errorf("fails <= %v, integral %v", got, truth)
	}
}

// sharp is a quality at which little hides a missing radius.
var sharp = quality{factors: 64, nodes: 2048, rests: 64, narrow: 1.3, step: 1. / 512, work: 1e12}

// TestNarrowAxes: wide axes that are called narrow must be paid for, in t and against t,
// beside axes with vertices and alone, for every activation: never below the integral,
// and near to that of the radius.
func TestNarrowAxes(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	for i, act := range sumtest.Activations {
		for k, c := range []struct{ mean0, sd0, half0, mean1, sd1, half1 float64 }{
			{0, 0, 0, 1, 0.02, 0.3}, {0, 0, 0, -1, 0.05, 0.2}, {0, 0, 0, 0, 0.1, 0.5},
			{1, 0.3, 2, 1, 0.02, 0.3}, {-1, 0.2, 3, 0.1, 0.05, 0.4}, {1, 0, 2, -1, 0.02, 0.25},
		} {
			for sa, a := range []float64{1, -1} {
				for sb, biasMean := range []float64{2, -2} {
					if !testscale.Deep(t) && (i+k)%4 != 2*sa+sb {
						continue // one pair of signs for each
					}
					p := sumtest.OneNeuron(act, []float64{c.mean0, c.mean1}, []float64{c.sd0, c.sd1}, biasMean, 0.5, a)
					n := newSum(t, p).withQuality(sharp)
					box := property.Box{Lo: []float64{1 - c.half0, 0.5 - c.half1}, Hi: []float64{1 + c.half0, 0.5 + c.half1}}
					if s := n.shape(box); s.narrow[0] || !s.narrow[1] || act.Kind == network.ReLU && (s.vertices != nil) != (c.half0 > 0) {
						t.Fatalf("%+v: axes are %v, %d vertices", c, s.narrow, len(s.vertices))
					}
					for _, z := range []float64{1, 2} {
						at := biasMean + c.mean0 + 0.5*c.mean1 - a*0.5*z
						if act.DerivativeApprox(at, act.Approx(at)) == 0 {
							continue // where the activation is constant, as ReLU is below 0, there is no inverse
						}
						got := n.rowFailUp(box, oneRow(-a*act.Approx(at)))
						truth := oneNeuronFails(p, box, at, a < 0)
						if got < truth*(1-oracleError) {
							t.Errorf("%v, %+v, a %v, bias %v: fails <= %v, integral %v", act, c, a, biasMean, got, truth)
						}
						if c.half0 > 0 {
							continue
						}
						// With no vertices: the radius is paid for once.
						radius := 1.001 * c.half1 * (math.Abs(c.mean1) + narrowReach*c.sd1)
						point := property.Box{Lo: []float64{1, 0.5}, Hi: []float64{1, 0.5}}
						if most := oneNeuronFails(p, point, at+a*radius, a < 0); got > 1.1*most {
							t.Errorf("%v, %+v, a %v, bias %v: fails <= %v, %v for the radius", act, c, a, biasMean, got, most)
						}
					}
				}
			}
		}
	}
}

// TestNarrowMonteCarlo: the same for networks of several neurons, by simulation: wrong
// with a probability of 1e-9 a comparison.
func TestNarrowMonteCarlo(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	r := rand.New(rand.NewPCG(65, 1))
	narrow := 0
	trials := max(2*len(sumtest.Activations), testscale.Cases(t, 30))
	for trial := range trials {
		in := 2 + trial%2
		p := sumtest.Net(r, in, 1+r.IntN(4), 2, sumtest.Activations[trial%len(sumtest.Activations)])
		n := newSum(t, p).withQuality(quality{factors: 256, nodes: 256, rests: 24, narrow: 2, step: 1. / 16, work: 1e8})
		var cell property.Box
		for j := range in {
			x, half := r.NormFloat64(), []float64{0.4, 0.04}[j%2]
			cell.Lo, cell.Hi = append(cell.Lo, x-half), append(cell.Hi, x+half)
		}
		for _, yes := range n.shape(cell).narrow {
			if yes {
				narrow++
			}
		}
		row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}, D: 3 * r.NormFloat64()}
		row.DHi = row.D
		got := n.rowFailUp(cell, row)
		if share, sigma := sumtest.FailShare(r, p, cell, sumtest.Single(row), 3000); got < share-6*sigma {
			t.Errorf("trial %d: bound %v, simulated %v +- %v", trial, got, share, sigma)
		}
	}
	if narrow < trials*2/3 {
		t.Errorf("only %d narrow axes were tried", narrow)
	}
}

// TestNarrowConstant: f = a s(w x) + d with a certain w and a normal a. At decimals the
// answer is that of a normal variable, to 1e-9; where x runs over an axis that is called
// narrow, the worst s(w x) counts.
func TestNarrowConstant(t *testing.T) {
	for _, act := range sumtest.Activations {
		for _, w := range []float64{3, -3} {
			p := sumtest.OneNeuron(act, []float64{w}, []float64{0}, 0, 0, 1)
			p.Layers[1].Weight = posterior.NewParams([]float64{0.5}, []float64{0.5}, posterior.ScaleSD)
			n := newSum(t, p)
			if s := act.Approx(0.3 * w); s != 0 {
				for _, d := range []float64{-0.25, 0.5} {
					// a s + d <= 0 where a <= -d/s for s > 0.
					want := sumtest.NormalCDF((-d/math.Abs(s) - math.Copysign(0.5, s)) / 0.5)
					if got := n.rowFailUp(decimalBox(t, "0.3"), oneRow(d)); got < want*(1-1e-12) || got > want*(1+1e-9) {
						t.Errorf("%v, w %v: %v, want %v", act, w, got, want)
					}
				}
			}
			n.q.narrow = 0x1p24
			box := property.Box{Lo: []float64{0.25}, Hi: []float64{0.5}}
			if !n.shape(box).narrow[0] {
				t.Fatal("the axis is not narrow")
			}
			near, far := act.Approx(0.25*w), act.Approx(0.5*w)
			for _, d := range []float64{-0.3, 0.3} {
				for _, mean := range []float64{-1, 1} {
					p.Layers[1].Weight.Mean[0] = mean
					want := 0.0
					for _, s := range []float64{near, far} { // the worst s is at one end for all a of one sign
						if s != 0 {
							want = max(want, sumtest.NormalCDF((-d/math.Abs(s)-math.Copysign(mean, s*mean))/0.5))
						}
					}
					if got := n.rowFailUp(box, oneRow(d)); got < want*(1-1e-12) {
						t.Errorf("%v, w %v, a %v, d %v over a box: %v, want at least %v", act, w, mean, d, got, want)
					}
				}
			}
		}
	}
}

// TestNarrowCertain: networks without spread fail or do not. x_0 runs from lo to hi, x_1
// from -0.3 to 0.3, an axis that is called narrow; the first neuron is max(x_0 + x_1 + 0.1, 0),
// which changes its branch between the cell's centre and a vertex.
func TestNarrowCertain(t *testing.T) {
	g := func(v ...float64) posterior.Params {
		return posterior.NewParams(v, make([]float64, len(v)), posterior.ScaleSD)
	}
	for _, c := range []struct {
		what             string
		lo, hi, a, b, d  float64
		fails, holdsFrom float64
	}{
		{"the least value is max(0 - 0.3 + 0.1, 0) = 0", 0, 1, 1, 0, 0, -0.05, 0.21},
		{"the least is 0.5 - 0.3 + 0.1, of one vertex", 0.5, 0.5, 1, 0, 0, -0.31, -0.29},
		{"the largest is 0 + 0.3 + 0.1", -1, 0, -1, 0, 0, 0.39, 0.41},
		{"a - 0.8 max(x_0 + 10, 0) + 8 is -0.16 inside, at x_0 = 0.2, and 0 at both ends", 0, 1, 1, -0.8, 8, 0.15, 0.21},
	} {
		n := newSum(t, &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
			{Layer: network.DenseLayer(2, 2, sumtest.Activations[0]), Weight: g(1, 1, 1, 0), Bias: g(0.1, 10)},
			{Layer: network.DenseLayer(2, 1, network.Activation{}), Weight: g(c.a, c.b), Bias: g(c.d)}}})
		n.q.narrow = 0.7 * 0x1p24
		box := property.Box{Lo: []float64{c.lo, -0.3}, Hi: []float64{c.hi, 0.3}}
		if s := n.shape(box); s.narrow[0] || !s.narrow[1] {
			t.Fatalf("%s: axes are %v", c.what, s.narrow)
		}
		if got := n.rowFailUp(box, oneRow(c.fails)); got != 1 {
			t.Errorf("%s: with %v it fails with %v", c.what, c.fails, got)
		}
		if got := n.rowFailUp(box, oneRow(c.holdsFrom)); got > 1e-9 {
			t.Errorf("%s: with %v it fails with %v", c.what, c.holdsFrom, got)
		}
	}
}

// TestNarrowLost: what is beyond narrowReach counts as failure, even where nothing else
// can fail: of a weight that does nothing at the centre, and of an output weight.
func TestNarrowLost(t *testing.T) {
	p := sumtest.OneNeuron(sumtest.Activations[0], []float64{1}, []float64{1}, 1, 0, 1)
	box := property.Box{Lo: []float64{-0x1p-60}, Hi: []float64{0x1p-60}}
	beyond := math.Erfc(narrowReach / math.Sqrt2)
	if got := newSum(t, p).rowFailUp(box, oneRow(1)); got < beyond*(1-1e-9) || got > 1.001*beyond {
		t.Errorf("hidden weight: %v, want %v", got, beyond)
	}
	p.Layers[1].Weight = posterior.NewParams([]float64{100}, []float64{1}, posterior.ScaleSD)
	if got := newSum(t, p).rowFailUp(box, oneRow(1)); got < 2*beyond*(1-1e-9) || got > 2.001*beyond {
		t.Errorf("hidden and output weight: %v, want %v", got, 2*beyond)
	}
}

// TestRadius compares the radius with exact rational numbers, and what it may lose.
func TestRadius(t *testing.T) {
	r := rand.New(rand.NewPCG(66, 1))
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for range 200 {
		p := sumtest.Net(r, 3, 1, 1, sumtest.Activations[0])
		n := newSum(t, p)
		box := property.Box{Lo: make([]float64, 3), Hi: make([]float64, 3)}
		centre, narrow := make([]float64, 3), []bool{r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0}
		exact, most := new(big.Rat), 0.0
		for j := range 3 {
			centre[j] = r.NormFloat64()
			box.Lo[j], box.Hi[j] = centre[j]-math.Abs(r.NormFloat64()), centre[j]+math.Abs(r.NormFloat64())
			sds := law.Reach
			if narrow[j] {
				sds = narrowReach
			}
			size := new(big.Rat).Mul(rat(sds), rat(p.Layers[0].Weight.SdHi[j]))
			size.Add(size, rat(math.Abs(p.Layers[0].Weight.Mean[j])))
			side := new(big.Rat).Sub(rat(box.Hi[j]), rat(centre[j]))
			if other := new(big.Rat).Sub(rat(centre[j]), rat(box.Lo[j])); other.Cmp(side) > 0 {
				side = other
			}
			exact.Add(exact, size.Mul(size, side))
			most += math.Erfc(sds / math.Sqrt2)
		}
		got, lost, wide := n.radius(narrow, box, centre, 0)
		if rat(got).Cmp(exact) < 0 || lost < most*(1-1e-10) || wide != (!narrow[0] || !narrow[1] || !narrow[2]) {
			t.Fatalf("narrow %v: radius %v, lost %v, wide %v; want at least %v, %v", narrow, got, lost, wide, exact, most)
		}
	}
}

// TestRadiusOfManyAxes: each axis adds less than half a unit in the last place of what is
// there already, which a sum rounded to nearest would forget.
func TestRadiusOfManyAxes(t *testing.T) {
	const axes = 200
	p := sumtest.Net(rand.New(rand.NewPCG(67, 1)), axes, 1, 1, sumtest.Activations[0])
	w := &p.Layers[0].Weight
	box, centre, narrow := property.Box{}, make([]float64, axes), make([]bool, axes)
	for j := range axes {
		w.Mean[j], w.SdLo[j], w.SdHi[j], w.Spread[j] = 1, 0, 0, 0
		half := 0x1p-54
		if j == 0 {
			half = 1
		}
		box.Lo, box.Hi = append(box.Lo, -half), append(box.Hi, half)
	}
	got, _, _ := newSum(t, p).radius(narrow, box, centre, 0)
	if least := 1 + (axes-1)*0x1p-54; !(got >= least && got <= 1+1e-12) {
		t.Errorf("radius %x, want at least %x", got, least)
	}
}

// TestWholeLowered: what stands in for a cell is beyond the nodes by all of the radius,
// however small that is beside them.
func TestWholeLowered(t *testing.T) {
	p := sumtest.Linear(network.Activation{}, 0.25)
	p.Layers[0].Bias = posterior.NewParams([]float64{8}, []float64{0.25}, posterior.ScaleSD)
	n := newSum(t, p)
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for _, half := range []float64{0x1p-70, 0x1p-60, 0x1p-40, 0.125} {
		cell := property.Box{Lo: []float64{0.75 * half, -half}, Hi: []float64{1.75 * half, half}}
		c := &shape{cell: cell, centre: []float64{half, 0}, narrow: []bool{true, true}}
		z := quantileGrid(n.q.nodes)
		h := n.whole(c, cell, c.centre, 0, z)
		radius, _, _ := n.radius(c.narrow, cell, c.centre, 0)
		mean, sd := n.net.Preactivation(0, c.centre)
		nodes := nodesOf(mean, sd, z, true)
		if last := len(nodes) - 1; len(h.low.X) != last || len(h.high.X) != last {
			t.Fatalf("%d and %d atoms of %d bins", len(h.low.X), len(h.high.X), last)
		}
		for k := range h.low.X {
			low, high := rat(nodes[k]), rat(nodes[k+1])
			if low.Sub(low, rat(radius)).Cmp(rat(h.low.X[k])) < 0 || high.Add(high, rat(radius)).Cmp(rat(h.high.X[k])) > 0 {
				t.Fatalf("radius %v: bin [%v, %v] has stand-ins %v and %v", radius, nodes[k], nodes[k+1], h.low.X[k], h.high.X[k])
			}
		}
	}
}
