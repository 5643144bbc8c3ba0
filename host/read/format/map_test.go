package format

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// raw is an array of a file with names of its own.
type raw struct {
	name  string
	shape []int
	data  []float64
}

// stateDict is what a torch module with mu and rho saves, layout (out, in).
func stateDict() []raw {
	return []raw{
		{"fc1.mu_weight", []int{3, 2}, []float64{1, 4, 2, 5, 3, 6}}, {"fc1.rho_weight", []int{3, 2}, []float64{-1, -4, -2, -5, -3, -6}},
		{"fc1.mu_bias", []int{3}, []float64{7, 8, 9}}, {"fc1.rho_bias", []int{3}, []float64{-7, -8, -9}},
		{"fc2.mu_weight", []int{1, 3}, []float64{10, 11, 12}}, {"fc2.rho_weight", []int{1, 3}, []float64{0, -1, -2}},
		{"fc2.mu_bias", []int{1}, []float64{13}}, {"fc2.rho_bias", []int{1}, []float64{-3}},
	}
}

const stateMap = `{"scale":"softplus","layout":"out,in","layers":[
 {"activation":"tanh","weight":{"mean":"fc1.mu_weight","spread":"fc1.rho_weight"},"bias":{"mean":"fc1.mu_bias","spread":"fc1.rho_bias"}},
 {"activation":"identity","weight":{"mean":"fc2.mu_weight","spread":"fc2.rho_weight"},"bias":{"mean":"fc2.mu_bias","spread":"fc2.rho_bias"}}]}`

// rawSafetensors packs arrays as F32, and one of whole numbers where counter is a name.
func rawSafetensors(list []raw, counter string) []byte {
	header, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for _, r := range list {
		from := len(data)
		data = append(data, float32Bytes(r.data...)...)
		header[r.name] = map[string]any{"dtype": "F32", "shape": r.shape, "data_offsets": []int{from, len(data)}}
	}
	if counter != "" {
		from := len(data)
		data = binary.LittleEndian.AppendUint64(data, 7)
		header[counter] = map[string]any{"dtype": "I64", "shape": []int{}, "data_offsets": []int{from, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return tensors(string(text), string(data))
}

func rawNPZ(list []raw, dtype string) []byte {
	var named []npy.Named
	for _, r := range list {
		named = append(named, npy.Named{Name: r.name, Array: &npy.Array{Shape: r.shape, Data: r.data, DType: dtype}})
	}
	var b bytes.Buffer
	if err := npy.WriteZip(&b, named); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func importBytes(t testing.TB, file []byte, text string) (p *posterior.Posterior, path, mapPath string, err error) {
	t.Helper()
	path, mapPath = filepath.Join(t.TempDir(), "weights"), filepath.Join(t.TempDir(), "map")
	for name, content := range map[string][]byte{path: file, mapPath: []byte(text)} {
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, err = Import(path, mapPath, "")
	return p, path, mapPath, err
}

func TestImport(t *testing.T) {
	for _, file := range [][]byte{rawSafetensors(stateDict(), ""), rawNPZ(stateDict(), "<f4"), rawNPZ(stateDict(), "<f8")} {
		p, path, _, err := importBytes(t, file, stateMap)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.TrimSpace(fmt.Sprintln(p.Layers[0].Weight.Mean, p.Layers[0].Weight.Spread, p.Layers[0].Bias.Spread, p.Layers[1].Weight.Spread, p.ScaleList(), p.Layers[0].Activation, p.Source.Path == path, len(p.Source.SHA256)))
		if want := "[1 2 3 4 5 6] [-1 -2 -3 -4 -5 -6] [-7 -8 -9] [0 -1 -2] softplus tanh true 64"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if lo, hi := posterior.ScaleSoftplus.SD(-4); p.Layers[0].Weight.SdLo[3] != lo || p.Layers[0].Weight.SdHi[3] != hi {
			t.Errorf("standard deviation of -4: [%v, %v]", p.Layers[0].Weight.SdLo[3], p.Layers[0].Weight.SdHi[3])
		}
		for ext, q := range rewritten(t, p) {
			if !reflect.DeepEqual(q.Layers, p.Layers) || q.Source.Origin == nil || q.Source.Origin.SHA256 != p.Source.SHA256 || !strings.HasSuffix(q.Source.Origin.Format, " with a map") {
				t.Errorf("%s: %+v of %+v", ext, q, q.Source.Origin)
			}
		}
	}
}

// Scales and layouts of single arrays, layers without bias, spreads that are not there.
func TestImportPerArray(t *testing.T) {
	list := stateDict()
	list = append(list[:2], list[4:]...) // no bias of the first layer
	list = slices.DeleteFunc(list, func(r raw) bool { return r.name == "fc2.rho_bias" })
	list[2].shape, list[3].shape = []int{3, 1}, []int{3, 1}
	p, _, _, err := importBytes(t, rawSafetensors(list, "steps"), `{"layout":"out,in","ignore":["steps"],"layers":[
 {"activation":"relu","weight":{"mean":"fc1.mu_weight","spread":"fc1.rho_weight","scale":"softplus:1e-7"}},
 {"activation":"identity","layout":"in,out","weight":{"mean":"fc2.mu_weight","spread":"fc2.rho_weight","scale":"log_sd"},"bias":{"mean":"fc2.mu_bias","scale":"none"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(fmt.Sprintln(p.ScaleList(), p.Layers[0].NoBias, p.Layers[0].Bias.Mean, p.Layers[1].NoBias, p.Layers[1].Bias.Mean, p.Layers[1].Bias.SdHi)); got != "softplus:1e-7,none,log_sd true [0 0 0] false [13] [0]" {
		t.Error(got)
	}
	for ext, q := range rewritten(t, p) {
		if !reflect.DeepEqual(q.Layers, p.Layers) || q.Scale != p.Scale {
			t.Errorf("%s: %+v", ext, q)
		}
	}
	// Without any spread.
	p, _, _, err = importBytes(t, rawNPZ([]raw{{"w", []int{1, 1}, []float64{2}}}, "<f8"), `{"layout":"in,out","layers":[{"activation":"identity","weight":{"mean":"w","scale":"none"}}]}`)
	if err != nil || p.Random() != 0 || p.ScaleList() != "sd,none" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestImportErrors(t *testing.T) {
	file := rawSafetensors(stateDict(), "")
	replace := func(pairs ...string) string {
		if !strings.Contains(stateMap, pairs[0]) {
			t.Fatalf("no %q in the map", pairs[0])
		}
		return strings.NewReplacer(pairs...).Replace(stateMap)
	}
	bad := func(i int, data ...float64) []byte {
		list := stateDict()
		list[i].data = data
		return rawNPZ(list, "<f8")
	}
	shaped := func(i int, shape ...int) []byte {
		list := stateDict()
		list[i].shape = shape
		return rawSafetensors(list, "")
	}
	for _, c := range []struct {
		name, text, want string
		file             []byte
		ofMap            bool
	}{
		{"misspelt", replace("fc1.mu_weight", "fc1.mu_wieght"), `layer 0 weight mean: there is no tensor "fc1.mu_wieght": did you mean "fc1.mu_weight"?`, file, true},
		{"nothing like it", replace("fc2.mu_bias", "head"), `layer 1 bias mean: there is no tensor "head": the file has "fc1.mu_bias", `, file, true},
		{"twice", replace("fc2.rho_bias", "fc2.mu_bias"), `layer 1 bias spread: tensor "fc2.mu_bias" is layer 1 bias mean already`, file, true},
		{"left over", stateMap, `tensors that no layer names: "steps": add them to their layers, or list them under "ignore"`, rawSafetensors(stateDict(), "steps"), true},
		{"ignored but absent", replace(`"layers"`, `"ignore":["fc1.mu_wei"],"layers"`), `ignore: there is no tensor "fc1.mu_wei": did you mean`, file, true},
		{"ignored and used", replace(`"layers"`, `"ignore":["fc1.mu_bias"],"layers"`), "is layer 0 bias mean already", file, true},
		{"bias forgotten", replace(`,"bias":{"mean":"fc1.mu_bias","spread":"fc1.rho_bias"}`, ""), `no layer names: "fc1.mu_bias", "fc1.rho_bias"`, file, true},
		{"spread forgotten", replace(`,"spread":"fc2.rho_bias"`, ""), `layer 1 bias has no spread: name its tensor, or say "scale": "none"`, file, true},
		{"none and a spread", replace(`"spread":"fc2.rho_bias"`, `"spread":"fc2.rho_bias","scale":"none"`), "has scale none, and spread", file, true},
		{"no scale", replace(`"scale":"softplus",`, ""), "layer 0 weight: the map does not say what the spread is", file, true},
		{"scale of the file", replace(`"softplus"`, `"std"`), `scale "std" is none of sd, variance`, file, true},
		{"scale of an array", replace(`"spread":"fc2.rho_bias"`, `"spread":"fc2.rho_bias","scale":"std"`), `layer 1 bias: scale "std"`, file, true},
		{"negative sd", replace(`"softplus"`, `"sd"`), "layer 0 weight: standard deviation[0] is -1 (stored -1): it must be finite and not negative; numbers below 0 are often rho", file, false},
		{"activation to fill", replace("tanh", "?"), `layer 0: activation "?": write the one that it has: `, file, true},
		{"activation", replace("tanh", "gelu"), `layer 0: activation "gelu"`, file, true},
		{"activation at the end", replace("identity", "relu"), "last layer has activation relu", file, false},
		{"layout to fill", replace("out,in", "?"), `layer 0: layout "?": write "out,in" (torch) or "in,out"`, file, true},
		{"layout", replace("out,in", "in,out"), "needs a bias of 2 numbers, \"fc1.mu_bias\" has shape [3]: the other layout fits", file, true},
		{"no weight", replace(`"weight":{"mean":"fc1.mu_weight","spread":"fc1.rho_weight"},`, ""), "layer 0 has no weight", file, true},
		{"no mean", replace(`"mean":"fc1.mu_weight",`, ""), "layer 0 weight mean: the name of its tensor is missing", file, true},
		{"no layers", `{"layers":[]}`, "no layers: psafe import WEIGHTS --suggest", file, true},
		{"unknown key", replace(`"layout"`, `"colour"`), `unknown field "colour"; the keys of a map are scale`, file, true},
		{"key twice", replace(`"layout"`, `"layout":"in,out","layout"`), "comes twice", file, true},
		{"no JSON", "layers:", "invalid character", file, true},
		{"deep", strings.Repeat("[", 20), "line 1", file, true},
		{"whole numbers", replace("fc2.mu_bias", "steps"), `layer 1 bias mean: tensor "steps": type "I64"`, rawSafetensors(stateDict(), "steps"), false},
		{"four axes", stateMap, "only dense layers, of two axes", func() []byte {
			list := stateDict()
			list[0].shape, list[1].shape = []int{3, 2, 1, 1}, []int{3, 2, 1, 1}
			return rawSafetensors(list, "")
		}(), false},
		{"spread of another shape", stateMap, `layer 0 weight: mean "fc1.mu_weight" has shape [3 2], spread "fc1.rho_weight" has [2 3]`, shaped(1, 2, 3), false},
		{"bias of two axes", stateMap, "has shape [3 1]", shaped(2, 3, 1), false},
		{"not a chain", replace(`"mean":"fc2.mu_weight","spread":"fc2.rho_weight"`, `"mean":"fc2.mu_weight","spread":"fc2.rho_weight"`), "do not chain", func() []byte {
			list := stateDict()
			list[4], list[5] = raw{"fc2.mu_weight", []int{1, 2}, []float64{1, 2}}, raw{"fc2.rho_weight", []int{1, 2}, []float64{1, 2}}
			return rawSafetensors(list, "")
		}(), false},
		{"NaN", stateMap, "layer 0 weight: mean[0] is NaN", bad(0, math.NaN(), 1, 2, 3, 4, 5), false},
		{"NaN spread", stateMap, "layer 0 bias: standard deviation[2] is NaN (stored NaN): it must be finite and not negative; mend that entry", bad(3, 1, 2, math.NaN()), false},
		{"torch", stateMap, "torch checkpoints are not read: write it from Python by the file that psafe exporter prints", []byte("PK\x03\x04\x00\x00model/data.pkl"), false},
		{"HDF5", stateMap, "HDF5 files are not read: write it from Python by the file that psafe exporter prints", []byte("\x89HDF\r\n\x1a\n and so on"), false},
		{"text", stateMap, "neither a safetensors file nor a .npz", []byte("hello, world"), false},
		{"empty", stateMap, "neither a safetensors file nor a .npz", nil, false},
		{"cut off", stateMap, "", file[:len(file)-1], false},
		{"psafe's own", stateMap, "the file says itself what it holds", npz(t, goodMeta, goodArrays()), false},
		{"psafe's own tensors", stateMap, "the file says itself what it holds", tensors(safetensorsHeaderText(goodTensors), goodData()), false},
	} {
		_, path, mapPath, err := importBytes(t, c.file, c.text)
		if c.ofMap {
			path = mapPath
		}
		wantError(t, c.name, err, path, c.want)
	}
	_, err := Import(filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "no map"), "")
	if err == nil || !strings.Contains(err.Error(), "no map: cannot open") {
		t.Errorf("%v", err)
	}
	// Zeros that are not in the file are counted.
	wide := []raw{{"w", []int{0, 1 << 30}, nil}}
	_, path, _, err := importBytes(t, rawNPZ(wide, "<f4"), `{"layout":"in,out","layers":[{"activation":"identity","weight":{"mean":"w","scale":"none"}}]}`)
	wantError(t, "zeros", err, path, "in a file of")
}

func FuzzImport(f *testing.F) {
	f.Add(rawSafetensors(stateDict(), "steps"), []byte(stateMap))
	f.Add(rawSafetensors(stateDict(), ""), []byte(stateMap))
	f.Add(rawNPZ(stateDict(), "<f4"), []byte(stateMap))
	f.Add(rawNPZ([]raw{{"w", []int{0, 1 << 30}, nil}}, "<f4"), []byte(`{"layout":"in,out","layers":[{"activation":"identity","weight":{"mean":"w","scale":"none"}}]}`))
	f.Fuzz(func(t *testing.T, file, text []byte) {
		check := func(err error) {
			if err != nil && strings.ContainsAny((&oneLine{"x", err}).Error(), "\n\r") {
				t.Fatalf("error of several lines: %q", err)
			}
		}
		from, err := openTensors(held(file))
		check(err)
		if err != nil {
			return
		}
		suggested, _, err := suggest(from, nil)
		check(err)
		if err == nil {
			if _, err := parseMap(suggested); err != nil && len(suggested) < maxMap/2 {
				t.Fatalf("a suggestion cannot be read: %v\n%s", err, suggested)
			}
		}
		m, err := parseMap(text)
		check(err)
		if err != nil {
			return
		}
		n, err := m.contents(from)
		check(err)
		if err == nil {
			p, err := n.assemble(Options{})
			check(err)
			if err == nil && p.Weights() > 2*len(file) {
				t.Fatalf("%d weights from %d bytes", p.Weights(), len(file))
			}
		}
	})
}
