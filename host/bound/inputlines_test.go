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
	"psafe/internal/testkit/convtest"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

// TestInputLines: rows of random networks of every kind of map are above what Lines says of them, at
// random points and corners of boxes, and what it says is least at Lo.
func TestInputLines(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 21))
	for i := range testscale.Cases(t, 150) {
		net := networktest.Random(r, network.Activation{Kind: []network.Kind{network.ReLU, network.Tanh, network.Sigmoid}[i%3]})
		weights := networktest.Weights(r, net)
		post := &posterior.Posterior{Scale: posterior.ScaleSD}
		for k, l := range net {
			certain := func(mean []float64) posterior.Params {
				return posterior.NewParams(mean, make([]float64, len(mean)), posterior.ScaleSD)
			}
			post.Layers = append(post.Layers, posterior.Layer{Layer: l, Weight: certain(weights[2*k]), Bias: certain(weights[2*k+1])})
		}
		p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
		m, err := bound.NewModel(fallback.New(p), post, 0)
		if err != nil {
			t.Fatal(err)
		}
		certain, err := m.NewCertain(post)
		if err != nil {
			t.Fatal(err)
		}
		var boxes []property.Box
		var sets [][]property.Row
		for range 2 {
			var b property.Box
			for range post.Inputs() {
				x, width := r.NormFloat64()+float64(i%2), []float64{0, 0.05, 0.5}[r.IntN(3)]
				b.Lo, b.Hi = append(b.Lo, x), append(b.Hi, x+width)
			}
			var rows []property.Row
			for range 3 {
				c := make([]float64, post.Outputs())
				for o := range c {
					c[o] = r.NormFloat64()
				}
				rows = append(rows, property.Row{CLo: c, CHi: c})
			}
			boxes, sets = append(boxes, b), append(sets, rows)
		}
		in, err := m.UploadInputs(boxes)
		if err != nil {
			t.Fatal(err)
		}
		dr, err := m.UploadRows(sets)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := certain.Lines(in, dr)
		if err != nil {
			t.Fatal(err)
		}
		for item, b := range boxes {
			for row := range sets[item] {
				least, a := 0.0, make([]float64, len(b.Lo))
				for k := range a {
					at := (item*lines.In+k)*lines.Rows + row
					a[k] = (lines.ALo[at] + lines.AHi[at]) / 2
					if b.Lo[k] >= 0 {
						a[k] = lines.ALo[at]
					}
					least += min(a[k]*p.RoundLo(b.Lo[k]), a[k]*p.RoundHi(b.Hi[k]))
				}
				lo := lines.Lo[item*lines.Rows+row]
				for range 20 {
					x, line := make([]float64, len(b.Lo)), lo-least
					for k := range x {
						x[k] = b.Lo[k] + float64(r.IntN(3))/2*(b.Hi[k]-b.Lo[k])
						line += a[k] * x[k]
					}
					y, value := post.LogitsApprox(x), 0.0
					for o, c := range sets[item][row].CLo {
						value += c * y[o]
					}
					if rounding := 1e-6 * (1 + math.Abs(lo) + math.Abs(least)); !(value >= line-rounding) {
						t.Fatalf("%d: row %d is %v at a point, the line there %v", i, row, value, line)
					}
				}
			}
		}
		m.ReleaseRows(dr)
		m.ReleaseInputs(in)
		certain.Release()
		m.Release()
	}
}

// TestFeatures: what concentration LBP says of the numbers that feed a last layer, which alone has noise, is what
// Lines says of them, but for roundings.
func TestFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for i := range testscale.Cases(t, 150) {
		var kinds []network.Activation // all
		if i%2 == 0 {
			kinds = []network.Activation{{Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.2}}
		}
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(3), Spread: 0, Outputs: 1 + r.IntN(3), Kinds: kinds})
		top := len(post.Layers) - 1
		features := post.Features(top)
		spread := post.Layers[top].Weight
		post.Layers[top].Weight = posterior.NewParams(spread.Mean, slices.Repeat([]float64{0.1}, len(spread.Mean)), posterior.ScaleSD)
		x := convtest.Picture(uint64(i), network.Image{Height: 1, Width: post.Inputs(), Channels: 1})
		box, n := convtest.Around(x, []float64{0, 0.01, 0.1}[i%3]), post.Layers[top].Inputs()
		var units []property.Row
		for _, sign := range []float64{1, -1} {
			for j := range n {
				c := make([]float64, n)
				c[j] = sign
				units = append(units, property.Row{CLo: c, CHi: c})
			}
		}
		got, want := featuresOf(t, post, box), linesOf(t, features, box, units)
		if got.Rows != 2*n || got.Loose != want.Loose {
			t.Fatalf("%d: %d rows, loose by %v, want %d and %v", i, got.Rows, got.Loose, 2*n, want.Loose)
		}
		for _, c := range [][2][]float64{{got.Lo, want.Lo}, {got.ALo, want.ALo}, {got.AHi, want.AHi}} {
			for at, v := range c[1] {
				if !(math.Abs(c[0][at]-v) <= 1e-5*(1+math.Abs(v))) {
					t.Fatalf("%d: number %d is %v, want %v", i, at, c[0][at], v)
				}
			}
		}
		for range 4 {
			if kinds != nil {
				belowFeatures(t, r, got, features, box)
			}
		}
	}
}

// belowFeatures: at a point of a box without negative numbers lines are at most what they are of, in rational
// numbers.
func belowFeatures(t *testing.T, r *rand.Rand, lines *bound.InputLines, features *posterior.Posterior, box property.Box) {
	t.Helper()
	x := make([]*big.Rat, len(box.Lo))
	for k := range x {
		x[k] = networktest.Rat(box.Lo[k] + float64(r.IntN(3))/2*(box.Hi[k]-box.Lo[k]))
	}
	values := networktest.Rational(features.Network(), features.Mean(), x)
	for row := range lines.Rows {
		value := values[row%len(values)]
		if row >= len(values) {
			value = new(big.Rat).Neg(value)
		}
		line := networktest.Rat(lines.Lo[row])
		for k := range x {
			a := lines.ALo[k*lines.Rows+row]
			least := bound.Float32.RoundLo(box.Lo[k])
			if a < 0 {
				least = bound.Float32.RoundHi(box.Hi[k])
			}
			moved := new(big.Rat).Sub(x[k], networktest.Rat(least))
			line.Add(line, moved.Mul(moved, networktest.Rat(a)))
			loose := networktest.Rat(lines.Loose * math.Abs(a))
			line.Sub(line, loose.Mul(loose, x[k]))
		}
		if value.Cmp(line) < 0 {
			t.Errorf("row %d of %d is %s at a point, the line there %s", row, lines.Rows, value.FloatString(12), line.FloatString(12))
		}
	}
}

// featuresOf is Features of two boxes that are one.
func featuresOf(t *testing.T, post *posterior.Posterior, box property.Box) *bound.InputLines {
	m, err := bound.NewModel(fallback.New(bound.Float32), post, 0)
	check(t, err)
	dev, err := m.NewDeviations(post, momentsOf(post))
	check(t, err)
	in, err := m.UploadNoisy([]property.Box{box, box})
	check(t, err)
	rows, err := m.UploadRows([][]property.Row{nil, nil})
	check(t, err)
	n, err := dev.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: bound.Quantiles{Many: make([]float64, len(post.Layers))}, Features: true})
	check(t, err)
	return n.Features
}

// linesOf is Lines of two boxes that are one.
func linesOf(t *testing.T, post *posterior.Posterior, box property.Box, set []property.Row) *bound.InputLines {
	m, err := bound.NewModel(fallback.New(bound.Float32), post, 0)
	check(t, err)
	certain, err := m.NewCertain(post)
	check(t, err)
	in, err := m.UploadInputs([]property.Box{box, box})
	check(t, err)
	rows, err := m.UploadRows([][]property.Row{set, set})
	check(t, err)
	lines, err := certain.Lines(in, rows)
	check(t, err)
	return lines
}

// TestInputLinesLoose: where the network's input feeds the last layer and many others, each of which adds
// less to a coefficient than it is rounded to, a row is above its line all the same. It is 1.5 x less
// branches times step x, exactly, for x in [0, 1], and least at 0, where no coefficient costs anything.
func TestInputLinesLoose(t *testing.T) {
	const branches, step = 64, 0x1.cp-25 // half a unit in the last place of 1.5 is 2^-24
	one := func(in int, w []float64, sources ...int) posterior.Layer {
		act := network.Activation{}
		if in == 1 {
			act.Kind = network.ReLU
		}
		l := posterior.Layer{Layer: network.DenseLayer(in, 1, act), NoBias: true}
		l.Sources, l.Weight = sources, posterior.NewParams(w, make([]float64, in), posterior.ScaleSD)
		l.Bias = posterior.NewParams([]float64{0}, []float64{0}, posterior.ScaleSD)
		return l
	}
	post := &posterior.Posterior{Scale: posterior.ScaleSD}
	var all []int
	ones := make([]float64, branches)
	for k := range branches {
		post.Layers, all, ones[k] = append(post.Layers, one(1, []float64{step}, -1)), append(all, k), 1
	}
	post.Layers = append(post.Layers, one(branches, ones, all...), one(2, []float64{-1, 1.5}, branches, -1))
	m, err := bound.NewModel(fallback.New(bound.Float32), post, 0)
	if err != nil {
		t.Fatal(err)
	}
	certain, err := m.NewCertain(post)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.UploadInputs([]property.Box{{Lo: []float64{0}, Hi: []float64{1}}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.UploadRows([][]property.Row{{{CLo: []float64{1}, CHi: []float64{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := certain.Lines(in, rows)
	if err != nil {
		t.Fatal(err)
	}
	a := lines.ALo[0]
	if at1, is := lines.Lo[0]+a-lines.Loose*a, 1.5-branches*step; !(at1 <= is && at1 >= is-1e-4) {
		t.Errorf("the row is %.10g at 1, the line there %.10g", is, at1)
	}
}
