package bound_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
)

// inLayer is noise that all layers have in common, of which the mean of layer k's units is known and of rows nothing.
type inLayer struct {
	k    int
	mean float64
}

func (s inLayer) Unit(k, _ int, _ bound.Fed) (mean, variance, varies float64) {
	if k == s.k {
		mean = s.mean
	}
	return mean, 0, 0
}
func (s inLayer) NewRow() bound.SharedRow                  { return s }
func (s inLayer) Add(int, []float64, []float64, bound.Fed) {}
func (s inLayer) Clone() bound.SharedRow                   { return s }
func (s inLayer) Noise() (mean, variance float64)          { return math.Inf(1), math.Inf(1) }

// preOf are the ends of the pre-activations by layer.
func (s inLayer) preOf(t *testing.T) (lo, hi map[int][]float64) {
	t.Helper()
	post := noisyNet(rand.New(rand.NewPCG(1, 9)), network.ReLU, 0x1p-6, 2, 3, 4, 3, 2)
	dev := fallback.New(bound.Float64)
	m, err := bound.NewModel(dev, post, 1)
	check(t, err)
	defer m.Release()
	d, err := m.NewDeviations(post, momentsOf(post))
	check(t, err)
	defer d.Release()
	d.Share(s, false)
	in, err := m.UploadNoisy([]property.Box{{Lo: []float64{0.25, -0.5}, Hi: []float64{0.5, 0.125}}})
	check(t, err)
	defer m.ReleaseNoisy(in)
	rows, err := m.UploadRows([][]property.Row{property.ArgmaxIs(0, 2).Rows})
	check(t, err)
	defer m.ReleaseRows(rows)
	lo, hi = map[int][]float64{}, map[int][]float64{}
	_, err = d.PropagateCLBP(bound.CLBPQuery{Inputs: in, Rows: rows, Quantiles: quantilesOf(0, len(post.Layers)), Observe: func(what string, layer int, a bound.Array) error {
		var err error
		switch what {
		case "pre.lo":
			lo[layer], err = bound.ReadAll(dev, a)
		case "pre.hi":
			hi[layer], err = bound.ReadAll(dev, a)
		}
		return err
	}})
	check(t, err)
	return lo, hi
}

// TestSharedMeans: the mean of what the noise that layers have in common does to a unit moves both its ends, in every
// layer but the first, where it and the unit's own noise are one Gaussian of mean 0.
func TestSharedMeans(t *testing.T) {
	lo0, hi0 := inLayer{k: -1}.preOf(t)
	for k := range 3 {
		lo, hi := inLayer{k, 1}.preOf(t)
		want := 1 - 0x1p-40
		if k == 0 {
			want = 0
		}
		for i := range lo[k] {
			if down, up := lo0[k][i]-lo[k][i], hi[k][i]-hi0[k][i]; !(down >= want) || !(up >= want) || k == 0 && (down > 0 || up > 0) {
				t.Errorf("layer %d, unit %d: its ends move by %v and %v, want %v", k, i, down, up, want)
			}
		}
	}
}
