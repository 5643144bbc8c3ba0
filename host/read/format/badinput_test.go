package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

const goodMeta = `{"format":"psafe-posterior","version":1,"scale":"sd","layout":"in,out","layers":[{"kind":"dense","activation":"identity","in":2,"out":1}]}`

// goodArrays are those of goodMeta.
func goodArrays() map[string]*npy.Array {
	return map[string]*npy.Array{
		"layers.0.weight.mean":  {Shape: []int{2, 1}, Data: []float64{1, 2}, DType: "<f4"},
		"layers.0.weight.scale": {Shape: []int{2, 1}, Data: []float64{1, 0}, DType: "<f4"},
		"layers.0.bias.mean":    {Shape: []int{1}, Data: []float64{3}, DType: "<f4"},
		"layers.0.bias.scale":   {Shape: []int{1}, Data: []float64{0.5}, DType: "<f4"},
	}
}

// npz packs a header and arrays by hand.
func npz(t *testing.T, meta string, arrays map[string]*npy.Array) []byte {
	t.Helper()
	text := &npy.Array{Shape: []int{len(meta)}, Data: make([]float64, len(meta)), DType: "|u1"}
	for i := range len(meta) {
		text.Data[i] = float64(meta[i])
	}
	list := []npy.Named{{Name: "__meta__", Array: text}}
	for _, name := range sortedKeys(arrays) {
		list = append(list, npy.Named{Name: name, Array: arrays[name]})
	}
	var b bytes.Buffer
	if err := npy.WriteZip(&b, list); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sortedKeys(arrays map[string]*npy.Array) []string {
	var names []string
	for name := range arrays {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// with gives a copy of goodArrays in which change was made.
func with(change func(map[string]*npy.Array)) map[string]*npy.Array {
	a := goodArrays()
	change(a)
	return a
}

// tensors packs a safetensors file by hand.
func tensors(header string, data string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+data...)
}

func safetensorsHeaderText(tensors string) string {
	return `{"__metadata__":{"psafe":"` + strings.ReplaceAll(goodMeta, `"`, `\"`) + `"},` + tensors + `}`
}

const goodTensors = `"layers.0.weight.mean":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},` +
	`"layers.0.weight.scale":{"dtype":"F16","shape":[2,1],"data_offsets":[8,12]},` +
	`"layers.0.bias.mean":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},` +
	`"layers.0.bias.scale":{"dtype":"F64","shape":[1],"data_offsets":[14,22]}`

func goodData() string {
	// 1 and 2^-24 in half precision, 3.140625 in bfloat16, 0.1 in double.
	return float32Bytes(1, 2) + "\x00\x3c\x01\x00" + "\x49\x40" + string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1)))
}

func readBytes(t *testing.T, file []byte, opt Options) (*posterior.Posterior, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some posterior")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Read(path, opt)
	return p, path, err
}

func wantError(t *testing.T, name string, err error, path, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", name, want)
		return
	}
	text := err.Error()
	if !strings.HasPrefix(text, path+": ") || !strings.Contains(text, want) || strings.Contains(text, "\n") {
		t.Errorf("%s: error %q, want one line that begins with the path and has %q", name, text, want)
	}
}

func TestReadNPZErrors(t *testing.T) {
	good := goodArrays()
	if _, _, err := readBytes(t, npz(t, goodMeta, good), Options{}); err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) []byte {
		if !strings.Contains(goodMeta, old) {
			t.Fatalf("no %q in the header", old)
		}
		return npz(t, strings.Replace(goodMeta, old, new, 1), goodArrays())
	}
	set := func(name string, shape []int, data ...float64) []byte {
		return npz(t, goodMeta, with(func(a map[string]*npy.Array) { a[name] = &npy.Array{Shape: shape, Data: data, DType: "<f4"} }))
	}
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"cut off", "damaged zip", npz(t, goodMeta, good)[:300]},
		{"no JSON", "no JSON", npz(t, "", good)},
		{"no object", "where it takes", npz(t, "[]", good)},
		{"JSON cut off", "__meta__", npz(t, goodMeta[:40], good)},
		{"JSON goes on", "after the end", npz(t, goodMeta+"{}", good)},
		{"key twice", `"version" comes twice`, replace(`"version":1`, `"version":1,"version":1`)},
		{"inner key twice", `"in" comes twice`, replace(`"in":2`, `"in":2,"in":2`)},
		{"unknown field", `unknown field "units"`, replace(`"in":2`, `"in":2,"units":2`)},
		{"known field in the wrong place", "unknown field", replace(`"in":2`, `"in":2,"note":"x"`)},
		{"upper case field", `unknown field "Scale"`, replace(`"scale"`, `"Scale"`)},
		{"version 4", "version 4", replace(`"version":1`, `"version":4`)},
		{"other format", `format "x"`, replace("psafe-posterior", "x")},
		{"scale missing", `scale ""`, replace(`"scale":"sd",`, "")},
		{"scale unknown", `scale "precision"`, replace(`"sd"`, `"precision"`)},
		{"layout missing", `layout ""`, replace(`"layout":"in,out",`, "")},
		{"layout unknown", `layout "io"`, replace("in,out", "io")},
		{"layout of torch", "has shape [2 1], the header says [1 2]", replace("in,out", "out,in")},
		{"kind", `kind "conv2d"`, replace("dense", "conv2d")},
		{"activation missing", `activation ""`, replace(`"activation":"identity",`, "")},
		{"activation unknown", `activation "gelu"`, replace("identity", "gelu")},
		{"no layers", "belongs to none of the 0 layers", replace(goodMeta[strings.Index(goodMeta, `[{`):], "[]}")},
		{"no layers, no arrays", "no layers", npz(t, strings.Replace(goodMeta, goodMeta[strings.Index(goodMeta, `[{`):], "[]}", 1), nil)},
		{"unknown array", `array "extra"`, set("extra", []int{1}, 1)},
		{"array of a layer that is not there", `array "layers.1.bias.mean"`, set("layers.1.bias.mean", []int{1}, 1)},
		{"array missing", `array "layers.0.bias.scale" is missing`, npz(t, goodMeta, with(func(a map[string]*npy.Array) { delete(a, "layers.0.bias.scale") }))},
		{"shape", `array "layers.0.bias.mean" has shape [1 1]`, set("layers.0.bias.mean", []int{1, 1}, 1)},
		{"spread shape", `array "layers.0.weight.scale" has shape [1 2]`, set("layers.0.weight.scale", []int{1, 2}, 1, 1)},
		{"NaN mean", "layer 0 weight: mean[1] is NaN", set("layers.0.weight.mean", []int{2, 1}, 1, math.NaN())},
		{"infinite mean", "layer 0 bias: mean[0] is -Inf", set("layers.0.bias.mean", []int{1}, math.Inf(-1))},
		{"NaN sd", "layer 0 weight: standard deviation[0] is NaN", set("layers.0.weight.scale", []int{2, 1}, math.NaN(), 1)},
		{"infinite sd", "layer 0 bias: standard deviation[0] is +Inf", set("layers.0.bias.scale", []int{1}, math.Inf(1))},
		{"negative sd", "layer 0 bias: standard deviation[0] is -1", set("layers.0.bias.scale", []int{1}, -1)},
		{"array of bytes", `array "layers.0.bias.mean" has type "|u1"`, npz(t, goodMeta, with(func(a map[string]*npy.Array) { a["layers.0.bias.mean"].DType = "|u1" }))},
		{"array of objects", "numbers only", zipOf(t, "__meta__.npy", objectFile())},
		{"header of another length", "of shape [3] has 2 bytes", zipOf(t, "__meta__.npy", []byte(npy.Magic+"\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }  \n{}"))},
		{"no header", "neither __meta__", bytes.ReplaceAll(npz(t, goodMeta, good), []byte("__meta__"), []byte("__math__"))},
		{"header is float", "needs uint8", func() []byte {
			var b bytes.Buffer
			if err := npy.WriteZip(&b, []npy.Named{{Name: "__meta__", Array: &npy.Array{Shape: []int{1}, Data: []float64{123}, DType: "<f4"}}}); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}()},
	}
	for _, test := range tests {
		_, path, err := readBytes(t, test.file, Options{})
		wantError(t, test.name, err, path, test.want)
	}
}

func TestReadSpreadErrors(t *testing.T) {
	for scale, bad := range map[posterior.Scale][]float64{
		posterior.ScaleVariance:    {-1, math.NaN(), math.Inf(1), -math.SmallestNonzeroFloat64},
		posterior.ScaleSoftplus:    {math.NaN(), math.Inf(1), math.MaxFloat64},
		posterior.ScaleLogSD:       {math.NaN(), math.Inf(1), 710},
		posterior.ScaleLogVariance: {math.NaN(), math.Inf(1), 1420},
	} {
		for _, v := range bad {
			arrays := with(func(a map[string]*npy.Array) {
				a["layers.0.weight.scale"] = &npy.Array{Shape: []int{2, 1}, Data: []float64{1, v}, DType: "<f8"}
			})
			meta := strings.Replace(goodMeta, `"sd"`, fmt.Sprintf("%q", scale), 1)
			_, path, err := readBytes(t, npz(t, meta, arrays), Options{})
			wantError(t, fmt.Sprintf("%v of %v", scale, v), err, path, "layer 0 weight: standard deviation[1] is")
		}
	}
}

func TestReadTorchLayout(t *testing.T) {
	meta := strings.NewReplacer("in,out", "out,in", `"in":2,"out":1`, `"in":2,"out":3`).Replace(goodMeta)
	arrays := map[string]*npy.Array{
		"layers.0.weight.mean":  {Shape: []int{3, 2}, Data: []float64{11, 12, 21, 22, 31, 32}, DType: "<f4"},
		"layers.0.weight.scale": {Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}, DType: "<f4"},
		"layers.0.bias.mean":    {Shape: []int{3}, Data: []float64{1, 2, 3}, DType: "<f4"},
		"layers.0.bias.scale":   {Shape: []int{3}, Data: []float64{0, 0, 0}, DType: "<f4"},
	}
	p, _, err := readBytes(t, npz(t, meta, arrays), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Layers[0].Weight.Mean, p.Layers[0].Weight.SdHi); got != "[11 21 31 12 22 32] [1 3 5 2 4 6]" {
		t.Errorf("got %s", got)
	}
}

func TestReadSafetensors(t *testing.T) {
	p, _, err := readBytes(t, tensors(safetensorsHeaderText(goodTensors), goodData()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := p.Layers[0]
	got := fmt.Sprint(l.Weight.Mean, l.Weight.SdLo, l.Bias.Mean, l.Bias.SdHi)
	if want := fmt.Sprint([]float64{1, 2}, []float64{1, 1. / (1 << 24)}, []float64{3.140625}, []float64{0.1}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadSafetensorsErrors(t *testing.T) {
	data := goodData()
	replace := func(old, new string) []byte {
		if !strings.Contains(goodTensors, old) {
			t.Fatalf("no %q in the header", old)
		}
		return tensors(safetensorsHeaderText(strings.Replace(goodTensors, old, new, 1)), data)
	}
	length := func(n uint64) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), safetensorsHeaderText(goodTensors)...)
	}
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"header longer than the file", "safetensors header of 5000 bytes", length(5000)},
		{"header above 16 MiB", "safetensors header of 16777217 bytes", length(1<<24 + 1)},
		{"header of 2^48-1", "safetensors header of", length(1<<48 - 1)},
		{"header is cut", "safetensors header:", length(50)},
		{"no metadata", `no entry "psafe"`, tensors("{"+goodTensors+"}", data)},
		{"metadata is no JSON", `metadata "psafe"`, tensors(`{"__metadata__":{"psafe":"x"}}`, "")},
		{"metadata is no text", "__metadata__", tensors(`{"__metadata__":{"psafe":1}}`, "")},
		{"tensor twice", "comes twice", replace("layers.0.weight.scale", "layers.0.weight.mean")},
		{"field twice", "comes twice", replace(`"dtype":"F32"`, `"dtype":"F32","dtype":"F32"`)},
		{"unknown field", "unknown field", replace(`"dtype":"F32"`, `"dtype":"F32","stride":[1]`)},
		{"gap", "overlap or gap", replace("[8,12]", "[9,12]")},
		{"overlap", "overlap or gap", replace("[8,12]", "[7,12]")},
		{"out of range", "in 22 bytes of data", replace("[14,22]", "[14,23]")},
		{"offset of 2^64-1", "in 22 bytes of data", replace("[14,22]", "[14,18446744073709551615]")},
		{"backwards", "in 22 bytes of data", replace("[14,22]", "[22,14]")},
		{"negative offset", "cannot unmarshal", replace("[0,8]", "[-1,8]")},
		{"three offsets", "two data_offsets", replace("[0,8]", "[0,8,9]")},
		{"no offsets", "two data_offsets", replace(`,"data_offsets":[0,8]`, "")},
		{"no shape", "two data_offsets", replace(`"shape":[2,1],`, "")},
		{"data left over", "1 bytes of data belong to no tensor", tensors(safetensorsHeaderText(goodTensors), data+"x")},
		{"data missing", "in 21 bytes of data", tensors(safetensorsHeaderText(goodTensors), data[:21])},
		{"shape too large", "needs more than", replace("[2,1]", "[4294967296,4294967296]")},
		{"shape too small", "needs 4 bytes", replace("[2,1]", "[1,1]")},
		{"half shape too large", "needs more than", replace(`"F16","shape":[2,1]`, `"F16","shape":[3,1]`)},
		{"half shape too small", "needs 2 bytes", replace(`"F16","shape":[2,1]`, `"F16","shape":[1,1]`)},
		{"negative axis", "negative axis", replace("[2,1]", "[-2,-1]")},
		{"type", `type "I8"`, replace("F32", "I8")},
		{"tensor renamed", `"layers.0.bias.mean" is missing`, replace("layers.0.bias.mean", "head.weight")},
	}
	for _, test := range tests {
		_, path, err := readBytes(t, test.file, Options{})
		wantError(t, test.name, err, path, test.want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(tensors(safetensorsHeaderText(goodTensors), goodData()))
	f.Add(tensors(`{"__metadata__":{"psafe":"{}"},"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, "12345678"))
	for _, write := range writers {
		var b bytes.Buffer
		if err := write(&b, random(posterior.ScaleSoftplus)); err != nil {
			f.Fatal(err)
		}
		f.Add(slices.Clone(b.Bytes()))
		for _, p := range append(slices.Collect(maps.Values(others(f))), perArray(f)) {
			b.Reset()
			if err := write(&b, p); err != nil {
				f.Fatal(err)
			}
			f.Add(slices.Clone(b.Bytes()))
		}
		for _, p := range kindReferences(f) {
			b.Reset()
			if err := write(&b, p); err != nil {
				f.Fatal(err)
			}
			f.Add(slices.Clone(b.Bytes()))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := parse(held(file))
		if err == nil {
			var p *posterior.Posterior
			if p, err = n.assemble(Options{Scale: n.scale}); err == nil && p.Weights() > len(file) {
				t.Fatalf("%d weights from %d bytes", p.Weights(), len(file))
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
