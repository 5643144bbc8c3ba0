package format

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// raw is an array of an object file.
type raw struct {
	name  string
	shape []int
	data  []float64
}

// kerasNormArch is a Keras Sequential of Conv2D(2, 1), BatchNormalization and GlobalAveragePooling2D, and Dense(1).
const kerasNormArch = `{"class_name":"Sequential","config":{"layers":[
 {"class_name":"InputLayer","config":{"batch_input_shape":[null,2,1,1],"name":"input"}},
 {"class_name":"Conv2D","config":{"name":"c","filters":2,"kernel_size":[1,1],"strides":[1,1],"padding":"valid","data_format":"channels_last","dilation_rate":[1,1],"groups":1,"activation":"linear","use_bias":false}},
 {"class_name":"BatchNormalization","config":{"name":"n","axis":[3],"epsilon":0.25,"center":true,"scale":true}},
 {"class_name":"ReLU","config":{"max_value":null,"negative_slope":0.0,"threshold":0.0}},{"class_name":"Dropout","config":{"rate":0.5}},
 {"class_name":"Flatten","config":{}},{"class_name":"Dense","config":{"units":1,"activation":"softmax","use_bias":false}}]}}`

func TestKerasNorm(t *testing.T) {
	mean := []raw{{"", []int{1, 1, 1, 2}, []float64{2, 3}}, {"", []int{2}, []float64{4, -1}}, {"", []int{2}, []float64{0.5, 0.25}}, {"", []int{2}, []float64{1, -2}}, {"", []int{2}, []float64{3.75, 0}},
		{"", []int{4, 1}, []float64{1, 100, 10, 1000}}}
	object := func(list []raw, scale float64) []byte {
		var arrays []string
		for i, r := range list {
			data := r.data
			if scale != 1 {
				data = make([]float64, len(r.data))
				for j := range data {
					data[j] = scale
				}
				if i == 3 || i == 4 {
					clear(data)
				}
			}
			arrays = append(arrays, pkFloats(data, r.shape...))
		}
		return objectFile(arrays...)
	}
	for scale, layers := range map[float64]int{0: 3, 0.5: 4} {
		dir := deepbayesDir(t, kerasNormArch, object(mean, 1), object(mean, scale))
		p, err := Read(dir, Options{Scale: posterior.ScaleSD})
		if err != nil {
			t.Fatal(err)
		}
		if y := p.LogitsApprox([]float64{1, -1}); len(p.Layers) != layers || math.Abs(y[0]-(2.5+2250)) > 1e-12 || p.Layers[layers-2].Activation.Kind != network.ReLU {
			t.Errorf("spread %v: logits %v, %+v", scale, y, p.Network())
		}
		reread(t, p)
		_, err = Read(dir, Options{Scale: posterior.ScaleSoftplus})
		wantError(t, "softplus", err, dir, "a spread of 0 is not certain under it")
	}
	for name, c := range map[string]struct {
		arch         string
		mean, spread []byte
	}{
		"mean.npy: layer 2 (\"n\") moving mean: array 3 of the list has shape [4 1]":  {kerasNormArch, object(append(append([]raw(nil), mean[:3]...), mean[5]), 1), object(mean, 0)},
		"its moving mean or variance has spreads that are not 0":                      {kerasNormArch, object(mean, 1), object(mean, 1)},
		"layer 1 (\"c\"): data_format \"channels_first\": only channels_last is read": {strings.Replace(kerasNormArch, "channels_last", "channels_first", 1), nil, nil},
		"axis 1 is not the last": {strings.Replace(kerasNormArch, `"axis":[3]`, `"axis":[1]`, 1), nil, nil},
		"ReLU with max_value":    {strings.Replace(kerasNormArch, `"max_value":null`, `"max_value":6`, 1), nil, nil},
		"layer 5 (\"\\x00\")":    {strings.Replace(kerasNormArch, `"class_name":"Flatten","config":{}`, `"class_name":"Add","config":{"name":"\u0000"}`, 1), nil, nil},
		"arch.json: the input shape is open beside the first axis": {strings.Replace(kerasNormArch, "[null,2,1,1]", "[null,null,1,1]", 1), nil, nil},
		"layer 6: it is dense and what feeds it is an image":       {strings.Replace(kerasNormArch, `"class_name":"Flatten"`, `"class_name":"Dropout"`, 1), nil, nil},
		"layer 5: Reshape layers are not supported":                {strings.Replace(kerasNormArch, `"class_name":"Flatten"`, `"class_name":"Reshape"`, 1), nil, nil},
	} {
		if c.mean == nil {
			c.mean, c.spread = object(mean, 1), object(mean, 0)
		}
		dir := deepbayesDir(t, c.arch, c.mean, c.spread)
		_, err := Read(dir, Options{Scale: posterior.ScaleSD})
		wantError(t, name, err, dir, name)
	}
}

// kerasGraph is x -> c -> relu -> p, c2 -> concat of both, add of twice -> dense.
const kerasGraph = `{"class_name":"Functional","config":{"name":"m","layers":[
 {"class_name":"InputLayer","name":"input","config":{"batch_input_shape":[null,4,4,1],"name":"input"},"inbound_nodes":[]},
 {"class_name":"Conv2D","name":"c","config":{"filters":2,"kernel_size":[2,2],"strides":[1,1],"padding":"same","activation":"relu","use_bias":true},"inbound_nodes":[[["input",0,0,{}]]]},
 {"class_name":"MaxPooling2D","name":"p","config":{"pool_size":[2,2],"padding":"valid","strides":[2,2]},"inbound_nodes":[[["c",0,0,{}]]]},
 {"class_name":"DepthwiseConv2D","name":"d","config":{"kernel_size":[2,2],"strides":[2,2],"padding":"valid","depth_multiplier":1,"activation":"tanh","use_bias":false},"inbound_nodes":[[["c",0,0,{}]]]},
 {"class_name":"Add","name":"s","config":{},"inbound_nodes":[[["p",0,0,{}],["d",0,0,{}]]]},
 {"class_name":"Concatenate","name":"k","config":{"axis":-1},"inbound_nodes":[[["s",0,0,{}],["p",0,0,{}]]]},
 {"class_name":"GlobalMaxPooling2D","name":"g","config":{},"inbound_nodes":[[["k",0,0,{}]]]},
 {"class_name":"Dense","name":"y","config":{"units":2,"activation":"linear","use_bias":true},"inbound_nodes":[[["g",0,0,{}]]]}],
 "input_layers":[["input",0,0]],"output_layers":[["y",0,0]]}}`

func TestKerasGraph(t *testing.T) {
	var arrays []string
	for i, shape := range [][]int{{2, 2, 1, 2}, {2}, {2, 2, 2, 1}, {4, 2}, {2}} {
		n := 1
		for _, d := range shape {
			n *= d
		}
		data := make([]float64, n)
		for j := range data {
			data[j] = float64((7*j+3*i)%5) / 4
		}
		arrays = append(arrays, pkFloats(data, shape...))
	}
	file := objectFile(arrays...)
	dir := deepbayesDir(t, kerasGraph, file, file)
	p, err := Read(dir, Options{Scale: posterior.ScaleSD})
	if err != nil {
		t.Fatal(err)
	}
	reread(t, p)
	// The same as a header.
	header := `{"format":"psafe-posterior","version":2,"scale":"sd","layout":"in,out","input_shape":[4,4,1],"layers":[{"name":"c","kind":"conv2d","kernel":[2,2],"filters":2,"padding":"same","activation":"relu"},
	 {"name":"p","kind":"max_pool","kernel":[2,2]},{"name":"d","from":["c"],"kind":"depthwise_conv2d","kernel":[2,2],"strides":[2,2],"activation":"tanh","bias":false},
	 {"name":"s","kind":"add","from":["p","d"]},{"kind":"concat","from":["s","p"]},{"kind":"global_max_pool"},{"kind":"dense","out":2}]}`
	m, err := parseMeta([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	list := headerArrays(rand.New(rand.NewPCG(1, 1)), m)
	for i, name := range []string{"0.weight", "0.bias", "2.weight", "6.weight", "6.bias"} {
		data := list["layers."+name+".mean"].Data
		for j := range data {
			data[j] = float64((7*j+3*i)%5) / 4
		}
	}
	x := make([]float64, 16)
	for i := range x {
		x[i] = float64(i*i%7) - 2
	}
	want := (&plainNet{m: m, arrays: list}).logits(x)
	for k, y := range p.LogitsApprox(x) {
		if math.Abs(y-want[k]) > 1e-12 {
			t.Errorf("logit %d is %v, want %v", k, y, want[k])
		}
	}
	for text, want := range map[string]string{
		strings.Replace(kerasGraph, `[["c",0,0,{}]]]},
 {"class_name":"Dep`, `[["c",0,0,{}]],[["c",1,0,{}]]]},
 {"class_name":"Dep`, 1): "it is used 2 times in the graph",
		strings.Replace(kerasGraph, `[["p",0,0,{}],["d",0,0,{}]]`, `[["p",0,0,{}],["y",0,0,{}]]`, 1): `is fed by "y", and no layer before it`,
		strings.Replace(kerasGraph, `"output_layers":[["y",0,0]]`, `"output_layers":[["g",0,0]]`, 1): `the output is layer "g" and not the last`,
		strings.Replace(kerasGraph, `"output_layers":[["y",0,0]]`, `"output_layers":[]`, 1):          "the model has 0 outputs",
		strings.Replace(kerasGraph, `"axis":-1`, `"axis":1`, 1):                                      "axis 1 is not the last",
		strings.Replace(kerasGraph, `[["input",0,0,{}]]`, `[["input",0,1,{}]]`, 1):                   "it takes output 1 of layer",
		strings.Replace(kerasGraph, `[[["input",0,0,{}]]]`, `[{"args":[]}]`, 1):                      "inbound_nodes is not as Keras 2 writes it",
	} {
		_, err := Read(deepbayesDir(t, text, file, file), Options{Scale: posterior.ScaleSD})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestKerasSamples: a directory of samples of a convolutional network; a batch norm of each has
// its own mean and variance.
func TestKerasSamples(t *testing.T) {
	sample := func(variance float64) []byte {
		return objectFile(pkFloats([]float64{2, 3}, 1, 1, 1, 2), pkFloats([]float64{4, -1}, 2), pkFloats([]float64{0.5, 0.25}, 2), pkFloats([]float64{1, -2}, 2),
			pkFloats([]float64{variance, 0}, 2), pkFloats([]float64{1, 100, 10, 1000}, 4, 1))
	}
	dir := hmcDir(t, map[string][]byte{"arch.json": []byte(kerasNormArch), "samples/sample_0.npy": sample(3.75), "samples/sample_1.npy": sample(0.75)})
	p, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// In the second, gain 4/1 and shift 0.5 - 4: 4.5 at x = 1.
	for i, want := range []float64{2.5 + 2250, 4.5 + 2250} {
		if y := p.Network().OutputsApprox(p.Finite().Weights(i), []float64{1, -1}); math.Abs(y[0]-want) > 1e-12 {
			t.Errorf("sample %d: %v, want %v", i, y, want)
		}
	}
	for ext, again := range rewritten(t, p) {
		if fmt.Sprint(again.Finite()) != fmt.Sprint(p.Finite()) || fmt.Sprint(again.Network()) != fmt.Sprint(p.Network()) {
			t.Errorf("%s: read again: %+v", ext, again)
		}
	}
	dir = hmcDir(t, map[string][]byte{"arch.json": []byte(kerasNormArch), "samples/sample_0.npy": sample(3.75), "samples/sample_1.npy": sample(-1)})
	_, err = Read(dir, Options{})
	wantError(t, "variance", err, dir, "samples/sample_1.npy: layer 2 (\"n\"): the moving variance of a batch norm is -1")
}
