package format

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
)

// The header of version 2 states a graph of layers: docs/files.md, "Graphs of layers".

// graphFields are the fields of a layer of version 2 beside its name, kind, sources, activation and
// numbers of inputs and outputs.
type graphFields struct {
	Kernel   []int        `json:"kernel,omitempty"`
	Filters  int          `json:"filters,omitempty"`
	Strides  []int        `json:"strides,omitempty"`
	Padding  *metaPadding `json:"padding,omitempty"`
	Dilation []int        `json:"dilation,omitempty"`
	Groups   int          `json:"groups,omitempty"`
	// CountPadding is avg_pool's.
	CountPadding bool  `json:"count_padding,omitempty"`
	Shape        []int `json:"input_shape,omitempty"`
	// Order of the layer, in place of the header's.
	Order string `json:"order,omitempty"`
	Take  []int  `json:"take,omitempty"`
}

// graphKeys are the keys of version 2 that version 1 has not.
var graphKeys = []string{
	"name", "from", "kernel", "filters", "strides", "padding", "dilation", "groups", "count_padding", "order", "take",
}

// The words for the order of an image and of the weights of convolutions.
const (
	orderLast  = "channels_last"
	orderFirst = "channels_first"
)

// metaPadding is a word, or pairs of numbers; wrong says what else it is.
type metaPadding struct {
	graph.Padding
	wrong error
}

// UnmarshalJSON reads "valid", "same", "causal", or [[before, after], ...]. What is none of
// them is told by check, which knows the layer.
func (p *metaPadding) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &p.Word)
	}
	var pairs [][]int
	if err := json.Unmarshal(text, &pairs); err != nil {
		p.wrong = fmt.Errorf("padding: neither a word nor pairs such as [[1, 1], [1, 1]], which PyTorch calls padding=1")
		return nil
	}
	p.Pairs = [][2]int{}
	for _, pair := range pairs {
		if len(pair) != 2 {
			p.wrong = fmt.Errorf("padding: %v is no pair of numbers, before and after", pair)
			return nil
		}
		p.Pairs = append(p.Pairs, [2]int{pair[0], pair[1]})
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p *metaPadding) MarshalJSON() ([]byte, error) {
	if p.Pairs != nil {
		return json.Marshal(p.Pairs)
	}
	return json.Marshal(p.Word)
}

// first reports whether an order is that of channels first; empty is another order's word.
func first(order, otherwise string) (bool, error) {
	if order == "" {
		order = otherwise
	}
	switch order {
	case "", orderLast:
		return false, nil
	case orderFirst:
		return true, nil
	}
	return false, fmt.Errorf("order %.40q is neither %q (Keras) nor %q (PyTorch)", order, orderLast, orderFirst)
}

// fieldsOf are the fields that layers of a kind may have beside name, kind, from, activation,
// in and input_shape.
var fieldsOf = map[string][]string{
	graph.Dense:           {"out"},
	graph.Conv2D:          {"kernel", "filters", "strides", "padding", "dilation", "groups", "order"},
	graph.Conv1D:          {"kernel", "filters", "strides", "padding", "dilation", "groups", "order"},
	graph.DepthwiseConv2D: {"kernel", "filters", "strides", "padding", "dilation", "order"},
	graph.BatchNorm:       {"order"},
	graph.MaxPool:         {"kernel", "strides", "padding", "dilation", "order"},
	graph.AvgPool:         {"kernel", "strides", "padding", "dilation", "count_padding", "order"},
	graph.GlobalMaxPool:   {"order"},
	graph.GlobalAvgPool:   {"order"},
	graph.Flatten:         {"order"},
	graph.Add:             {"order"},
	graph.Concat:          {"order"},
	graph.Activation:      {},
	graph.Reorder:         {"take", "order"},
}

// weighted reports whether layers of a kind have weights.
func weighted(kind string) bool {
	switch kind {
	case graph.Dense, graph.Conv2D, graph.Conv1D, graph.DepthwiseConv2D, graph.BatchNorm:
		return true
	}
	return false
}

// check refuses fields that the kind of a layer does not have.
func (l *metaLayer) check() error {
	fields, known := fieldsOf[l.Kind]
	if !known {
		return fmt.Errorf("kind %.40q is not supported: the kinds are %s", l.Kind, strings.Join(graph.Kinds, ", "))
	}
	for _, f := range []struct {
		name  string
		there bool
	}{
		{"out", l.Out != 0}, {"kernel", l.Kernel != nil}, {"filters", l.Filters != 0}, {"strides", l.Strides != nil},
		{"padding", l.Padding != nil}, {"dilation", l.Dilation != nil}, {"groups", l.Groups != 0},
		{"count_padding", l.CountPadding}, {"order", l.Order != ""}, {"take", l.Take != nil},
	} {
		if f.there && !slices.Contains(fields, f.name) {
			return fmt.Errorf("field %q does not belong to a layer of kind %s", f.name, l.Kind)
		}
	}
	if a := l.layerArrays; !weighted(l.Kind) && (a != layerArrays{}) {
		return fmt.Errorf("a layer of kind %s has no arrays: leave weight_scale, bias_scale and bias out", l.Kind)
	}
	if l.Padding != nil && l.Padding.wrong != nil {
		return l.Padding.wrong
	}
	if l.In < 0 || l.Out < 0 || l.Filters < 0 || l.Groups < 0 {
		return fmt.Errorf("a number of inputs, outputs, filters or groups is below 0")
	}
	return nil
}

// stated is the layer as package graph takes it; order and layout are the header's.
func (l *metaLayer) stated(order, layout string) (s graph.Layer, err error) {
	if err = l.check(); err != nil {
		return s, err
	}
	s = graph.Layer{
		Name: l.Name, Kind: l.Kind, From: l.From, Inputs: l.In, Filters: l.Filters,
		Kernel: l.Kernel, Strides: l.Strides, Dilation: l.Dilation, Groups: l.Groups,
		CountPadding: l.CountPadding, Shape: l.Shape, OutIn: layout == layoutOI, Take: l.Take,
	}
	if l.Kind == graph.Dense {
		s.Filters = l.Out
	}
	if l.Padding != nil {
		s.Padding = l.Padding.Padding
	}
	if l.Activation != "" {
		if s.Activation, err = network.ParseActivation(l.Activation); err != nil {
			return s, err
		}
	}
	s.First, err = first(l.Order, order)
	return s, err
}

// lower makes the plan of a header of version 2, and the shapes of the arrays of its layers.
func (m *meta) lower() error {
	var stated []graph.Layer
	for k := range m.Layers {
		s, err := m.Layers[k].stated(m.Order, m.Layout)
		if err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
		stated = append(stated, s)
	}
	plan, err := graph.Lower(stated, m.Shape)
	if err != nil {
		return err
	}
	m.plan = plan
	for k, of := range plan.Parameters {
		m.Layers[k].parameters = of
	}
	weights := false
	for _, l := range plan.Layers {
		if l.Of >= 0 {
			m.Layers[l.Of].rows, weights = l.Rows, true
		}
	}
	if !weights {
		return fmt.Errorf("none of the %d layers has weights", len(m.Layers))
	}
	return nil
}
