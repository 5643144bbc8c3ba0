package relax

import "context"

// Pass is a network with what is known of its hidden layers on the input box x.
type Pass struct {
	*Network
	X      Span
	Hidden []Hidden
	// fed[k] is what into says of layer k, once it has been asked.
	fed []Span
	// wide says which layers have weights that are no numbers.
	wide []bool
	// needed says of which layers bounds are worth rows of their own.
	needed []bool
	// Off, if it is not nil, is by how much the pre-activations of a layer may be off, another number
	// for each input of the network; nil of layers that are not.
	Off [][]float64
}

// Values returns the values of layer k, or of the input for -1.
func (p *Pass) Values(k int) Span {
	if k < 0 {
		return p.X
	}
	return p.Hidden[k].Z
}

// Into returns what feeds layer k.
func (p *Pass) Into(k int) Span {
	from := p.Graph.From[k]
	if len(from) == 1 {
		return p.Values(from[0])
	}
	if p.fed[k].Lo == nil {
		for _, s := range from {
			z := p.Values(s)
			p.fed[k].Lo, p.fed[k].Hi = append(p.fed[k].Lo, z.Lo...), append(p.fed[k].Hi, z.Hi...)
		}
	}
	return p.fed[k]
}

// Network is a network whose weights are known to lie in intervals.
type Network struct {
	Layers []Layer
	// Graph says what feeds what; RowsLo reads it where it is nil.
	Graph *Graph
	// Lines reports whether bounds are also computed by lines (LBP), not by intervals alone.
	Lines bool
	// By chooses the lines.
	By Choice
	// Ctx, if it is not nil, ends what takes long: then nothing is known.
	Ctx context.Context
}
