package format

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// graphHeader is a header of version 2.
func graphHeader(head, layers string) string {
	return fmt.Sprintf(`{"format":"psafe-posterior","version":2,"scale":"sd","layout":"in,out",%s,"layers":[%s]}`, head, layers)
}

func TestGraphErrors(t *testing.T) {
	const image = `"input_shape":[6,6,2]`
	const conv = `{"name":"c","kind":"conv2d","kernel":[3,3],"filters":4}`
	const end = `,{"kind":"flatten"},{"kind":"dense","out":2}`
	for _, test := range []struct{ head, layers, want string }{
		{image, ``, "the file has no layers"},
		{image, `{"kind":"conv3d"}`, `layer 0: kind "conv3d" is not supported: the kinds are dense, conv2d`},
		{image, `{"kind":"dense","kernel":[1]}`, `layer 0: field "kernel" does not belong to a layer of kind dense`},
		{image, `{"kind":"flatten","bias":false}`, "layer 0: a layer of kind flatten has no arrays"},
		{image, `{"kind":"dense","out":-2}`, "layer 0: a number of inputs, outputs, filters or groups is below 0"},
		{image, conv + `,{"kind":"dense","out":2}`, "layer 1: it is dense and what feeds it is an image of 4x4x4: put a flatten in front"},
		{image, conv + `,{"kind":"flatten"},{"kind":"dense"}`, "layer 2: it does not say how many outputs it has"},
		{image, conv + `,{"kind":"flatten"},{"kind":"dense","in":65,"out":2}`, "layer 2: it takes 65 inputs, but what feeds it gives 64"},
		{image, `{"kind":"conv2d","filters":4}`, "layer 0: it does not say the size of its kernel"},
		{image, `{"kind":"conv2d","kernel":[3,3]}`, "layer 0: it does not say how many filters it has"},
		{image, `{"kind":"conv2d","kernel":[3],"filters":1}`, "layer 0: "},
		{image, `{"kind":"conv2d","kernel":[3,0],"filters":1}`, "kernel [3 0]: the numbers are from 1 to 2^20"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"strides":[1]}`, "strides [1]: give 2 numbers"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":"causal"}`, `padding "causal" is none of valid, same and pairs`},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":[[1,1]]}`, "padding [[1 1]]: give 2 pairs"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":[1,1]}`, "layer 0: padding: neither a word nor pairs"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":1}`, "layer 0: padding: neither a word nor pairs such as [[1, 1], [1, 1]], which PyTorch calls padding=1"},
		{image, conv + `,{"kind":"max_pool","kernel":2}` + end, `layer 1: field "kernel" holds a number, where it takes a list of whole numbers, such as [3, 3]`},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":"8"}`, `layer 0: field "filters" holds a string, where it takes a whole number`},
		{image, conv + `,{"kind":"flatten","bias":0}`, `layer 1: field "bias" holds a number, where it takes true or false`},
		{image, conv + `,{"kind":"flatten","from":"c"}`, `layer 1: field "from" holds a string, where it takes a list`},
		{image, conv + `,{"kind":"max_pool","kernel":[2,2],"stride":[2,2]}`, `layer 1: unknown field "stride"; did you mean "strides"?`},
		{`"input_shapes":[6,6,2]`, conv, `array __meta__: unknown field "input_shapes"; did you mean "input_shape"?`},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":[[1],[1,1]]}`, "layer 0: padding: [1] is no pair"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"padding":[[0,0],[-1,0]]}`, "padding -1 and 0"},
		{image, `{"kind":"conv2d","kernel":[7,3],"filters":1}`, "layer 0: height: a window that reaches over 7 does not fit 6"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":3,"groups":2}`, "cannot be shared by 2 groups"},
		{image, `{"kind":"conv2d","kernel":[1,1],"filters":1073741824}`, "layer 0: "},
		{image, `{"kind":"conv1d","kernel":[3],"filters":1}`, "shape [6 6 2], where a sequence has two axes"},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"order":"nchw"}`, `layer 0: order "nchw" is neither "channels_last" (Keras) nor "channels_first" (PyTorch)`},
		{image, `{"kind":"conv2d","kernel":[3,3],"filters":1,"input_shape":[6,6,3]}`, `"input_shape" [6 6 3] has 108 numbers, but what feeds it has 72`},
		{image, conv + `,{"kind":"max_pool","kernel":[2,2],"input_shape":[2,2,16]}`, `"input_shape" [2 2 16], but what feeds it is 4x4x4`},
		{image, `{"kind":"dense","out":8},{"kind":"conv2d","kernel":[1,1],"filters":1}`, `layer 1: what feeds it is a list of 8 numbers: say which image that is with "input_shape"`},
		{image, `{"name":"x","kind":"dense","out":2,"from":["y"]},{"name":"y","kind":"dense","out":2}`, `layer 0 ("x"): it is fed by "y", and no layer before it has that name`},
		{image, `{"name":"x","kind":"dense","out":2,"from":["x"]}`, `it is fed by "x", and no layer before it`},
		{image, `{"name":"x","kind":"dense","out":2},{"name":"x","kind":"dense","out":2}`, "layer 0 has that name too"},
		{image, `{"name":"input","kind":"dense","out":2}`, `the name "input" is that of the network's input`},
		{image, `{"kind":"dense","out":2,"from":[]}`, `"from" is empty`},
		{image, `{"name":"x","kind":"dense","out":2},{"kind":"dense","out":2,"from":["input"]}`, `layer 0 ("x"): no layer takes what it gives`},
		{image, conv + `,{"kind":"add"}`, `1 layers feed it: name two or more in "from"`},
		{image, conv + `,{"kind":"add","from":["c","input"]}`, "it is fed by images of 4x4x4 and 6x6x2, which do not fit"},
		{image, `{"kind":"flatten"}`, "it gives the network's input"},
		{image, `{"kind":"global_avg_pool"}`, "none of the 1 layers has weights"},
		{image, conv + `,{"kind":"max_pool","kernel":[2,2],"padding":[[2,0],[0,0]]}`, "may lie in the padding altogether"},
		{image, `{"kind":"reorder","take":[72]}`, `"take" has number 72, and what feeds it gives 72`},
		{image, conv + `,{"kind":"max_pool","kernel":[2,2],"activation":"swish"}` + end, "layer 1: activation \"swish\" is none of"},
		{image, conv + end + `,{"kind":"dropout"}`, `kind "dropout" is not supported`},
		{`"note":"x"`, conv + end, `layer 0 ("c"): the shape of the network's input is not known: say it with "input_shape"`},
		{`"input_shape":[6,0,2]`, conv + end, "input_shape [6 0 2] is empty"},
		{`"input_shape":[4000000000,4000000000,2]`, conv + end, "is empty or has more than 16777216 numbers"},
		{`"input_shape":[4096,4096]`, `{"kind":"reorder"},{"kind":"reorder"},{"kind":"reorder"},{"kind":"reorder"},{"kind":"reorder"},{"kind":"dense","out":1}`,
			"more than 67108864 units"},
		{`"input_shape":[4096,4096]`, `{"kind":"dense","out":16777216}`, "are none or more than"},
		{`"input_shape":[100,100]`, `{"kind":"conv2d","kernel":[1,1],"filters":1}`, "of such at most 4096 are read"},
		{image, conv + `,{"kind":"flatten","activation":"identity","units":3}`, `unknown field "units"`},
	} {
		_, path, err := readBytes(t, npz(t, graphHeader(test.head, test.layers), nil), Options{})
		wantError(t, test.head+" "+test.layers, err, path, test.want)
	}
}

// TestGraphArrays: arrays that are missing, left over or of another shape than the layers say.
func TestGraphArrays(t *testing.T) {
	header := graphHeader(`"input_shape":[6,6,2]`, `{"kind":"conv2d","kernel":[3,3],"filters":4,"activation":"relu"},{"kind":"global_max_pool"},{"kind":"batch_norm","weight_scale":"none"},{"kind":"dense","out":2,"bias":false}`)
	m, err := parseMeta([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(map[string]*npy.Array)
		opt    Options
		want   string
	}{
		{func(a map[string]*npy.Array) { delete(a, "layers.0.weight.mean") }, Options{}, `array "layers.0.weight.mean" is missing`},
		{func(a map[string]*npy.Array) { delete(a, "layers.2.bias.scale") }, Options{}, `array "layers.2.bias.scale" is missing`},
		{func(a map[string]*npy.Array) { a["layers.1.weight.mean"] = zeros([]int{1}) }, Options{}, `array "layers.1.weight.mean" belongs to none`},
		{func(a map[string]*npy.Array) { a["layers.2.weight.scale"] = zeros([]int{4}) }, Options{}, `array "layers.2.weight.scale" belongs to none`},
		{func(a map[string]*npy.Array) { a["layers.0.weight.mean"].Shape = []int{4, 2, 3, 3} }, Options{}, `array "layers.0.weight.mean" has shape [4 2 3 3], the header says [3 3 2 4]: see to "order", "input_shape", kernel, filters and groups`},
		{func(a map[string]*npy.Array) { a["layers.0.weight.scale"].Data[3] = -1 }, Options{}, "layer 0 weight: standard deviation[3] is -1"},
		{func(a map[string]*npy.Array) {}, Options{Scale: posterior.ScaleVariance}, "the file says its spread is sd"},
		{func(a map[string]*npy.Array) {}, reluSD, "drop --activation"},
		{func(a map[string]*npy.Array) {
			a["layers.0.weight.scale"].Data[3], a[spreadName] = -1, zeros([]int{3, 2})
		}, Options{}, "layer 0 weight: standard deviation[3] is -1"},
		{func(a map[string]*npy.Array) { a[spreadName] = zeros([]int{4, 2}) }, Options{}, `array "reference.spread" has shape [4 2], the header says [3 2]`},
	} {
		list := headerArrays(rand.New(rand.NewPCG(1, 2)), m)
		test.change(list)
		_, path, err := readBytes(t, npz(t, header, list), test.opt)
		wantError(t, test.want, err, path, test.want)
	}
}

// TestGraphKinds: sets of networks, SWAG and dropout of convolutions, and references.
func TestGraphKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	p := graphs(posterior.ScaleSD)["chain of images"]
	var spread, stack [][]float64
	for _, g := range p.Params() {
		spread, stack = append(spread, g.Spread), append(stack, append(append([]float64(nil), g.Mean...), g.Spread...))
	}
	samples, err := posterior.FromFinite(p.Layers, &posterior.Finite{Counts: []int64{2, 1}, Stack: stack})
	if err != nil {
		t.Fatal(err)
	}
	swag, err := posterior.FromSWAG(p.Layers, posterior.ScaleVariance, spread, 2, stack)
	if err != nil {
		t.Fatal(err)
	}
	dropout, err := posterior.FromDropout(p.Layers, []float64{0, 0, 0, 0, 0, 0.25})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 2*p.Inputs())
	for i := range x {
		x[i] = r.Float64()
	}
	p.Reference = &posterior.Reference{Inputs: x, Logits: append(p.LogitsApprox(x[:60]), p.LogitsApprox(x[60:])...)}
	first := graphs(posterior.ScaleSD)["channels first"]
	stack = nil
	for _, g := range first.Params() {
		stack = append(stack, append(append([]float64(nil), g.Mean...), g.Spread...))
	}
	turned, err := posterior.FromFinite(first.Layers, &posterior.Finite{Counts: []int64{2, 1}, Stack: stack})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*posterior.Posterior{p, samples, swag, dropout, turned} {
		for ext, again := range rewritten(t, p) {
			if fmt.Sprint(again.Network()) != fmt.Sprint(p.Network()) || fmt.Sprint(again.Mean()) != fmt.Sprint(p.Mean()) || again.Describe() != p.Describe() {
				t.Errorf("%v%s: read again: %+v", p.Kind, ext, again.Network())
			}
			if p.Finite() != nil && fmt.Sprint(again.Finite()) != fmt.Sprint(p.Finite()) || p.SWAG() != nil && fmt.Sprint(again.SWAG()) != fmt.Sprint(p.SWAG()) {
				t.Errorf("%v%s: read again: other numbers", p.Kind, ext)
			}
			if again.References() != p.References() {
				t.Errorf("%d references", again.References())
			}
		}
	}
	// A network that ends without a dense layer gets one, in each kind.
	for kind, head := range map[string]string{
		"samples": `"kind":"samples","counts":[1,2]`, "dropout": `"kind":"dropout"`, "swag": `"kind":"swag","rank":2,"scale":"log_sd"`, "gaussian": `"scale":"softplus"`,
	} {
		layer := `{"kind":"conv2d","kernel":[2,2],"filters":3}`
		if kind == "dropout" {
			layer = strings.Replace(layer, "}", `,"rate":0}`, 1)
		}
		header := fmt.Sprintf(`{"format":"psafe-posterior","version":2,"layout":"in,out","input_shape":[2,2,1],%s,"layers":[%s]}`, head, layer)
		m, err := parseMeta([]byte(header))
		if err != nil {
			t.Fatal(err)
		}
		of, _ := posterior.ParseKind(kind)
		list := map[string]*npy.Array{}
		for _, part := range parts(of) {
			list[part.array(0)] = zeros(part.shape(&m.Layers[0].parameters, 2, true))
			list[part.array(0)].Data[0] = 1
		}
		p, _, err := readBytes(t, npz(t, header, list), Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if y := p.Network().OutputsApprox(p.ReferenceNetwork(), []float64{3, 0, 0, 0}); fmt.Sprint(y) == "[0 0 0]" || len(p.Layers) != 2 || p.SDApprox()[2][0] != 0 {
			t.Errorf("%s: logits %v, %d layers, sd %v", kind, y, len(p.Layers), p.SDApprox()[2])
		}
		reread(t, p)
	}
}

func FuzzGraphHeader(f *testing.F) {
	for _, c := range plainCases {
		f.Add(graphHeader(c.head, c.layers))
	}
	f.Fuzz(func(t *testing.T, header string) {
		m, err := parseMeta([]byte(header))
		if err != nil {
			if text := (&oneLine{"x", err}).Error(); strings.ContainsAny(text, "\n\r") {
				t.Fatalf("error of several lines: %q", text)
			}
			return
		}
		if m.plan == nil {
			return
		}
		size := 0
		for _, l := range m.plan.Layers {
			if err := l.Map.Check(); err != nil {
				t.Fatalf("a map that is none: %v", err)
			}
			size += l.Map.Outputs()
		}
		if size > 1<<28 {
			t.Fatalf("%d units", size)
		}
		list := map[string]lazy{}
		if _, err := m.contents("psafe", list, int64(len(header))); err == nil {
			t.Fatal("no arrays, and no error")
		}
	})
}
