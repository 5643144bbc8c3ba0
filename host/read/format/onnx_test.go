package format

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
	"psafe/internal/testscale"
)

// someMLP is a 3-4-2 network.
func someMLP() *Build {
	b := New(1, 0, 3)
	b.Node("Sub", []string{b.Const("mean", []int{3}, 0, 0, 0)})
	b.Node("MatMul", []string{b.Const("w", []int{3, 4})})
	b.Node("Add", []string{b.Const("b", []int{4})})
	b.Node("Relu", nil)
	b.Node("Gemm", []string{b.Const("v", []int{2, 4}), b.Const("c", []int{2})}, Int("transB", 1))
	return b
}

// someCNN has a convolution, batch normalisation and pooling.
func someCNN() *Build {
	b := New(2, 1, 1, 6, 6)
	b.Node("Conv", []string{b.Const("k", []int{2, 1, 3, 3}), b.Const("kb", []int{2})})
	b.Node("BatchNormalization", []string{b.Const("g", []int{2}), b.Const("h", []int{2}), b.Const("m", []int{2}), b.Const("s", []int{2}, 0.5, 2)})
	b.Node("Relu", nil)
	b.Node("MaxPool", nil, Ints("kernel_shape", 2, 2), Ints("strides", 2, 2))
	b.Node("Flatten", nil)
	b.Node("Gemm", []string{b.Const("v", []int{3, 8}), b.Const("c", []int{3})}, Int("transB", 1))
	return b
}

// inFile writes bytes into a file of the test.
func inFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// compare evaluates a graph and the mean network of a posterior on random points of
// [lo, hi].
func compare(t *testing.T, g *onnx.Graph, p *posterior.Posterior, lo, hi float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	cases := 1000
	if p.Network().Work() > 50_000 {
		cases = 20
	}
	for range testscale.Cases(t, cases) {
		x := make([]float64, p.Inputs())
		for i := range x {
			x[i] = lo + (hi-lo)*r.Float64()
		}
		want, got := Evaluate(g, x), p.LogitsApprox(x)
		for i := range want {
			if len(got) != len(want) || !(math.Abs(got[i]-want[i]) <= 1e-6) {
				t.Fatalf("output %d is %v, want %v", i, got, want)
			}
		}
	}
}

// TestONNX reads a network with each kind of standard deviations.
func TestONNX(t *testing.T) {
	b := someMLP()
	file := Encode(&b.Graph)
	path, packed := inFile(t, "net.onnx", file), inFile(t, "net.onnx.gz", zipped(file))
	one, err := Read(path, Options{SD: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if one.Kind != posterior.KindFinite || one.Finite().N() != 1 || one.Source.Format != "onnx" || one.Source.Given.Words != "0" {
		t.Errorf("--sd 0 gives %v: %+v", one.Describe(), one.Source)
	}
	compare(t, &b.Graph, one, -3, 3)
	again, err := Read(packed, Options{SDRelative: "0.0"})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(again.Mean()) != fmt.Sprint(one.Mean()) || again.Kind != posterior.KindFinite {
		t.Errorf("compressed, the network is another")
	}

	p, err := Read(path, Options{SD: "0.1", Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, &b.Graph, p, -3, 3)
	if p.Random() != 12+4+8+2 || !strings.Contains(p.Source.Note, `keep the standard deviation 0: "mean"`) {
		t.Errorf("%d numbers are random; note %q", p.Random(), p.Source.Note)
	}
	w := p.Layers[0].Weight
	if lo, hi := w.SdLo[3], w.SdHi[3]; !(lo < hi && hi == math.Nextafter(lo, 1) && hi == 0.1 && w.Spread[3] == 0.1) {
		t.Errorf("0.1 became %v to %v", lo, hi) // the float64 is above the decimal
	}
	p, err = Read(path, Options{SDRelative: "0.3"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range p.Params() {
		for j, m := range g.Mean {
			if want := 0.3 * math.Abs(m); !(g.SdLo[j] <= want && want <= g.SdHi[j] && g.SdHi[j]-g.SdLo[j] <= want*1e-15 && g.SdLo[j] <= g.Spread[j] && g.Spread[j] <= g.SdHi[j]) {
				t.Fatalf("0.3 |%v| became %v to %v, stored %v", m, g.SdLo[j], g.SdHi[j], g.Spread[j])
			}
		}
	}
}

// TestONNXShape: the shape of an input is that behind the batch, if there is one.
func TestONNXShape(t *testing.T) {
	for _, k := range []struct {
		in   []int64
		want []int
	}{{[]int64{0, 3, 4}, []int{3, 4}}, {[]int64{1, 2, 3, 4}, []int{2, 3, 4}}, {[]int64{2, 3, 4}, nil}, {[]int64{1, 6}, nil}} {
		b := New(3, k.in...)
		n := 1
		for _, d := range k.in {
			n *= int(max(d, 1))
		}
		b.Node("Reshape", []string{b.Shape("flat", 1, int64(n))})
		b.Node("MatMul", []string{b.Const("w", []int{n, 2})})
		b.Graph.Outputs = []onnx.Value{{Name: b.Last, Type: onnx.Float32}}
		p, err := Read(inFile(t, "net.onnx", Encode(&b.Graph)), Options{SD: "0"})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Validate(); err != nil || !slices.Equal(p.Input.Shape, k.want) {
			t.Errorf("%v: an input has shape %v, want %v; %v", k.in, p.Input.Shape, k.want, err)
		}
	}
}

// sidecar is a .npz of arrays.
func sidecar(t testing.TB, list ...npy.Named) string {
	t.Helper()
	var b bytes.Buffer
	if err := npy.WriteZip(&b, list); err != nil {
		t.Fatal(err)
	}
	return inFile(t, "sd.npz", b.Bytes())
}

func named(name string, shape []int, data ...float64) npy.Named {
	return npy.Named{Name: name, Array: &npy.Array{Shape: shape, Data: data, DType: "<f8"}}
}

// TestONNXFile puts standard deviations by names where the weights of that name went.
func TestONNXFile(t *testing.T) {
	b := someMLP()
	path := inFile(t, "net.onnx", Encode(&b.Graph))
	sd := sidecar(t, named("v", []int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8), named("b", []int{4}, 0.5, 0, 0.25, 1))
	p, err := Read(path, Options{SDFile: sd, Scale: posterior.ScaleVariance})
	if err != nil {
		t.Fatal(err)
	}
	sq := math.Sqrt
	// v is (out, in), a layer (in, out).
	want := []float64{1, sq(5), sq(2), sq(6), sq(3), sq(7), 2, sq(8)}
	for j, w := range want {
		if g := p.Layers[1].Weight; math.Abs(g.Spread[j]-w) > 1e-15*w || g.SdLo[j] > w || g.SdHi[j] < w {
			t.Errorf("weight %d has the standard deviation %v, want %v", j, g.Spread[j], w)
		}
	}
	if g := p.Layers[0].Bias; g.SdHi[1] != 0 || g.SdLo[3] != 1 || p.Layers[0].Weight.Random()+p.Layers[1].Bias.Random() != 0 {
		t.Errorf("other standard deviations: %v", g)
	}
	if p.Source.Given.Path != sd || len(p.Source.Given.SHA256) != 64 || p.Source.Given.Words != "file variance" || !strings.Contains(p.Source.Note, `"c", "mean", "w"`) {
		t.Errorf("source %+v, %+v", p.Source, p.Source.Given)
	}
	var words Options
	if err := words.SetSpread(p.Source.Given.Words, sd); err != nil || words.SDFile != sd || words.Scale != posterior.ScaleVariance {
		t.Errorf("%+v, %v", words, err)
	}

	// With a random layer behind a fixed map in a row, the fixed one is kept a layer.
	b = New(3, 1, 2)
	b.Node("MatMul", []string{b.Const("u", []int{2, 2})})
	b.Node("MatMul", []string{b.Const("w", []int{2, 2})})
	path = inFile(t, "two.onnx", Encode(&b.Graph))
	p, err = Read(path, Options{SDFile: sidecar(t, named("w", []int{2, 2}, 1, 2, 3, 4)), Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Layers) != 2 || !slices.Equal(p.Layers[1].Weight.SdHi, []float64{1, 2, 3, 4}) || p.Layers[0].Random() != 0 {
		t.Errorf("layers %+v", p.Layers)
	}
}

// TestONNXConv: kernels and biases of convolutions, and gains of batch norms, have standard
// deviations of their own, each number one.
func TestONNXConv(t *testing.T) {
	b := someCNN()
	path := inFile(t, "cnn.onnx", Encode(&b.Graph))
	kernel := make([]float64, 18)
	for i := range kernel {
		kernel[i] = float64(i + 1)
	}
	p, err := Read(path, Options{SDFile: sidecar(t, named("k", []int{2, 1, 3, 3}, kernel...), named("g", []int{2}, 0.5, 0.25)), Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, &b.Graph, p, -2, 2)
	if p.Random() != 20 || len(p.Layers) != 5 || p.Layers[0].Random() != 18 {
		t.Errorf("%d numbers are random in %d layers", p.Random(), len(p.Layers))
	}
	for i, sd := range p.Layers[0].Weight.SdHi { // (rows, columns, channels, filters)
		if want := kernel[i%2*9+i/2]; sd != want {
			t.Errorf("weight %d has the standard deviation %v, want %v", i, sd, want)
		}
	}
	if g := p.Layers[2].Weight; !slices.Equal(g.SdHi, []float64{0.5, 0.25}) || !slices.Equal(g.Mean, b.Graph.Initializers[2].Floats) {
		t.Errorf("gains %v +- %v", g.Mean, g.SdHi)
	}
	if p, err = Read(path, Options{SD: "0.1"}); err != nil {
		t.Fatal(err)
	}
	compare(t, &b.Graph, p, -2, 2)
	if p.Random() != 18+2+24+3 || !strings.Contains(p.Source.Note, `keep the standard deviation 0: "g", "h", "m", "s"`) {
		t.Errorf("%d numbers are random; note %q", p.Random(), p.Source.Note)
	}
	for ext, q := range rewritten(t, p) {
		for a, g := range q.Params() {
			if was := p.Params()[a]; !slices.Equal(g.Mean, was.Mean) || !slices.Equal(g.Spread, was.Spread) {
				t.Errorf("%s: array %d changed", ext, a)
			}
		}
	}
}

// TestONNXRoundTrip converts: means and rounded standard deviations stay.
func TestONNXRoundTrip(t *testing.T) {
	for _, opt := range []Options{{SD: "0"}, {SD: "0.05"}, {SDRelative: "0.01"}} {
		p, err := Read(inFile(t, "net.onnx", Encode(&someMLP().Graph)), opt)
		if err != nil {
			t.Fatal(err)
		}
		for ext, q := range rewritten(t, p) {
			for a, g := range q.Params() {
				if was := p.Params()[a]; !slices.Equal(g.Mean, was.Mean) || !slices.Equal(g.Spread, was.Spread) {
					t.Errorf("%s %+v: array %d changed", ext, opt, a)
				}
			}
			if q.Kind != p.Kind || q.Source.Note != p.Source.Note || q.Source.Origin.Format != "onnx" {
				t.Errorf("%s %+v: %+v", ext, opt, q.Source)
			}
		}
	}
	cnn := someCNN()
	p, err := Read(inFile(t, "cnn.onnx", Encode(&cnn.Graph)), Options{SD: "0"})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, &cnn.Graph, p, -2, 2)
	if !strings.Contains(p.Source.Note, "the factors of BatchNormalization (in 1 nodes) are rounded, relatively by at most") {
		t.Errorf("note %q", p.Source.Note)
	}
}

// TestONNXRefuses has one line for each thing that cannot be.
func TestONNXRefuses(t *testing.T) {
	mlp, cnn := Encode(&someMLP().Graph), Encode(&someCNN().Graph)
	b := someMLP()
	b.Const("spare", []int{1})
	spare := Encode(&b.Graph)
	b = New(1, 1, 2)
	b.On("MatMul", []string{"x", b.On("Slice", []string{b.Const("w", []int{2, 3}), b.Shape("from", 0), b.Shape("to", 2), b.Shape("axes", 1)})})
	part := Encode(&b.Graph)
	for _, c := range []struct {
		name, want string
		file       []byte
		opt        Options
	}{
		{"nothing said", "--sd 0 (this one network), --sd 0.05 (every weight), --sd relative:0.01 (of the size of each weight) or --sd FILE", mlp, Options{}},
		{"two said", "give them by --sd", mlp, Options{SD: "0", SDRelative: "1"}},
		{"no decimal", `--sd "big": it is no decimal`, mlp, Options{SD: "big"}},
		{"infinite", `--sd "1e999": it is no decimal`, mlp, Options{SD: "1e999"}},
		{"negative", `--sd "-1": it is no decimal`, mlp, Options{SD: "-1"}},
		{"hexadecimal", `--sd "0x10": it is no decimal`, mlp, Options{SD: "0x10"}},
		{"too small", `--sd "relative:1e-400": it is above 0 and below`, mlp, Options{SDRelative: "1e-400"}},
		{"scale", "--scale variance is for --sd FILE", mlp, Options{SD: "1", Scale: posterior.ScaleVariance}},
		{"no scale", ": the file does not say whether its spread is a standard deviation", mlp, Options{SDFile: sidecar(t, named("w", []int{3, 4}, make([]float64, 12)...))}},
		{"no file", `--sd "nowhere.npz" is no number, and there is no such file: give 0.05 (for every weight), relative:0.01`, mlp, Options{SDFile: "nowhere.npz", Scale: posterior.ScaleSD}},
		{"no number", `--sd "5%" is no number, and there is no such file`, mlp, Options{SDFile: "5%"}},
		{"no arrays", "neither a safetensors file nor a .npz", mlp, Options{SDFile: inFile(t, "x", []byte("text")), Scale: posterior.ScaleSD}},
		{"another name", `array "weight" is named like no initialiser of the network, which has "b", "c", "mean", "v", "w"`, mlp, Options{SDFile: sidecar(t, named("weight", []int{1}, 1)), Scale: posterior.ScaleSD}},
		{"another shape", `array "w" has shape [4 3], the initialiser [3 4]`, mlp, Options{SDFile: sidecar(t, named("w", []int{4, 3}, make([]float64, 12)...)), Scale: posterior.ScaleSD}},
		{"negative sd", `array "b": number 2 is -1, which is no sd`, mlp, Options{SDFile: sidecar(t, named("b", []int{4}, 0, 1, -1, 0)), Scale: posterior.ScaleSD}},
		{"sd of Sub", `initialiser "mean" cannot have standard deviations: Sub takes its constants as they are`, mlp, Options{SDFile: sidecar(t, named("mean", []int{3}, 0, 1, 1)), Scale: posterior.ScaleSD}},
		{"sd of a variance", `initialiser "s" cannot have standard deviations: BatchNormalization takes its constants as they are`, cnn, Options{SDFile: sidecar(t, named("s", []int{2}, 1, 1)), Scale: posterior.ScaleSD}},
		{"sd of numbers of which some are not used", `initialiser "w" cannot have standard deviations: its number 2 is not one weight of a layer`, part, Options{SD: "0.1"}},
		{"sd of a number that is not used", `initialiser "spare" has standard deviations, and the network does not use it`, spare, Options{SDFile: sidecar(t, named("spare", []int{1}, 1)), Scale: posterior.ScaleSD}},
		{"activations", "the option says tanh: drop --activation", mlp, Options{SD: "0", Activations: []network.Activation{{Kind: network.Tanh}}}},
		{"another format", "the file has standard deviations of its own: drop --sd", npz(t, goodMeta, goodArrays()), Options{SD: "0"}},
		{"gzip of another format", "holds no ONNX model", zipped(npz(t, goodMeta, goodArrays())), Options{}},
		{"cut gzip", "damaged gzip", zipped(mlp)[:200], Options{SD: "0"}},
		{"cut", "damaged", mlp[:len(mlp)-40], Options{SD: "0"}},
	} {
		_, err := Read(inFile(t, "file", c.file), c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
	if p, err := Read(inFile(t, "cnn", cnn), Options{SDFile: sidecar(t, named("v", []int{3, 8}, make([]float64, 24)...)), Scale: posterior.ScaleSD}); err != nil || p.Kind != posterior.KindGaussian {
		t.Errorf("dense weights behind a convolution: %v", err)
	}
}

// TestONNXBomb: a small gzip that unpacks to much is refused before it is held.
func TestONNXBomb(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	size := int64(2 << 20)
	head := Message(nil).Int(1, 8)
	head = append(head, Message(nil).Bytes(7, nil)[:1]...)
	for n := uint64(size); ; n >>= 7 { // the length of a graph
		if n < 0x80 {
			head = append(head, byte(n))
			break
		}
		head = append(head, byte(n)|0x80)
	}
	_, _ = w.Write(head)
	_, _ = io.CopyN(w, noughts{}, size)
	_ = w.Close()
	if _, err := unpackedONNX(held(b.Bytes()), 1<<20); err == nil || !strings.Contains(err.Error(), "it unpacks to more than 1048576 bytes") {
		t.Errorf("error %v", err)
	}
}

type noughts struct{}

func (noughts) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestVNNCOMP compares the networks of VNN-COMP with an evaluation node by node.
func TestVNNCOMP(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(dataDir(t), "vnncomp", "*", "*.onnx.gz"))
	families, _ := filepath.Glob(filepath.Join(dataDir(t), "vnncomp", "families", "*", "*.onnx.gz"))
	files = append(files, families...)
	if len(files) == 0 {
		t.Skip("no networks of VNN-COMP")
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		model, err := io.ReadAll(z)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnx.Decode(model)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p, err := Read(path, Options{SD: "0"})
		if err != nil {
			t.Fatal(err)
		}
		if p.Source.Note != "" {
			t.Errorf("%s: note %q", path, p.Source.Note)
		}
		compare(t, g, p, -0.5, 1)
		for name, want := range map[string]int{"ACAS": 7, "256x2": 3, "cifar_deep_kw": 6, "resnet_3b2": 15, "rul_small": 7} {
			if strings.Contains(path, name) && len(p.Layers) != want {
				t.Errorf("%s: %d layers, want %d", path, len(p.Layers), want)
			}
		}
	}
}
