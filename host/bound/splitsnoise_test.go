package bound_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// allowCase is a network 2-3-2 with ReLU, a box, and rows.
type allowCase struct {
	post *posterior.Posterior
	box  property.Box
	rows []property.Row
}

func newAllowCase(r *rand.Rand) *allowCase {
	certain := func(n int) posterior.Params {
		mean := make([]float64, n)
		for i := range mean {
			mean[i] = r.NormFloat64()
		}
		return posterior.NewParams(mean, make([]float64, n), posterior.ScaleSD)
	}
	c := &allowCase{post: &posterior.Posterior{Scale: posterior.ScaleSD}, rows: property.ArgmaxIs(0, 2).Rows}
	c.post.Layers = []posterior.Layer{
		{Layer: network.DenseLayer(2, 3, network.Activation{Kind: network.ReLU}), Weight: certain(6), Bias: certain(3)},
		{Layer: network.DenseLayer(3, 2, network.Activation{}), Weight: certain(6), Bias: certain(2)},
	}
	for range 2 {
		x := r.NormFloat64()
		c.box.Lo, c.box.Hi = append(c.box.Lo, x), append(c.box.Hi, x+r.Float64())
	}
	return c
}

// on runs f on Splits of the case.
func (c *allowCase) on(t *testing.T, p bound.Precision, f func(s *bound.Splits)) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := bound.NewModel(fallback.New(p), c.post, 1)
	check(err)
	defer m.Release()
	boxes, err := m.Upload([]bound.Explicit{bound.Enclose(c.post.Mean(), p)})
	check(err)
	defer m.ReleaseBoxes(boxes)
	in, err := m.UploadInputs([]property.Box{c.box})
	check(err)
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows([][]property.Row{c.rows})
	check(err)
	defer m.ReleaseRows(rows)
	s := m.NewSplits(boxes, in, rows)
	defer s.Release()
	f(s)
}

// query is one of all rows, with slopes of 0.
func (c *allowCase) query() *bound.SplitQuery {
	q := &bound.SplitQuery{Layer: 1}
	for i := range c.rows {
		q.Rows = append(q.Rows, i)
	}
	q.Slope = [][]float64{make([]float64, 3*len(q.Rows))}
	return q
}

// TestAllow: bounds hold for every deviation that is allowed, another one at every input, and for
// the rows less theirs, and without rounding no more is taken off.
func TestAllow(t *testing.T) {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	times := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	for n := range testscale.Cases(t, 400) {
		r := rand.New(rand.NewPCG(uint64(n), 61))
		c, p := newAllowCase(r), bound.Precision(n%2)
		units, below := []float64{r.Float64(), 0, 0x1p-70 * r.Float64()}, make([]float64, len(c.rows))
		for i := range below {
			below[i] = []float64{r.Float64(), 0x1p-60}[i%2]
		}
		c.on(t, p, func(s *bound.Splits) {
			if err := s.Allow(units); err != nil {
				t.Fatal(err)
			}
			lo, hi, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Allow(below); err != nil {
				t.Fatal(err)
			}
			answer, err := s.Bound(c.query())
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				var z []*big.Rat
				for i := range 3 {
					zeta := rat(c.post.Layers[0].Bias.Mean[i])
					zeta.Add(zeta, times(rat(units[i]), rat([]float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)])))
					for j := range 2 {
						x := []float64{c.box.Lo[j], c.box.Hi[j]}[r.IntN(2)]
						zeta.Add(zeta, times(rat(c.post.Layers[0].Weight.Mean[j*3+i]), rat(x)))
					}
					// x is another one for each neuron: intervals hold all the same, but not rows.
					if zeta.Cmp(rat(lo[i])) < 0 || zeta.Cmp(rat(hi[i])) > 0 {
						t.Fatalf("case %d: neuron %d is %v, bounds [%v, %v]", n, i, zeta.FloatString(12), lo[i], hi[i])
					}
				}
				x := []*big.Rat{rat([]float64{c.box.Lo[0], c.box.Hi[0]}[r.IntN(2)]), rat([]float64{c.box.Lo[1], c.box.Hi[1]}[r.IntN(2)])}
				for i := range 3 {
					zeta := rat(c.post.Layers[0].Bias.Mean[i])
					zeta.Add(zeta, times(rat(units[i]), rat([]float64{-1, 1, 2*r.Float64() - 1}[r.IntN(3)])))
					for j := range 2 {
						zeta.Add(zeta, times(rat(c.post.Layers[0].Weight.Mean[j*3+i]), x[j]))
					}
					if zeta.Sign() < 0 {
						zeta = new(big.Rat)
					}
					z = append(z, zeta)
				}
				for at, row := range c.rows {
					value := new(big.Rat).Sub(rat(row.D), rat(below[at]))
					for o, coefficient := range row.CLo {
						y := rat(c.post.Layers[1].Bias.Mean[o])
						for i, v := range z {
							y.Add(y, times(rat(c.post.Layers[1].Weight.Mean[i*2+o]), v))
						}
						value.Add(value, y.Mul(y, rat(coefficient)))
					}
					if value.Cmp(rat(answer.Bound[at])) < 0 {
						t.Fatalf("case %d: row %d is %v, its bound %v", n, at, value.FloatString(12), answer.Bound[at])
					}
				}
			}
		})
	}
}

// TestAllowOutOfTurn: noise is allowed for before a layer is bounded and before rows are used, and
// never under an assumption: then it would rest on bounds that hold for a part of the inputs, which
// depends on the noise.
func TestAllowOutOfTurn(t *testing.T) {
	c := newAllowCase(rand.New(rand.NewPCG(1, 62)))
	panics := func(f func()) (did bool) {
		defer func() { did = recover() != nil }()
		f()
		return false
	}
	c.on(t, bound.Float32, func(s *bound.Splits) {
		if !panics(func() { _ = s.Allow(make([]float64, 2)) }) {
			t.Error("2 numbers for 3 neurons do not panic")
		}
		if _, _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		if !panics(func() { _ = s.Allow(make([]float64, len(c.rows)+1)) }) {
			t.Error("a number too many for the rows does not panic")
		}
		there, err := s.Assuming([]int{0})
		if err != nil {
			t.Fatal(err)
		}
		defer there.Release()
		if !panics(func() { _ = there.Allow(make([]float64, len(c.rows))) }) {
			t.Error("noise under an assumption does not panic")
		}
		if _, err := s.Bound(c.query()); err != nil {
			t.Fatal(err)
		}
		if !panics(func() { _ = s.Allow(make([]float64, len(c.rows))) }) {
			t.Error("noise after rows were used does not panic")
		}
	})
}

// TestAimsElsewhere: rows that tighten a range under an assumption have no phases but those that are
// assumed, and no multiplier at another neuron without one.
func TestAimsElsewhere(t *testing.T) {
	c := newAllowCase(rand.New(rand.NewPCG(1, 64)))
	c.on(t, bound.Float32, func(s *bound.Splits) {
		if _, _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
		there, err := s.Assuming([]int{0}, bound.Literal{Layer: 0, Unit: 1, Phase: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer there.Release()
		deeper, err := there.Assuming([]int{0}, bound.Literal{Layer: 0, Unit: 2, Phase: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer deeper.Release()
		for _, test := range []struct {
			in          *bound.Splits
			phase, beta [3]float64
			panics      bool
		}{
			{there, [3]float64{0, 0, 0}, [3]float64{1, 0, 0}, false},
			{there, [3]float64{0, 1, 0}, [3]float64{1, 2, 0}, false},
			{there, [3]float64{0, -1, 0}, [3]float64{1, 2, 0}, true},
			{there, [3]float64{0, 1, -1}, [3]float64{1, 2, 0}, true},
			{there, [3]float64{0, 0, 0}, [3]float64{1, 2, 0}, true},
			{there, [3]float64{1, 0, 0}, [3]float64{1, 0, 0}, true},
			{deeper, [3]float64{0, 1, -1}, [3]float64{1, 2, 2}, false},
		} {
			q := &bound.SplitQuery{Layer: 1, Rows: []int{0}, Slope: [][]float64{{1, 1, 1}}, Phase: [][]float64{test.phase[:]}, Beta: [][]float64{test.beta[:]}}
			did := func() (did bool) {
				defer func() { did = recover() != nil }()
				_, err := test.in.TightenAiming(q, []bound.Aim{{Layer: 0, Unit: 0}}, []float64{math.Inf(-1)})
				if err != nil {
					t.Fatal(err)
				}
				return false
			}()
			if did != test.panics {
				t.Errorf("phases %v, multipliers %v: panics %v", test.phase, test.beta, did)
			}
		}
	})
}

// TestNoMixture: a mixture none of whose factors is above 0 has no bound, as 0 >= 0 proves no row.
func TestNoMixture(t *testing.T) {
	c := newAllowCase(rand.New(rand.NewPCG(1, 63)))
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		c.on(t, p, func(s *bound.Splits) {
			if _, _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			q := c.query()
			for _, f := range []float64{0, math.NaN()} {
				q.Theta = nil
				for range q.Rows {
					q.Theta = append(q.Theta, slices.Repeat([]float64{f}, len(c.rows)))
				}
				answer, err := s.Bound(q)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range answer.Bound {
					if !math.IsInf(v, -1) {
						t.Errorf("%v: factors of %v have the bound %v", p, f, v)
					}
				}
			}
		})
	}
}

// TestTogetherTightened: Splits that are asked beside others are asked with what they know by then, in blocks of rows
// that are full and not.
func TestTogetherTightened(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 65))
	cases := []*allowCase{newAllowCase(r), newAllowCase(r), newAllowCase(r)}
	for j, lo := range cases[0].box.Lo { // of inputs that are not negative lower ends of coefficients do
		cases[0].box.Lo[j], cases[0].box.Hi[j] = math.Abs(lo), math.Abs(lo)+cases[0].box.Hi[j]-lo
	}
	m, err := bound.NewModel(fallback.New(bound.Float32), cases[0].post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	boxes, err := m.Upload([]bound.Explicit{bound.Enclose(cases[0].post.Mean(), bound.Float32)})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseBoxes(boxes)
	search := func(i int, turn *bound.Turn) (bounds [][]float64) {
		var in *bound.Inputs
		var rows *bound.Rows
		check := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		check(turn.Do(func() (err error) {
			if in, err = m.UploadInputs([]property.Box{cases[i].box}); err == nil {
				rows, err = m.UploadRows([][]property.Row{cases[i].rows})
			}
			return err
		}))
		defer turn.Always(func() { m.ReleaseInputs(in); m.ReleaseRows(rows) })
		s := m.NewSplits(boxes, in, rows)
		s.InTurn(turn)
		defer s.Release()
		check(s.Allow([]float64{0.125, 0, 0.25}))
		lo, hi, err := s.Next()
		check(err)
		for k := range 3 {
			q := &bound.SplitQuery{Layer: 1}
			for c := range 6 * (i + 1) {
				q.Rows = append(q.Rows, c%len(cases[i].rows))
			}
			q.Slope = [][]float64{slices.Repeat([]float64{0.5}, 3*len(q.Rows))}
			q.WantRows = (i+k)%2 == 0
			answer, err := s.Bound(q)
			check(err)
			bounds = append(append(bounds, answer.Bound), answer.S...)
			middle := float64(float32(lo[k] + (hi[k]-lo[k])/2))
			check(s.TightenTo(0, []int{k}, []float64{middle}))
		}
		return bounds
	}
	got := make([][][]float64, len(cases))
	m.Together(len(cases), func(i int, turn *bound.Turn) { got[i] = search(i, turn) })
	for i := range cases {
		if want := search(i, nil); !slices.EqualFunc(got[i], want, slices.Equal) {
			t.Errorf("search %d: beside others %v, alone %v", i, got[i], want)
		}
	}
}
