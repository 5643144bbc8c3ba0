package bound

import (
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// memory is a Device of which only the memory works.
type memory struct {
	Device
	p Precision
}

type numbers struct{ v []float64 }

func (n *numbers) Len() int { return len(n.v) }

func (m memory) Precision() Precision             { return m.p }
func (m memory) NewArray(n int) (Array, error)    { return &numbers{make([]float64, n)}, nil }
func (m memory) Release(Array)                    {}
func (m memory) Write(a Array, v []float64) error { copy(a.(*numbers).v, v); return nil }

func values(a Array) []float64 { return a.(*numbers).v }

// outward demands that [lo, hi] is the least interval of numbers of the format
// around [exactLo, exactHi].
func outward(t *testing.T, what string, p Precision, lo, hi, exactLo, exactHi float64) {
	t.Helper()
	if lo != p.RoundLo(exactLo) || hi != p.RoundHi(exactHi) {
		t.Errorf("%v: %s is [%x, %x], want [%x, %x] rounded outward", p, what, lo, hi, exactLo, exactHi)
	}
}

// TestUpload: inputs, rows and slopes that are no numbers of the format reach the
// device rounded outward.
func TestUpload(t *testing.T) {
	third := 1.0 / 3
	for _, p := range bothPrecisions {
		layer := func(a network.Activation) posterior.Layer {
			z := posterior.Params{Mean: []float64{0}, SdLo: []float64{0}, SdHi: []float64{0}}
			return posterior.Layer{Layer: network.DenseLayer(1, 1, a), Weight: z, Bias: z}
		}
		post := &posterior.Posterior{Layers: []posterior.Layer{
			layer(network.Activation{Kind: network.LeakyReLU, Slope: third}), layer(network.Activation{})}}
		m, err := NewModel(memory{p: p}, post, 1)
		if err != nil {
			t.Fatal(err)
		}
		slope := m.layers[0].activation
		outward(t, "slope", p, slope.SlopeLo, slope.SlopeHi, third, third)
		for _, x := range []float64{third, -third, 0.1, 1 + 0x1p-30} {
			in, err := m.UploadInputs([]property.Box{{Lo: []float64{x}, Hi: []float64{x}}})
			if err != nil {
				t.Fatal(err)
			}
			outward(t, "input", p, values(in.x.Lo)[0], values(in.x.Hi)[0], x, x)
			if in.nonNeg != (x >= 0) {
				t.Errorf("%v: input %v: nonNeg is %v", p, x, in.nonNeg)
			}
			rows, err := m.UploadRows([][]property.Row{{{CLo: []float64{x}, CHi: []float64{x}, D: x, DHi: x}}, {}})
			if err != nil {
				t.Fatal(err)
			}
			outward(t, "C", p, values(rows.c.Lo)[0], values(rows.c.Hi)[0], x, x)
			outward(t, "D", p, values(rows.d.Lo)[0], values(rows.d.Hi)[0], x, x)
			if got, want := values(rows.round)[0], p.MergeRounding(1, 1).Rel; got != want {
				t.Errorf("%v: Round is %x, want %x", p, got, want)
			}
		}
	}
}

// TestUploadInputsRefuses: an empty box, one with NaN, and one beyond the format
// are errors.
func TestUploadInputsRefuses(t *testing.T) {
	m := &Model{dev: memory{p: Float32}, layers: []layer{{in: 1, out: 1}}}
	for _, b := range [][2]float64{{1, 0}, {math.NaN(), 1}, {0, math.NaN()}, {0, 1e39}, {math.Inf(-1), 0}} {
		if _, err := m.UploadInputs([]property.Box{{Lo: b[:1], Hi: b[1:]}}); err == nil {
			t.Errorf("the box [%v, %v] is accepted", b[0], b[1])
		}
	}
}

// randomGaussian has one weight in four that is deterministic.
func randomGaussian(rng *rand.Rand, n int) posterior.Params {
	var g posterior.Params
	for range n {
		sd := math.Exp(rng.NormFloat64() - 3)
		if rng.IntN(4) == 0 {
			sd = 0
		}
		g.Mean = append(g.Mean, rng.NormFloat64())
		g.Spread, g.SdLo, g.SdHi = append(g.Spread, sd), append(g.SdLo, sd), append(g.SdHi, sd)
	}
	return g
}

// TestHostBoxDeterministicWeight: the interval of a weight with standard deviation 0
// contains its mean, also where that is no number of the format.
func TestHostBoxDeterministicWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range bothPrecisions {
		g := randomGaussian(rng, 200)
		post := &posterior.Posterior{Layers: []posterior.Layer{{Layer: network.DenseLayer(200, 1, network.Activation{}), Weight: g, Bias: randomGaussian(rng, 1)}}}
		for _, sampled := range []bool{false, true} {
			box, err := HostBox(post, p, BoxSpec{Gamma: [][]float64{{2.5}}, Sampled: sampled, Seed: 9}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for w, mean := range g.Mean {
				lo, hi := box.Lo[0][w], box.Hi[0][w]
				if g.SdHi[w] == 0 {
					outward(t, "deterministic weight", p, lo, hi, mean, mean)
				} else if half := 2.5 * g.SdHi[w]; math.Abs((hi-lo)/2-half) > 1e-5*(half+math.Abs(mean)+1) {
					t.Errorf("%v: weight %d is [%v, %v], half-width is not %v", p, w, lo, hi, half)
				}
			}
		}
	}
}
