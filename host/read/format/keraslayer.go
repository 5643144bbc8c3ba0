package format

import (
	"fmt"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/format/graph"
)

// kerasIdle are layers that give what they take, in inference.
var kerasIdle = []string{
	"InputLayer", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization",
}

// kerasKinds are the layers that say nothing but their window, if they have one.
var kerasKinds = map[string]string{
	"MaxPooling2D": graph.MaxPool, "MaxPooling1D": graph.MaxPool, "MaxPool2D": graph.MaxPool, "MaxPool1D": graph.MaxPool,
	"AveragePooling2D": graph.AvgPool, "AveragePooling1D": graph.AvgPool, "AvgPool2D": graph.AvgPool, "AvgPool1D": graph.AvgPool,
	"GlobalAveragePooling2D": graph.GlobalAvgPool, "GlobalAveragePooling1D": graph.GlobalAvgPool,
	"GlobalMaxPooling2D": graph.GlobalMaxPool, "GlobalMaxPooling1D": graph.GlobalMaxPool,
	"Flatten": graph.Flatten, "Add": graph.Add,
}

// stated is a layer as package graph takes it, and which arrays it has.
func (l *kerasLayer) stated(last bool) (s graph.Layer, w kerasWeights, err error) {
	c := &l.Config
	s = graph.Layer{Name: l.name(), Kernel: c.Kernel, Strides: c.Strides, Dilation: c.Dilation, Padding: graph.Padding{Word: c.Padding}, Groups: c.Groups, Filters: c.Filters}
	if c.Format != "" && c.Format != orderLast {
		return s, w, fmt.Errorf("data_format %.40q: only %s is read; build the model with it", c.Format, orderLast)
	}
	w = kerasWeights{weight: true, bias: c.UseBias == nil || *c.UseBias}
	switch class := l.ClassName; class {
	case "Dense":
		s.Kind, s.Filters = graph.Dense, c.Units
	case "Conv2D":
		s.Kind = graph.Conv2D
	case "Conv1D":
		s.Kind = graph.Conv1D
	case "DepthwiseConv2D":
		s.Kind, s.Filters, s.Multiplier = graph.DepthwiseConv2D, 0, max(1, c.Multiplier)
	case "BatchNormalization":
		return l.norm(s)
	default:
		return l.without(s, last)
	}
	s.Activation, err = kerasActivation(c.Activation, last)
	return s, w, err
}

// norm is a batch norm.
func (l *kerasLayer) norm(s graph.Layer) (graph.Layer, kerasWeights, error) {
	c := &l.Config
	s.Kind = graph.BatchNorm
	w := kerasWeights{norm: true, weight: c.Scale == nil || *c.Scale, bias: c.Center == nil || *c.Center, eps: 1e-3}
	if c.Epsilon != nil {
		w.eps = *c.Epsilon
	}
	if !(w.eps >= 0) {
		return s, w, fmt.Errorf("epsilon %v is below 0", w.eps)
	}
	err := l.axis(&s)
	return s, w, err
}

// axis sets that of channels, which Keras writes as -1, or as 3 of an image and 1 of a list.
func (l *kerasLayer) axis(s *graph.Layer) error {
	axis := l.Config.Axis
	if axis == nil {
		return nil
	}
	if len(axis) != 1 || axis[0] != -1 && axis[0] < 1 {
		return fmt.Errorf("%s over axis %v: only the last axis is read", l.className(), []int(axis))
	}
	s.Axis = max(0, axis[0])
	return nil
}

// without is a layer that has no arrays.
func (l *kerasLayer) without(s graph.Layer, last bool) (graph.Layer, kerasWeights, error) {
	c := &l.Config
	var w kerasWeights
	var err error
	s.Kind = graph.Activation
	switch class := l.ClassName; class {
	case "Concatenate":
		s.Kind = graph.Concat
		err = l.axis(&s)
	case "Activation":
		s.Activation, err = kerasActivation(c.Activation, last)
	case "Softmax":
		if !last {
			err = fmt.Errorf("softmax inside of a network is not supported")
		}
	case "ReLU":
		s.Activation, err = l.relu()
	case "LeakyReLU":
		slope := c.Slope
		if slope == nil {
			slope = c.Alpha
		}
		if slope == nil {
			return s, w, fmt.Errorf("LeakyReLU does not say its slope, as alpha or negative_slope")
		}
		s.Activation, err = leaky(*slope)
	default:
		kind, known := kerasKinds[class]
		switch {
		case known:
			s.Kind, s.Kernel = kind, c.Pool
		case !slices.Contains(kerasIdle, class):
			err = fmt.Errorf("%s layers are not supported: docs/files.md lists those that are", l.className())
		}
	}
	return s, w, err
}

// relu is a layer ReLU, which may be leaky; one that is cut off above or begins elsewhere is
// another function.
func (l *kerasLayer) relu() (network.Activation, error) {
	c := &l.Config
	if c.Max != nil || c.Threshold != nil && *c.Threshold != 0 {
		return network.Activation{}, fmt.Errorf("ReLU with max_value or threshold is not supported")
	}
	if c.Slope != nil {
		return leaky(*c.Slope)
	}
	return network.Activation{Kind: network.ReLU}, nil
}

// leaky is the leaky relu of a slope.
func leaky(slope float64) (network.Activation, error) {
	switch {
	case slope == 0:
		return network.Activation{Kind: network.ReLU}, nil
	case slope == 1:
		return network.Activation{}, nil
	case slope > 0 && slope < 1:
		return network.Activation{Kind: network.LeakyReLU, Slope: slope}, nil
	}
	return network.Activation{}, fmt.Errorf("slope %v of a leaky relu is not between 0 and 1", slope)
}

// kerasActivations are Keras's names of activations, of which softmax is one at the end of a network.
var kerasActivations = map[string]network.Activation{
	"relu": {Kind: network.ReLU}, "tanh": {Kind: network.Tanh}, "sigmoid": {Kind: network.Sigmoid}, "softplus": {Kind: network.Softplus},
	"elu": {Kind: network.ELU, Slope: 1}, "linear": {}, "softmax": {},
}

// kerasActivation translates Keras's name of an activation.
func kerasActivation(name string, last bool) (network.Activation, error) {
	words := "relu, tanh, sigmoid, softplus, elu, linear"
	if last {
		words += ", softmax"
	}
	a, known := kerasActivations[name]
	if !known || name == "softmax" && !last {
		return a, fmt.Errorf("activation %.40q is none of %s", name, words)
	}
	return a, nil
}
