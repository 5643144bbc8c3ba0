package phases

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith/gauss"
	"psafe/host/check/cases"
	"psafe/host/check/clbp"
	"psafe/host/check/relax"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/branch"
	"psafe/host/read/property"
	"psafe/internal/testkit/checktest"
	"psafe/internal/testscale"
)

// confinedCase is a random posterior, what the checker makes of it, and a proof with random slopes.
type confinedCase struct {
	post *posterior.Posterior
	n    *clbp.Noisy
	box  property.Box
	how  Proof
	row  property.Row
}

func newConfinedCase(t *testing.T, r *rand.Rand, sizes ...int) *confinedCase {
	t.Helper()
	c := &confinedCase{post: checktest.ReluChain(r, sizes...)}
	for range sizes[0] {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+r.Float64())
	}
	var err error
	if c.n, err = clbp.New(c.post, false); err != nil {
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
		z = append(z, checktest.Exactly(v))
	}
	for k := range c.post.Layers {
		l := &c.post.Layers[k]
		var zeta []*big.Rat
		for i := range l.Outputs() {
			s := checktest.Exactly(l.Bias.Mean[i])
			if k < len(by) {
				s.Add(s, new(big.Rat).Mul(checktest.Exactly(by[k][i]), checktest.Exactly(share())))
			}
			for j, v := range z {
				s.Add(s, new(big.Rat).Mul(checktest.Exactly(l.Weight.Mean[j*l.Outputs()+i]), v))
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
	row = new(big.Rat).Sub(checktest.Exactly(c.row.D), checktest.Exactly(rowBy))
	for i, v := range pre[len(pre)-1] {
		row.Add(row, new(big.Rat).Mul(checktest.Exactly(c.row.CLo[i]), v))
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
		p := newConfined(t.Context(), c.n, c.box, 1e-3, &c.how, uint64(at%3))
		last := len(c.post.Layers) - 1
		by := p.Off[:last]
		s, constant := p.Pass.Layers[last].Merged(&c.row)
		rowBy := p.rowUp(absOf(c.row.CLo))
		constant.Plus(-rowBy)
		w := walkOf(&p.Pass, c.how.Open)
		for range 12 {
			lo := w.Down(last, s, constant, someLeaf(r, w))
			for range 20 {
				x := make([]float64, len(c.box.Lo))
				for j := range x {
					x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
				}
				pre, row := c.exactAt(x, by, func() float64 { return []float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)] }, rowBy)
				for k := range last {
					for i, v := range pre[k] {
						if v.Cmp(checktest.Exactly(p.Hidden[k].Pre.Lo[i])) < 0 || v.Cmp(checktest.Exactly(p.Hidden[k].Pre.Hi[i])) > 0 {
							t.Fatalf("case %d: neuron %d of layer %d is %v, bounds [%v, %v]", at, i, k, v.FloatString(9), p.Hidden[k].Pre.Lo[i], p.Hidden[k].Pre.Hi[i])
						}
					}
				}
				if slices.ContainsFunc(w.open, func(o openNeuron) bool { return pre[o.layer][o.unit].Sign()*o.sign < 0 }) {
					continue
				}
				there++
				if row.Cmp(checktest.Exactly(lo)) < 0 {
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
	h := &relax.Hidden{Pre: relax.Span{Lo: []float64{-1, 1, -2}, Hi: []float64{1, 2, -1}}}
	for slope, want := range map[byte]float64{0: 0, 32: 0.25, 128: 1, 129: 7, 255: 7} {
		lower := []relax.Line{{A: 7, B: 7}, {A: 7, B: 7}, {A: 7, B: 7}}
		for j := range lower {
			setLower(h, lower, j, slope)
		}
		if lower[0].A != want || lower[1].A != 7 || lower[2].A != 7 {
			t.Errorf("slope %d: %v", slope, lower)
		}
	}
}

// walkOf is a walk that is nowhere yet.
func walkOf(p *relax.Pass, open [][]int) *treeWalk {
	w := &treeWalk{Pass: p}
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
func someLeaf(r *rand.Rand, w *treeWalk) relax.Way {
	var lower [][]relax.Line
	var multipliers [][]float64
	for l := range w.Hidden {
		lower, multipliers = append(lower, slices.Clone(w.Hidden[l].Lower)), append(multipliers, make([]float64, len(w.Hidden[l].Lower)))
	}
	for o := range w.open {
		n := &w.open[o]
		switch n.sign = 0; r.IntN(4) {
		case 0:
			n.sign, multipliers[n.layer][n.unit] = 1-2*r.IntN(2), math.Abs(r.NormFloat64())
		default:
			setLower(&w.Hidden[n.layer], lower[n.layer], n.unit, byte(r.IntN(256)))
		}
	}
	return relax.Way{Lower: lower, Signs: w.signs(), Multipliers: multipliers}
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
			if c.n, err = clbp.New(c.post, false); err != nil {
				t.Fatal(err)
			}
		}
		var absMeans [][]float64
		for k := range c.post.Layers {
			g, list := &c.post.Layers[k].Weight, []float64(nil)
			for j, mean := range g.Mean {
				list = append(list, gauss.AbsMeanUp(mean, g.SdHi[j]))
			}
			absMeans = append(absMeans, list)
		}
		noise := branch.NewNoise(c.post, absMeans, 1e-3)
		if got, want := ConfinedEvents(c.n, 5), noise.EventsUp(5); got != want {
			t.Errorf("case %d: %v events, certify has %v", at, got, want)
		}
		p := newConfined(t.Context(), c.n, c.box, 1e-3, &c.how, 0)
		in := branch.ReachOf(c.box)
		for k := range p.Hidden {
			for i, v := range noise.KappaUp(k, nil, &in) {
				is := 0.0
				if p.Off[k] != nil {
					is = p.Off[k][i]
				}
				if math.Abs(is-v) > 1e-9*(1+v) {
					t.Errorf("case %d: neuron %d of layer %d is off by %v, by certify %v", at, i, k, is, v)
				}
			}
			in = noise.OutputsUp(k, &in, p.Hidden[k].Pre.Lo, p.Hidden[k].Pre.Hi)
		}
		row := noise.KappaUp(2, []property.Row{c.row}, &in)
		if is := p.rowUp(absOf(c.row.CLo)); math.Abs(is-row[0]) > 1e-9*(1+is) {
			t.Errorf("case %d: the row is off by %v, by certify %v", at, is, row[0])
		}
	}
}

// TestTanhDoesNotSplit: a network with another activation than ReLU has no phases.
func TestTanhDoesNotSplit(t *testing.T) {
	post := checktest.ReluChain(rand.New(rand.NewPCG(1, 213)), 2, 3, 2)
	post.Layers[0].Activation = net.Activation{Kind: net.Tanh}
	n, err := clbp.New(post, false)
	if err != nil || Splits(n) {
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
			p := newConfined(t.Context(), c.n, c.box, 1e-3, &c.how, 0)
			by := p.rowUp(absOf(c.row.CLo))
			s, constant := p.Pass.Layers[2].Merged(&c.row)
			c.row.D = share*by - p.Down(2, s, constant, relax.Way{Lower: lowersOf(&p.Pass)}) // now the row is share*by before its noise
			err := p.clauseHolds(t.Context(), &property.Safe{Rows: []property.Row{c.row}}, []int{0}, &Tree{Cuts: []int{cases.Leaf}})
			if (err == nil) != (share > 1) {
				t.Errorf("case %d: %v times its noise of %v: %v", at, share, by, err)
			}
		}
	}
}

// lowersOf are the lower lines that hidden layers have.
func lowersOf(p *relax.Pass) (lower [][]relax.Line) {
	for l := range p.Hidden {
		lower = append(lower, p.Hidden[l].Lower)
	}
	return lower
}
