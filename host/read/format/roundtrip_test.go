package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// small is a 2-3-2 network. All its numbers are float32.
func small(scale posterior.Scale) *posterior.Posterior {
	return &posterior.Posterior{
		Scale: scale,
		Layers: []posterior.Layer{
			{Layer: network.DenseLayer(2, 3, network.Activation{Kind: network.LeakyReLU, Slope: 0.01}), Weight: posterior.NewParams([]float64{1, -2, 3, -4, 5, -6}, []float64{0, .5, 1, 2, 4, 0}, scale), Bias: posterior.NewParams([]float64{0, 0.25, -0.25}, []float64{0, 0, 0}, scale)},
			{Layer: network.DenseLayer(3, 2, network.Activation{}), Weight: posterior.NewParams([]float64{1e-30, math.MaxFloat32, 0, 1, 2, 3}, []float64{1, 1, 1, 1, 1, 0.125}, scale), Bias: posterior.NewParams([]float64{7, 8}, []float64{0.5, 0.75}, scale)},
		},
		Source: posterior.Source{Note: "by hand \"quoted\" <&>"},
	}
}

// singlePrecision rounds every number of p to float32.
func singlePrecision(p *posterior.Posterior) *posterior.Posterior {
	for k := range p.Layers {
		for _, g := range []*posterior.Params{&p.Layers[k].Weight, &p.Layers[k].Bias} {
			for i := range g.Mean {
				g.Mean[i], g.Spread[i] = float64(float32(g.Mean[i])), float64(float32(g.Spread[i]))
			}
			*g = posterior.NewParams(g.Mean, g.Spread, p.Scale)
		}
	}
	return p
}

// random is a 4-5-3 network of numbers that need float64.
func random(scale posterior.Scale) *posterior.Posterior {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, f func() float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = f()
		}
		return values
	}
	p := &posterior.Posterior{Scale: scale}
	for _, shape := range [][2]int{{4, 5}, {5, 3}} {
		in, out := shape[0], shape[1]
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, network.Activation{Kind: network.Tanh}), Weight: posterior.NewParams(draw(in*out, r.NormFloat64), draw(in*out, r.ExpFloat64), scale), Bias: posterior.NewParams(draw(out, r.NormFloat64), draw(out, r.ExpFloat64), scale)})
	}
	p.Layers[1].Activation = network.Activation{}
	return p
}

var writers = map[string]func(io.Writer, *posterior.Posterior) error{".npz": WriteNPZ, ".safetensors": WriteSafetensors}

func TestRoundTrip(t *testing.T) {
	for ext, write := range writers {
		for _, scale := range []posterior.Scale{posterior.ScaleSD, posterior.ScaleVariance, posterior.ScaleSoftplus} {
			for _, p := range []*posterior.Posterior{singlePrecision(small(scale)), random(scale)} {
				var one, two bytes.Buffer
				if err := write(&one, p); err != nil {
					t.Fatal(err)
				}
				if err := write(&two, p); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(one.Bytes(), two.Bytes()) {
					t.Errorf("%s: the same posterior gave different bytes", ext)
				}
				path := filepath.Join(t.TempDir(), "named without meaning")
				if err := os.WriteFile(path, one.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				got, err := Read(path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256(one.Bytes())
				if got.Source.SHA256 != hex.EncodeToString(sum[:]) || got.Source.Path != path || got.Source.Note != p.Source.Note {
					t.Errorf("%s: source %+v", ext, got.Source)
				}
				if got.Scale != scale || !reflect.DeepEqual(got.Layers, p.Layers) {
					t.Errorf("%s, %v: got %+v, want %+v", ext, scale, got.Layers, p.Layers)
				}
			}
		}
	}
}

// The bytes that users' tools see may not change unnoticed. The digests are those
// of this package's own output, whose content Python's zipfile, json and struct
// were seen to give back as the numbers of small.
func TestGoldenBytes(t *testing.T) {
	golden := map[string]string{
		".npz":         "143bf3d0bbe1e9ca47f9b8d11a27b41be6fd6a80245bebd0bc3050e3a171bf8c",
		".safetensors": "05190c2303b2699050cc7942fa648ed02a9cffd5a2533f24a602a1d9cb58763c",
	}
	for ext, write := range writers {
		var b bytes.Buffer
		if err := write(&b, singlePrecision(small(posterior.ScaleSD))); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b.Bytes())
		if got := hex.EncodeToString(sum[:]); got != golden[ext] {
			t.Errorf("%s: digest %s, want %s", ext, got, golden[ext])
		}
	}
}

func TestPrecisionWritten(t *testing.T) {
	for name, p := range map[string]*posterior.Posterior{"<f4": singlePrecision(small(posterior.ScaleSD)), "<f8": random(posterior.ScaleSD)} {
		var b bytes.Buffer
		if err := WriteNPZ(&b, p); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), name); got != 8 {
			t.Errorf("%d arrays of type %s, want 8", got, name)
		}
	}
}

func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	p := singlePrecision(small(posterior.ScaleSD))
	p.Source = posterior.Source{Path: filepath.Join(dir, "deep", "net.pkl"), Format: "uai2020", SHA256: "abc"}
	npz, st := filepath.Join(dir, "a.npz"), filepath.Join(dir, "b.safetensors")
	if err := writeFile(npz, p); err != nil {
		t.Fatal(err)
	}
	first, err := Read(npz, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The origin is that of the first file, however often it is converted.
	if err := writeFile(st, first); err != nil {
		t.Fatal(err)
	}
	second, err := Read(st, Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.LeakyReLU, Slope: 0.01}}})
	if err != nil {
		t.Fatal(err)
	}
	want := posterior.Source{Path: "net.pkl", Format: "uai2020", SHA256: "abc"}
	if second.Source.Origin == nil || *second.Source.Origin != want {
		t.Errorf("origin %+v, want %+v", second.Source.Origin, want)
	}
	if second.Source.Format != "safetensors" || first.Source.Format != "psafe" {
		t.Errorf("formats %q and %q", first.Source.Format, second.Source.Format)
	}
}

func TestWriteInvalid(t *testing.T) {
	for ext, write := range writers {
		bad := small(posterior.ScaleSD)
		bad.Layers[0].Weight.Mean[1] = math.NaN()
		var b bytes.Buffer
		if err := write(&b, bad); err == nil || !strings.Contains(err.Error(), "layer 0 weight: mean[1] is NaN") || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes", ext, err, b.Len())
		}
	}
}
