package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// noisyNet is a network of the given sizes with weights of some spread.
func noisyNet(r *rand.Rand, kind network.Kind, spread float64, sizes ...int) *posterior.Posterior {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k := range len(sizes) - 1 {
		draw := func(n int, size float64) posterior.Params {
			mean, sd := make([]float64, n), make([]float64, n)
			for j := range mean {
				mean[j], sd[j] = size*r.NormFloat64(), size*spread*(0.5+r.Float64())
			}
			return posterior.NewParams(mean, sd, posterior.ScaleSD)
		}
		l := posterior.Layer{Layer: network.DenseLayer(sizes[k], sizes[k+1], network.Activation{}), Weight: draw(sizes[k]*sizes[k+1], 1), Bias: draw(sizes[k+1], 0.5)}
		if k < len(sizes)-2 {
			l.Activation = network.Activation{Kind: kind}
		}
		p.Layers = append(p.Layers, l)
	}
	return p
}

// observed holds what a PropagateCLBP said of the hidden layers, by layer and neuron.
type observed struct{ lo, hi, radius [][]float64 }

func momentsOf(post *posterior.Posterior) (moments bound.Moments) {
	for _, l := range post.Layers {
		v := make([]float64, len(l.Weight.Mean))
		for j, mean := range l.Weight.Mean {
			v[j] = gauss.AbsMeanUp(mean, l.Weight.SdHi[j])
		}
		moments.AbsMean = append(moments.AbsMean, v)
	}
	return moments
}

// concentrate runs one box and returns what was observed too.
func concentrate(t *testing.T, dev bound.Device, post *posterior.Posterior, box property.Box, rows []property.Row, q bound.Quantiles) (*bound.CLBPMargins, *observed) {
	t.Helper()
	return concentrateBy(t, dev, post, box, rows, q, false)
}

func concentrateBy(t *testing.T, dev bound.Device, post *posterior.Posterior, box property.Box, rows []property.Row, q bound.Quantiles, sharp bool) (*bound.CLBPMargins, *observed) {
	t.Helper()
	return concentrateAs(t, dev, post, box, rows, bound.CLBPQuery{Quantiles: q, Sharp: sharp, Slopes: sharp, HiddenSlopes: sharp})
}

// concentrateAs is concentrateBy with a query, whose boxes and rows these are.
func concentrateAs(t *testing.T, dev bound.Device, post *posterior.Posterior, box property.Box, rows []property.Row, query bound.CLBPQuery, balls ...*property.Ball) (*bound.CLBPMargins, *observed) {
	t.Helper()
	m, err := bound.NewModel(dev, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	c, err := m.NewDeviations(post, momentsOf(post))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	in, err := m.UploadNoisy([]property.Box{box})
	if len(balls) > 0 {
		in, err = m.UploadBalls([]property.Box{box}, balls)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseNoisy(in)
	dr, err := m.UploadRows([][]property.Row{rows})
	if err != nil {
		t.Fatal(err)
	}
	defer m.ReleaseRows(dr)
	o := &observed{}
	query.Inputs, query.Rows, query.Observe = in, dr, func(what string, layer int, a bound.Array) error {
		lists := map[string]*[][]float64{"pre.lo": &o.lo, "pre.hi": &o.hi, "radius": &o.radius}
		to := lists[what]
		if to == nil {
			return nil
		}
		v := make([]float64, a.Len())
		*to = append(*to, v)
		return dev.Read(v, a)
	}
	n, err := c.PropagateCLBP(query)
	if err != nil {
		t.Fatal(err)
	}
	return n, o
}

// noisyRows are rows of random coefficients, some of them 0.
func noisyRows(r *rand.Rand, out int) []property.Row {
	var rows []property.Row
	for range 2 {
		row := property.Row{CLo: make([]float64, out), D: r.NormFloat64()}
		for i := range out {
			row.CLo[i] = float64(r.IntN(3)-1) + 0.5*r.NormFloat64()
		}
		row.CHi, row.DHi = row.CLo, row.D
		rows = append(rows, row)
	}
	return rows
}

// sharpOf returns what the host says of the rows of the one item.
func sharpOf(n *bound.CLBPMargins) *bound.Noises {
	if err := n.Sharpen(0); err != nil {
		panic(err) // of no device that ends
	}
	all := &bound.Noises{}
	for r := range n.Rows {
		lo, mean, variance := n.Sharp(0, r)
		all.Lo = append(all.Lo, lo)
		for l := range mean {
			if r == 0 {
				all.Mean, all.Var = append(all.Mean, nil), append(all.Var, nil)
			}
			all.Mean[l], all.Var[l] = append(all.Mean[l], mean[l]), append(all.Var[l], variance[l])
		}
	}
	return all
}

// TestConcentrateWithoutNoise: where no weight deviates, the bounds are those of LBP
// for the means.
func TestConcentrateWithoutNoise(t *testing.T) {
	for i, kind := range []network.Kind{network.ReLU, network.Tanh, network.Sigmoid, network.Identity} {
		r := rand.New(rand.NewPCG(9, uint64(i)))
		post := noisyNet(r, kind, 0, 3, 6, 5, 2)
		box := property.Box{Lo: []float64{-0.1, 0.2, -0.5}, Hi: []float64{0.3, 0.3, -0.5}}
		rows := noisyRows(r, 2)
		dev := fallback.New(bound.Float64)
		// No number of standard deviations makes a difference.
		n, _ := concentrate(t, dev, post, box, rows, bound.Quantiles{Single: 5, Radius: 7, Many: []float64{5, 6, 7}})
		m, err := bound.NewModel(dev, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		boxes, err := m.Draw(bound.BoxSpec{Gamma: [][]float64{{0}, {0}, {0}}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := m.UploadInputs([]property.Box{box})
		if err != nil {
			t.Fatal(err)
		}
		dr, err := m.UploadRows([][]property.Row{rows})
		if err != nil {
			t.Fatal(err)
		}
		want, err := m.Propagate(bound.Query{Propagation: bound.LBP, Boxes: boxes, Inputs: in, Rows: dr, Batch: bound.Batch{Items: 1, PerBox: 1, Inputs: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for r := range rows {
			for name, c := range map[string]struct {
				form *bound.Noises
				want float64
			}{"by intervals": {&n.ByIntervals, want.IBP[r]}, "by lines": {&n.ByLines, want.LBP[r]}} {
				lo, mean, variance := c.form.At(r)
				for l := range mean {
					lo -= mean[l] + 10*math.Sqrt(variance[l])
				}
				if math.Abs(lo-c.want) > 1e-8*(1+math.Abs(c.want)) {
					t.Errorf("kind %d row %d %s: %v with all noise, LBP says %v", kind, r, name, lo, c.want)
				}
			}
		}
		m.ReleaseRows(dr)
		m.ReleaseInputs(in)
		m.ReleaseBoxes(boxes)
		m.Release()
	}
}
