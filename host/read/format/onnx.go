package format

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/onnx"
	"psafe/host/read/onnx/lower"
	"psafe/internal/infile"
)

// An ONNX file is a network without a distribution: the graph and the means. Package lower
// makes dense layers of it; the standard deviations are the user's (onnxspread.go).

// maxONNX bounds an ONNX file in bytes, and what a compressed one unpacks to.
const maxONNX = 1 << 30

// freeONNX is to how many bytes a compressed file may unpack whatever its length; beyond,
// to eight for each of its bytes. Weights hardly compress.
const freeONNX = 64 << 20

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

// parseGzip reads a compressed ONNX file; psafe reads no other posteriors in gzip. It is
// unpacked twice: to count, and then into as many bytes.
func parseGzip(file blob) (*contents, error) {
	limit := min(maxONNX, max(freeONNX, 8*file.size))
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
		return nil, fmt.Errorf("it unpacks to more than %d bytes, the limit for a file of %d", limit, file.size)
	}
	if err := infile.Afford(size); err != nil {
		return nil, err
	}
	model := make([]byte, size)
	if err := unpack(file, func(z io.Reader) error { _, err := io.ReadFull(z, model); return err }); err != nil {
		return nil, fmt.Errorf("damaged gzip: %w", err)
	}
	g, err := onnx.Decode(model)
	return &contents{format: "onnx", graph: g}, err
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
	var said []network.Activation
	numbers := int64(0)
	for _, l := range r.Layers {
		said = append(said, l.Activation)
		numbers += int64(len(l.Weight) + len(l.Bias))
	}
	if err := infile.Afford(numbers * memoryPerNumber); err != nil {
		return nil, fmt.Errorf("a network of %d weights in its dense layers: %w", numbers, err)
	}
	if _, err := resolveActivations(said, len(r.Layers), opt.Activations); err != nil {
		return nil, err
	}
	p, err := spread.posterior(r)
	if err != nil {
		return nil, err
	}
	if len(r.Shape) > 2 && r.Shape[0] == 1 { // the first axis counts inputs
		p.Input.Shape = r.Shape[1:]
	}
	p.Source = posterior.Source{Format: n.format, Note: strings.Join(append(r.Notes, spread.notes...), "; "), Rounded: strings.Join(r.Rounded, "; "), Given: spread.given}
	return p, nil
}

// layersOf are the layers with their means.
func layersOf(r *lower.Result) []posterior.Layer {
	var layers []posterior.Layer
	for _, l := range r.Layers {
		p := posterior.Layer{Layer: network.DenseLayer(l.In, l.Out, l.Activation)}
		p.Weight.Mean, p.Bias.Mean = l.Weight, l.Bias
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

// sortedNames are the keys of a map.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
