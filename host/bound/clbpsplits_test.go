package bound_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/clbp"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// leafCase is a noisy network on a box, and rows in leaves.
type leafCase struct {
	post *posterior.Posterior
	box  property.Box
	rows []property.Row
	q    bound.SplitQuery
	// of Bound
	noises bound.SplitNoises
	a      [][]float64
	// ends are those of the coefficients of inputs.
	ends   [2][]float64
	lo, hi [][]float64
}

func newLeafCase(t *testing.T, r *rand.Rand, p bound.Precision, sizes ...int) *leafCase {
	t.Helper()
	c := &leafCase{post: provetest.Noisy(r, 0.2, r.IntN(3) == 0, sizes...), rows: property.ArgmaxIs(0, sizes[len(sizes)-1]).Rows}
	for range sizes[0] {
		x := r.Float64() * float64(1-2*r.IntN(2))
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+0.7*r.Float64())
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := bound.NewModel(fallback.New(p), c.post, 1)
	check(err)
	defer m.Release()
	d, err := m.NewDeviations(c.post, clbp.NoiseMoments(c.post))
	check(err)
	defer d.Release()
	in, err := m.UploadNoisy([]property.Box{c.box})
	check(err)
	defer m.ReleaseNoisy(in)
	rows, err := m.UploadRows([][]property.Row{c.rows})
	check(err)
	defer m.ReleaseRows(rows)
	_, err = d.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: bound.Quantiles{Single: 2, Radius: 2, Many: []float64{2, 2, 2, 2}},
		Splits: func(s *bound.CLBPSplits) (err error) {
			if s == nil {
				return nil // the last layer alone deviates, or nothing
			}
			c.lo, c.hi = s.Ranges()
			c.draw(r)
			c.noises, c.a, c.ends[0], c.ends[1], err = s.BoundRows(&c.q)
			return err
		}})
	check(err)
	return c
}

// draw draws leaves: a few phases, any slopes and multipliers.
func (c *leafCase) draw(r *rand.Rand) {
	const leaves = 6
	c.q.Layer = len(c.lo)
	for range leaves {
		c.q.Rows = append(c.q.Rows, r.IntN(len(c.rows)))
	}
	for _, lo := range c.lo {
		n := len(lo) * leaves
		slope, phase, beta := make([]float64, n), make([]float64, n), make([]float64, n)
		for at := range n {
			if slope[at] = float64(r.IntN(129)) / 128; r.IntN(4) == 0 {
				phase[at], beta[at] = float64(1-2*r.IntN(2)), float64(r.IntN(64))/16
			}
		}
		c.q.Slope, c.q.Phase, c.q.Beta = append(c.q.Slope, slope), append(c.q.Phase, phase), append(c.q.Beta, beta)
	}
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// exactPass is a drawn network at a point: what feeds each layer, pre-activations, and the noise of
// each neuron.
type exactPass struct{ z, pre, noise [][]*big.Rat }

func (c *leafCase) at(x []float64, weights [][]float64) *exactPass {
	e := &exactPass{}
	var z []*big.Rat
	for _, v := range x {
		z = append(z, rat(v))
	}
	for k := range c.post.Layers {
		l, w, b := &c.post.Layers[k], weights[2*k], weights[2*k+1]
		e.z = append(e.z, z)
		var pre, noise, next []*big.Rat
		for i := range l.Outputs() {
			s, n := rat(b[i]), new(big.Rat).Sub(rat(b[i]), rat(l.Bias.Mean[i]))
			for j, v := range z {
				at := j*l.Outputs() + i
				s.Add(s, new(big.Rat).Mul(rat(w[at]), v))
				n.Add(n, new(big.Rat).Mul(new(big.Rat).Sub(rat(w[at]), rat(l.Weight.Mean[at])), v))
			}
			pre, noise = append(pre, s), append(noise, n)
			if s.Sign() < 0 {
				s = new(big.Rat)
			}
			next = append(next, s)
		}
		e.pre, e.noise, z = append(e.pre, pre), append(e.noise, noise), next
	}
	return e
}

// right reports whether the hidden bounds are right.
func (c *leafCase) right(e *exactPass) bool {
	for l, lo := range c.lo {
		for i := range lo {
			if e.pre[l][i].Cmp(rat(lo[i])) < 0 || e.pre[l][i].Cmp(rat(c.hi[l][i])) > 0 {
				return false
			}
		}
	}
	return true
}

// inLeaf reports whether the neurons have the phases of row r.
func (c *leafCase) inLeaf(e *exactPass, r int) bool {
	for l, phase := range c.q.Phase {
		for i, s := range e.pre[l] {
			if phase[i*len(c.q.Rows)+r]*float64(s.Sign()) < 0 {
				return false
			}
		}
	}
	return true
}

// TestLeafBelow: wherever hidden bounds are right and the neurons have the phases of a leaf, a row is
// at least its bound plus the noise that its coefficients make of the weights, exactly; and wherever hidden
// bounds are right, in the leaf or not, the variance is at least what the exact noise has there.
func TestLeafBelow(t *testing.T) {
	inside, outside := 0, 0
	for n := range testscale.Cases(t, 150) {
		r := rand.New(rand.NewPCG(uint64(n), 241))
		c := newLeafCase(t, r, bound.Precision(n%2), [][]int{{2, 4, 3, 2}, {2, 5, 2}, {1, 3, 3, 3, 3}}[n%3]...)
		if c.noises.Lo == nil {
			continue
		}
		weights := c.post.NewWeights()
		for i := range 12 {
			c.post.Draw(uint64(n), i, weights)
			x := make([]float64, len(c.box.Lo))
			for j := range x {
				x[j] = c.box.Lo[j] + (c.box.Hi[j]-c.box.Lo[j])*[]float64{0, 1, r.Float64()}[r.IntN(3)]
			}
			e := c.at(x, weights)
			if !c.right(e) {
				continue
			}
			for leaf := range c.q.Rows {
				c.checkVariance(t, e, leaf)
				if c.inLeaf(e, leaf) {
					c.checkRow(t, e, leaf)
					inside++
				} else {
					outside++
				}
			}
		}
	}
	if inside < 50 || outside < 50 {
		t.Errorf("%d rows in their leaves, %d outside", inside, outside)
	}
}

func (c *leafCase) checkRow(t *testing.T, e *exactPass, leaf int) {
	t.Helper()
	row, last, n := &c.rows[c.q.Rows[leaf]], len(c.lo), len(c.q.Rows)
	exact, least := rat(row.D), rat(c.noises.Lo[leaf])
	for i, f := range row.CLo {
		exact.Add(exact, new(big.Rat).Mul(rat(f), e.pre[last][i]))
		least.Add(least, new(big.Rat).Mul(rat(f), e.noise[last][i]))
	}
	for l, a := range c.a {
		for i := range e.noise[l] {
			least.Add(least, new(big.Rat).Mul(rat(a[i*n+leaf]), e.noise[l][i]))
		}
	}
	if exact.Cmp(least) < 0 {
		t.Fatalf("a row is %v, its bound with noise %v", exact.FloatString(12), least.FloatString(12))
	}
}

func (c *leafCase) checkVariance(t *testing.T, e *exactPass, leaf int) {
	t.Helper()
	row, last, n := &c.rows[c.q.Rows[leaf]], len(c.lo), len(c.q.Rows)
	for level, variances := range c.noises.Var {
		l, exact := last-level, new(big.Rat)
		lay := &c.post.Layers[l]
		for i := range lay.Outputs() {
			a := row.CLo[i%len(row.CLo)]
			if l < last {
				a = c.a[l][i*n+leaf]
			}
			v := square(rat(lay.Bias.SdLo[i]))
			for j, z := range e.z[l] {
				v.Add(v, square(new(big.Rat).Mul(rat(lay.Weight.SdLo[j*lay.Outputs()+i]), z)))
			}
			exact.Add(exact, v.Mul(v, square(rat(a))))
		}
		if math.IsInf(variances[leaf], 1) {
			continue
		}
		if exact.Cmp(rat(variances[leaf])) > 0 {
			t.Fatalf("layer %d: a variance is %v, its bound %v", l, exact.FloatString(12), variances[leaf])
		}
	}
}

func square(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

// TestLeafInputs: where inputs are negative, coefficients of them are kept at both ends, which means have that are no
// numbers of the device: the least magnitude may be at either.
func TestLeafInputs(t *testing.T) {
	wide := 0
	for n := range testscale.Cases(t, 100) {
		r := rand.New(rand.NewPCG(uint64(n), 242))
		c := newLeafCase(t, r, bound.Float32, 2, 1, 2)
		if c.noises.Lo == nil || c.box.Lo[0] >= 0 && c.box.Lo[1] >= 0 {
			continue
		}
		for j, m := range c.post.Layers[0].Weight.Mean {
			for leaf, a := range c.a[0] { // of the one neuron: a coefficient is one product
				at := j*len(c.q.Rows) + leaf
				x, y := float64(float32(a*bound.Float32.RoundLo(m))), float64(float32(a*bound.Float32.RoundHi(m)))
				lo, hi := c.ends[0][at], c.ends[0][at]
				if c.ends[1] != nil {
					hi = c.ends[1][at]
				}
				if lo != min(x, y) || hi != max(x, y) {
					t.Fatalf("case %d: a coefficient is in [%v, %v], which are kept as [%v, %v]", n, min(x, y), max(x, y), lo, hi)
				}
				if lo < hi {
					wide++
				}
			}
		}
	}
	if wide == 0 {
		t.Error("all coefficients are numbers")
	}
}
