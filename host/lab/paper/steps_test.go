package paper

import (
	"bytes"
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/tell/plot"
)

var precisions = []bound.Precision{bound.Float32, bound.Float64}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func add(a, b *big.Rat) *big.Rat { return new(big.Rat).Add(a, b) }
func mul(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }

// inside reports a value that is not in an interval.
func inside(t *testing.T, what string, v *big.Rat, in [2]float64) {
	t.Helper()
	if v.Cmp(rat(in[0])) < 0 || v.Cmp(rat(in[1])) > 0 {
		t.Errorf("%s: %s is not in [%v, %v]", what, v.FloatString(20), in[0], in[1])
	}
}

// above reports a value below a line at t.
func above(t *testing.T, what string, v *big.Rat, l plot.StepsLine, at *big.Rat) {
	t.Helper()
	lo, hi := mul(rat(l.SlopeLo), at), mul(rat(l.SlopeHi), at)
	if hi.Cmp(lo) < 0 {
		lo = hi
	}
	if bound := add(lo, rat(l.Constant)); v.Cmp(bound) < 0 {
		t.Errorf("%s: %s is below the line, %s", what, v.FloatString(20), bound.FloatString(20))
	}
}

// TestStepsHold: networks of the weight box, its corners among them, lie at inputs of
// T within every interval and between the lines, in exact arithmetic.
func TestStepsHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range precisions {
		for _, T := range [][2]float64{{0, 2}, {-1, 1.5}, {-2, -0.25}, {0.5, 0.5}} {
			post := stepsPosterior()
			s, err := steps(fallback.New(p), post, T[0], T[1])
			if err != nil {
				t.Fatal(err)
			}
			box, err := bound.HostBox(post, p, stepsBox(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for range 400 {
				holdsAt(t, s, pick(r, box), rat(between(r, T[0], T[1])))
			}
		}
	}
}

// between is an end of an interval or a number within.
func between(r *rand.Rand, lo, hi float64) float64 {
	switch r.IntN(4) {
	case 0:
		return lo
	case 1:
		return hi
	}
	return min(hi, max(lo, lo+(hi-lo)*r.Float64()))
}

// pick is a weight vector of a box.
func pick(r *rand.Rand, box bound.Explicit) [][]*big.Rat {
	var w [][]*big.Rat
	for a := range box.Lo {
		var list []*big.Rat
		for i := range box.Lo[a] {
			list = append(list, rat(between(r, box.Lo[a][i], box.Hi[a][i])))
		}
		w = append(w, list)
	}
	return w
}

// holdsAt checks what is drawn against the network of weights w at x.
func holdsAt(t *testing.T, s *plot.Steps, w [][]*big.Rat, x *big.Rat) {
	t.Helper()
	y := w[3][0]
	for i, n := range s.Hidden {
		pre := add(mul(w[0][i], x), w[1][i])
		z := new(big.Rat)
		if pre.Sign() > 0 {
			z = pre
		}
		inside(t, "pre-activation", pre, n.Pre)
		inside(t, "activation", z, n.Z)
		above(t, "lower relaxation", z, n.Lower, pre)
		above(t, "upper relaxation, negated", new(big.Rat).Neg(z), negated(n.Upper), pre)
		y = add(y, mul(w[2][i], z))
	}
	inside(t, "IBP", y, s.Output.IBP)
	inside(t, "LBP", y, s.Output.LBP)
	above(t, "y", y, s.Output.Lower, x)
	above(t, "-y", new(big.Rat).Neg(y), s.Output.Negated, x)
}

func negated(l plot.StepsLine) plot.StepsLine {
	return plot.StepsLine{SlopeLo: -l.SlopeHi, SlopeHi: -l.SlopeLo, Constant: -l.Constant}
}

// TestStepsInstructive: the first neuron may be on or off, its lines have slopes of
// their own, and linear bounds are strictly tighter than intervals at both ends.
func TestStepsInstructive(t *testing.T) {
	for _, p := range precisions {
		s, err := Steps(fallback.New(p))
		if err != nil {
			t.Fatal(err)
		}
		h, o := s.Hidden, s.Output
		if !(h[0].Pre[0] < -0.5 && h[0].Pre[1] > 0.5 && h[1].Pre[0] > 0.1) {
			t.Errorf("%v: pre-activations %v and %v", p, h[0].Pre, h[1].Pre)
		}
		if h[0].Lower.SlopeLo == h[0].Upper.SlopeLo || h[0].Lower.SlopeLo != h[0].Lower.SlopeHi {
			t.Errorf("%v: lines %v and %v", p, h[0].Lower, h[0].Upper)
		}
		if !(o.IBP[0] < o.LBP[0] && o.LBP[0] < o.LBP[1] && o.LBP[1] < o.IBP[1]) {
			t.Errorf("%v: IBP %v, LBP %v", p, o.IBP, o.LBP)
		}
		if o.Lower.SlopeLo <= 0.1 || o.Negated.SlopeLo >= -0.1 {
			t.Errorf("%v: lines over x %v and %v", p, o.Lower, o.Negated)
		}
		drawnHold(t, s)
		if h[0].Formula != "(1 ± 0.1) x − (0.8 ± 0.1)" || o.Formula != "(1.2 ± 0.1) z1 − (0.6 ± 0.1) z2 + (0.2 ± 0.1)" {
			t.Errorf("formulas %q and %q", h[0].Formula, o.Formula)
		}
	}
}

// drawnHold checks the curves, which are ordinary float64.
func drawnHold(t *testing.T, s *plot.Steps) {
	t.Helper()
	const slack = 1e-12
	within := func(what string, curves [][]float64, lo, hi float64) {
		if len(curves) != stepsNetworks {
			t.Errorf("%s: %d networks", what, len(curves))
		}
		for _, y := range curves {
			for _, v := range y {
				if !(v >= lo-slack && v <= hi+slack) {
					t.Fatalf("%s: %v is not in [%v, %v]", what, v, lo, hi)
				}
			}
		}
	}
	for _, n := range s.Hidden {
		within("pre-activation", n.PreApprox, n.Pre[0], n.Pre[1])
	}
	within("output", s.Output.YApprox, s.Output.LBP[0], s.Output.LBP[1])
}

// TestRecorder: what was recorded is what Propagate returns, and the box is the one
// that is integrated.
func TestRecorder(t *testing.T) {
	for _, p := range precisions {
		r := &recorder{Device: fallback.New(p)}
		post := stepsPosterior()
		m, err := r.propagate(post, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		box, err := bound.HostBox(post, p, stepsBox(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if ibp, lbp := r.margin(); m.IBP[i] != ibp[i] || m.LBP[i] != lbp[i] {
				t.Errorf("%v: row %d: %v and %v, recorded %v and %v", p, i, m.IBP[i], m.LBP[i], ibp[i], lbp[i])
			}
		}
		for a := range box.Lo {
			for i := range box.Lo[a] {
				if of := r.wrote["drawbox"][a]; of["lo"][i] != box.Lo[a][i] || of["hi"][i] != box.Hi[a][i] {
					t.Errorf("%v: array %d, weight %d: %v, %v", p, a, i, of["lo"][i], of["hi"][i])
				}
			}
		}
	}
}

// failing is a device whose Reads fail after some.
type failing struct {
	bound.Device
	left int
}

var errRead = errors.New("no more reads")

func (f *failing) Read(dst []float64, src bound.Array) error {
	if f.left--; f.left < 0 {
		return errRead
	}
	return f.Device.Read(dst, src)
}

// TestStepsErrors: an error of the device is the error of Steps, and so is a weight
// box that no network is drawn in.
func TestStepsErrors(t *testing.T) {
	for n := 0; ; n++ {
		_, err := Steps(&failing{fallback.New(bound.Float64), n})
		if err == nil && n > 20 {
			break
		}
		if !errors.Is(err, errRead) {
			t.Fatalf("%d reads: %v", n, err)
		}
	}
	post := stepsPosterior()
	wide := make([]float64, 500)
	post.Layers[0] = posterior.Layer{Layer: network.DenseLayer(1, 500, post.Layers[0].Activation), Weight: spread(wide), Bias: spread(wide)}
	post.Layers[1] = posterior.Layer{Layer: network.DenseLayer(500, 1, network.Activation{}), Weight: spread(wide), Bias: spread(wide[:1])}
	if _, err := steps(fallback.New(bound.Float64), post, 0, 1); err == nil {
		t.Error("networks drawn in a box of mass 1e-30")
	}
}

func spread(mean []float64) posterior.Params {
	sd := make([]float64, len(mean))
	for i := range sd {
		sd[i] = 1
	}
	return posterior.Params{Mean: mean, Spread: sd, SdLo: sd, SdHi: sd}
}

// TestStepsFigure: the figure can be drawn, the same in both precisions but for the
// last digits.
func TestStepsFigure(t *testing.T) {
	for _, p := range precisions {
		s, err := Steps(fallback.New(p))
		if err != nil {
			t.Fatal(err)
		}
		f, err := plot.DrawSteps(s)
		if err != nil {
			t.Fatal(err)
		}
		var svg bytes.Buffer
		if err := f.Write(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{">1. ζ1 = (1 ± 0.1) x − (0.8 ± 0.1)<", "y lies in [-1.25, 1.41]<"} {
			if !bytes.Contains(svg.Bytes(), []byte(text)) {
				t.Errorf("%v: no text %q", p, text)
			}
		}
	}
}
