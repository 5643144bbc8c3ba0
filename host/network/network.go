// Package network is what a neural network computes, whatever the distribution of its
// parameters: layers, each a linear map and an activation,
//
//	zeta^k(x) = W^k z^(k-1)(x) + b^k,   z^0 = x,   z^k = sigma_k(zeta^k),   f^w(x) = zeta^L(x)
//
// It is the only place that knows which parameter meets which input (Linear) and what
// an activation is (the table in facts.go). What it evaluates in ordinary float64, with
// Approx in its name, chooses and reports; none of that flows into a bound.
package network

import "fmt"

// Layer is a linear map and the activation after it.
type Layer struct {
	Linear
	Activation Activation
}

// Network is a list of layers, the first of which takes the input. The last has
// activation Identity: its outputs are the logits.
type Network []Layer

// Inputs is the length of the network's input.
func (n Network) Inputs() int { return n[0].Inputs() }

// Outputs is the number of logits.
func (n Network) Outputs() int { return n[len(n)-1].Outputs() }

// Check says what makes n unusable: no layers, a map that is none, shapes that do not
// chain, an activation that is not in the table, or one on the last layer.
func (n Network) Check() error {
	if len(n) == 0 {
		return fmt.Errorf("posterior has no layers")
	}
	for k, l := range n {
		if l.Linear == nil {
			return fmt.Errorf("layer %d has no linear map", k)
		}
		if err := l.Linear.Check(); err != nil {
			return fmt.Errorf("layer %d: %w", k, err)
		}
		if k > 0 && l.Inputs() != n[k-1].Outputs() {
			return fmt.Errorf("layer %d takes %d inputs but layer %d gives %d: shapes do not chain", k, l.Inputs(), k-1, n[k-1].Outputs())
		}
	}
	for k, l := range n {
		if err := l.Activation.Check(); err != nil {
			return fmt.Errorf("layer %d has activation %v: %w", k, l.Activation, err)
		}
	}
	if last := n[len(n)-1].Activation; last.Kind != Identity {
		return fmt.Errorf("last layer has activation %v: the property speaks of logits, so it must be identity", last)
	}
	return nil
}
