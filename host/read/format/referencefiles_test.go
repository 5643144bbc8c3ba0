package format

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/audit"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
	"psafe/host/read/property"
)

// kindMean is a posterior of each kind with references of the network that it stands for.
func kindReferences(t testing.TB) map[posterior.Kind]*posterior.Posterior {
	list := others(t)
	list[posterior.KindGaussian] = trained(tanh, 3, 4, 2)
	for _, p := range list {
		weights := p.Mean()
		if s := p.Finite(); s != nil {
			weights = s.Weights(0)
		}
		refer(p, 5, func(x []float64) []float64 { return framework(p, weights, x) })
		p.Input = posterior.Input{Shape: []int{3, 1}, Mean: []float64{0}, Std: []float64{1}}
	}
	list[posterior.KindGaussian].Reference.Spread = spreadMeans(list[posterior.KindGaussian])
	list[posterior.KindGaussian].Reference.Spread[1] = math.NaN()
	return list
}

// Every kind carries references: of samples they are of network 0, of dropout without it.
func TestReferencesOfKinds(t *testing.T) {
	for kind, p := range kindReferences(t) {
		for ext, again := range rewritten(t, p) {
			c, err := audit.Compare(again)
			if err != nil || c.Compared != 5 || fmt.Sprint(again.Input, *again.Reference) != fmt.Sprint(p.Input, *p.Reference) {
				t.Errorf("%v%s: %+v, %v, %+v", kind, ext, c, err, again.Input)
			}
			if want := map[bool]int{true: 3}[kind == posterior.KindGaussian]; c.Spreads != want {
				t.Errorf("%v%s: %d spreads compared, want %d", kind, ext, c.Spreads, want)
			}
		}
		p.Reference.Logits[3] += 0.1
		var b bytes.Buffer
		if err := WriteNPZ(&b, p); err != nil {
			t.Fatal(err)
		}
		_, path, err := readBytes(t, b.Bytes(), Options{})
		wantError(t, kind.String(), err, path, "reference.logits: logit 1 of reference 1 is")
	}
}

// A framework that multiplies in TF32 (10 bits) fits, unless a usual mistake fits better;
// one that multiplies in bfloat16 does not.
func TestReferencesInTF32(t *testing.T) {
	for bits, want := range map[uint]string{13: "", 16: "none of the usual mistakes explains it"} {
		rounded := func(v float64) float64 {
			b := math.Float32bits(float32(v)) + 1<<(bits-1)
			return float64(math.Float32frombits(b >> bits << bits))
		}
		p := trained(relu, 200, 64, 64, 10)
		refer(p, 40, func(z []float64) []float64 {
			for _, l := range p.Layers {
				y := make([]float64, l.Outputs())
				for i := range y {
					y[i] = l.Bias.Mean[i]
					for j := range z {
						y[i] += rounded(z[j]) * rounded(l.Weight.Mean[j*len(y)+i])
					}
					y[i] = l.Activation.Approx(y[i])
				}
				z = y
			}
			return z
		})
		c, err := audit.Compare(p)
		if want == "" && (err != nil || !c.Coarse) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bits less: %+v, %v", bits, c, err)
		}
		t.Logf("%d bits less: %.3g of %.3g", bits, c.Largest, c.Tolerance)
	}
}

// What damages the arrays of references and inputs is refused, in one line.
func TestBadReferences(t *testing.T) {
	_, list, err := encode(kindReferences(t)[posterior.KindGaussian])
	if err != nil {
		t.Fatal(err)
	}
	const meta = `{"format":"psafe-posterior","version":1,"scale":"sd","layout":"in,out","layers":[{"kind":"dense","activation":"tanh","in":3,"out":4},{"kind":"dense","activation":"identity","in":4,"out":2}],"input_shape":[3,1]}`
	arrays := func() map[string]*npy.Array {
		m := map[string]*npy.Array{}
		for _, a := range list {
			c := *a.Array
			c.Data = append([]float64(nil), c.Data...)
			m[a.Name] = &c
		}
		return m
	}
	if _, _, err := readBytes(t, npz(t, meta, arrays()), Options{}); err != nil {
		t.Fatal(err)
	}
	set := func(name string, shape []int, value float64) func(map[string]*npy.Array) {
		return func(m map[string]*npy.Array) {
			n := 1
			for _, d := range shape {
				n *= d
			}
			m[name] = &npy.Array{Shape: shape, Data: make([]float64, n), DType: "<f8"}
			for i := range m[name].Data {
				m[name].Data[i] = value
			}
		}
	}
	spoil := func(name string, at int, value float64) func(map[string]*npy.Array) {
		return func(m map[string]*npy.Array) { m[name].Data[at] = value }
	}
	remove := func(name string) func(map[string]*npy.Array) {
		return func(m map[string]*npy.Array) { delete(m, name) }
	}
	for _, test := range []struct {
		meta, want string
		change     func(map[string]*npy.Array)
	}{
		{"", "reference.logits: reference 1: entry 1 is NaN", spoil("reference.logits", 3, math.NaN())},
		{"", "reference.inputs: reference 0: entry 2 is +Inf", spoil("reference.inputs", 2, math.Inf(1))},
		{"", "reference.inputs and reference.logits come together", remove("reference.logits")},
		{"", "reference.inputs and reference.logits come together", remove("reference.inputs")},
		{"", `array "reference.logits" has shape [5 3], the header says [5 2]`, set("reference.logits", []int{5, 3}, 0)},
		{"", `array "reference.logits" has shape [10], the header says [10 2]`, set("reference.logits", []int{10}, 0)},
		{"", `array "reference.logits" has shape [], the header says`, set("reference.logits", nil, 0)},
		{"", "reference.inputs has 15 numbers and reference.logits 8", set("reference.logits", []int{4, 2}, 0)},
		{"", `array "reference.inputs" has 1025 references, at most 1024`, set("reference.inputs", []int{1025, 3}, 0)},
		{"", `array "reference.inputs" of shape [0 3] is empty`, set("reference.inputs", []int{0, 3}, 0)},
		{"", `array "reference.spread" has shape [4], the header says [2 2]`, set("reference.spread", []int{4}, 0)},
		{"", "layer 0 weight has -1: a mean of standard deviations", spoil("reference.spread", 0, -1)},
		{"", "has +Inf: a mean", spoil("reference.spread", 0, math.Inf(1))},
		{"", "input.mean has 2 numbers", set("input.mean", []int{2}, 0)},
		{"", `array "input.mean" has shape [1 1]`, set("input.mean", []int{1, 1}, 0)},
		{"", "input.mean: entry 0 is NaN", set("input.mean", []int{1}, math.NaN())},
		{"", "input.std: entry 0 is 0: it must be above 0", set("input.std", []int{3}, 0)},
		{"", "input.std: entry 1 is -1", func(m map[string]*npy.Array) { set("input.std", []int{3}, 1)(m); m["input.std"].Data[1] = -1 }},
		{"", `array "reference.labels" belongs to none`, set("reference.labels", []int{5}, 0)},
		{"[3,2]", "input_shape [3 2]", nil},
		{"[3,0]", "input_shape [3 0]", nil},
		{"[-1,-3]", "input_shape [-1 -3]", nil},
		{"[4611686018427387904,4]", "input_shape [4611686018427387904 4]", nil},
		{"[2.5]", "where it takes", nil},
		{"3", "where it takes", nil},
	} {
		m := arrays()
		if test.change != nil {
			test.change(m)
		}
		text := meta
		if test.meta != "" {
			text = strings.Replace(meta, "[3,1]", test.meta, 1)
		}
		_, path, err := readBytes(t, npz(t, text, m), Options{})
		wantError(t, test.want, err, path, test.want)
	}
}

// Huge numbers in references and weights end in an answer.
func TestReferencesOfHugeNumbers(t *testing.T) {
	p := sane(relu, 4, 16, 16, 3)
	p.Layers[1].Weight.Mean[0] = math.MaxFloat64
	p.Layers[2].Weight.Mean[0] = math.MaxFloat64
	p.Reference.Inputs[0], p.Reference.Logits[0] = math.MaxFloat64, -math.MaxFloat64
	if _, err := audit.Compare(p); err == nil {
		t.Error("no error")
	}
	// Where numbers of 1e9 cancel, float32 may be off by more than the logits are: no
	// tolerance is as large as that.
	p = trained(relu, 2, 1)
	copy(p.Layers[0].Weight.Mean, []float64{1e9, -1e9})
	clear(p.Layers[0].Bias.Mean)
	p.Reference = &posterior.Reference{Inputs: []float64{3, 3 - 1e-9}, Logits: []float64{1.1}}
	if c, err := audit.Compare(p); err == nil {
		t.Errorf("%+v", c)
	}
}

// References that a float32 program computes for the published posteriors fit, and each
// square layer of them that is turned is named.
func TestReferencesOfRealFiles(t *testing.T) {
	dir := dataDir(t)
	found, _ := filepath.Glob(filepath.Join(dir, "mnist", "t10k-images*"))
	if len(found) == 0 {
		t.Skip("no images")
	}
	images, err := property.ReadPoints(found[0], property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turned := 0
	for _, test := range realFiles {
		path := filepath.Join(dir, filepath.FromSlash(test.path))
		p, err := Read(path, Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: test.activation}}})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		next := 0
		refer(p, 20, func(x []float64) []float64 {
			if len(x) == images.Dim { // noise is far from what they know: all neurons are dead
				pixels, _ := images.At(next)
				copy(x, pixels)
				next++
			}
			for j := range x {
				x[j] = float64(float32(x[j]))
			}
			return framework(p, p.Mean(), x)
		})
		p.Reference.Spread = spreadMeans(p)
		c, err := audit.Compare(p)
		if err != nil || c.Coarse || c.Largest > c.Tolerance {
			t.Errorf("%s: %+v, %v", test.path, c, err)
		}
		t.Logf("%s: %.3g of %.3g, logits of %.3g", test.path, c.Largest, c.Tolerance, slices.Max(p.Reference.Logits))
		for k := range p.Layers {
			if p.Layers[k].Inputs() != p.Layers[k].Outputs() || p.Layers[k].Inputs() == 1 {
				continue
			}
			turn(p, k)
			_, err := audit.Compare(p)
			if want := fmt.Sprintf("layer %d looks transposed", k); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", test.path, err, want)
			}
			turn(p, k)
			turned++
		}
	}
	if turned < 6 {
		t.Errorf("%d square layers", turned)
	}
}
