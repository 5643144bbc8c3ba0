package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// listFile makes a .npy file of a list of numbers.
func listFile(t testing.TB, dtype string, values ...float64) []byte {
	t.Helper()
	file, err := npy.Encode(&npy.Array{Shape: []int{len(values)}, Data: values, DType: dtype})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// countsFile is freq.npy as NumPy writes it: int64.
func countsFile(t testing.TB, counts ...byte) []byte {
	t.Helper()
	var raw []byte
	for _, c := range counts {
		raw = append(raw, c, 0, 0, 0, 0, 0, 0, 0)
	}
	dict := fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }\n", len(counts))
	return append([]byte(npy.Magic+"\x01\x00"+string([]byte{byte(len(dict)), 0})+dict), raw...)
}

const hmcArch = kerasHead + `{"class_name":"Dense","config":{"units":3,"activation":"relu","use_bias":true}},` +
	`{"class_name":"Dense","config":{"units":1,"activation":"softmax","use_bias":true}}]}}`

// hmcFiles are those of a directory of two samples of a 2-3-1 network, with counts
// 1 and 3; the second is the first with other numbers.
func hmcFiles(t testing.TB) map[string][]byte {
	a := smallArrays()
	return map[string][]byte{
		"arch.json":            []byte(hmcArch),
		"freq.npy":             countsFile(t, 1, 3),
		"samples/sample_0.npy": objectFile(asTensors(a[:4])...),
		"samples/sample_1.npy": objectFile(asTensors(a[4:])...),
	}
}

// hmcDir writes files, some of them changed; nil leaves one out.
func hmcDir(t *testing.T, changes map[string][]byte) string {
	t.Helper()
	files := hmcFiles(t)
	for name, file := range changes {
		files[name] = file
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "samples"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		if file == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadHMC(t *testing.T) {
	for name, freq := range map[string][]byte{"int64": countsFile(t, 1, 3), "float64": listFile(t, "<f8", 1, 3), "uint8": listFile(t, "|u1", 1, 3)} {
		dir := hmcDir(t, map[string][]byte{"freq.npy": freq, "info.pkl": []byte("not read"), "mean.npy": []byte("not read"), "samples/.keep": {}})
		p, err := Read(dir, Options{Activations: []network.Activation{{Kind: network.ReLU}}})
		if err != nil {
			t.Fatal(err)
		}
		s := p.Finite()
		got := fmt.Sprint(p.Kind, s.Counts, s.Weights(0), " "+p.Source.Format+" ", p.Layers[0].Activation, p.Layers[1].Activation)
		if want := "samples [1 3] [[1 2 3 4 5 6] [-1 0 1] [7 8 9] [0.5]] deepbayes relu identity"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if w := s.Weights(1); w[0][5] != float64(float32(.6)) || w[3][0] != 2 || p.Layers[1].Bias.Mean[0] != (0.5+3*2)/4 {
			t.Errorf("%s: second sample %v, mean %v", name, w, p.Layers[1].Bias.Mean)
		}
	}
}

// TestReadHMCActiveEnd: of samples, too, an activation at the end is part of the network.
func TestReadHMCActiveEnd(t *testing.T) {
	p, err := Read(hmcDir(t, map[string][]byte{"arch.json": []byte(strings.Replace(hmcArch, "softmax", "sigmoid", 1))}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		got := fmt.Sprint(p.Finite().Weights(i)[4:], p.Layers[1].Activation, p.Layers[2].Activation, p.Finite().Counts)
		if want := "[[1] [0]] sigmoid identity [1 3]"; got != want {
			t.Errorf("sample %d: behind the last layer %s, want %s", i, got, want)
		}
	}
}

// The digest is that of what sha256sum prints, in the order of the samples.
func TestHMCDigest(t *testing.T) {
	changes := map[string][]byte{"freq.npy": countsFile(t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}
	names := []string{"arch.json", "freq.npy"}
	for i := range 11 {
		names = append(names, fmt.Sprintf("samples/sample_%d.npy", i))
		changes[names[i+2]] = objectFile(append(asTensors(smallArrays()[:3]), pkFloats([]float64{float64(i)}, 1))...)
	}
	files := hmcFiles(t)
	for name, file := range changes {
		files[name] = file
	}
	text := ""
	for _, name := range names {
		text += fmt.Sprintf("%x  %s\n", sha256.Sum256(files[name]), name)
	}
	p, err := Read(hmcDir(t, changes), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	if p.Source.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s of\n%s", p.Source.SHA256, text)
	}
	for i := range 11 {
		if got := p.Finite().Weights(i)[3][0]; got != float64(i) {
			t.Errorf("sample %d is that of number %v", i, got)
		}
	}
}

func TestReadHMCErrors(t *testing.T) {
	a := asTensors(smallArrays())
	good := objectFile(a[:4]...)
	one := func(name string, file []byte) map[string][]byte { return map[string][]byte{name: file} }
	sample := func(arrays ...string) map[string][]byte { return one("samples/sample_1.npy", objectFile(arrays...)) }
	tests := []struct {
		name    string
		changes map[string][]byte
		want    string
	}{
		{"no arch", one("arch.json", nil), "arch.json: cannot open: no such file"},
		{"conv", one("arch.json", []byte(kerasHead+`{"class_name":"Conv2D"}]}}`)), "arch.json: layer 1: activation \"\" is none of relu"},
		{"no counts", one("freq.npy", nil), "freq.npy: cannot open: no such file"},
		{"counts are objects", one("freq.npy", good), "freq.npy: array of Python objects"},
		{"counts cut off", one("freq.npy", countsFile(t, 1, 3)[:75]), "freq.npy: shape [2] needs more"},
		{"counts of 2^60", one("freq.npy", bytes.Replace(countsFile(t, 1, 3), []byte("(2,)"), []byte("(9223372036854775807,)"), 1)), "freq.npy: "},
		{"empty counts", one("freq.npy", listFile(t, "<f8")), "freq.npy: shape [0] where a list of counts is needed"},
		{"table of counts", one("freq.npy", bytes.Replace(countsFile(t, 1, 3), []byte("(2,), "), []byte("(1,2),"), 1)), "freq.npy: shape [1 2]"},
		{"count 0", one("freq.npy", countsFile(t, 1, 0)), "freq.npy: sample 1 has count 0: counts are whole numbers from 1; leave samples out"},
		{"count 0.25", one("freq.npy", listFile(t, "<f8", 0.75, 0.25)), "freq.npy: sample 0 has count 0.75"},
		{"count 1.5", one("freq.npy", listFile(t, "<f8", 1, 1.5)), "freq.npy: sample 1 has count 1.5"},
		{"too many", one("freq.npy", listFile(t, "<f8", 1<<52, 1<<53)), "counts up to sample 1 add up to more than 2^53"},
		{"sample missing", one("freq.npy", countsFile(t, 1, 3, 1)), "samples/sample_2.npy: cannot open: no such file"},
		{"sample not counted", one("samples/sample_2.npy", good), `"samples/sample_2.npy" is none of the 2 samples that freq.npy counts: take it away`},
		{"sample of odd name", one("samples/sample_01.npy", good), `"samples/sample_01.npy" is none of`},
		{"sample cut off", one("samples/sample_1.npy", good[:len(good)-5]), "samples/sample_1.npy: pickle"},
		{"sample of numbers", one("samples/sample_1.npy", listFile(t, "<f4", 1)), "samples/sample_1.npy: one array of numbers"},
		{"sample is a program", sample("cos\nsystem\n" + pkUnicode("true") + "\x85R"), `samples/sample_1.npy: pickle at byte`},
		{"odd arrays", sample(a[:3]...), "samples/sample_1.npy: 3 arrays where dense layers need pairs"},
		{"one layer", sample(a[0], a[1]), "samples/sample_1.npy: 1 dense layers, arch.json has 2"},
		{"units", sample(a[0], a[1], a[0], a[1]), "samples/sample_1.npy: arch.json gives layer 1 1 units, but its weight has the shape [2 3]"},
		{"bias", sample(a[0], a[3], a[2], a[3]), "samples/sample_1.npy: layer 0 bias has shape [1]"},
		{"NaN", sample(a[0], a[1], a[2], pkArray("numpy.core.multiarray", "f4", "<", pkBytes("\x00\x00\xc0\x7f"), 1)), "layer 1 bias: sample 1: entry 0 is NaN"},
	}
	for _, test := range tests {
		dir := hmcDir(t, test.changes)
		_, err := Read(dir, Options{})
		wantError(t, test.name, err, dir, test.want)
	}
	dir := hmcDir(t, nil)
	_, err := Read(dir, Options{Scale: posterior.ScaleSD})
	wantError(t, "scale", err, dir, "drop --scale sd")
	_, err = Read(dir, Options{Activations: []network.Activation{{Kind: network.Tanh}}})
	wantError(t, "activation", err, dir, "layer 0 has activation relu, the option says tanh")
}

// Samples whose inputs differ are not those of one network, where arch.json does
// not say how many there are.
func TestReadHMCInputs(t *testing.T) {
	a := asTensors(smallArrays())
	dir := hmcDir(t, map[string][]byte{
		"arch.json":            []byte(strings.Replace(hmcArch, "[null,1,2]", "[null,null]", 1)),
		"samples/sample_1.npy": objectFile(pkFloats([]float64{1, 2, 3}, 1, 3), a[1], a[2], a[3]),
	})
	_, err := Read(dir, Options{})
	wantError(t, "inputs", err, dir, "samples/sample_1.npy: layer 0 takes 1 inputs, in the first sample 2")
}

// An HMC directory becomes a psafe file and is read back the same.
func TestConvertHMC(t *testing.T) {
	p, err := Read(hmcDir(t, nil), Options{})
	convertHMC(t, must(t, p, err))
}

func convertHMC(t *testing.T, p *posterior.Posterior) {
	t.Helper()
	for ext, again := range rewritten(t, p) {
		if !reflect.DeepEqual(again.Layers, p.Layers) || !reflect.DeepEqual(again.Finite(), p.Finite()) {
			t.Errorf("%s of %s differs", ext, p.Source.Path)
		}
		if o := again.Source.Origin; o == nil || o.Format != "deepbayes" || o.SHA256 != p.Source.SHA256 {
			t.Errorf("%s: origin %+v", ext, o)
		}
	}
}

func FuzzHMC(f *testing.F) {
	files := hmcFiles(f)
	f.Add(files["arch.json"], files["freq.npy"], files["samples/sample_0.npy"])
	f.Add(files["arch.json"], listFile(f, "<f4", 1, 2), files["samples/sample_1.npy"])
	f.Fuzz(func(t *testing.T, arch, freq, sample []byte) {
		reads := 0
		n, err := parseHMC(func(name string, _ int64, use func(blob) error) error {
			switch name {
			case "arch.json":
				return use(held(arch))
			case "freq.npy":
				return use(held(freq))
			}
			if reads++; reads > 3 {
				return os.ErrNotExist
			}
			return use(held(sample))
		})
		if err == nil {
			_, err = n.assemble(Options{})
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
