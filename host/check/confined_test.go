package check

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/arith"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/measure"
	"psafe/host/prove/phases"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// confinedCase is a random posterior, what the checker makes of it, and a proof with random slopes.
type confinedCase struct {
	post *posterior.Posterior
	n    *noisy
	box  property.Box
	how  phaseProof
	row  property.Row
}

func newConfinedCase(t *testing.T, r *rand.Rand, sizes ...int) *confinedCase {
	t.Helper()
	c := &confinedCase{post: &posterior.Posterior{Scale: posterior.ScaleSD}}
	params := func(n int) posterior.Params {
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = r.NormFloat64(), 0.1*r.Float64()
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for k := 1; k < len(sizes); k++ {
		a := net.Activation{Kind: net.ReLU}
		if k == len(sizes)-1 {
			a = net.Activation{}
		}
		c.post.Layers = append(c.post.Layers, posterior.Layer{Layer: net.DenseLayer(sizes[k-1], sizes[k], a), Weight: params(sizes[k-1] * sizes[k]), Bias: params(sizes[k])})
	}
	for range sizes[0] {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+r.Float64())
	}
	var err error
	if c.n, err = newNoisy(c.post); err != nil {
		t.Fatal(err)
	}
	below := 0
	for k := range len(sizes) - 2 {
		var open, raised []int
		for i := range sizes[k+1] {
			if r.IntN(4) > 0 {
				open = append(open, i)
			}
			if k > 0 && r.IntN(2) == 0 {
				raised = append(raised, i)
			}
		}
		for range 2 * len(raised) * below {
			c.how.Slopes = append(c.how.Slopes, byte(r.IntN(256))) // above 128 is none
		}
		below += len(open)
		c.how.Open, c.how.Raised = append(c.how.Open, open), append(c.how.Raised, raised)
	}
	for range sizes[len(sizes)-1] {
		v := r.NormFloat64()
		c.row.CLo, c.row.CHi = append(c.row.CLo, v), append(c.row.CHi, v)
	}
	c.row.D = r.NormFloat64()
	c.row.DHi = c.row.D
	return c
}

// exactAt are the pre-activations, and the row less its noise, of the means with biases that are
// off by shares of the noise.
func (c *confinedCase) exactAt(x []float64, by [][]float64, share func() float64, rowBy float64) (pre [][]*big.Rat, row *big.Rat) {
	var z []*big.Rat
	for _, v := range x {
		z = append(z, exactly(v))
	}
	for k := range c.post.Layers {
		l := &c.post.Layers[k]
		var zeta []*big.Rat
		for i := range l.Outputs() {
			s := exactly(l.Bias.Mean[i])
			if k < len(by) {
				s.Add(s, new(big.Rat).Mul(exactly(by[k][i]), exactly(share())))
			}
			for j, v := range z {
				s.Add(s, new(big.Rat).Mul(exactly(l.Weight.Mean[j*l.Outputs()+i]), v))
			}
			zeta = append(zeta, s)
		}
		pre, z = append(pre, zeta), nil
		for _, v := range zeta {
			if v.Sign() < 0 {
				v = new(big.Rat)
			}
			z = append(z, v)
		}
	}
	row = new(big.Rat).Sub(exactly(c.row.D), exactly(rowBy))
	for i, v := range pre[len(pre)-1] {
		row.Add(row, new(big.Rat).Mul(exactly(c.row.CLo[i]), v))
	}
	return pre, row
}

// TestConfinedBelow: at no input, and for no biases that are off by what noise may do, is a hidden
// neuron outside of its bounds, nor the row below the bound of a leaf whose signs the neurons have,
// whatever slopes and multipliers are.
func TestConfinedBelow(t *testing.T) {
	there := 0
	for at := range testscale.Cases(t, 300/testscale.By(t, 3)) {
		r := rand.New(rand.NewPCG(uint64(at), 211))
		c := newConfinedCase(t, r, [][]int{{2, 4, 3, 2}, {1, 5, 2}, {2, 3, 3, 3, 2}}[at%3]...)
		p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, uint64(at%3))
		last := len(c.post.Layers) - 1
		by := p.off[:last]
		s, constant := p.pass.layers[last].merged(&c.row)
		rowBy := p.rowUp(absOf(c.row.CLo))
		constant.Plus(-rowBy)
		w := walkOf(&p.pass, c.how.Open)
		for range 12 {
			lo := w.rowLo(s, constant, someLeaf(r, w), nil)
			for range 20 {
				x := make([]float64, len(c.box.Lo))
				for j := range x {
					x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
				}
				pre, row := c.exactAt(x, by, func() float64 { return []float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)] }, rowBy)
				for k := range last {
					for i, v := range pre[k] {
						if v.Cmp(exactly(p.hidden[k].pre.lo[i])) < 0 || v.Cmp(exactly(p.hidden[k].pre.hi[i])) > 0 {
							t.Fatalf("case %d: neuron %d of layer %d is %v, bounds [%v, %v]", at, i, k, v.FloatString(9), p.hidden[k].pre.lo[i], p.hidden[k].pre.hi[i])
						}
					}
				}
				if slices.ContainsFunc(w.open, func(o openNeuron) bool { return pre[o.layer][o.unit].Sign()*o.sign < 0 }) {
					continue
				}
				there++
				if row.Cmp(exactly(lo)) < 0 {
					t.Fatalf("case %d: the row is %v, its bound %v", at, row.FloatString(9), lo)
				}
			}
		}
	}
	if there < 200 {
		t.Errorf("only %d points have the signs of a leaf", there)
	}
}

// TestSetLower: below max(t, 0) are lines of slopes in [0, 1], which a leaf may give to neurons that may be on
// both sides of 0.
func TestSetLower(t *testing.T) {
	h := &hidden{pre: span{[]float64{-1, 1, -2}, []float64{1, 2, -1}}}
	for slope, want := range map[byte]float64{0: 0, 32: 0.25, 128: 1, 129: 7, 255: 7} {
		lower := []line{{7, 7}, {7, 7}, {7, 7}}
		for j := range lower {
			h.setLower(lower, j, slope)
		}
		if lower[0].a != want || lower[1].a != 7 || lower[2].a != 7 {
			t.Errorf("slope %d: %v", slope, lower)
		}
	}
}

// walkOf is a walk that is nowhere yet.
func walkOf(p *pass, open [][]int) *treeWalk {
	w := &treeWalk{pass: p}
	for l, list := range open {
		for _, j := range list {
			w.open = append(w.open, openNeuron{layer: l, unit: j})
		}
	}
	return w
}

func absOf(list []float64) (of []float64) {
	for _, v := range list {
		of = append(of, math.Abs(v))
	}
	return of
}

// someLeaf gives some neurons signs, others slopes.
func someLeaf(r *rand.Rand, w *treeWalk) leafLines {
	var lower [][]line
	var multipliers [][]float64
	for l := range w.hidden {
		lower, multipliers = append(lower, slices.Clone(w.hidden[l].lower)), append(multipliers, make([]float64, len(w.hidden[l].lower)))
	}
	for o := range w.open {
		n := &w.open[o]
		switch n.sign = 0; r.IntN(4) {
		case 0:
			n.sign, multipliers[n.layer][n.unit] = 1-2*r.IntN(2), math.Abs(r.NormFloat64())
		default:
			w.hidden[n.layer].setLower(lower[n.layer], n.unit, byte(r.IntN(256)))
		}
	}
	return leafLines{lower, w.signs(), multipliers}
}

// TestConfinedLikeCertify: noise and events are the same numbers as those that certify finds by
// other code, but for roundings.
func TestConfinedLikeCertify(t *testing.T) {
	for at := range testscale.Cases(t, 40) {
		r := rand.New(rand.NewPCG(uint64(at), 212))
		c := newConfinedCase(t, r, 3, 4, 3, 2)
		if at%4 == 0 {
			l := &c.post.Layers[at/4%3]
			l.Weight = posterior.NewParams(l.Weight.Mean, make([]float64, len(l.Weight.Mean)), posterior.ScaleSD)
			l.Bias = posterior.NewParams(l.Bias.Mean, make([]float64, len(l.Bias.Mean)), posterior.ScaleSD)
			var err error
			if c.n, err = newNoisy(c.post); err != nil {
				t.Fatal(err)
			}
		}
		var absMeans [][]float64
		for k := range c.post.Layers {
			g, list := &c.post.Layers[k].Weight, []float64(nil)
			for j, mean := range g.Mean {
				list = append(list, measure.AbsMeanUp(mean, g.SdHi[j]))
			}
			absMeans = append(absMeans, list)
		}
		noise := phases.NewNoise(c.post, absMeans, 1e-3)
		if got, want := c.n.confinedEvents(5), noise.EventsUp(5); got != want {
			t.Errorf("case %d: %v events, certify has %v", at, got, want)
		}
		p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, 0)
		in := phases.ReachOf(c.box)
		for k := range p.hidden {
			for i, v := range noise.KappaUp(k, nil, &in) {
				is := 0.0
				if p.off[k] != nil {
					is = p.off[k][i]
				}
				if math.Abs(is-v) > 1e-9*(1+v) {
					t.Errorf("case %d: neuron %d of layer %d is off by %v, by certify %v", at, i, k, is, v)
				}
			}
			in = noise.OutputsUp(k, &in, p.hidden[k].pre.lo, p.hidden[k].pre.hi)
		}
		row := noise.KappaUp(2, []property.Row{c.row}, &in)
		if is := p.rowUp(absOf(c.row.CLo)); math.Abs(is-row[0]) > 1e-9*(1+is) {
			t.Errorf("case %d: the row is off by %v, by certify %v", at, is, row[0])
		}
	}
}

// TestConfinedRefuses: posteriors and sets that phases are none for have no proof by them.
func TestConfinedRefuses(t *testing.T) {
	lines := phaseRecords(t)
	for _, of := range []struct{ what, from, to, says string }{
		{"cells", `"method":"phases"`, `"method":"phases","cells":1`, "cells"},
		{"a tau of another method", `"method":"phases"`, `"method":"clbp"`, ""},
	} {
		var c Checker
		bad := resealed(bytes.Replace(lines[0], []byte(of.from), []byte(of.to), 1))
		if v, err := c.Check(t.Context(), bad, false); err != nil || v.Refused == nil || !strings.Contains(v.Refused.Error(), of.says) {
			t.Errorf("%s: %v %v", of.what, err, v.Refused)
		}
	}
	post := newConfinedCase(t, rand.New(rand.NewPCG(1, 213)), 2, 3, 2).post
	post.Layers[0].Activation = net.Activation{Kind: net.Tanh}
	n, err := newNoisy(post)
	if err != nil || n.splits() {
		t.Errorf("%v: a tanh splits", err)
	}
}

// TestPhasesOutputNoise: a row that is positive but for the noise of the last layer is not proved.
func TestPhasesOutputNoise(t *testing.T) {
	for at := range 20 {
		r := rand.New(rand.NewPCG(uint64(at), 214))
		c := newConfinedCase(t, r, 2, 4, 3, 2)
		for k := range c.how.Open {
			c.how.Open[k], c.how.Raised[k] = nil, nil
		}
		c.how.Slopes = nil
		for _, share := range []float64{0.5, 1.5} {
			c.row.D = 0
			p := c.n.confine(t.Context(), c.box, 1e-3, &c.how, 0)
			by := p.rowUp(absOf(c.row.CLo))
			s, constant := p.pass.layers[2].merged(&c.row)
			lines := leafLines{lowersOf(&p.pass), make([][]int, 2), make([][]float64, 2)}
			c.row.D = share*by - p.rowLo(s, constant, lines, nil) // now the row is share*by before its noise
			err := p.clauseHolds(t.Context(), &property.Safe{Rows: []property.Row{c.row}}, []int{0}, &phaseTree{Cuts: []int{leaf}})
			if (err == nil) != (share > 1) {
				t.Errorf("case %d: %v times its noise of %v: %v", at, share, by, err)
			}
		}
	}
}

// lowersOf are the lower lines that hidden layers have.
func lowersOf(p *pass) (lower [][]line) {
	for l := range p.hidden {
		lower = append(lower, p.hidden[l].lower)
	}
	return lower
}

// TestNeuronSigns: where a neuron has its sign the new row is below the old one, whatever is rounded.
func TestNeuronSigns(t *testing.T) {
	for at := range testscale.Cases(t, 500) {
		r := rand.New(rand.NewPCG(uint64(at), 215))
		lo, hi := -r.Float64(), r.Float64()
		h := hidden{pre: span{[]float64{lo}, []float64{hi}}, z: span{[]float64{0}, []float64{hi}}, lower: []line{{}}, upper: []line{{1, 0}}}
		h.arg = h.pre
		s, m := r.NormFloat64(), math.Abs(r.NormFloat64())*math.Ldexp(1, -r.IntN(60))
		sign := 1 - 2*r.IntN(2)
		var c arith.Sum
		a := h.throughSigns(span{[]float64{s}, []float64{s + r.Float64()}}, h.lower, []int{sign}, []float64{m}, &c)
		for _, v := range []float64{0, lo, hi} {
			if v*float64(sign) < 0 {
				continue
			}
			is := new(big.Rat).Add(exactly(c.Lo()), new(big.Rat).Mul(exactly(a[0]), exactly(v)))
			row := new(big.Rat).Mul(exactly(s), exactly(max(v, 0)))
			if is.Cmp(row) > 0 {
				t.Fatalf("case %d: sign %d, coefficient %v, multiplier %v: %v at %v is above %v", at, sign, s, m, is.FloatString(25), v, row.FloatString(25))
			}
		}
	}
}
