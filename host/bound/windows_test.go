package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/convtest"
	"psafe/internal/testscale"
)

// TestWindows: rows over windows have the bounds of rows over whole maps, but for roundings, of
// whatever depth and however they are cut, and of rows that keep what is not needed of them: of networks of all
// kinds of maps, by weight boxes and by concentration LBP.
func TestWindows(t *testing.T) {
	seen, nets := 0, testscale.Cases(t, 400/testscale.By(t, 2))
	for i := range nets {
		r := rand.New(rand.NewPCG(30, uint64(i)))
		post := convtest.Random(r, convtest.Shape{Blocks: 1 + r.IntN(4), Spread: 0.05, Outputs: 2, Side: 3 + r.IntN(4)})
		a := askOf(r, post)
		numbers, depth := 1<<(8+r.IntN(8)), max(0, r.IntN(5)-2)
		want, _ := a.cut(t, needsAll{fallback.New(bound.Float64)}, depth, 1<<20, 0)
		got, windows := a.cut(t, fallback.New(bound.Float64), depth, numbers, math.Inf(1))
		if windows == 0 {
			continue
		}
		seen++
		if len(got) != len(want) {
			t.Fatalf("network %d: %d numbers, of whole maps %d", i, len(got), len(want))
		}
		for j, x := range want {
			if !near(got[j].v, x.v) {
				t.Fatalf("network %d, depth %d, %d layers by windows: %s %d is %v, of whole maps %v", i, depth, windows, x.what, x.layer, got[j].v, x.v)
			}
		}
	}
	if seen < nets/6 {
		t.Errorf("%d of %d networks have windows", seen, nets)
	}
}

// needsAll is a device that leaves nothing out.
type needsAll struct{ bound.Device }

func (d needsAll) Do(op bound.Operation) error {
	if c, is := op.(bound.ConvTranspose); is {
		c.Needed = nil
		op = c
	}
	return d.Device.Do(op)
}

func near(x, y float64) bool {
	return x == y || math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y))
}

type finding struct {
	what  string
	layer int
	v     float64
}

// cut asks both methods for all bounds of layers and margins, and what the noise of margins is.
func (a *asked) cut(t *testing.T, dev bound.Device, depth, numbers int, windows float64) (all []finding, layers int) {
	m, err := bound.NewModelCut(dev, a.post, 3, depth, numbers, windows)
	check(t, err)
	defer m.Release()
	m.KeepSettled() // which bounds of those are left depends on how rows are cut
	observe := func(what string, layer int, x bound.Array) error {
		v, err := bound.ReadAll(dev, x)
		if what == "pre.lo" || what == "pre.hi" || what == "margin.lbp" || what == "margin.ibp" {
			for _, v := range v {
				all = append(all, finding{what, layer, v})
			}
		}
		return err
	}
	a.boxesCut(t, m, observe)
	a.noiseCut(t, m, observe, func(what string, level int, v []float64) {
		for _, v := range v {
			all = append(all, finding{what, level, v})
		}
	})
	return all, m.Windows()
}

func (a *asked) boxesCut(t *testing.T, m *bound.Model, observe func(string, int, bound.Array) error) {
	var spec bound.BoxSpec
	for range a.post.Layers {
		spec.Gamma = append(spec.Gamma, []float64{0.25, 1.5})
	}
	boxes, err := m.Draw(spec)
	check(t, err)
	defer m.ReleaseBoxes(boxes)
	in, err := m.UploadInputs(a.boxes)
	check(t, err)
	defer m.ReleaseInputs(in)
	rows, err := m.UploadRows(a.rows)
	check(t, err)
	defer m.ReleaseRows(rows)
	for _, method := range []bound.Propagation{bound.IBP, bound.LBP} {
		_, err = m.Propagate(bound.Query{Propagation: method, Boxes: boxes, Inputs: in, Rows: rows, Batch: bound.Batch{Items: 4, PerBox: 2, Inputs: 2}, Observe: observe})
		check(t, err)
	}
}

func (a *asked) noiseCut(t *testing.T, m *bound.Model, observe func(string, int, bound.Array) error, noise func(string, int, []float64)) {
	c, err := m.NewDeviations(a.post, momentsOf(a.post))
	check(t, err)
	defer c.Release()
	points := []property.Box{{Lo: a.boxes[0].Lo, Hi: a.boxes[0].Lo}, {Lo: a.boxes[1].Hi, Hi: a.boxes[1].Hi}}
	for _, boxes := range [][]property.Box{a.boxes, points} {
		in, err := m.UploadNoisy(boxes)
		check(t, err)
		rows, err := m.UploadRows(a.rows)
		check(t, err)
		q := bound.Quantiles{Single: 3, Radius: 3.5, Loose: 4}
		for k := range a.post.Layers {
			q.Many = append(q.Many, 3+float64(k)/8)
		}
		n, err := c.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: q, Observe: observe})
		check(t, err)
		for level := range n.ByLines.Mean {
			noise("mean", level, n.ByLines.Mean[level])
			noise("variance", level, n.ByLines.Var[level])
		}
		m.ReleaseRows(rows)
		m.ReleaseNoisy(in)
	}
}

// TestWindowsPay: convolutions of large images go by windows, and dense networks never do.
func TestWindowsPay(t *testing.T) {
	for name, want := range map[string]int{"resnet8": 6, "lenet5": 2, "mnist_lenet": 2} {
		m, err := bound.NewModel(fallback.New(bound.Float32), convtest.Named(name).Posterior(1), 1)
		check(t, err)
		if got := m.Windows(); got < want {
			t.Errorf("%s: rows of %d layers go by windows, of %d they could", name, got, want)
		}
		m.Release()
	}
	post := noisyNet(rand.New(rand.NewPCG(1, 1)), network.ReLU, 0.1, 9, 4, 2)
	m, err := bound.NewModelCut(fallback.New(bound.Float32), post, 1, 0, 1<<20, math.Inf(1))
	check(t, err)
	defer m.Release()
	if m.Windows() != 0 {
		t.Error("a dense network has windows")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWindowsWithin: there are no windows over which sums are longer than over whole maps, but for
// those of one block, as what is charged for roundings is that of whole maps.
func TestWindowsWithin(t *testing.T) {
	for _, c := range []struct {
		image        network.Image
		below, above int
		want         int
	}{
		{network.Image{Height: 8, Width: 8, Channels: 1}, 3, 5, 1},
		{network.Image{Height: 4, Width: 4, Channels: 1}, 3, 5, 0},  // 5x5 outputs, of 4x4
		{network.Image{Height: 2, Width: 40, Channels: 1}, 7, 7, 0}, // 49 terms of 7x2
		{network.Image{Height: 2, Width: 40, Channels: 1}, 5, 5, 1}, // 25 terms of 5x2, in one block
	} {
		m, err := bound.NewModelCut(fallback.New(bound.Float64), convtest.TwoConvolutions(c.image, c.below, c.above), 1, 0, 1<<20, math.Inf(1))
		check(t, err)
		if got := m.Windows(); got != c.want {
			t.Errorf("%v, kernels %d and %d: %d layers by windows, not %d", c.image, c.below, c.above, got, c.want)
		}
		m.Release()
	}
}
