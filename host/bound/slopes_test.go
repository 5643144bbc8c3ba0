package bound_test

import (
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// exactRow is the value of a row of a network of certain weights with ReLU, at x.
func exactRow(post *posterior.Posterior, row *property.Row, x []float64) *big.Rat {
	exactly := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	var z []*big.Rat
	for _, v := range x {
		z = append(z, exactly(v))
	}
	for k := range post.Layers {
		l := &post.Layers[k]
		y := make([]*big.Rat, l.Outputs())
		for i := range y {
			y[i] = exactly(l.Bias.Mean[i])
			for j := range z {
				y[i].Add(y[i], new(big.Rat).Mul(z[j], exactly(l.Weight.Mean[j*len(y)+i])))
			}
			if k < len(post.Layers)-1 && y[i].Sign() < 0 {
				y[i] = new(big.Rat)
			}
		}
		z = y
	}
	v := exactly(row.D)
	for i, y := range z {
		v.Add(v, new(big.Rat).Mul(y, exactly(row.CLo[i])))
	}
	return v
}

// TestSlopesExactly: where no weight deviates, a row is nowhere below what is said of it with any
// lower slopes, in exact arithmetic; and other slopes than the usual ones say more of some rows.
func TestSlopesExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	better, tight := 0, 0
	for c := range testscale.Cases(t, 400) {
		sizes := [][]int{{2, 5, 2}, {2, 6, 5, 2}, {1, 4, 4, 3, 2}}[c%3]
		post := noisyNet(rng, network.ReLU, 0, sizes...)
		box := property.Box{}
		for range sizes[0] {
			x, width := rng.NormFloat64(), rng.Float64()*float64(rng.IntN(3))
			box.Lo, box.Hi = append(box.Lo, x), append(box.Hi, x+width)
		}
		rows := noisyRows(rng, 2)
		n, _ := concentrateBy(t, fallback.New(bound.Precision(c/3%2)), post, box, rows, bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7, 8}}, true)
		if len(n.Others) == 0 {
			t.Fatal("there are no other slopes")
		}
		for r := range rows {
			var least *big.Rat
			for _, x := range cornersAndMore(box, 9) {
				if v := exactRow(post, &rows[r], x); least == nil || v.Cmp(least) < 0 {
					least = v
				}
			}
			most := n.ByLines.Lo[r]
			for i, o := range n.Others {
				lo := o.ByLines.Lo[r]
				if new(big.Rat).SetFloat64(lo).Cmp(least) > 0 {
					t.Fatalf("case %d row %d, rule %d: the bound is %v, the row %v", c, r, i, lo, least.FloatString(20))
				}
				most = max(most, lo)
			}
			if l, _ := least.Float64(); most > l-1e-3 {
				tight++
			}
			if most > n.ByLines.Lo[r]+1e-3 {
				better++
			}
		}
	}
	t.Logf("%d rows are nearly where they are bounded, %d are better bounded with other slopes", tight, better)
	if tight == 0 || better == 0 {
		t.Error("too little was tested")
	}
}

// TestHiddenSlopes: bounds of hidden layers with other slopes of their rows are never worse where those of
// the layers below are the same, and some are better.
func TestHiddenSlopes(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 3))
	better := 0
	for c := range 12 {
		post := noisyNet(rng, network.ReLU, 0.02, 2, 6, 5, 2)
		box := property.Box{Lo: []float64{-1, 0}, Hi: []float64{0.5, 1}}
		query := bound.CLBPQuery{Quantiles: bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7}}}
		rows := noisyRows(rng, 2)
		_, usual := concentrateAs(t, fallback.New(bound.Precision(c%2)), post, box, rows, query)
		query.HiddenSlopes = true
		_, other := concentrateAs(t, fallback.New(bound.Precision(c%2)), post, box, rows, query)
		for i := range usual.lo[1] {
			if other.lo[1][i] < usual.lo[1][i] || other.hi[1][i] > usual.hi[1][i] {
				t.Errorf("case %d: neuron %d is in [%v, %v], with more slopes in [%v, %v]", c, i, usual.lo[1][i], usual.hi[1][i], other.lo[1][i], other.hi[1][i])
			}
			if other.lo[1][i] > usual.lo[1][i]+1e-3 || other.hi[1][i] < usual.hi[1][i]-1e-3 {
				better++
			}
		}
	}
	if better == 0 {
		t.Error("nothing is better")
	}
}

// TestSlopesOfChains: there are other slopes for ReLU in chains, and for nothing else.
func TestSlopesOfChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	for kind := range network.Kind(network.Kinds) {
		post := noisyNet(rng, kind, 0.1, 2, 4, 3, 2)
		for k := range 2 {
			if a := &post.Layers[k].Activation; a.Check() != nil {
				a.Slope = 0.25
			}
		}
		m, err := bound.NewModel(fallback.New(bound.Float64), post, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Bends() != (kind == network.ReLU) {
			t.Errorf("%v: Bends is %v", post.Layers[0].Activation, m.Bends())
		}
		m.Release()
		// Of two hidden layers only one may be ReLU: the other keeps its lines.
		box := property.Box{Lo: []float64{-1, 0}, Hi: []float64{0.5, 1}}
		post.Layers[1].Activation = network.Activation{Kind: network.ReLU}
		n, _ := concentrateBy(t, fallback.New(bound.Float64), post, box, noisyRows(rng, 2), bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7}}, true)
		if len(n.Others) == 0 {
			t.Errorf("%v: no other slopes for the layer above", post.Layers[0].Activation)
		}
	}
}

// TestBallsTwice: on a ball, units that are bounded once more with the same slopes, as those of neurons that are
// always active are, get the same bounds, noise of the second layer included.
func TestBallsTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 9))
	for c, sizes := range [][]int{{6, 8, 4, 2}, {6, 4, 4, 4, 2}, {6, 8, 4, 2, 2}} {
		post := noisyNet(rng, network.ReLU, 0.3, sizes...)
		for j := range post.Layers[0].Bias.Mean {
			post.Layers[0].Bias.Mean[j] = 64
		}
		x, radius, box := make([]float64, 6), make([]float64, 6), property.Box{}
		for j := range x {
			x[j], radius[j] = rng.NormFloat64(), 1
			box.Lo, box.Hi = append(box.Lo, x[j]-1), append(box.Hi, x[j]+1)
		}
		ball := &property.Ball{Norm: 1 + c%2, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}
		q := bound.CLBPQuery{Quantiles: bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7, 8}}}
		rows := noisyRows(rng, 2)
		once, a := concentrateAs(t, fallback.New(bound.Float64), post, box, rows, q, ball)
		q.HiddenSlopes = true
		twice, b := concentrateAs(t, fallback.New(bound.Float64), post, box, rows, q, ball)
		if !(slices.Max(a.lo[0]) > 0) || !slices.Equal(a.lo[1], b.lo[1]) || !slices.Equal(a.hi[1], b.hi[1]) {
			t.Errorf("%v: units of the second layer are above %v, at the second time above %v", sizes, a.lo[1], b.lo[1])
		}
		if len(sizes) == 4 && !slices.Equal(once.ByLines.Lo, twice.ByLines.Lo) {
			t.Errorf("%v: rows are above %v, and %v", sizes, once.ByLines.Lo, twice.ByLines.Lo)
		}
	}
}

// TestSharpenTogether: margins that are sharpened together with those by other slopes get what they get
// alone, which is not the same for all.
func TestSharpenTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 4))
	differ := 0
	for c := range 6 {
		post := noisyNet(rng, network.ReLU, 0.1, 3, 9, 7, 2)
		box := property.Box{Lo: []float64{-1, 0, -1}, Hi: []float64{0.5, 1, 1}}
		rows, query := noisyRows(rng, 2), bound.CLBPQuery{Quantiles: bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7}}, Slopes: true}
		together, _ := concentrateAs(t, fallback.New(bound.Precision(c%2)), post, box, rows, query)
		alone, _ := concentrateAs(t, fallback.New(bound.Precision(c%2)), post, box, rows, query)
		others := make([]*bound.Noises, len(alone.Others))
		for i, o := range alone.Others {
			others[i] = sharpOf(o)
		}
		if got, want := sharpOf(together), sharpOf(alone); !reflect.DeepEqual(got, want) {
			t.Errorf("case %d: %v, alone %v", c, got, want)
		}
		for i, o := range together.Others {
			got := sharpOf(o)
			if !reflect.DeepEqual(got, others[i]) {
				t.Errorf("case %d, slopes %d: %v, alone %v", c, i, got, others[i])
			}
			if !reflect.DeepEqual(got.Mean, sharpOf(together).Mean) {
				differ++
			}
		}
	}
	if differ == 0 {
		t.Error("all slopes have the same noise")
	}
}

// TestWanted: items whose rows are wanted get what all get where nothing is said of that, whichever they
// are; others and points get nothing.
func TestWanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 3))
	const items, point = 5, 2
	post := noisyNet(rng, network.ReLU, 0.1, 3, 9, 7, 2)
	var boxes []property.Box
	var rows [][]property.Row
	for i := range items {
		b := property.Box{Lo: []float64{rng.Float64() - float64(i%2), 0, -1}, Hi: []float64{1, 1, 1}}
		if i == point {
			b.Hi = b.Lo
		}
		boxes, rows = append(boxes, b), append(rows, noisyRows(rng, 2))
	}
	said := func(p bound.Precision, wanted func(*bound.CLBPMargins) []int) (all [items][][]float64) {
		m, err := bound.NewModel(fallback.New(p), post, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Release()
		c, err := m.NewDeviations(post, momentsOf(post))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		in, err := m.UploadNoisy(boxes)
		if err != nil {
			t.Fatal(err)
		}
		defer m.ReleaseNoisy(in)
		dr, err := m.UploadRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		defer m.ReleaseRows(dr)
		n, err := c.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: dr, Quantiles: bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7}}, Slopes: true, Wanted: wanted})
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			if err := n.Sharpen(i); err != nil {
				t.Fatal(err)
			}
			for _, of := range append([]*bound.CLBPMargins{n}, n.Others...) {
				for r := range n.Rows {
					if _, mean, variance := of.Sharp(i, r); mean != nil {
						all[i] = append(all[i], mean, variance)
					}
				}
			}
		}
		return all
	}
	for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
		all := said(p, nil)
		for _, wanted := range [][]int{{}, {3}, {0, 4}, {1, point, 3}, {0, 1, 3, 4}} {
			some := said(p, func(n *bound.CLBPMargins) []int {
				if len(n.Others) == 0 || len(n.Events) != items {
					t.Error("asked before all is known")
				}
				return slices.Clone(wanted)
			})
			for i := range items {
				want := all[i]
				if !slices.Contains(wanted, i) {
					want = nil
				}
				if !reflect.DeepEqual(some[i], want) || (i == point) != (all[i] == nil) {
					t.Errorf("%v, %v wanted: item %d has %v, %v where all are", p, wanted, i, some[i], all[i])
				}
			}
		}
	}
}
