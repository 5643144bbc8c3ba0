package format

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
	"psafe/internal/infile"
)

// Keras's description of a model, arch.json: a Sequential, or a Functional graph as Keras 2
// writes it.

// kerasModel is the part of a Keras model description that is used.
type kerasModel struct {
	ClassName string `json:"class_name"`
	Config    struct {
		Layers  []kerasLayer      `json:"layers"`
		Outputs []json.RawMessage `json:"output_layers"`
	} `json:"config"`
}

type kerasLayer struct {
	ClassName string          `json:"class_name"`
	Name      string          `json:"name"`
	Config    kerasConfig     `json:"config"`
	Inbound   json.RawMessage `json:"inbound_nodes"`
}

// kerasConfig has the fields of all layers that are read. Numbers that may be missing or null
// are pointers.
type kerasConfig struct {
	Name       string   `json:"name"`
	Shape      []*int   `json:"batch_input_shape"`
	BatchShape []*int   `json:"batch_shape"` // Keras 3
	Units      int      `json:"units"`
	Activation string   `json:"activation"`
	UseBias    *bool    `json:"use_bias"`
	Filters    int      `json:"filters"`
	Kernel     kerasInt `json:"kernel_size"`
	Pool       kerasInt `json:"pool_size"`
	Strides    kerasInt `json:"strides"`
	Dilation   kerasInt `json:"dilation_rate"`
	Padding    string   `json:"padding"`
	Format     string   `json:"data_format"`
	Groups     int      `json:"groups"`
	Multiplier int      `json:"depth_multiplier"`
	Axis       kerasInt `json:"axis"`
	Epsilon    *float64 `json:"epsilon"`
	Center     *bool    `json:"center"`
	Scale      *bool    `json:"scale"`
	Alpha      *float64 `json:"alpha"`
	Slope      *float64 `json:"negative_slope"`
	Max        *float64 `json:"max_value"`
	Threshold  *float64 `json:"threshold"`
}

// kerasInt is a whole number or a list of them; nil for null.
type kerasInt []int

// UnmarshalJSON reads all three.
func (k *kerasInt) UnmarshalJSON(text []byte) error {
	var one int
	if err := json.Unmarshal(text, &one); err == nil && string(text) != "null" {
		*k = kerasInt{one}
		return nil
	}
	if err := json.Unmarshal(text, (*[]int)(k)); err != nil {
		return fmt.Errorf("%.40q is neither a whole number nor a list of them", text)
	}
	return nil
}

// kerasNet is a model: a chain of dense layers, or a graph.
type kerasNet struct {
	dense []kerasDense
	// stated are the layers of a graph, and weights the arrays of each; input is the shape of
	// an input.
	stated  []graph.Layer
	weights []kerasWeights
	input   []int
	plan    *graph.Plan
}

// kerasDense is a dense layer of a chain; inputs is 0 where it does not say.
type kerasDense struct {
	inputs, units int
	activation    network.Activation
}

// kerasWeights says which arrays of a layer the list of a file has.
type kerasWeights struct {
	weight, bias bool
	// norm reports whether there are a batch norm's mean and variance behind them, to whose
	// variance eps is added.
	norm bool
	eps  float64
}

// parseKeras reads a model. Layers that do nothing in inference are left out; any other that
// is not known is an error. A softmax at the end is dropped: properties speak of logits.
func parseKeras(file []byte) (*kerasNet, error) {
	file = infile.Unmarked(file)
	if err := checkJSON(file, maxArchDepth, maxArchValues); err != nil {
		return nil, err
	}
	var model kerasModel
	if err := json.Unmarshal(file, &model); err != nil {
		return nil, err
	}
	functional := model.ClassName == "Functional" || model.ClassName == "Model"
	if model.ClassName != "Sequential" && !functional {
		return nil, fmt.Errorf("model is %.40q: only Keras Sequential and Functional are supported", model.ClassName)
	}
	layers := model.Config.Layers
	last := len(layers) - 1
	for last > 0 && slices.Contains(kerasIdle, layers[last].ClassName) {
		last--
	}
	net := &kerasNet{}
	chain := !functional
	for i := range layers {
		l := &layers[i]
		s, w, err := l.stated(i >= last)
		if err == nil && functional {
			s.From, err = l.sources()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", (&graph.Layer{Name: l.name()}).Place(i), err)
		}
		switch {
		case l.ClassName == "InputLayer":
			if net.input != nil || i > 0 && !functional {
				return nil, fmt.Errorf("layer %d: a second input: networks have one", i)
			}
			net.input = l.Config.shape()
		case s.Kind != graph.Dense && !slices.Contains(kerasIdle, l.ClassName), s.Kind == graph.Dense && !w.bias:
			chain = false
		case i == last && s.Activation.Kind != network.Identity: // a layer comes behind it
			chain = false
		}
		if i == 0 && net.input == nil {
			net.input = l.Config.shape()
		}
		net.stated, net.weights = append(net.stated, s), append(net.weights, w)
	}
	if chain {
		net.chain()
		return net, nil
	}
	if functional {
		if err := model.output(); err != nil {
			return nil, err
		}
	}
	return net, net.lower()
}

// chain makes dense layers of the stated ones.
func (net *kerasNet) chain() {
	inputs := 0
	if n := len(net.input); n > 0 {
		inputs = net.input[n-1]
	}
	for _, s := range net.stated {
		if s.Kind == graph.Dense {
			net.dense = append(net.dense, kerasDense{inputs: inputs, units: s.Filters, activation: s.Activation})
			inputs = s.Filters
		}
	}
	net.stated, net.weights = nil, nil
}

// lower makes the plan of a graph.
func (net *kerasNet) lower() (err error) {
	for _, d := range net.input {
		if d < 1 {
			return fmt.Errorf("the input shape is open beside the first axis: give the model a fixed input shape")
		}
	}
	if net.input == nil {
		return fmt.Errorf("the model has no input shape: build it with an InputLayer, and save it again")
	}
	if net.plan, err = graph.Lower(net.stated, net.input); err != nil {
		return err
	}
	if !slices.ContainsFunc(net.plan.Layers, func(l graph.Planned) bool { return l.Of >= 0 }) {
		return fmt.Errorf("no layer has weights")
	}
	return nil
}

// shape returns the shape of an input without the axis of the batch, nil if it is not there; an axis
// that is open is 0.
func (c *kerasConfig) shape() []int {
	of := c.Shape
	if of == nil {
		of = c.BatchShape
	}
	if len(of) < 2 {
		return nil
	}
	shape := []int{}
	for _, d := range of[1:] {
		if d == nil {
			d = new(int)
		}
		shape = append(shape, *d)
	}
	return shape
}

// output checks that the last layer is the model's output.
func (m *kerasModel) output() error {
	var name string
	last := m.Config.Layers[len(m.Config.Layers)-1].name()
	if len(m.Config.Outputs) != 1 {
		return fmt.Errorf("the model has %d outputs: networks have one", len(m.Config.Outputs))
	}
	var place []json.RawMessage
	if json.Unmarshal(m.Config.Outputs[0], &place) != nil || len(place) == 0 || json.Unmarshal(place[0], &name) != nil {
		return fmt.Errorf("output_layers is not as Keras 2 writes it: save the model as a Sequential, or by psafe_export")
	}
	if kerasName(name) != last {
		return fmt.Errorf("the output is layer %.40q and not the last, %.40q: leave the layers behind it out", name, last)
	}
	return nil
}

// name is the layer's, as sources call it.
func (l *kerasLayer) name() string {
	if l.Name == "" {
		return kerasName(l.Config.Name)
	}
	return kerasName(l.Name)
}

// kerasName is a name that is not package graph's name of the input.
func kerasName(name string) string {
	if name == graph.InputName {
		return name + " of Keras"
	}
	return name
}

// sources are the layers that feed one of a Functional model, in Keras 2 [[["name", 0, 0, {}], ...]].
func (l *kerasLayer) sources() (names []string, err error) {
	if l.ClassName == "InputLayer" {
		return []string{graph.InputName}, nil
	}
	var nodes [][][]json.RawMessage
	if json.Unmarshal(l.Inbound, &nodes) != nil {
		return nil, fmt.Errorf("inbound_nodes is not as Keras 2 writes it: save the model as a Sequential, or by psafe_export")
	}
	if len(nodes) != 1 || len(nodes[0]) == 0 {
		return nil, fmt.Errorf("it is used %d times in the graph: layers are used once", len(nodes))
	}
	for _, from := range nodes[0] {
		var name string
		if len(from) < 3 || json.Unmarshal(from[0], &name) != nil {
			return nil, fmt.Errorf("inbound_nodes is not as Keras 2 writes it: save the model as a Sequential, or by psafe_export")
		}
		for _, which := range from[1:3] {
			if string(which) != "0" {
				return nil, fmt.Errorf("it takes output %.20s of layer %.40q, which has one and is used once", which, name)
			}
		}
		names = append(names, kerasName(name))
	}
	return names, nil
}

// className is the layer's kind for messages.
func (l *kerasLayer) className() string {
	return strings.Trim(fmt.Sprintf("%.40q", l.ClassName), `"`)
}
