package format

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/onnx"
	"psafe/host/read/onnx/lower"
	"psafe/internal/infile"
)

// An ONNX file is a network without a distribution: the graph and the means. Package lower
// makes layers of it; the standard deviations are the user's (onnxspread.go).

// maxONNX bounds an ONNX file in bytes, and what a compressed one unpacks to, which must fit into
// memory.
const maxONNX = 1 << 30

// parseONNX reads an ONNX file.
func parseONNX(file blob) (*contents, error) {
	if err := infile.Fits(file.size, maxONNX); err != nil {
		return nil, err
	}
	if err := infile.Afford(file.size); err != nil {
		return nil, err
	}
	model, err := file.all(maxONNX)
	if err != nil {
		return nil, err
	}
	g, err := onnx.Decode(model)
	return &contents{format: "onnx", graph: g}, err
}

// parseGzip reads a compressed ONNX file; psafe reads no other posteriors in gzip.
func parseGzip(file blob) (*contents, error) {
	model, err := unpackedONNX(file, maxONNX)
	if err != nil {
		return nil, err
	}
	g, err := onnx.Decode(model)
	return &contents{format: "onnx", graph: g}, err
}

// unpackedONNX returns what a file unpacks to, twice: to count, and then into as many bytes, if
// they are at most limit and fit into memory.
func unpackedONNX(file blob, limit int64) ([]byte, error) {
	var size int64
	err := unpack(file, func(z io.Reader) error {
		head := make([]byte, headBytes)
		n, err := io.ReadFull(z, head)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return err
		}
		if !onnx.Looks(head[:n]) {
			return errNoModel
		}
		size, err = io.Copy(io.Discard, io.LimitReader(z, limit+1-int64(n)))
		size += int64(n)
		return err
	})
	switch {
	case errors.Is(err, errNoModel):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("damaged gzip: %w", err)
	case size > limit:
		return nil, fmt.Errorf("it unpacks to more than %d bytes, which is the limit", limit)
	}
	if err := infile.Afford(size); err != nil {
		return nil, err
	}
	model := make([]byte, size)
	if err := unpack(file, func(z io.Reader) error { _, err := io.ReadFull(z, model); return err }); err != nil {
		return nil, fmt.Errorf("damaged gzip: %w", err)
	}
	return model, nil
}

var errNoModel = errors.New("the gzip file holds no ONNX model: unpack any other posterior first")

// unpack hands use what a gzip file unpacks to.
func unpack(file blob, use func(io.Reader) error) error {
	z, err := gzip.NewReader(file.from(0, file.size))
	if err != nil {
		return err
	}
	return use(z)
}

// assembleONNX makes a posterior of a graph with the standard deviations of the options.
func (n *contents) assembleONNX(opt Options) (*posterior.Posterior, error) {
	spread, err := readSpread(&opt, n.graph)
	if err != nil {
		return nil, err
	}
	r, err := lower.Graph(n.graph, spread.random)
	if err != nil {
		return nil, err
	}
	inputs, stated := 1, []graph.Layer(nil)
	for _, d := range r.Shape {
		inputs *= d
	}
	for _, l := range r.Layers {
		stated = append(stated, l.Layer)
	}
	plan, err := graph.Lower(stated, []int{inputs})
	if err != nil {
		return nil, err
	}
	if err := affordPlan(plan); err != nil {
		return nil, err
	}
	var said []network.Activation
	for _, l := range plan.Layers {
		said = append(said, l.Activation)
	}
	if _, err := resolveActivations(said, len(said), opt.Activations); err != nil {
		return nil, err
	}
	p, err := spread.posterior(r, plan)
	if err != nil {
		return nil, err
	}
	if len(r.Shape) > 2 && r.Shape[0] == 1 { // the first axis counts inputs
		p.Input.Shape = r.Shape[1:]
	}
	p.Source = posterior.Source{Format: n.format, Note: strings.Join(append(r.Notes, spread.notes...), "; "), Rounded: strings.Join(r.Rounded, "; "), Given: spread.given}
	return p, nil
}

// bytesPerPlace is about what a place of a window takes in the lists of a device.
const bytesPerPlace = 8

// affordPlan refuses layers for which there is not the memory: their parameters, and the lists of
// what lies under their windows.
func affordPlan(plan *graph.Plan) error {
	bytes := 0.0
	for _, l := range plan.Layers {
		bytes += memoryPerNumber * (float64(l.Map.Inputs()) + float64(l.Map.Weights()) + float64(l.Map.Biases()))
		switch m := l.Map.(type) {
		case network.Dense:
		case network.Conv: // filters share the places
			bytes += bytesPerPlace * float64(m.Outputs()/m.Filters) * float64(m.Window.Size[0]*m.Window.Size[1]*m.In.Channels)
		default:
			one := network.Layer{Map: m}
			bytes += bytesPerPlace * float64(one.Work())
		}
	}
	if err := infile.Afford(int64(min(bytes, 1e18))); err != nil {
		return fmt.Errorf("a network of %d layers: %w", len(plan.Layers), err)
	}
	return nil
}

// layersOf are the layers of a plan with their means.
func layersOf(r *lower.Result, plan *graph.Plan) []posterior.Layer {
	var layers []posterior.Layer
	for _, l := range plan.Layers {
		p := posterior.Layer{Layer: network.Layer{Map: l.Map, Activation: l.Activation, Sources: l.Sources}}
		switch {
		case l.Of >= 0:
			p.Weight.Mean, p.Bias.Mean = r.Layers[l.Of].Weight, r.Layers[l.Of].Bias
		case l.Of == graph.Unit:
			n := l.Map.Inputs()
			p.Weight.Mean, p.Bias.Mean = make([]float64, n*n), make([]float64, n)
			for i := range n {
				p.Weight.Mean[i*n+i] = 1
			}
		}
		layers = append(layers, p)
	}
	return layers
}

// constants are the tensors of a graph that may have standard deviations, by name.
func constants(g *onnx.Graph) map[string]*onnx.Tensor {
	all := map[string]*onnx.Tensor{}
	for _, t := range g.Initializers {
		all[t.Name] = t
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, a := range n.Attributes {
			if n.Op == "Constant" && a.Tensor != nil && len(n.Outputs) == 1 {
				all[n.Outputs[0]] = a.Tensor
			}
		}
	}
	return all
}
