package format

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// shapes are the layers of a 3-4-2 network without numbers.
func shapes() []posterior.Layer {
	return []posterior.Layer{{Layer: network.DenseLayer(3, 4, network.Activation{Kind: network.Tanh})}, {Layer: network.DenseLayer(4, 2, network.Activation{})}}
}

// arraySizes are the lengths of the arrays of shapes.
var arraySizes = []int{12, 4, 8, 2}

// lists draws a list of n*size numbers per array of shapes.
func lists(r *rand.Rand, n int, f func() float64) [][]float64 {
	var all [][]float64
	for _, size := range arraySizes {
		list := make([]float64, n*size)
		for i := range list {
			list[i] = f()
		}
		all = append(all, list)
	}
	return all
}

func withMeans(lists [][]float64) []posterior.Layer {
	layers := shapes()
	for k := range layers {
		layers[k].Weight.Mean, layers[k].Bias.Mean = lists[2*k], lists[2*k+1]
	}
	return layers
}

// must gives p, which must be valid.
func must(t testing.TB, p *posterior.Posterior, err error) *posterior.Posterior {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func someSamples(t testing.TB) *posterior.Posterior {
	r := rand.New(rand.NewPCG(1, 2))
	p, err := posterior.FromFinite(shapes(), &posterior.Finite{Counts: []int64{3, 1, 1, 5}, Stack: lists(r, 4, r.NormFloat64)})
	return must(t, p, err)
}

func someSWAG(t testing.TB, scale posterior.Scale) *posterior.Posterior {
	r := rand.New(rand.NewPCG(3, 4))
	p, err := posterior.FromSWAG(withMeans(lists(r, 1, r.NormFloat64)), scale, lists(r, 1, r.ExpFloat64), 3, lists(r, 3, r.NormFloat64))
	return must(t, p, err)
}

func someDropout(t testing.TB) *posterior.Posterior {
	r := rand.New(rand.NewPCG(5, 6))
	p, err := posterior.FromDropout(withMeans(lists(r, 1, r.NormFloat64)), []float64{0.25, 0.7})
	return must(t, p, err)
}

// others are posteriors of every kind but KindGaussian.
func others(t testing.TB) map[posterior.Kind]*posterior.Posterior {
	return map[posterior.Kind]*posterior.Posterior{posterior.KindFinite: someSamples(t), posterior.KindSWAG: someSWAG(t, posterior.ScaleVariance), posterior.KindDropout: someDropout(t)}
}

// writeFile writes p in the format of path.
func writeFile(path string, p *posterior.Posterior) error {
	var b bytes.Buffer
	if err := writers[filepath.Ext(path)](&b, p); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// rewritten gives p as it is read again from each of psafe's own formats.
func rewritten(t *testing.T, p *posterior.Posterior) map[string]*posterior.Posterior {
	t.Helper()
	copies := map[string]*posterior.Posterior{}
	for ext := range writers {
		path := filepath.Join(t.TempDir(), "copy"+ext)
		err := writeFile(path, p)
		if err == nil {
			copies[ext], err = Read(path, Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return copies
}
