package posterior

import (
	"fmt"
	"math"
)

// MaxReferences is the greatest number of reference inputs of a file.
const MaxReferences = 1024

// Reference holds what the framework itself said of the posterior that it wrote, for whoever reads
// the file to compare with (package audit). It says nothing about the posterior that its other
// numbers do not say.
type Reference struct {
	// Inputs are N inputs, one after the other, as raw data: before Input.Mean and Input.Std.
	Inputs []float64
	// Logits holds what the framework computed for them with ReferenceNetwork, N lists of outputs.
	Logits []float64
	// Spread has two numbers for each layer: the mean of the standard deviations of its
	// weights, and of its biases, as the framework understands them; NaN where it has none.
	Spread []float64
}

// ReferenceNetwork is the network that Reference.Logits are of, in the layout of Mean: the
// first one of KindFinite, else the mean network, which for KindDropout is that of
// evaluation. The caller may not write to it.
func (p *Posterior) ReferenceNetwork() [][]float64 {
	if p.Kind == KindFinite {
		return p.finite.Weights(0)
	}
	return p.Mean()
}

// References returns how many reference inputs p has, 0 if none.
func (p *Posterior) References() int {
	if p.Reference == nil {
		return 0
	}
	return len(p.Reference.Inputs) / p.Inputs()
}

// validateReference checks lengths and numbers.
func (p *Posterior) validateReference() error {
	r := p.Reference
	if r == nil {
		return nil
	}
	in, out := p.Inputs(), p.Outputs()
	if (len(r.Inputs) == 0) != (len(r.Logits) == 0) {
		return fmt.Errorf("reference.inputs and reference.logits come together: one of them is missing")
	}
	if n := len(r.Inputs) / in; n*in != len(r.Inputs) || n*out != len(r.Logits) || n > MaxReferences {
		return fmt.Errorf("reference.inputs has %d numbers and reference.logits %d: 1 to %d references need %d and %d each", len(r.Inputs), len(r.Logits), MaxReferences, in, out)
	}
	for _, list := range []struct {
		name   string
		values []float64
		each   int
	}{{"inputs", r.Inputs, in}, {"logits", r.Logits, out}} {
		if bad := finite(list.values, list.each); bad != "" {
			return fmt.Errorf("reference.%s: reference %s", list.name, bad)
		}
	}
	switch n := 2 * len(p.Layers); {
	case r.Spread == nil:
		return nil
	case p.Kind != KindGaussian:
		return fmt.Errorf("reference.spread does not belong to a posterior of kind %v", p.Kind)
	case len(r.Spread) != n:
		return fmt.Errorf("reference.spread has %d numbers: %d layers need %d, of weights and biases", len(r.Spread), len(p.Layers), n)
	}
	for a, v := range r.Spread {
		if !(v >= 0 && v <= math.MaxFloat64 || math.IsNaN(v)) {
			return fmt.Errorf("reference.spread: %s has %v: a mean of standard deviations is finite and not negative", arrayWords(a), v)
		}
	}
	return nil
}
