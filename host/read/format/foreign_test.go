package format

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// objectFile makes a .npy file of an object array.
func objectFile(items ...string) []byte {
	dict := fmt.Sprintf("{'descr': '|O', 'fortran_order': False, 'shape': (%d,), }\n", len(items))
	return []byte(npy.Magic + "\x01\x00" + string([]byte{byte(len(dict)), 0}) + dict + pickled(pkObjects(items...)))
}

// zipOf makes a zip of names and files in turn.
func zipOf(t *testing.T, pairs ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.Create(pairs[i].(string))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(pairs[i+1].([]byte)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// objectNPZ makes a .npz with an object array arr_0 and, before it, arr_1.
func objectNPZ(t *testing.T, items ...string) []byte {
	t.Helper()
	return zipOf(t, "arr_1.npy", numberFile(t), "arr_0.npy", objectFile(items...))
}

var reluSD = Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}}

// checkSmall says whether p is the network of smallArrays.
func checkSmall(t *testing.T, name string, p *posterior.Posterior, format string) {
	t.Helper()
	single := func(v float64) float64 { return float64(float32(v)) }
	if len(p.Layers) != 2 || p.Inputs() != 2 || p.Outputs() != 1 || p.Weights() != 13 || p.Source.Format != format || len(p.Source.SHA256) != 64 {
		t.Fatalf("%s: layers %+v, source %+v", name, p.Layers, p.Source)
	}
	one, two := p.Layers[0], p.Layers[1]
	got := fmt.Sprint(one.Weight.Mean, one.Bias.Mean, two.Weight.Mean, two.Bias.Mean, one.Activation, two.Activation)
	if want := "[1 2 3 4 5 6] [-1 0 1] [7 8 9] [0.5] relu identity"; got != want {
		t.Errorf("%s: got %s, want %s", name, got, want)
	}
	if one.Weight.SdLo[5] != single(.6) || one.Bias.SdHi[2] != 0 || two.Weight.Spread[1] != single(.8) || two.Bias.SdLo[0] != 2 {
		t.Errorf("%s: spreads %v %v %v %v", name, one.Weight.SdLo, one.Bias.SdHi, two.Weight.Spread, two.Bias.SdLo)
	}
}

func battenPickle(a []string) string {
	return pickled(pkList(pkList(pkList(a[0], a[1]), pkList(a[2], a[3])), pkList(pkList(a[4], a[5]), pkList(a[6], a[7]))))
}

func TestReadForeign(t *testing.T) {
	a := smallArrays()
	for _, test := range []struct {
		name, format string
		file         []byte
	}{
		{"list", "uai2020", []byte(pickled(pkList(a...)))},
		{"object array", "uai2020", []byte(pickled(pkObjects(a...)))},
		{"npz", "uai2020", objectNPZ(t, a...)},
		{"nested", "batten2024", []byte(battenPickle(a))},
	} {
		p, _, err := readBytes(t, test.file, reluSD)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		checkSmall(t, test.name, p, test.format)
	}
}

// TestReadExactForeign: of a file that does not say all, which no flag is for, the error says how to write one that does.
func TestReadExactForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.pkl")
	if err := os.WriteFile(path, []byte(pickled(pkList(smallArrays()...))), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadExact(path); err == nil || !strings.Contains(err.Error(), "add --scale") || !strings.HasSuffix(err.Error(), "to psafe convert, and name the file that it writes") {
		t.Error(err)
	}
}

func TestReadForeignErrors(t *testing.T) {
	a := smallArrays()
	changed := func(i int, array string) []byte {
		b := smallArrays()
		b[i] = array
		return []byte(pickled(pkList(b...)))
	}
	relu := network.Activation{Kind: network.ReLU}
	list := []byte(pickled(pkList(a...)))
	tests := []struct {
		name, want string
		file       []byte
		opt        Options
	}{
		{"no scale", "add --scale sd|variance|softplus", list, Options{Activations: reluSD.Activations}},
		{"no activation", "add --activation", list, Options{Scale: posterior.ScaleSD}},
		{"too many activations", "3 activations are given for 1 hidden", list, Options{Scale: posterior.ScaleSD, Activations: []network.Activation{relu, relu, relu}}},
		{"seven arrays", "7 arrays", []byte(pickled(pkList(a[:7]...))), reluSD},
		{"six arrays", "6 arrays", []byte(pickled(pkList(a[:6]...))), reluSD},
		{"empty list", "not a list of arrays", []byte(pickled("]")), reluSD},
		{"number", "not a list of arrays", []byte(pickled("K\x01")), reluSD},
		{"list of numbers", "entry 0 of the pickled list is not an array", []byte(pickled("](K\x01e")), reluSD},
		{"objects in objects", "array of Python objects", changed(3, pkObjects(a[3])), reluSD},
		{"complex numbers", `element type "<c8"`, changed(3, pkArray("numpy.core.multiarray", "c8", "<", pkBytes("abababab"), 1)), reluSD},
		{"bias shape", "layer 0 bias has shape [2]", changed(1, pkFloats([]float64{1, 2}, 2)), reluSD},
		{"spread shape", "layer 1 weight has shape [3 1] but its spread has [1 3]", changed(6, pkFloats([]float64{1, 2, 3}, 1, 3)), reluSD},
		{"bias spread shape", "layer 0 bias has shape [3] but", changed(5, pkFloats([]float64{1, 2, 3}, 1, 3)), reluSD},
		{"four axes", "a dense layer needs (in, out)", changed(0, pkFloats([]float64{1}, 1, 1, 1, 1)), reluSD},
		{"not a chain", "do not chain", []byte(pickled(pkList(a[0], a[1], a[0], a[1], a[4], a[5], a[4], a[5]))), reluSD},
		{"negative sd", "layer 1 bias: standard deviation[0] is -2", changed(7, pkFloats([]float64{-2}, 1)), reluSD},
		{"evil", "is refused", []byte(pickled("cposix\nsystem\n" + pkUnicode("true") + "\x85R")), reluSD},
		{"nested: layers differ", "2 arrays of means and 4 of spreads", []byte(pickled(pkList(pkList(pkList(a[0], a[1])), pkList(pkList(a[4], a[5]), pkList(a[6], a[7]))))), reluSD},
		{"nested: three arrays", "means of layer 0: 3 arrays", []byte(pickled(pkList(pkList(pkList(a[0], a[1], a[1])), pkList(pkList(a[4], a[5]))))), reluSD},
		{"nested: number", "spreads of layer 0", []byte(pickled(pkList(pkList(pkList(a[0], a[1])), pkList("K\x01")))), reluSD},
		{"npz: numbers", "object array", numericArr0(t), reluSD},
		{"npz: pickle cut off", "arr_0.npy", objectNPZ(t, a[0], "K"), reluSD},
		{"empty file", "empty", nil, reluSD},
		{"text", "not a posterior", []byte("hello, world"), reluSD},
		{"nnet", "make ONNX of it", []byte("// a network\n// of 2 layers\n2,2,1,4,\n2,4,1,\n"), reluSD},
		{"lone npy", "lone .npy", objectFile(a...), reluSD},
		{"HDF5", "HDF5", []byte("\x89HDF\r\n\x1a\n and so on"), reluSD},
		{"torch", "torch checkpoints are not read", []byte("PK\x03\x04\x00\x00model/data.pkl"), reluSD},
		{"old torch", "torch checkpoints are not read: write it from Python", []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), reluSD},
	}
	for _, test := range tests {
		_, path, err := readBytes(t, test.file, test.opt)
		wantError(t, test.name, err, path, test.want)
	}
	missing := filepath.Join(t.TempDir(), "none")
	_, err := Read(missing, reluSD)
	wantError(t, "no file", err, missing, "no such file")
}

func numericArr0(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := npy.WriteZip(&b, []npy.Named{{Name: "arr_0", Array: &npy.Array{Shape: []int{1}, Data: []float64{1}, DType: "<f4"}}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Options that repeat what the file says are fine, others are not.
func TestOptionsAgainstFile(t *testing.T) {
	var b bytes.Buffer
	if err := WriteNPZ(&b, random(posterior.ScaleVariance)); err != nil {
		t.Fatal(err)
	}
	tanh, relu := []network.Activation{{Kind: network.Tanh}}, []network.Activation{{Kind: network.ReLU}}
	for _, test := range []struct {
		opt  Options
		want string
	}{
		{Options{}, ""},
		{Options{Scale: posterior.ScaleVariance, Activations: tanh}, ""},
		{Options{Scale: posterior.ScaleSD}, "the file says its spread is variance, the option says sd"},
		{Options{Activations: relu}, "the file says layer 0 has activation tanh, the option says relu"},
	} {
		_, path, err := readBytes(t, b.Bytes(), test.opt)
		if test.want != "" {
			wantError(t, fmt.Sprint(test.opt), err, path, test.want)
		} else if err != nil {
			t.Errorf("%v: %v", test.opt, err)
		}
	}
}

const kerasHead = `{"class_name":"Sequential","config":{"layers":[{"class_name":"InputLayer","config":{"batch_input_shape":[null,1,2]}},`

func kerasDenseText(units int, activation string) string {
	return fmt.Sprintf(`{"class_name":"Dense","config":{"units":%d,"activation":%q,"use_bias":true}}`, units, activation)
}

// deepbayesDir writes a directory; a nil file is left out.
func deepbayesDir(t *testing.T, arch string, mean, spread []byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, file := range map[string][]byte{"arch.json": []byte(arch), "mean.npy": mean, "var.npy": spread} {
		if file == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asTensors wraps pickled arrays as deepbayes does.
func asTensors(arrays []string) []string {
	var list []string
	for _, a := range arrays {
		list = append(list, "ctensorflow.python.framework.ops\nconvert_to_tensor\n"+a+"\x85R")
	}
	return list
}

func TestReadDeepbayes(t *testing.T) {
	a := asTensors(smallArrays())
	arch := kerasHead + kerasDenseText(3, "relu") + "," + kerasDenseText(1, "softmax") + "]}}"
	dir := deepbayesDir(t, "\xef\xbb\xbf"+arch, objectFile(a[:4]...), objectFile(a[4:]...))
	for _, opt := range []Options{{Scale: posterior.ScaleSD}, reluSD} {
		p, err := Read(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		checkSmall(t, "deepbayes", p, "deepbayes")
	}
	for _, test := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "add --scale sd|variance|softplus"},
		{Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.Tanh}}}, "layer 0 has activation relu, the option says tanh"},
	} {
		_, err := Read(dir, test.opt)
		wantError(t, fmt.Sprint(test.opt), err, dir, test.want)
	}
}

// TestReadDeepbayesActiveEnd: an activation at the end is part of the network.
func TestReadDeepbayesActiveEnd(t *testing.T) {
	a := asTensors(smallArrays())
	x := []float64{0.5, -0.25}
	at := func(word string) *posterior.Posterior {
		p, err := Read(deepbayesDir(t, kerasHead+kerasDenseText(3, "relu")+","+kerasDenseText(1, word)+"]}}", objectFile(a[:4]...), objectFile(a[4:]...)), Options{Scale: posterior.ScaleSD})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain, tanh := at("linear"), at("tanh")
	if got, want := tanh.LogitsApprox(x)[0], math.Tanh(plain.LogitsApprox(x)[0]); math.Abs(got-want) > 1e-9 {
		t.Errorf("output %v, want %v", got, want)
	}
	if tanh.Random() != plain.Random() || len(tanh.Layers) != len(plain.Layers)+1 {
		t.Errorf("%d of %d layers random, %d of %d without", tanh.Random(), len(tanh.Layers), plain.Random(), len(plain.Layers))
	}
}

func TestReadDeepbayesErrors(t *testing.T) {
	a := asTensors(smallArrays())
	mean, spread := objectFile(a[:4]...), objectFile(a[4:]...)
	dense := func(layers ...string) string { return kerasHead + strings.Join(layers, ",") + "]}}" }
	good := dense(kerasDenseText(3, "relu"), kerasDenseText(1, "softmax"))
	conv := `{"class_name":"Conv2D","config":{"filters":1,"activation":"relu"}}`
	tests := []struct {
		name, want, arch string
		mean, spread     []byte
	}{
		{"conv", "arch.json: layer 1: it does not say the size of its kernel", dense(conv, kerasDenseText(1, "softmax")), mean, spread},
		{"flatten", "arch.json: layer 1: it gives the network's input", dense(`{"class_name":"Flatten","config":{}}`), mean, spread},
		{"LSTM", "arch.json: layer 1: LSTM layers are not supported", dense(`{"class_name":"LSTM","config":{}}`), mean, spread},
		{"odd name", "layers are not supported", dense(`{"class_name":"a\nb","config":{}}`), mean, spread},
		{"no bias", "mean.npy: layer 2 weight: array 1 of the list has shape [3]", strings.Replace(good, "true", "false", 1), mean, spread},
		{"softmax inside", `activation "softmax"`, dense(kerasDenseText(3, "softmax"), kerasDenseText(1, "linear")), mean, spread},
		{"swish at the end", `activation "swish" is none of relu`, dense(kerasDenseText(3, "relu"), kerasDenseText(1, "swish")), mean, spread},
		{"functional model", "inbound_nodes is not as Keras 2 writes it", strings.Replace(good, "Sequential", "Functional", 1), mean, spread},
		{"no JSON", "arch.json", "{", mean, spread},
		{"one layer", "arch.json has 1 dense layers, mean.npy has 2", dense(kerasDenseText(3, "linear")), mean, spread},
		{"units", "gives layer 0 4 units", strings.Replace(good, `"units":3`, `"units":4`, 1), mean, spread},
		{"inputs", "its weight has the shape [2 3]", strings.Replace(good, "[null,1,2]", "[null,1,5]", 1), mean, spread},
		{"no mean", "mean.npy: cannot open: no such file", good, nil, spread},
		{"no var", "var.npy: cannot open: no such file", good, mean, nil},
		{"mean cut off", "mean.npy: pickle", good, mean[:len(mean)-9], spread},
		{"var of numbers", "var.npy: one array of numbers", good, mean, numberFile(t)},
		{"var has fewer", "4 arrays of means and 2 of spreads", good, mean, objectFile(a[4:6]...)},
	}
	for _, test := range tests {
		dir := deepbayesDir(t, test.arch, test.mean, test.spread)
		_, err := Read(dir, Options{Scale: posterior.ScaleSD})
		wantError(t, test.name, err, dir, test.want)
	}
}

func numberFile(t *testing.T) []byte {
	t.Helper()
	file, err := npy.Encode(&npy.Array{Shape: []int{1}, Data: []float64{1}, DType: "<f4"})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func FuzzDeepbayes(f *testing.F) {
	a := asTensors(smallArrays())
	arch := kerasHead + kerasDenseText(3, "relu") + "," + kerasDenseText(1, "softmax") + "]}}"
	f.Add([]byte(arch), objectFile(a[:4]...), objectFile(a[4:]...))
	f.Add([]byte(`{"class_name":"Sequential","config":{"layers":[{"class_name":"Dense","config":{}}]}}`), objectFile(a[0], a[1]), objectFile(a[0], a[1]))
	f.Add([]byte(kerasGraph), objectFile(a...), objectFile(a...))
	f.Add([]byte(kerasNormArch), objectFile(a...), objectFile(a...))
	f.Add([]byte(strings.Replace(kerasGraph, `,"inbound_nodes":[[["input",0,0,{}]]]`, "", 1)), objectFile(a[0], a[1]), objectFile(a[0], a[1]))
	f.Fuzz(func(t *testing.T, arch, mean, spread []byte) {
		files := map[string][]byte{"arch.json": arch, "mean.npy": mean, "var.npy": spread}
		n, err := parseDeepbayes(func(name string, limit int64, use func(blob) error) error {
			if int64(len(files[name])) > limit {
				return os.ErrNotExist
			}
			return use(held(files[name]))
		})
		if err == nil {
			var p *posterior.Posterior
			if p, err = n.assemble(Options{Scale: posterior.ScaleSoftplus}); err == nil && int64(p.Weights())-2*n.unitNumbers() > int64(2*len(mean)) {
				t.Fatalf("%d weights from %d bytes", p.Weights(), len(mean))
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Fatalf("error of several lines: %q", err)
		}
	})
}
