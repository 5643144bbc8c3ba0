package lower

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/read/onnx"
	. "psafe/internal/testkit/onnxtest"
	"psafe/internal/testscale"
)

// graphOps are the steps of graphs.
var graphOps = []string{"Conv", "Relu", "LeakyRelu", "Add", "Sub", "Mul", "Div", "sum", "difference", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Dropout", "Slice", "Split", "Gather", "ReduceSum", "ReduceMean", "Transpose", "Reshape", "Pad", "MatMul", "flat", "Squeeze", "Neg", "Sum", "Mean", "Clip", "Max", "Min", "PRelu", "Cast", "Tile", "Expand", "shuffled"}

// grower draws a graph of images: a tensor of the shape [1, C, H, W] after every step.
type grower struct {
	*Build
	r     *rand.Rand
	shape [4]int
	// older are tensors that may be joined again, with their shapes.
	older map[string][4]int
	used  map[string]int
}

func (g *grower) name() string { return fmt.Sprintf("c%d", len(g.Graph.Initializers)) }

func (g *grower) random(shape ...int) string {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return g.Const(g.name(), shape, wide(g.r, n)...)
}

func (g *grower) ints(list ...int) string {
	var v []int64
	for _, i := range list {
		v = append(v, int64(i))
	}
	return g.Shape(g.name(), v...)
}

// windows draws the attributes of a window that fits, and the shape that comes out.
func (g *grower) windows(pool bool) (attributes []func() (string, []int64), kernel, out [2]int) {
	var k, s, d, before, after []int64
	for a := range 2 {
		size := g.shape[2+a]
		kernel[a] = 1 + g.r.IntN(min(3, size))
		stride, dilation := 1+g.r.IntN(2), 1
		if !pool && 2*(kernel[a]-1) < size {
			dilation += g.r.IntN(2)
		}
		b, e := g.r.IntN(kernel[a]), g.r.IntN(kernel[a])
		reach := (kernel[a]-1)*dilation + 1
		out[a] = (size+b+e-reach)/stride + 1
		k, s, d = append(k, int64(kernel[a])), append(s, int64(stride)), append(d, int64(dilation))
		before, after = append(before, int64(b)), append(after, int64(e))
	}
	for name, list := range map[string][]int64{"kernel_shape": k, "strides": s, "dilations": d, "pads": slices.Concat(before, after)} {
		if name != "dilations" || !pool {
			attributes = append(attributes, func() (string, []int64) { return name, list })
		}
	}
	return attributes, kernel, out
}

// step adds a node, or a few.
func (g *grower) step() {
	c, h, w := g.shape[1], g.shape[2], g.shape[3]
	before, last := g.shape, g.Last
	op := graphOps[g.r.IntN(len(graphOps))]
	switch op {
	case "Conv":
		group := 1
		if g.r.IntN(3) == 0 {
			group = c
		}
		filters := group * (1 + g.r.IntN(2))
		attributes, k, out := g.windows(false)
		given := []string{g.random(filters, c/group, k[0], k[1])}
		if g.r.IntN(2) == 0 {
			given = append(given, g.random(filters))
		}
		g.shape = [4]int{1, filters, out[0], out[1]}
		g.with(op, given, attributes, group)
	case "MaxPool", "AveragePool":
		attributes, _, out := g.windows(true)
		g.shape = [4]int{1, c, out[0], out[1]}
		g.with(op, nil, attributes, 0)
	case "GlobalAveragePool", "GlobalMaxPool":
		g.shape = [4]int{1, c, 1, 1}
		g.Node(op, nil)
	case "Relu", "Dropout":
		g.Node(op, nil)
	case "LeakyRelu":
		g.Node(op, nil, Float("alpha", 0.25))
	case "Add", "Sub", "Mul", "Div":
		shape := [][]int{{1}, {c, 1, 1}, {w}, {1, c, h, w}, {h, 1}}[g.r.IntN(5)]
		of := g.random(shape...)
		if op == "Div" { // by powers of two, of which reciprocals are exact
			t := g.Graph.Initializers[len(g.Graph.Initializers)-1]
			for i := range t.Floats {
				t.Floats[i] = float64(int(1) << g.r.IntN(4))
			}
		}
		if op == "Sub" && g.r.IntN(2) == 0 {
			g.On(op, []string{of, last})
		} else {
			g.Node(op, []string{of})
		}
	case "sum", "difference", "Concat":
		g.join(op, last)
	default:
		g.move(op, last)
	}
	if g.Last != last {
		g.used[op]++
		if g.r.IntN(2) == 0 {
			g.older[last] = before
		}
	}
}

// with adds a node with windows; group is 0 for pools.
func (g *grower) with(op string, more []string, windows []func() (string, []int64), group int) {
	g.Node(op, more)
	n := &g.Graph.Nodes[len(g.Graph.Nodes)-1]
	for _, f := range windows {
		name, list := f()
		n.Attributes = append(n.Attributes, Ints(name, list...))
	}
	if group > 0 {
		n.Attributes = append(n.Attributes, Int("group", int64(group)))
	} else if op == "AveragePool" {
		n.Attributes = append(n.Attributes, Int("count_include_pad", int64(g.r.IntN(2))))
	}
}

// join adds a tensor from before.
func (g *grower) join(op, last string) {
	names := slices.Sorted(maps.Keys(g.older))
	g.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		was := g.older[name]
		switch {
		case op == "Concat":
			for axis := 1; axis < 4; axis++ {
				other := was
				if other[axis] = g.shape[axis]; other == g.shape {
					g.On(op, []string{name, last}, Int("axis", int64(axis)))
					g.shape[axis] += was[axis]
					return
				}
			}
		case was == g.shape && op == "sum":
			g.On("Add", []string{name, last})
			return
		case was == g.shape:
			g.On("Sub", []string{name, last})
			return
		}
	}
}

// move adds a node that takes or moves elements, or sums or multiplies along an axis.
func (g *grower) move(op, last string) {
	s := &g.shape
	axis := 1 + g.r.IntN(3)
	size := s[axis]
	switch op {
	case "Neg":
		g.Node(op, nil)
	case "Cast":
		g.Node(op, nil, Int("to", int64(onnx.Float32)))
	case "Sum", "Mean":
		other := g.Node("Relu", nil)
		inputs := []string{last, other, last}[:1+g.r.IntN(3)]
		if op == "Sum" {
			inputs = append(inputs, g.random(s[1], 1, 1))
		}
		g.r.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })
		g.On(op, inputs)
	case "Clip":
		least := float64(float32(2*g.r.Float64() - 1))
		ends := []string{"", "", g.Const(g.name(), []int{}, least+float64(g.r.IntN(3)))}
		if g.r.IntN(3) > 0 {
			ends[1] = g.Const(g.name(), []int{}, least*float64(g.r.IntN(2)))
			g.Graph.Initializers[len(g.Graph.Initializers)-1].Floats[0] = min(g.Graph.Initializers[len(g.Graph.Initializers)-1].Floats[0], g.Graph.Initializers[len(g.Graph.Initializers)-2].Floats[0])
		}
		g.On(op, []string{last, ends[1], ends[2]}[:2+g.r.IntN(2)])
	case "Max", "Min":
		g.On(op, []string{g.random([][]int{{}, {s[1], 1, 1}, {s[3]}}[g.r.IntN(3)]...), last})
	case "PRelu":
		g.Node(op, []string{g.random([][]int{{1}, {s[1], 1, 1}, {s[3]}}[g.r.IntN(3)]...)})
	case "Tile":
		times := []int{1, 1, 1, 1}
		times[axis] = 1 + g.r.IntN(2)
		g.Node(op, []string{g.ints(times...)})
		s[axis] *= times[axis]
	case "Expand":
		list := []int{1, 1, 1}
		if size == 1 {
			list[axis-1] = 1 + g.r.IntN(2)
			s[axis] = list[axis-1]
		}
		g.Node(op, []string{g.ints(list...)})
	case "shuffled":
		g.Node("Identity", nil)
		g.r.Shuffle(len(g.Graph.Nodes), func(i, j int) { g.Graph.Nodes[i], g.Graph.Nodes[j] = g.Graph.Nodes[j], g.Graph.Nodes[i] })
	case "Slice":
		begin := g.r.IntN(size)
		end, step := begin+1+g.r.IntN(size-begin), 1+g.r.IntN(2)
		g.Node(op, []string{g.ints(begin), g.ints(end), g.ints(axis), g.ints(step)})
		s[axis] = (end - begin + step - 1) / step
	case "Split":
		if size < 2 {
			return
		}
		first := 1 + g.r.IntN(size-1)
		g.Node(op, []string{g.ints(first, size-first)}, Int("axis", int64(axis)))
		n := &g.Graph.Nodes[len(g.Graph.Nodes)-1]
		n.Outputs = append(n.Outputs, n.Outputs[0]+"_second")
		was := *s
		was[axis] = first
		g.older[n.Outputs[0]] = was
		s[axis] = size - first
		g.Last = n.Outputs[1]
		g.Node("Identity", nil)
	case "Gather":
		var list []int
		for range 1 + g.r.IntN(3) {
			list = append(list, g.r.IntN(size))
		}
		g.Node(op, []string{g.ints(list...)}, Int("axis", int64(axis)))
		s[axis] = len(list)
	case "ReduceSum":
		g.Node(op, []string{g.ints(axis)})
		s[axis] = 1
	case "ReduceMean":
		g.Node(op, nil, Ints("axes", int64(axis)))
		s[axis] = 1
	case "Transpose":
		order := g.r.Perm(3)
		g.Node(op, nil, Ints("perm", 0, int64(1+order[0]), int64(1+order[1]), int64(1+order[2])))
		*s = [4]int{1, s[1+order[0]], s[1+order[1]], s[1+order[2]]}
	case "Reshape":
		*s = [4]int{1, s[2], s[1], s[3]}
		g.Node(op, []string{g.ints(1, s[1], s[2], -1)})
	case "Squeeze":
		g.Node("Squeeze", []string{g.ints(0)})
		g.Node("Unsqueeze", []string{g.ints(0)})
	case "Pad":
		g.Node(op, []string{g.ints(0, 0, 1, 0, 0, 0, 0, 1), g.random()})
		s[2], s[3] = s[2]+1, s[3]+1
	case "MatMul":
		columns := 1 + g.r.IntN(3)
		g.Node(op, []string{g.random(s[3], columns)})
		s[3] = columns
	case "flat":
		n := s[1] * s[2] * s[3]
		g.Node("Flatten", nil)
		*s = [4]int{1, 2, 1, 2}
		g.Node("Gemm", []string{g.random(n, 4), g.random(4)})
		g.Node("Reshape", []string{g.ints(1, 2, 1, 2)})
	}
}

// identified reads a graph whose stored numbers are uncertain, and says how many are: each entry
// of a layer that has an identity is that number, and the layers still compute the same.
func identified(t *testing.T, g *onnx.Graph, x []float64) (n int) {
	t.Helper()
	result, err := Graph(g, Random{Every: true})
	if err != nil {
		return 0 // numbers in more than one place
	}
	encloses(t, g, result, x)
	for _, l := range result.Layers {
		for _, part := range []struct {
			of  []float64
			ids []int32
		}{{l.Weight, l.WeightID}, {l.Bias, l.BiasID}} {
			for i, id := range part.ids {
				if id == 0 {
					continue
				}
				n++
				if of, e := result.Stored(id); of.Floats[e] != part.of[i] {
					t.Fatalf("%v: %v stands where number %d of %s, %v, is meant", g.Nodes, part.of[i], e, of.Name, of.Floats[e])
				}
			}
		}
	}
	return n
}

// TestGraphs compares the layers of random graphs with the graphs in rational arithmetic.
func TestGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	used, exact, joined, uncertain := map[string]int{}, 0, 0, 0
	for range testscale.Cases(t, 8000) {
		g := &grower{r: r, shape: [4]int{1, 1 + r.IntN(3), 1 + r.IntN(4), 1 + r.IntN(4)}, older: map[string][4]int{}, used: used}
		g.Build = New(r.Uint64(), 1, int64(g.shape[1]), int64(g.shape[2]), int64(g.shape[3]))
		g.older["x"] = g.shape
		for range 2 + r.IntN(6) {
			if g.shape[1]*g.shape[2]*g.shape[3] < 200 {
				g.step()
			}
		}
		if g.Last == "x" {
			g.Node("Relu", nil)
		}
		result, err := Graph(&g.Graph, Random{})
		if err != nil {
			t.Fatalf("%v: %v", g.Graph.Nodes, err)
		}
		net, same := encloses(t, &g.Graph, result, points(r, result))
		uncertain += identified(t, &g.Graph, points(r, result))
		for k := range net {
			if len(net.Feed(k)) > 1 {
				joined++
			}
		}
		if same {
			exact++
		}
		if len(result.Rounded) > 0 {
			t.Fatalf("%v: %v", g.Graph.Nodes, result.Rounded)
		}
	}
	if exact == 0 || joined == 0 || uncertain == 0 {
		t.Errorf("%d were exact, %d layers were fed by several, %d numbers uncertain", exact, joined, uncertain)
	}
	for _, op := range graphOps {
		if used[op] == 0 {
			t.Errorf("%s is in none of the graphs", op)
		}
	}
}
