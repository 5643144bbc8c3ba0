package format

import (
	"fmt"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// layerArrays hold what the header of a layer may say of its arrays beside their shapes.
type layerArrays struct {
	// WeightScale and BiasScale say what the .scale array holds, in place of the header's
	// scale; with "none" there is no such array, and the standard deviation is exactly 0.
	WeightScale string `json:"weight_scale,omitempty"`
	BiasScale   string `json:"bias_scale,omitempty"`
	// Bias is false where there are no arrays of the bias, which is exactly 0.
	Bias *bool `json:"bias,omitempty"`
}

func (l *layerArrays) noBias() bool { return l.Bias != nil && !*l.Bias }

// settle checks the fields of a layer and puts what they say into to.
func (l *layerArrays) settle(kind posterior.Kind, to *arrays) error {
	to.noBias = l.noBias()
	for _, f := range []struct {
		field, word string
		to          *posterior.Scale
	}{{"weight_scale", l.WeightScale, &to.weightScale}, {"bias_scale", l.BiasScale, &to.biasScale}} {
		if f.word == "" {
			continue
		}
		if kind != posterior.KindGaussian {
			return fmt.Errorf("field %q does not belong to a posterior of kind %v", f.field, kind)
		}
		var err error
		if *f.to, err = posterior.ParseArrayScale(f.word); err != nil {
			return fmt.Errorf("%s: %w", f.field, err)
		}
	}
	if to.noBias && l.BiasScale != "" {
		return fmt.Errorf("bias is false, so there is nothing for bias_scale %q: drop one of the two", l.BiasScale)
	}
	if to.noBias && kind == posterior.KindGaussian {
		to.biasScale = posterior.ScaleNone
	}
	return nil
}

// lacks reports whether the layer has no array for the part.
func (l *layerArrays) lacks(t part) bool {
	none := posterior.ScaleNone.String()
	return t.bias && l.noBias() || t.name == "weight.scale" && l.WeightScale == none || t.name == "bias.scale" && l.BiasScale == none
}

// absent adds up the zeros that stand for a part that is not stored, as if they were.
func (t part) absent(of *graph.Parameters, stack int, numbers *int64) error {
	size := int64(1)
	for _, d := range t.shape(of, stack, false) {
		// A weight (0, out) takes no byte of the file, whatever out is; the shape is that of an array, so no d is below 0.
		if d > 0 && size > maxFile/int64(d) {
			return fmt.Errorf("%s has more than %d numbers", t.name, int64(maxFile))
		}
		size *= int64(d)
	}
	if *numbers += size; *numbers > maxFile {
		return fmt.Errorf("the arrays have more than %d numbers", int64(maxFile))
	}
	return nil
}

// arraysOf returns what a header says of the arrays of layer k of p: the least that gives p again.
func arraysOf(p *posterior.Posterior, k int) layerArrays {
	var l layerArrays
	layer := &p.Layers[k]
	word := func(g *posterior.Params) string {
		if s := p.ScaleOf(g); p.Kind == posterior.KindGaussian && s != p.Scale {
			return s.String()
		}
		return ""
	}
	l.WeightScale = word(&layer.Weight)
	if layer.NoBias && biasIsZero(p, k) {
		l.Bias = new(bool)
		return l
	}
	l.BiasScale = word(&layer.Bias)
	return l
}

// biasIsZero reports whether all that a file would hold of the bias of layer k is 0, so that
// nothing is lost with it.
func biasIsZero(p *posterior.Posterior, k int) bool {
	for _, t := range parts(p.Kind) {
		if t.bias && slices.ContainsFunc(t.data(p, k), func(v float64) bool { return v != 0 }) {
			return false
		}
	}
	return p.Kind != posterior.KindGaussian || p.ScaleOf(&p.Layers[k].Bias) == posterior.ScaleNone
}

// zeros is an array of zeros.
func zeros(shape []int) *npy.Array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &npy.Array{Shape: shape, Data: make([]float64, n), DType: "<f8"}
}

// either is own, or file where own says nothing.
func either(own, file posterior.Scale) posterior.Scale {
	if own == posterior.ScaleUnknown {
		return file
	}
	return own
}
