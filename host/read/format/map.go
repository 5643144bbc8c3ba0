package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
	"psafe/internal/infile"
	"psafe/internal/nearest"
)

// A map says which tensors of a file are the means and spreads of which layer.

// maxMap and maxMapValues bound the text of a map; a layer takes about twenty values.
const (
	maxMap       = 4 << 20
	maxMapValues = 1 << 18
)

// tensorMap is the JSON of a map.
type tensorMap struct {
	// Scale is that of spreads that do not say it themselves.
	Scale  string `json:"scale,omitempty"`
	Layout string `json:"layout,omitempty"`
	// Order and Shape are those of a header of version 2.
	Order  string     `json:"order,omitempty"`
	Shape  []int      `json:"input_shape,omitempty"`
	Layers []mapLayer `json:"layers"`
	// Ignore are tensors that are no part of the network.
	Ignore []string `json:"ignore,omitempty"`
}

type mapLayer struct {
	// Name, Kind and From are those of a header of version 2, and so is what is in
	// graphFields; Kind is dense by default.
	Name       string   `json:"name,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	From       []string `json:"from,omitempty"`
	Activation string   `json:"activation,omitempty"`
	graphFields
	// Layout is for a layer that is not as the map's says.
	Layout string    `json:"layout,omitempty"`
	Weight *mapArray `json:"weight,omitempty"`
	// Bias is absent if the layer has none.
	Bias *mapArray `json:"bias,omitempty"`
	// RunningMean and RunningVariance name the tensors of a batch norm whose weight and bias
	// are gamma and beta; Eps is added to the variance.
	RunningMean     string   `json:"running_mean,omitempty"`
	RunningVariance string   `json:"running_variance,omitempty"`
	Eps             *float64 `json:"eps,omitempty"`
}

// mapArray names the tensors of an array; with scale "none" there is no spread.
type mapArray struct {
	Mean   string `json:"mean"`
	Spread string `json:"spread,omitempty"`
	Scale  string `json:"scale,omitempty"`
}

var mapKeys = slices.Concat([]string{"scale", "layout", "layers", "ignore", "activation", "weight", "bias", "mean", "spread"},
	graphKeys, []string{"kind", "input_shape", "running_mean", "running_variance", "eps"})

// mapError is a fault of the map rather than of the tensors.
type mapError struct{ error }

func (e *mapError) Unwrap() error { return e.error }

func mapErrorf(format string, args ...any) error { return &mapError{fmt.Errorf(format, args...)} }

// toFill stands in a suggested map for what only the user knows.
const toFill = "?"

func readMap(path string) (*tensorMap, error) {
	text, err := infile.ReadAll(path, maxMap)
	if err != nil {
		return nil, err
	}
	return parseMap(text)
}

func parseMap(text []byte) (*tensorMap, error) {
	if err := checkJSON(text, maxMetaDepth, maxMapValues); err != nil {
		return nil, err
	}
	if err := checkKeys(text, mapKeys); err != nil {
		return nil, fmt.Errorf("%w; the keys of a map are %s", located(text, err, mapKeys), strings.Join(mapKeys, ", "))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	m := &tensorMap{}
	if err := d.Decode(m); err != nil {
		return nil, located(text, err, mapKeys)
	}
	if len(m.Layers) == 0 {
		return nil, fmt.Errorf("the map has no layers: psafe import WEIGHTS --suggest prints one to begin with")
	}
	if m.isGraph() {
		err := m.check()
		return m, err
	}
	return m, nil
}

// taken finds tensors for a map, each once, and adds up their numbers.
type taken struct {
	*tensorFile
	used    map[string]string
	numbers int64
}

// take gives the tensor of that name, which is what is said.
func (t *taken) take(name, what string) (*tensor, error) {
	if name == "" {
		return nil, mapErrorf("%s: the name of its tensor is missing", what)
	}
	a, ok := t.byName[name]
	if !ok {
		return nil, mapErrorf("%s: there is no tensor %.100q: %s", what, name, t.instead(name))
	}
	if before, twice := t.used[name]; twice {
		return nil, mapErrorf("%s: tensor %.100q is %s already", what, name, before)
	}
	t.used[name] = what
	if a.refused != nil {
		return nil, fmt.Errorf("%s: %w", what, a.refused)
	}
	return &a, t.count(a.shape)
}

// count adds the numbers of an array of that shape.
func (t *taken) count(shape []int) error {
	size := int64(1)
	for _, d := range shape {
		if d > 0 && size > maxFile/int64(d) {
			return fmt.Errorf("an array of shape %v has more than %d numbers", shape, int64(maxFile))
		}
		size *= int64(d)
	}
	if t.numbers += size; t.numbers > maxFile {
		return fmt.Errorf("the arrays have more than %d numbers", int64(maxFile))
	}
	return nil
}

// instead says what was meant by a name that is not there.
func (t *tensorFile) instead(name string) string {
	names := t.names()
	// A hostile file may have a million names.
	if best := nearest.Word(name, names[:min(1000, len(names))]); best != "" {
		return fmt.Sprintf("did you mean %.100q?", best)
	}
	return "the file has " + someNames(names)
}

// someNames quotes the first of a list.
func someNames(names []string) string {
	const most = 4
	var quoted []string
	for _, name := range names[:min(most, len(names))] {
		quoted = append(quoted, fmt.Sprintf("%.60q", name))
	}
	if more := len(names) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return "no tensors"
	}
	return strings.Join(quoted, ", ")
}

// contents joins the map with the tensors, and refuses tensors that neither names.
func (m *tensorMap) contents(from *tensorFile) (*contents, error) {
	t := &taken{tensorFile: from, used: map[string]string{}}
	n := &contents{format: from.format, layers: make([]arrays, len(m.Layers))}
	if m.Scale != "" {
		var err error
		if n.scale, err = posterior.ParseScale(m.Scale); err != nil {
			return nil, &mapError{err}
		}
	}
	loads := make([][]func() error, len(m.Layers))
	if m.isGraph() {
		more, err := m.graph(t, n)
		if err != nil {
			return nil, err
		}
		loads = append(loads, more)
	}
	for k := range m.Layers {
		if n.plan != nil {
			break
		}
		l := &m.Layers[k]
		if l.Activation == toFill {
			return nil, mapErrorf("layer %d: activation %q: write the one that it has: %s", k, toFill, network.Words())
		}
		a, err := network.ParseActivation(l.Activation)
		if err != nil {
			return nil, mapErrorf("layer %d: %w", k, err)
		}
		n.activations = append(n.activations, a)
		if loads[k], err = m.layer(k, t, &n.layers[k]); err != nil {
			return nil, err
		}
	}
	if err := m.unused(t); err != nil {
		return nil, err
	}
	n.defaultScale()
	if err := afford(t.numbers, from.file); err != nil {
		return nil, err
	}
	for _, list := range loads {
		for _, load := range list {
			if err := load(); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// layout is that of the weights of layer k.
func (m *tensorMap) layout(k int) (string, error) {
	layout := m.Layers[k].Layout
	if layout == "" {
		layout = m.Layout
	}
	if layout != layoutIO && layout != layoutOI {
		return "", mapErrorf("layer %d: layout %.40q: write %q (torch) or %q (Keras, JAX)", k, layout, layoutOI, layoutIO)
	}
	return layout, nil
}

// layer takes the tensors of layer k, and returns what reads their numbers.
func (m *tensorMap) layer(k int, t *taken, to *arrays) ([]func() error, error) {
	l := &m.Layers[k]
	layout, err := m.layout(k)
	if err != nil {
		return nil, err
	}
	if l.Weight == nil {
		return nil, mapErrorf("layer %d has no weight", k)
	}
	what := fmt.Sprintf("layer %d weight", k)
	var axes []int
	if layout == layoutOI {
		axes = []int{1, 0}
	}
	turn := func(a *npy.Array) *npy.Array { return transposeEach(a, axes) }
	weight, loads, err := m.array(l.Weight, what, turn, t, &to.weight, &to.weightSpread, &to.weightScale)
	if err != nil {
		return nil, err
	}
	if len(weight) != 2 {
		return nil, fmt.Errorf("%s is tensor %.100q of shape %v: only dense layers, of two axes, are read unless the map says a \"kind\"", what, l.Weight.Mean, weight)
	}
	in, out := weight[0], weight[1]
	if layout == layoutOI {
		in, out = out, in
	}
	if l.Bias == nil {
		to.noBias, to.biasScale = true, posterior.ScaleNone
		if err := t.count([]int{2, out}); err != nil {
			return nil, err
		}
		return append(loads, func() error {
			to.bias, to.biasSpread = zeros([]int{out}), zeros([]int{out})
			return nil
		}), nil
	}
	bias, more, err := m.array(l.Bias, fmt.Sprintf("layer %d bias", k), asIs, t, &to.bias, &to.biasSpread, &to.biasScale)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(bias, []int{out}) && !slices.Equal(bias, []int{1, out}) {
		err := fmt.Errorf("layer %d: with layout %q the weight %.100q of shape %v needs a bias of %d numbers, %.100q has shape %v", k, layout, l.Weight.Mean, weight, out, l.Bias.Mean, bias)
		if in != out && slices.Equal(bias, []int{in}) {
			err = mapErrorf("%w: the other layout fits", err)
		}
		return nil, err
	}
	return append(loads, more...), nil
}

func asIs(a *npy.Array) *npy.Array { return a }

// array takes the tensors of one array, whose shape it returns; turn puts their axes in order.
func (m *tensorMap) array(a *mapArray, what string, turn func(*npy.Array) *npy.Array, t *taken, mean, spread **npy.Array, scale *posterior.Scale) (shape []int, loads []func() error, err error) {
	if a.Scale != "" {
		if *scale, err = posterior.ParseArrayScale(a.Scale); err != nil {
			return nil, nil, mapErrorf("%s: %w", what, err)
		}
	} else if m.Scale == "" {
		return nil, nil, mapErrorf("%s: the map does not say what the spread is: add \"scale\", one of %s, none", what, posterior.ScaleWords)
	}
	none := *scale == posterior.ScaleNone
	if none != (a.Spread == "") {
		if none {
			return nil, nil, mapErrorf("%s has scale none, and spread %.100q: drop one of the two", what, a.Spread)
		}
		return nil, nil, mapErrorf("%s has no spread: name its tensor, or say \"scale\": \"none\" if it is not random", what)
	}
	read := func(from *tensor, to **npy.Array) {
		loads = append(loads, func() (err error) {
			if *to, err = from.load(); err == nil {
				*to = turn(*to)
			}
			return err
		})
	}
	m1, err := t.take(a.Mean, what+" mean")
	if err != nil {
		return nil, nil, err
	}
	read(m1, mean)
	if none {
		loads = append(loads, func() error {
			*spread = zeros((*mean).Shape)
			return nil
		})
		return m1.shape, loads, t.count(m1.shape)
	}
	s, err := t.take(a.Spread, what+" spread")
	if err != nil {
		return nil, nil, err
	}
	if !slices.Equal(s.shape, m1.shape) {
		return nil, nil, fmt.Errorf("%s: mean %.100q has shape %v, spread %.100q has %v", what, a.Mean, m1.shape, a.Spread, s.shape)
	}
	read(s, spread)
	return m1.shape, loads, nil
}

// unused refuses tensors that are neither in a layer nor ignored.
func (m *tensorMap) unused(t *taken) error {
	for _, name := range m.Ignore {
		if _, ok := t.byName[name]; !ok {
			return mapErrorf("ignore: there is no tensor %.100q: %s", name, t.instead(name))
		}
		if what, used := t.used[name]; used {
			return mapErrorf("ignore: tensor %.100q is %s already", name, what)
		}
		t.used[name] = "in ignore"
	}
	var left []string
	for _, name := range t.names() {
		if _, used := t.used[name]; !used {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		return mapErrorf("tensors that no layer names: %s: add them to their layers, or list them under \"ignore\"", someNames(left))
	}
	return nil
}

// defaultScale makes the first spread's scale that of the file, where the map has none.
func (n *contents) defaultScale() {
	if n.scale != posterior.ScaleUnknown {
		return
	}
	n.scale = posterior.ScaleSD
	for _, a := range n.layers {
		for _, s := range []posterior.Scale{a.weightScale, a.biasScale} {
			if s != posterior.ScaleNone && s != posterior.ScaleUnknown { // of layers without arrays nothing is known
				n.scale = s
				return
			}
		}
	}
}
