package format

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/format/graph"
)

// Suggested maps of networks with convolutions and batch norms: in which order their layers
// are, and what their shapes do not tell.

// statistic finds what a name says of the running statistics of a batch norm (torch:
// running_mean, running_var; Keras: moving_mean, moving_variance), and the words without that.
func statistic(words []string) (rest []string, stat string) {
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "running" && words[i] != "moving" {
			continue
		}
		stat := map[string]string{"mean": "mean", "var": "variance", "variance": "variance"}[words[i+1]]
		if stat != "" {
			return slices.Delete(slices.Clone(words), i, i+2), stat
		}
	}
	return words, ""
}

// norm says that the layer is a batch norm.
func (c *candidate) norm() bool { return c.mean != "" || c.variance != "" }

// conv says that the layer is a convolution.
func (c *candidate) conv() bool { return !c.norm() && len(c.shape) > 2 }

// flow is what layers that chain give: so many channels of an image, or numbers. It is 0
// in front of the first layer.
type flow struct {
	channels int
	image    bool
}

// after is what the layer gives behind another; ok is false if it does not fit there.
func (c *candidate) after(before flow, layout string) (out flow, ok bool) {
	if c.norm() {
		return flow{c.shape[0], before.image}, before.channels == c.shape[0]
	}
	axes := len(c.shape)
	in, n := c.shape[axes-2], c.shape[axes-1]
	if layout == layoutOI {
		in, n = c.shape[1], c.shape[0]
	}
	if c.biases >= 0 && c.biases != n {
		return out, false
	}
	switch {
	case before.channels == 0:
		ok = true
	case axes == 2:
		ok = in == before.channels || before.image && in%before.channels == 0
	default:
		ok = before.image && (in == before.channels || c.groups(before, in, n) > 1)
	}
	return flow{n, axes > 2}, ok
}

// groups is that of a convolution of so many channels in each, 0 if there is none.
func (c *candidate) groups(before flow, in, n int) int {
	if before.channels%in != 0 || n%(before.channels/in) != 0 {
		return 0
	}
	return before.channels / in
}

var firstNumber = regexp.MustCompile(`[0-9]+`)

// compareModules orders layers by the parts of their names: by the first number of a part,
// those without one last; then convolutions before batch norms, both before modules that hold
// others (conv1, bn1, layer1.0.conv1), and dense layers behind all; then by name.
func compareModules(a, b candidate) int {
	x, y := strings.Split(a.key, "."), strings.Split(b.key, ".")
	for i := range min(len(x), len(y)) {
		numberA, rankA := a.rank(x[i], i == len(x)-1)
		numberB, rankB := b.rank(y[i], i == len(y)-1)
		if c := cmp.Or(cmp.Compare(numberA, numberB), cmp.Compare(rankA, rankB), compareNatural(x[i], y[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// rank is the place of a part of a layer's name.
func (c *candidate) rank(part string, last bool) (number, rank int) {
	number = 1 << 30
	if n, err := strconv.Atoi(firstNumber.FindString(part)); err == nil {
		number = n
	}
	switch {
	case !c.conv() && !c.norm():
		rank = 3
	case !last:
		rank = 2
	case c.norm():
		rank = 1
	}
	return number, rank
}

// orders are the orders in which the layers may have been meant, the likeliest first: of dense
// layers that of their names; of others that of a .npz, in which state_dicts keep the order of
// the modules, or that of the first number in their names, with convolutions first.
func (t *tensorFile) orders(list []candidate) [][]candidate {
	if !slices.ContainsFunc(list, func(c candidate) bool { return c.norm() || c.conv() }) {
		return [][]candidate{list}
	}
	byNumber := slices.Clone(list)
	slices.SortStableFunc(byNumber, compareModules)
	stored := slices.Clone(list)
	place := func(c candidate) int {
		return slices.Index(t.stored, cmp.Or(c.weight.mean, c.mean))
	}
	slices.SortStableFunc(stored, func(a, b candidate) int { return place(a) - place(b) })
	if len(t.stored) == 0 {
		return [][]candidate{byNumber, list}
	}
	return [][]candidate{stored, byNumber, list}
}

// orientation is the layout that kernels look like: two small axes at the end are torch's.
func orientation(list []candidate) string {
	for _, c := range list {
		if !c.conv() {
			continue
		}
		first, last := c.shape[0], c.shape[len(c.shape)-1]
		switch {
		case c.biases == first && first != last, first > last && last <= 7:
			return layoutOI
		case c.biases == last && first != last, last > first && first <= 7:
			return layoutIO
		}
	}
	return toFill
}

// fill writes the layers into the map, and says what must be looked at.
func (m *tensorMap) fill(order []candidate, layout string) (notes []string) {
	random := false
	for _, c := range order {
		if m.Scale == "" {
			m.Scale = c.weight.scale
		}
		random = random || c.weight.scale != "" || c.bias.scale != ""
	}
	array := func(a struct{ mean, spread, scale string }) *mapArray {
		if a.mean == "" {
			return nil
		}
		if a.spread == "" {
			return &mapArray{Mean: a.mean, Scale: "none"}
		}
		if a.scale == m.Scale {
			a.scale = ""
		}
		return &mapArray{Mean: a.mean, Spread: a.spread, Scale: a.scale}
	}
	before, joins := flow{}, joiner{m: m}
	for k, c := range order {
		from := joins.before(order, k, &before)
		l := mapLayer{From: from, Activation: toFill, Weight: array(c.weight), Bias: array(c.bias)}
		if k == len(order)-1 || order[k+1].norm() || ends(order, k) {
			l.Activation = "identity"
		}
		m.Layers = append(m.Layers, c.images(&l, &before, layout)...)
		joins.after(order, k, &before)
	}
	m.imageOrder(order, layout)
	if !random {
		return append(notes, `no name looks like a spread: with scale "none" no weight is random`)
	}
	return append(notes, fmt.Sprintf("see that scale %q is what the spreads are: names are a custom, no proof", m.Scale))
}

// images makes of a layer with its arrays what it is behind what is before: a convolution, a
// batch norm, or a dense layer behind a flatten.
func (c *candidate) images(l *mapLayer, before *flow, layout string) []mapLayer {
	was := *before
	*before, _ = c.after(was, layout)
	switch {
	case c.norm():
		eps := 1e-5 // torch's; Keras has 1e-3
		if strings.Contains(c.mean, "moving") {
			eps = 1e-3
		}
		l.Kind, l.RunningMean, l.RunningVariance, l.Eps = graph.BatchNorm, c.mean, c.variance, &eps
	case c.conv():
		l.Kind = map[int]string{3: graph.Conv1D, 4: graph.Conv2D}[len(c.shape)]
		kernel, in, n := c.shape[:len(c.shape)-2], c.shape[len(c.shape)-2], c.shape[len(c.shape)-1]
		if layout == layoutOI {
			kernel, in, n = c.shape[2:], c.shape[1], c.shape[0]
		}
		if slices.ContainsFunc(kernel, func(k int) bool { return k > 1 }) {
			l.Padding = &metaPadding{Padding: graph.Padding{Word: toFill}}
		}
		if was.channels > 0 && in != was.channels {
			l.Groups = c.groups(was, in, n)
		}
	case was.image:
		return []mapLayer{{Kind: graph.Flatten}, *l}
	}
	return []mapLayer{*l}
}

// imageOrder says the order of images, where there are any.
func (m *tensorMap) imageOrder(order []candidate, layout string) {
	if !m.isGraph() {
		return
	}
	if first := order[0]; len(first.shape) == 2 && layout != toFill {
		m.Shape = []int{first.shape[map[string]int{layoutOI: 1, layoutIO: 0}[layout]]}
	}
	switch layout {
	case layoutOI:
		m.Order = orderFirst
	case layoutIO:
		m.Order = orderLast
	default:
		m.Order = toFill
	}
}

// unknown says what is to be written into the map.
func (m *tensorMap) unknown() (notes []string) {
	hidden, convs, norms, sums := 0, 0, 0, 0
	for _, l := range m.Layers {
		if l.Activation == toFill {
			hidden++
		}
		if l.Kind == graph.Conv2D || l.Kind == graph.Conv1D {
			convs++
		}
		if l.Kind == graph.BatchNorm {
			norms++
		}
		if l.Kind == graph.Add {
			sums++
		}
	}
	if hidden > 0 {
		notes = append(notes, "write the activation of each hidden layer, which no name tells")
	}
	if convs > 0 {
		notes = append(notes, `of convolutions, write input_shape, the padding (torch's padding=1 is [[1, 1], [1, 1]]) and strides, and put pools where they are, such as {"kind": "max_pool", "kernel": [2, 2]}: no tensor tells; with --reference points.npz (inputs and logits) usual ones are tried`)
	}
	if sums > 0 {
		notes = append(notes, `see that the sums of shortcuts ("kind": "add") begin and end where yours do: the names of layers say it (downsample, shortcut and the like)`)
	}
	if norms > 0 {
		notes = append(notes, "see that eps of each batch norm is that of your framework")
	}
	return notes
}
