package format

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// covarianceFile is a file of version 3: an image of 2 x 1 x 2 channels first, flattened into a dense
// layer of one output whose covariance has the word.
func covarianceFile(word string) *kindFile {
	f := &kindFile{`{"format":"psafe-posterior","version":3,"kind":"correlated","layout":"out,in","order":"channels_first","input_shape":[2,1,2],"layers":[` +
		`{"kind":"conv2d","kernel":[1,1],"filters":2,"activation":"relu"},{"kind":"flatten"},{"kind":"dense","out":1,"covariance":"` + word + `"}]}`, map[string]*npy.Array{
		"layers.0.weight.mean": single([]int{2, 2, 1, 1}, 1, 0, 0, 1), "layers.0.bias.mean": single([]int{2}, 0, 0),
		"layers.2.weight.mean": single([]int{1, 4}, 1, 2, 3, 4), "layers.2.bias.mean": single([]int{1}, 5),
	}}
	if word != covarianceKron {
		f.arrays["layers.2.covariance.factor"] = single([]int{5, 2}, 1, 10, 2, 20, 3, 30, 4, 40, 5, 50)
	} else {
		f.arrays["layers.2.covariance.QG"] = single([]int{1, 1}, 1)
		f.arrays["layers.2.covariance.sd"] = single([]int{1, 5}, 1, 2, 3, 4, 5)
		qa := make([]float64, 25)
		for i := range qa {
			qa[i] = float64(i)
		}
		f.arrays["layers.2.covariance.QA"] = single([]int{5, 5}, qa...)
	}
	return f
}

// TestReadCovariance: entries follow the weights where inputs are reordered, and what is written is read
// again as it was.
func TestReadCovariance(t *testing.T) {
	for word, want := range map[string]string{
		// (channel, place) becomes (place, channel): inputs 0 2 1 3, and the bias.
		covarianceFull: "[1 3 2 4] full 2 [1 10 3 30 2 20 4 40 5 50] [] [] []",
		covarianceRows: "[1 3 2 4] rows 2 [1 10 3 30 2 20 4 40 5 50] [] [] []",
		covarianceKron: "[1 3 2 4] kron 0 [] [1] [1 2 3 4 5] [0 1 2 3 4 10 11 12 13 14 5 6 7 8 9 15 16 17 18 19 20 21 22 23 24]",
	} {
		f := covarianceFile(word)
		p, _, err := readBytes(t, npz(t, f.meta, f.arrays), Options{})
		if err != nil {
			t.Fatal(err)
		}
		say := func(p *posterior.Posterior) string {
			last := len(p.Layers) - 1
			c := p.Covariances()[last]
			return fmt.Sprint(p.Layers[last].Weight.Mean, " ", c, c.Rank, c.Factor, c.QG, c.Sd, c.QA)
		}
		if got := say(p); got != want {
			t.Errorf("%s: got %s, want %s", word, got, want)
		}
		var out bytes.Buffer
		if err := WriteNPZ(&out, p); err != nil {
			t.Fatal(err)
		}
		again, _, err := readBytes(t, out.Bytes(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := say(again); got != want {
			t.Errorf("%s again: got %s, want %s", word, got, want)
		}
	}
}

// TestReadConvCovariance: of a convolution, inputs are what one filter has in the file, channels first or last, and
// become the taps of its window, channels last; what is written is read again as it was, also where it could be a
// batch norm.
func TestReadConvCovariance(t *testing.T) {
	for _, test := range []struct{ order, shape, weight, want string }{
		{"channels_first", "[2,1,2]", "[1 2 1 2]", "[1 3 2 4] [1 2 3 4 5] [0 1 2 3 4 10 11 12 13 14 5 6 7 8 9 15 16 17 18 19 20 21 22 23 24]"},
		{"channels_last", "[1,2,2]", "[1 2 2 1]", "[1 2 3 4] [1 2 3 4 5] [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24]"},
		{"channels_last", "[1,1,1]", "[1 1 1 1]", "[1] [1 2] [0 1 2 3]"},
	} {
		var h, w, c int
		shape := []int{1, 2, 1, 2}
		if test.order == "channels_last" {
			fmt.Sscanf(test.shape, "[%d,%d,%d]", &h, &w, &c)
			shape = []int{h, w, c, 1}
		}
		n := shape[0] * shape[1] * shape[2] * shape[3]
		count := func(from, n int) (list []float64) {
			for i := range n {
				list = append(list, float64(from+i))
			}
			return list
		}
		meta := fmt.Sprintf(`{"format":"psafe-posterior","version":3,"kind":"correlated","layout":"out,in","order":%q,"input_shape":%s,"layers":[`+
			`{"kind":"conv2d","kernel":[1,%d],"filters":1,"covariance":"kron"},{"kind":"flatten"},{"kind":"dense","out":1}]}`, test.order, test.shape, min(2, n))
		text := npz(t, meta, map[string]*npy.Array{
			"layers.0.weight.mean": single(shape, count(1, n)...), "layers.0.bias.mean": single([]int{1}, 9),
			"layers.0.covariance.QA": single([]int{n + 1, n + 1}, count(0, (n+1)*(n+1))...), "layers.0.covariance.QG": single([]int{1, 1}, 1),
			"layers.0.covariance.sd": single([]int{1, n + 1}, count(1, n+1)...),
			"layers.2.weight.mean":   single([]int{1, 1}, 1), "layers.2.bias.mean": single([]int{1}, 0),
		})
		for range 2 {
			p, _, err := readBytes(t, text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := p.Covariances()[0]
			if got := fmt.Sprint(p.Layers[0].Weight.Mean, c.Sd, c.QA); got != test.want {
				t.Errorf("%s: got %s, want %s", test.weight, got, test.want)
			}
			var out bytes.Buffer
			if err := WriteNPZ(&out, p); err != nil {
				t.Fatal(err)
			}
			text = out.Bytes()
		}
	}
}

// TestReadJoint: factors of all layers, which have one z, are read as such and written again; a layer without
// one is certain.
func TestReadJoint(t *testing.T) {
	file := func(meta string) ([]byte, map[string]*npy.Array) {
		arrays := map[string]*npy.Array{
			"layers.0.weight.mean": single([]int{1, 2}, 1, 2), "layers.0.bias.mean": single([]int{1}, 3),
			"layers.1.weight.mean": single([]int{1, 1}, 4), "layers.1.bias.mean": single([]int{1}, 5),
			"layers.0.covariance.factor": single([]int{3, 2}, 1, 10, 2, 20, 3, 30),
			"layers.1.covariance.factor": single([]int{2, 2}, 4, 40, 5, 50),
		}
		return npz(t, meta, arrays), arrays
	}
	const meta = `{"format":"psafe-posterior","version":3,"kind":"joint","layout":"out,in","layers":[` +
		`{"kind":"dense","in":2,"out":1,"activation":"relu","covariance":"full"},{"kind":"dense","out":1,"covariance":"full"}]}`
	text, _ := file(meta)
	for range 2 {
		p, _, err := readBytes(t, text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Kind, p.Joint()[0].Factor, p.Joint()[1].Factor, p.JointRank(), p.Covariances()); got != "joint [1 10 2 20 3 30] [4 40 5 50] 2 []" {
			t.Error(got)
		}
		var out bytes.Buffer
		if err := WriteNPZ(&out, p); err != nil {
			t.Fatal(err)
		}
		text = out.Bytes()
	}
	for want, changed := range map[string][2]string{
		`covariance "kron": of kind joint it is "full"`:  {`"covariance":"full"}]`, `"covariance":"kron"}]`},
		`covariance "rows": of kind joint it is "full"`:  {`"covariance":"full"}]`, `"covariance":"rows"}]`},
		`one of version 3, this is version 2`:            {`"version":3`, `"version":2`},
		`layer 1: covariance: full of 1 columns`:         {"", ""},
		`array "layers.1.covariance.factor" belongs to`:  {`"out":1,"covariance":"full"}]`, `"out":1}]`},
		`"covariance" does not belong to a posterior of`: {`"joint"`, `"gaussian","scale":"sd"`},
	} {
		meta := strings.Replace(meta, changed[0], changed[1], 1)
		text, arrays := file(meta)
		switch changed[0] {
		case "":
			arrays["layers.1.covariance.factor"] = single([]int{2, 1}, 4, 5)
			text = npz(t, meta, arrays)
		case `"version":3`:
			delete(arrays, "layers.0.covariance.factor")
			delete(arrays, "layers.1.covariance.factor")
			text = npz(t, strings.ReplaceAll(meta, `,"covariance":"full"`, ""), arrays)
		}
		if _, _, err := readBytes(t, text, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBadCovariance: what is no covariance, or not of this kind or version, is refused in one line.
func TestBadCovariance(t *testing.T) {
	for _, test := range []struct{ word, want, old, new, array string }{
		{covarianceFull, `"covariance" does not belong to a posterior of kind gaussian`, `"correlated"`, `"gaussian","scale":"sd"`, ""},
		{covarianceFull, `a posterior of kind correlated is one of version 3, this is version 2`, `"version":3,`, `"version":2,`, ""},
		{covarianceFull, `covariance "half" is none of "full", "rows" and "kron"`, `"covariance":"full"`, `"covariance":"half"`, ""},
		{covarianceFull, `array "layers.2.covariance.factor" belongs to none`, `,"covariance":"full"`, "", ""},
		{covarianceFull, `array "layers.2.covariance.QA" is missing`, `"full"`, `"kron"`, ""},
		{covarianceFull, `array "layers.2.covariance.factor" has shape [3 2], the header says [5 2]`, "", "", "layers.2.covariance.factor"},
		{covarianceKron, `array "layers.2.covariance.QA" has shape [3 2], the header says [5 5]`, "", "", "layers.2.covariance.QA"},
		{covarianceFull, `covariance "full" is for dense layers, this is a conv2d: of convolutions it is "kron"`, `"filters":2`, `"filters":2,"covariance":"full"`, ""},
		{covarianceFull, `for dense layers and convolutions without groups, this is a conv2d`, `"filters":2`, `"filters":2,"groups":2,"covariance":"kron"`, ""},
		{covarianceFull, `for dense layers and convolutions without groups, this is a batch_norm`, `"conv2d","kernel":[1,1],"filters":2`, `"batch_norm","covariance":"kron"`, ""},
		{covarianceFull, `array "layers.0.covariance.QA" is missing`, `"filters":2`, `"filters":2,"covariance":"kron"`, ""},
	} {
		f := covarianceFile(test.word)
		meta := strings.Replace(f.meta, test.old, test.new, 1)
		if test.want == `a posterior of kind correlated is one of version 3, this is version 2` {
			meta = strings.Replace(meta, `,"covariance":"full"`, "", 1)
			delete(f.arrays, "layers.2.covariance.factor")
		}
		if test.array != "" {
			f.arrays[test.array] = single([]int{3, 2}, 1, 2, 3, 4, 5, 6)
		}
		_, _, err := readBytes(t, npz(t, meta, f.arrays), Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	// Version 2 and 1 do not know the field.
	for _, version := range []string{`"version":1`, `"version":2`} {
		f := covarianceFile(covarianceFull)
		if _, _, err := readBytes(t, npz(t, strings.Replace(f.meta, `"version":3`, version, 1), f.arrays), Options{}); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
