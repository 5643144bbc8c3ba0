package format

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/audit"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

var relu, tanh = network.Activation{Kind: network.ReLU}, network.Activation{Kind: network.Tanh}

// trained is a posterior of dense layers of these widths.
func trained(a network.Activation, widths ...int) *posterior.Posterior {
	r := rand.New(rand.NewPCG(7, uint64(len(widths))))
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for k, out := range widths[1:] {
		in := widths[k]
		draw := func(n int, size float64) (mean, sd []float64) {
			for range n {
				mean = append(mean, float64(float32(size*r.NormFloat64())))
				sd = append(sd, float64(float32(0.01+0.04*r.Float64())))
			}
			return mean, sd
		}
		w, sw := draw(in*out, 1.4/math.Sqrt(float64(in)))
		b, sb := draw(out, 0.3)
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.DenseLayer(in, out, a), Weight: posterior.NewParams(w, sw, p.Scale), Bias: posterior.NewParams(b, sb, p.Scale)})
	}
	p.Layers[len(p.Layers)-1].Activation = network.Activation{}
	return p
}

// framework evaluates the network of weights as a program in float32 does.
func framework(p *posterior.Posterior, weights [][]float64, x []float64) []float64 {
	z := x
	for k, l := range p.Layers {
		in, out := l.Inputs(), l.Outputs()
		y := make([]float64, out)
		for i := range y {
			sum := float32(weights[2*k+1][i])
			for j := range in {
				sum += float32(z[j]) * float32(weights[2*k][j*out+i])
			}
			y[i] = float64(float32(l.Activation.Approx(float64(sum))))
		}
		z = y
	}
	return z
}

// refer gives p n references, whose logits are made of raw inputs x by logits.
func refer(p *posterior.Posterior, n int, logits func(x []float64) []float64) {
	r := rand.New(rand.NewPCG(3, 3))
	p.Reference = &posterior.Reference{}
	for range n {
		x := make([]float64, p.Inputs())
		for j := range x {
			x[j] = float64(float32(r.Float64()))
		}
		p.Reference.Logits = append(p.Reference.Logits, logits(x)...)
		p.Reference.Inputs = append(p.Reference.Inputs, x...)
	}
}

// means are the mean standard deviations, as a framework says.
func spreadMeans(p *posterior.Posterior) []float64 {
	var list []float64
	for _, g := range p.Params() {
		sum := 0.0
		for _, sd := range g.SdHi {
			sum += sd
		}
		list = append(list, float64(float32(sum/float64(len(g.SdHi)))))
	}
	return list
}

// restated is p with other numbers stored for the same standard deviations.
func restated(p *posterior.Posterior, scale posterior.Scale, stored func(sd float64) float64) {
	p.Scale = scale
	for _, g := range p.Params() {
		spread := slices.Clone(g.SdHi)
		for j, sd := range spread {
			spread[j] = stored(sd)
		}
		*g = posterior.NewParams(g.Mean, spread, scale)
	}
}

func turn(p *posterior.Posterior, k int) {
	n := p.Layers[k].Inputs()
	w := slices.Clone(p.Layers[k].Weight.Mean)
	for e, v := range w {
		p.Layers[k].Weight.Mean[e%n*n+e/n] = v
	}
}

func affine(a, b float64) func(x []float64) []float64 {
	return func(x []float64) []float64 {
		var z []float64
		for _, v := range x {
			z = append(z, float64(float32(a)*float32(v)+float32(b)))
		}
		return z
	}
}

// flattened gives the entries of an image in another order of its axes.
func flattened(x []float64, shape, axes [3]int) []float64 {
	var z []float64
	var at [3]int
	for at[axes[0]] = 0; at[axes[0]] < shape[axes[0]]; at[axes[0]]++ {
		for at[axes[1]] = 0; at[axes[1]] < shape[axes[1]]; at[axes[1]]++ {
			for at[axes[2]] = 0; at[axes[2]] < shape[axes[2]]; at[axes[2]]++ {
				z = append(z, x[(at[0]*shape[1]+at[1])*shape[2]+at[2]])
			}
		}
	}
	return z
}

// mistakes are files of references, and what each looks like; empty if it is as it should be.
var mistakes = []struct {
	name, want string
	make       func() *posterior.Posterior
}{
	{"as it should be", "", func() *posterior.Posterior { return sane(relu, 4, 16, 16, 3) }},
	{"wide and deep", "", func() *posterior.Posterior { return sane(tanh, 784, 64, 64, 64, 64, 10) }},
	{"a regression", "", func() *posterior.Posterior { return sane(relu, 1, 32, 1) }},
	{"square layer", "layer 1 looks transposed: turn its weights", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 16, 3)
		turn(p, 1)
		return p
	}},
	{"4-4-4", "layers 0, 1 look transposed", func() *posterior.Posterior {
		p := sane(relu, 4, 4, 4)
		turn(p, 0)
		turn(p, 1)
		return p
	}},
	{"one of 4-4-4-4", "layer 1 looks transposed", func() *posterior.Posterior {
		p := sane(tanh, 4, 4, 4, 4)
		turn(p, 1)
		return p
	}},
	{"activation", "the hidden layers look as if their activation were tanh, not relu", func() *posterior.Posterior {
		p := sane(tanh, 4, 16, 8, 3)
		p.Layers[0].Activation, p.Layers[1].Activation = relu, relu
		return p
	}},
	{"activation of one layer", "layer 1 looks as if its activation were tanh, not sigmoid", func() *posterior.Posterior {
		p := sane(tanh, 4, 16, 8, 3)
		p.Layers[1].Activation = network.Activation{Kind: network.Sigmoid}
		return p
	}},
	{"leaky relu", "their activation were leaky_relu:0.01, not relu", func() *posterior.Posterior {
		p := sane(network.Activation{Kind: network.LeakyReLU, Slope: 0.01}, 4, 16, 3)
		p.Layers[0].Activation = relu
		return p
	}},
	{"transposed, and another activation", "looks transposed: turn its weights, or see to \"layout\"; and the hidden layers look as if their activation were tanh", func() *posterior.Posterior {
		p := sane(tanh, 4, 16, 16, 3)
		p.Layers[0].Activation, p.Layers[1].Activation = relu, relu
		turn(p, 1)
		return p
	}},
	{"MNIST's normalisation forgotten", "(x - 0.1307)/0.3081 as for MNIST: write input.mean and input.std", func() *posterior.Posterior {
		return through(affine(1/0.3081, -0.1307/0.3081), 49, 16, 10)
	}},
	{"255 forgotten", "pixels 0..255 were divided by 255: write input.std 255", func() *posterior.Posterior {
		p := trained(relu, 49, 16, 10)
		refer(p, 9, func(x []float64) []float64 {
			for j := range x {
				x[j] = math.Floor(255 * x[j])
			}
			return framework(p, p.Mean(), affine(1./255, 0)(x))
		})
		return p
	}},
	{"a normalisation nobody knows", "about (x - 0.2", func() *posterior.Posterior { return through(affine(1/0.7, -0.2/0.7), 49, 16, 10) }},
	{"ImageNet's normalisation forgotten", "[0.485 0.456 0.406])/[0.229 0.224 0.225] as for ImageNet", func() *posterior.Posterior {
		p := trained(relu, 3*16, 16, 10)
		p.Input.Shape = []int{3, 4, 4}
		refer(p, 9, func(x []float64) []float64 {
			z := slices.Clone(x)
			for j := range z {
				z[j] = float64(float32((z[j] - []float64{0.485, 0.456, 0.406}[j/16]) / []float64{0.229, 0.224, 0.225}[j/16]))
			}
			return framework(p, p.Mean(), z)
		})
		return p
	}},
	{"normalised already", "reference.inputs look normalised already", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		p.Input.Mean, p.Input.Std = []float64{0.5}, []float64{0.25}
		return p
	}},
	{"normalised twice", "the framework normalised twice", func() *posterior.Posterior {
		p := through(func(x []float64) []float64 { return affine(4, -2)(affine(4, -2)(x)) }, 4, 16, 3)
		p.Input.Mean, p.Input.Std = []float64{0.5}, []float64{0.25}
		return p
	}},
	{"variance of inputs", "input.std looks like a variance", func() *posterior.Posterior {
		p := through(affine(4, -2), 4, 16, 3)
		p.Input.Mean, p.Input.Std = []float64{0.5, 0.5, 0.5, 0.5}, []float64{0.0625, 0.0625, 0.0625, 0.0625}
		return p
	}},
	{"normalised as the file says", "", func() *posterior.Posterior {
		p := through(affine(4, -2), 4, 16, 3)
		p.Input.Mean, p.Input.Std = []float64{0.5}, []float64{0.25}
		return p
	}},
	{"NCHW for NHWC", "flattened channels last (NHWC), reference.inputs are [3 4 5], channels first (NCHW)", func() *posterior.Posterior {
		return images([]int{3, 4, 5}, func(x []float64) []float64 { return flattened(x, [3]int{3, 4, 5}, [3]int{1, 2, 0}) })
	}},
	{"NHWC for NCHW", "flattened channels first (NCHW), reference.inputs are [4 5 3], channels last (NHWC)", func() *posterior.Posterior {
		return images([]int{4, 5, 3}, func(x []float64) []float64 { return flattened(x, [3]int{4, 5, 3}, [3]int{2, 0, 1}) })
	}},
	{"NCHW for NHWC, no shape", "flattened channels last (NHWC)", func() *posterior.Posterior {
		p := images([]int{3, 4, 4}, func(x []float64) []float64 { return flattened(x, [3]int{3, 4, 4}, [3]int{1, 2, 0}) })
		p.Input.Shape = nil
		return p
	}},
	{"rows for columns", "inputs of shape [1 6 6] flattened with their axes in the order [0 2 1]; write the rows of layer 0 in the order of reference.inputs", func() *posterior.Posterior {
		return images([]int{1, 6, 6}, func(x []float64) []float64 { return flattened(x, [3]int{1, 6, 6}, [3]int{0, 2, 1}) })
	}},
	{"softmax", "a softmax was applied", func() *posterior.Posterior {
		p := trained(relu, 4, 16, 3)
		refer(p, 9, func(x []float64) []float64 {
			y := framework(p, p.Mean(), x)
			sum := 0.0
			for i := range y {
				y[i] = math.Exp(y[i])
				sum += y[i]
			}
			for i := range y {
				y[i] = float64(float32(y[i] / sum))
			}
			return y
		})
		return p
	}},
	{"log_softmax", "a log_softmax was applied", func() *posterior.Posterior {
		p := trained(relu, 4, 16, 3)
		refer(p, 9, func(x []float64) []float64 {
			y := framework(p, p.Mean(), x)
			sum := 0.0
			for i := range y {
				sum += math.Exp(y[i])
			}
			for i := range y {
				y[i] = float64(float32(y[i] - math.Log(sum)))
			}
			return y
		})
		return p
	}},
	{"order of outputs", "reference.logits have outputs 2, 0, 1 of the file", func() *posterior.Posterior {
		p := trained(relu, 4, 16, 3)
		refer(p, 9, func(x []float64) []float64 {
			y := framework(p, p.Mean(), x)
			return []float64{y[2], y[0], y[1]}
		})
		return p
	}},
	{"bias that the framework has not", "used no biases", func() *posterior.Posterior {
		p := trained(relu, 4, 16, 3)
		refer(p, 9, func(x []float64) []float64 {
			w := slices.Clone(p.Mean())
			w[1], w[3] = make([]float64, 16), make([]float64, 3)
			return framework(p, w, x)
		})
		return p
	}},
	{"bias that the file has not", "the bias of the last layer looks wrong or missing", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		p.Reference.Spread[3] = math.NaN()
		p.Layers[1].Bias = posterior.NewParams(make([]float64, 3), make([]float64, 3), p.Scale)
		return p
	}},
	{"layers swapped", "layers 1 and 2 look swapped", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 16, 16, 3)
		p.Layers[1], p.Layers[2] = p.Layers[2], p.Layers[1]
		return p
	}},
	{"rows of logits shifted", "row i of reference.logits looks like that of row i+1 of reference.inputs", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		y := p.Reference.Logits
		p.Reference.Logits = append(slices.Clone(y[3:]), y[:3]...)
		return p
	}},
	{"rows of logits in another order", "in another order", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		y := p.Reference.Logits
		for i := 0; i < 4; i++ {
			for k := range 3 {
				y[3*i+k], y[3*(8-i)+k] = y[3*(8-i)+k], y[3*i+k]
			}
		}
		return p
	}},
	{"hidden bias that the file has not", "layer 0 has no bias here, or zeros", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		p.Reference.Spread[1] = math.NaN()
		p.Layers[0].Bias = posterior.NewParams(make([]float64, 16), make([]float64, 16), p.Scale)
		return p
	}},
	{"another network", "none of the usual mistakes explains it", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 16, 3)
		for j := range p.Layers[1].Weight.Mean {
			p.Layers[1].Weight.Mean[j] *= 1 + 0.1*math.Sin(float64(j))
		}
		return p
	}},
	{"one weight wrong", "none of the usual mistakes explains it", func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		p.Layers[0].Weight.Mean[5] *= 1.02
		return p
	}},
	{"variance for sd", `sigma looks like a variance: write scale "variance"`, func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		restated(p, posterior.ScaleSD, func(sd float64) float64 { return sd * sd })
		return p
	}},
	{"sd for variance", `sigma looks like a standard deviation: write scale "sd"`, func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		restated(p, posterior.ScaleVariance, func(sd float64) float64 { return sd })
		return p
	}},
	{"rho for sd", `standard deviation[0] is -`, func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		restated(p, posterior.ScaleSD, func(sd float64) float64 { return math.Log(math.Expm1(sd)) })
		return p
	}},
	{"log sd for softplus", `sigma looks like log sd: write scale "log_sd"`, func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		restated(p, posterior.ScaleSoftplus, math.Log)
		return p
	}},
	{"precision for sd", `sigma looks like a precision`, func() *posterior.Posterior {
		p := sane(relu, 4, 16, 3)
		restated(p, posterior.ScaleSD, func(sd float64) float64 { return 1 / (sd * sd) })
		return p
	}},
}

// sane is a trained network with references of its own.
func sane(a network.Activation, widths ...int) *posterior.Posterior {
	p := trained(a, widths...)
	refer(p, 9, func(x []float64) []float64 { return framework(p, p.Mean(), x) })
	p.Reference.Spread = spreadMeans(p)
	return p
}

// through is one whose framework takes inputs through f.
func through(f func([]float64) []float64, widths ...int) *posterior.Posterior {
	p := trained(relu, widths...)
	refer(p, 9, func(x []float64) []float64 { return framework(p, p.Mean(), f(x)) })
	return p
}

func images(shape []int, f func([]float64) []float64) *posterior.Posterior {
	p := through(f, shape[0]*shape[1]*shape[2], 16, 5)
	p.Input.Shape = shape
	return p
}

// Files with references are read if they are as they should be, and refused with the right
// guess if they are not.
func TestReferences(t *testing.T) {
	for _, m := range mistakes {
		p := m.make()
		for ext, write := range writers {
			var b bytes.Buffer
			if m.name == "rho for sd" { // which no writer writes
				break
			}
			if err := write(&b, p); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			got, path, err := readBytes(t, b.Bytes(), Options{})
			if m.want != "" {
				wantError(t, m.name+ext, err, path, m.want)
				if err != nil {
					t.Logf("%s: %s", m.name, strings.TrimPrefix(err.Error(), path))
				}
				continue
			}
			if err != nil {
				t.Errorf("%s%s: %v", m.name, ext, err)
				continue
			}
			c, err := audit.Compare(got)
			if err != nil || c.Compared != 9 || c.Coarse || c.Largest > c.Tolerance {
				t.Errorf("%s%s: %+v, %v", m.name, ext, c, err)
			}
			t.Logf("%s: largest %.3g of %.3g", m.name, c.Largest, c.Tolerance)
			var again bytes.Buffer
			got.Source = p.Source
			if err := write(&again, got); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
				t.Errorf("%s%s: written again it has other bytes: %v", m.name, ext, err)
			}
		}
	}
}

// Spreads that are no standard deviations at all say what they look like.
func TestNegativeSpread(t *testing.T) {
	p := sane(relu, 4, 16, 3)
	_, list, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string]*npy.Array{}
	for _, a := range list {
		arrays[a.Name] = a.Array
		if strings.HasSuffix(a.Name, ".scale") {
			for j, sd := range a.Array.Data {
				a.Array.Data[j] = float64(float32(math.Log(math.Expm1(sd))))
			}
		}
	}
	const meta = `{"format":"psafe-posterior","version":1,"scale":"sd","layout":"in,out","layers":[{"kind":"dense","activation":"relu","in":4,"out":16},{"kind":"dense","activation":"identity","in":16,"out":3}]}`
	_, path, err := readBytes(t, npz(t, meta, arrays), Options{})
	wantError(t, "with references", err, path, `: sigma looks like rho of a softplus: write scale "softplus"`)
	delete(arrays, "reference.spread")
	_, path, err = readBytes(t, npz(t, meta, arrays), Options{})
	wantError(t, "without", err, path, `it must be finite and not negative`)
}
