package audit

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/posterior"
)

// What may have happened to inputs between the raw data and the first layer.

// mostInputs is the greatest number of inputs of a network of images, here.
const mostInputs = 1 << 18

// known are means and standard deviations of well-known data, as scripts have them.
var known = []struct {
	name string
	posterior.Input
}{
	{"pixels 0..255 were divided by 255", posterior.Input{Std: []float64{255}}},
	{"inputs in 0..1 were multiplied by 255", posterior.Input{Std: []float64{1. / 255}}},
	{"as for MNIST", posterior.Input{Mean: []float64{0.1307}, Std: []float64{0.3081}}},
	{"as for Fashion-MNIST", posterior.Input{Mean: []float64{0.2860}, Std: []float64{0.3530}}},
	{"to -1..1", posterior.Input{Mean: []float64{0.5}, Std: []float64{0.5}}},
	{"as for CIFAR-10", posterior.Input{Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2470, 0.2435, 0.2616}}},
	{"as for CIFAR-10", posterior.Input{Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2023, 0.1994, 0.2010}}},
	{"as for CIFAR-100", posterior.Input{Mean: []float64{0.5071, 0.4867, 0.4408}, Std: []float64{0.2675, 0.2565, 0.2761}}},
	{"as for SVHN", posterior.Input{Mean: []float64{0.4377, 0.4438, 0.4728}, Std: []float64{0.1980, 0.2010, 0.1970}}},
	{"as for ImageNet", posterior.Input{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}},
}

// normalisations are other ways from raw data to the first layer than the file's.
func normalisations(p *posterior.Posterior) []change {
	var list []change
	add := func(words string, input func(x []float64) (z, dz []float64)) {
		list = append(list, change{scaled, words, func(t *trial) { t.input = input }})
	}
	file := &p.Input
	if len(file.Mean) > 0 || len(file.Std) > 0 {
		add("reference.inputs look normalised already: write raw ones, or leave input.mean and input.std out", normalised(&posterior.Input{}))
		add("the framework normalised twice by input.mean and input.std", after(file, file))
		roots := slices.Clone(file.Std)
		for i, s := range roots {
			roots[i] = math.Sqrt(s)
		}
		add("input.std looks like a variance: write its square root", normalised(&posterior.Input{Mean: file.Mean, Std: roots}))
		add("input.mean and input.std look like those of inputs in 0..1, and reference.inputs like 0..255: multiply both by 255", after(&posterior.Input{Std: []float64{255}}, file))
		add("input.mean and input.std look like those of pixels 0..255, and reference.inputs like 0..1: divide both by 255", after(&posterior.Input{Std: []float64{1. / 255}}, file))
	}
	for _, k := range known {
		for _, c := range channels(p, len(k.Mean)) {
			in := &posterior.Input{Mean: spread(k.Mean, c, p.Inputs()), Std: spread(k.Std, c, p.Inputs())}
			what := fmt.Sprintf("the framework normalised its inputs, (x - %s)/%s", brief(k.Mean), brief(k.Std))
			switch {
			case k.Mean == nil:
				add(fmt.Sprintf("it looks as if %s: write input.std %.6g", k.name, k.Std[0]), normalised(in))
				continue
			}
			add(fmt.Sprintf("%s %s: write input.mean and input.std", what, k.name), normalised(in))
			add(fmt.Sprintf("%s %s, after dividing them by 255: write input.mean and input.std, both times 255", what, k.name), after(&posterior.Input{Std: []float64{255}}, in))
		}
	}
	return list
}

// after goes through both, one after the other.
func after(first, second *posterior.Input) func(x []float64) (z, dz []float64) {
	one, two := normalised(first), normalised(second)
	return func(x []float64) (z, dz []float64) {
		z, dz = one(x)
		z, more := two(z)
		for j, e := range (&posterior.Input{Std: second.Std}).NormaliseApprox(dz) {
			more[j] += math.Abs(e)
		}
		return z, more
	}
}

func brief(list []float64) string {
	if len(list) == 1 {
		return fmt.Sprint(list[0])
	}
	return fmt.Sprint(list)
}

// channels returns where channel c of n lies: entry j is of channel j/block%n, for each block
// returned. One channel is everywhere.
func channels(p *posterior.Posterior, n int) []int {
	in := p.Inputs()
	if n <= 1 {
		return []int{in}
	}
	if in%n != 0 || in < 4*n || in > mostInputs {
		return nil
	}
	switch s := p.Input.Shape; {
	case len(s) == 3 && s[0] == n:
		return []int{in / n}
	case len(s) == 3 && s[2] == n:
		return []int{1}
	case len(s) > 0:
		return nil
	}
	return []int{in / n, 1}
}

// spread repeats the numbers of channels for all inputs.
func spread(list []float64, block, inputs int) []float64 {
	if len(list) <= 1 {
		return list
	}
	all := make([]float64, inputs)
	for j := range all {
		all[j] = list[j/block%len(list)]
	}
	return all
}

// flattenings are other orders of the axes of an image.
func flattenings(p *posterior.Posterior) []change {
	var list []change
	for _, shape := range shapes(p) {
		done := [][]int{order(shape, orders(len(shape))[0])}
		for _, axes := range orders(len(shape))[1:] {
			from := order(shape, axes)
			if slices.ContainsFunc(done, func(o []int) bool { return slices.Equal(o, from) }) {
				continue // of axes of length 1
			}
			done = append(done, from)
			words := fmt.Sprintf("layer 0 looks trained on inputs of shape %v flattened with their axes in the order %v; write the rows of layer 0 in the order of reference.inputs", shape, axes)
			switch {
			case len(shape) == 3 && shape[0] <= 4 && slices.Equal(axes, []int{1, 2, 0}):
				words = fmt.Sprintf("layer 0 looks trained on inputs flattened channels last (NHWC), reference.inputs are %v, channels first (NCHW): flatten them alike", shape)
			case len(shape) == 3 && shape[2] <= 4 && slices.Equal(axes, []int{2, 0, 1}):
				words = fmt.Sprintf("layer 0 looks trained on inputs flattened channels first (NCHW), reference.inputs are %v, channels last (NHWC): flatten them alike", shape)
			}
			list = append(list, change{flattened, words, func(t *trial) {
				t.permute = func(x []float64) []float64 {
					y := make([]float64, len(x))
					for j, i := range from {
						y[j] = x[i]
					}
					return y
				}
			}})
		}
	}
	return list
}

// shapes returns what the file says that inputs are, or else what images they could be.
func shapes(p *posterior.Posterior) [][]int {
	if p.Inputs() > mostInputs {
		return nil
	}
	if s := p.Input.Shape; len(s) > 0 {
		if len(s) > 4 {
			return nil
		}
		return [][]int{s}
	}
	var list [][]int
	for _, c := range []int{1, 3} {
		side := int(math.Round(math.Sqrt(float64(p.Inputs() / c))))
		switch {
		case side < 2 || c*side*side != p.Inputs():
		case c == 1:
			list = append(list, []int{side, side})
		default:
			list = append(list, []int{c, side, side}, []int{side, side, c})
		}
	}
	return list
}

// orders are all orders of n axes, the usual one first.
func orders(n int) [][]int {
	list := [][]int{{}}
	for k := range n {
		var longer [][]int
		for _, o := range list {
			for at := len(o); at >= 0; at-- {
				longer = append(longer, slices.Insert(slices.Clone(o), at, k))
			}
		}
		list = longer
	}
	return list
}

// order returns from which entry of an array of that shape each entry comes when its axes are taken
// in another order, as numpy.transpose does.
func order(shape, axes []int) []int {
	strides := make([]int, len(shape))
	size := 1
	for k := len(shape) - 1; k >= 0; k-- {
		strides[k], size = size, size*shape[k]
	}
	from := make([]int, size)
	for j := range from {
		rest := j
		for k := len(axes) - 1; k >= 0; k-- {
			from[j] += rest % shape[axes[k]] * strides[axes[k]]
			rest /= shape[axes[k]]
		}
	}
	return from
}

// order looks for the outputs in another order.
func (s *search) order() string {
	p, out := s.p, s.p.Outputs()
	if out < 2 || out > 1024 {
		return ""
	}
	n := min(p.References(), tries)
	got := make([][]float64, n)
	t := asRead(p)
	for i := range got {
		y, _ := t.forward(p.Reference.Inputs[i*p.Inputs() : (i+1)*p.Inputs()])
		got[i] = slices.Clone(y)
	}
	from, taken := make([]int, out), make([]bool, out)
	for k := range from {
		best := math.Inf(1)
		for o := range out {
			far := 0.0
			for i := range got {
				far = max(far, math.Abs(got[i][o]-p.Reference.Logits[i*out+k]))
			}
			if !taken[o] && far < best {
				best, from[k] = far, o
			}
		}
		if math.IsInf(best, 1) {
			return ""
		}
		taken[from[k]] = true
	}
	t = asRead(p)
	t.output = func(y, dy []float64) (z, dz []float64) {
		for _, o := range from {
			z, dz = append(z, y[o]), append(dz, dy[o])
		}
		return z, dz
	}
	if s.try(t) > 1 {
		return ""
	}
	if len(from) > 16 {
		return "the outputs look as if they were in another order"
	}
	return fmt.Sprintf("the outputs look as if they were in another order: reference.logits have outputs %s of the file", commas(from))
}

// constant looks for a bias that the framework adds to the last layer.
func (s *search) constant() string {
	p, out := s.p, s.p.Outputs()
	n := min(p.References(), tries)
	if n < 3 {
		return ""
	}
	shift := make([]float64, out)
	t := asRead(p)
	for i := range n {
		y, _ := t.forward(p.Reference.Inputs[i*p.Inputs() : (i+1)*p.Inputs()])
		for k, v := range y {
			shift[k] += (p.Reference.Logits[i*out+k] - v) / float64(n)
		}
	}
	t.output = func(y, dy []float64) (z, dz []float64) {
		for k, v := range y {
			z, dz = append(z, v+shift[k]), append(dz, 2*dy[k]+0x1p-20*math.Abs(shift[k]))
		}
		return z, dz
	}
	if s.try(t) > 1 {
		return ""
	}
	return "all logits are off by the same, output by output: the bias of the last layer looks wrong or missing"
}

// affine looks for numbers a and b with which a x + b fits, by Gauss and Newton.
func (s *search) affine() string {
	if len(s.p.Input.Mean)+len(s.p.Input.Std) > 0 {
		return ""
	}
	for _, start := range [][2]float64{{1, 0}, {3, -0.5}, {1. / 255, 0}, {2, -1}, {255, 0}} {
		a, b := start[0], start[1]
		for range 12 {
			var steps bool
			if a, b, steps = s.step(a, b); !steps {
				break
			}
		}
		if !(math.Abs(a) > 0 && math.Abs(a)+math.Abs(b) < math.MaxFloat32) {
			continue
		}
		t := asRead(s.p)
		t.input = scaledBy(a, b)
		if s.try(t) <= 1 {
			return fmt.Sprintf("the framework normalised its inputs: about (x - %.6g)/%.6g fits; write its own numbers as input.mean and input.std", -b/a, 1/a)
		}
	}
	return ""
}

func scaledBy(a, b float64) func(x []float64) (z, dz []float64) {
	return func(x []float64) (z, dz []float64) {
		for _, v := range x {
			z, dz = append(z, a*v+b), append(dz, 0x1p-20*(math.Abs(a*v)+math.Abs(b)))
		}
		return z, dz
	}
}

// step improves a and b so that the logits fit better, in the sense of least squares.
func (s *search) step(a, b float64) (float64, float64, bool) {
	p, in, out := s.p, s.p.Inputs(), s.p.Outputs()
	n := min(p.References(), tries)
	if s.left -= 3 * n * p.Network().Work(); s.left < 0 {
		return a, b, false
	}
	t := asRead(p)
	at := func(a, b float64, i int) []float64 {
		t.input = scaledBy(a, b)
		y, _ := t.forward(p.Reference.Inputs[i*in : (i+1)*in])
		return slices.Clone(y)
	}
	const d = 0x1p-20
	da, db := d*max(math.Abs(a), 1e-6), d*max(math.Abs(b), 1e-3)
	var aa, ab, bb, ar, br float64
	for i := range n {
		y, ya, yb := at(a, b, i), at(a+da, b, i), at(a, b+db, i)
		for k, v := range y {
			r := p.Reference.Logits[i*out+k] - v
			ga, gb := (ya[k]-v)/da, (yb[k]-v)/db
			aa, ab, bb, ar, br = aa+ga*ga, ab+ga*gb, bb+gb*gb, ar+ga*r, br+gb*r
		}
	}
	det := aa*bb - ab*ab
	if !(det > 1e-12*aa*bb) {
		return a, b, false
	}
	return a + (bb*ar-ab*br)/det, b + (aa*br-ab*ar)/det, true
}
