package format

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// plainCases are lists of layers, after an input of shape.
var plainCases = map[string]struct{ head, layers string }{
	"keras": {`"input_shape":[7,6,2]`, `{"kind":"conv2d","kernel":[3,2],"filters":4,"strides":[2,1],"padding":"same","activation":"relu"},{"kind":"max_pool","kernel":[2,2]},
		{"kind":"flatten"},{"kind":"dense","out":3}`},
	"torch": {`"order":"channels_first","input_shape":[2,7,6]`, `{"kind":"conv2d","kernel":[3,2],"filters":4,"padding":[[1,1],[1,0]],"activation":"tanh"},{"kind":"max_pool","kernel":[3,2],"strides":[2,2],"padding":[[1,1],[0,0]]},
		{"kind":"flatten"},{"kind":"dense","out":3}`},
	"a bias of its own": {`"input_shape":[6,6,2]`, `{"kind":"conv2d","kernel":[2,2],"filters":3,"bias":false,"activation":"relu"},{"kind":"batch_norm","activation":"leaky_relu:0.25"},
		{"kind":"avg_pool","kernel":[2,2],"padding":"same"},{"kind":"flatten"},{"kind":"dense","out":3,"bias":false}`},
	"groups": {`"input_shape":[5,5,4]`, `{"kind":"conv2d","kernel":[2,2],"filters":6,"groups":2,"dilation":[2,1]},{"kind":"conv2d","kernel":[1,1],"filters":3,"activation":"relu"},{"kind":"depthwise_conv2d","kernel":[2,2],"filters":6},
		{"kind":"global_avg_pool"},{"kind":"dense","out":2}`},
	"groups of torch": {`"order":"channels_first","input_shape":[4,5,5]`, `{"kind":"conv2d","kernel":[2,2],"filters":6,"groups":2,"dilation":[2,1]},{"kind":"depthwise_conv2d","kernel":[2,2],"filters":12,"activation":"relu"},{"kind":"depthwise_conv2d","kernel":[1,2]},
		{"kind":"global_max_pool"},{"kind":"dense","out":2}`},
	"sequence": {`"input_shape":[9,2]`, `{"kind":"conv1d","kernel":[3],"filters":4,"padding":"causal","dilation":[2],"activation":"relu"},{"kind":"max_pool","kernel":[2]},{"kind":"conv1d","kernel":[2],"filters":2,"padding":"same"},
		{"kind":"avg_pool","kernel":[3],"strides":[1],"padding":[[1,1]],"count_padding":true},{"kind":"flatten"},{"kind":"dense","out":2}`},
	"sequence of torch": {`"order":"channels_first","input_shape":[2,9]`, `{"kind":"conv1d","kernel":[3],"filters":4,"padding":[[1,0]],"activation":"relu"},{"kind":"max_pool","kernel":[2],"padding":[[1,0]]},
		{"kind":"flatten"},{"kind":"dense","out":2}`},
	"pools first": {`"order":"channels_first","input_shape":[3,6,4]`, `{"kind":"max_pool","kernel":[2,1]},{"kind":"activation","activation":"tanh"},{"kind":"max_pool","kernel":[1,2]},{"kind":"conv2d","kernel":[2,2],"filters":2},{"kind":"flatten"},
		{"kind":"batch_norm","activation":"relu"},{"kind":"dense","out":2}`},
	"activation first":                  {`"input_shape":[4,4,1]`, `{"kind":"activation","activation":"tanh"},{"kind":"max_pool","kernel":[2,2]},{"kind":"conv2d","kernel":[2,2],"filters":2},{"kind":"dense","out":2}`},
	"no dense layer at the end":         {`"input_shape":[5,5,2]`, `{"kind":"conv2d","kernel":[2,2],"filters":3,"activation":"relu"},{"kind":"conv2d","kernel":[1,1],"filters":4},{"kind":"global_avg_pool"}`},
	"list of channels first at the end": {`"order":"channels_first","input_shape":[2,3,3]`, `{"kind":"conv2d","kernel":[2,2],"filters":3},{"kind":"flatten"},{"kind":"reorder","take":[11,3,0,4]}`},
	"residual": {`"input_shape":[5,4,3]`, `{"name":"a","kind":"conv2d","kernel":[3,3],"filters":3,"padding":"same","activation":"relu"},{"name":"b","kind":"conv2d","kernel":[3,3],"filters":3,"padding":"same"},
		{"name":"sum","kind":"add","from":["b","a","input"],"activation":"relu"},{"name":"p","kind":"max_pool","kernel":[2,2],"strides":[1,1]},{"name":"q","from":["sum"],"kind":"avg_pool","kernel":[2,2],"strides":[1,1]},
		{"kind":"concat","from":["p","q","p"]},{"kind":"flatten"},{"kind":"dense","out":2}`},
	"residual of torch": {`"order":"channels_first","input_shape":[3,5,4]`, `{"name":"a","kind":"conv2d","kernel":[3,3],"filters":3,"padding":[[1,1],[1,1]],"activation":"relu"},{"name":"b","kind":"conv2d","kernel":[3,3],"filters":3,"padding":[[1,1],[1,1]]},
		{"name":"sum","kind":"add","from":["input","b","a"],"activation":"relu"},{"name":"p","kind":"max_pool","kernel":[5,4]},{"name":"f","kind":"flatten","from":["sum"]},{"name":"g","kind":"flatten","from":["a"]},{"name":"h","kind":"flatten","from":["p"]},
		{"name":"cat","kind":"concat","from":["f","g","h"],"activation":"tanh"},{"name":"d","kind":"dense","out":4,"from":["cat"]},{"name":"e","kind":"dense","out":4,"from":["f"]},{"kind":"dense","out":2,"from":["d","e"]}`},
	"twice":           {`"input_shape":[4,4,1]`, `{"name":"a","kind":"conv2d","kernel":[2,2],"filters":2},{"kind":"add","from":["a","a"],"activation":"relu"},{"kind":"flatten"},{"kind":"dense","out":2}`},
	"images of lists": {`"input_shape":[5]`, `{"kind":"dense","out":24,"activation":"relu"},{"kind":"conv2d","kernel":[2,2],"filters":2,"input_shape":[2,3,4],"order":"channels_first"},{"kind":"max_pool","kernel":[2,3]},{"kind":"dense","out":3}`},
}

// TestGraphsPlain compares what is read of a header with what the plain evaluator makes of it.
func TestGraphsPlain(t *testing.T) {
	for name, c := range plainCases {
		for _, layout := range []string{layoutIO, layoutOI} {
			r := rand.New(rand.NewPCG(7, 8))
			header := fmt.Sprintf(`{"format":"psafe-posterior","version":2,"scale":"sd","layout":%q,%s,"layers":[%s]}`, layout, c.head, c.layers)
			m, err := parseMeta([]byte(header))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			list := headerArrays(r, m)
			p, _, err := readBytes(t, npz(t, header, list), Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for range 3 {
				x := make([]float64, p.Inputs())
				for i := range x {
					x[i] = r.NormFloat64()
				}
				got, want := p.LogitsApprox(x), (&plainNet{m: m, arrays: list}).logits(x)
				if len(got) != len(want) {
					t.Fatalf("%s: %d logits, want %d", name, len(got), len(want))
				}
				for k := range want {
					if !(math.Abs(got[k]-want[k]) <= 1e-12*(1+math.Abs(want[k]))) {
						t.Errorf("%s, %s: logit %d is %v, want %v", name, layout, k, got[k], want[k])
					}
				}
			}
			reread(t, p)
			for ext, again := range rewritten(t, p) {
				if fmt.Sprint(again.Network()) != fmt.Sprint(p.Network()) {
					t.Errorf("%s%s: written and read again:\n%+v, want\n%+v", name, ext, again.Network(), p.Network())
				}
			}
		}
	}
}

// headerArrays draws the arrays that a header of version 2 speaks of.
func headerArrays(r *rand.Rand, m *meta) map[string]*npy.Array {
	list := map[string]*npy.Array{}
	for k := range m.Layers {
		l := &m.Layers[k]
		for _, part := range parts(posterior.KindGaussian) {
			if l.parameters.Weight == nil || l.lacks(part) {
				continue
			}
			a := zeros(part.shape(&l.parameters, 0, true))
			for i := range a.Data {
				a.Data[i] = r.NormFloat64()
				if part.name == "weight.scale" || part.name == "bias.scale" {
					a.Data[i] = r.ExpFloat64()
				}
			}
			list[part.array(k)] = a
		}
	}
	return list
}
