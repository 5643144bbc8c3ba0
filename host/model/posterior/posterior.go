// Package posterior holds a Bayesian neural network: its layers and the distribution of
// their parameters, which can be drawn and measured. Package posterior/format reads and
// writes the files.
//
// A network with layers k = 1..L computes
//
//	zeta^k(x) = W^k z^(k-1)(x) + b^k,   z^0 = x,   z^k = sigma_k(zeta^k),   f^w(x) = zeta^L(x)
//
// and the posterior says how the entries w_j of all W^k and b^k are distributed
// (Kind): most often w_j ~ N(mu_j, sd_j^2), independently. A softmax at the end is
// not part of the network: the properties speak of logits.
package posterior

import (
	"fmt"
	"math"

	"psafe/host/model/network"
)

// Posterior is a network with a distribution of its weights. The zero value has no
// layers and is not valid; see Validate. A literal makes one of KindGaussian;
// FromFinite, FromSWAG, FromDropout, FromCovariances and FromJoint make the others.
type Posterior struct {
	// Kind is the family of the distribution. Only of KindGaussian do Layers say
	// everything; see RequireIndependent.
	Kind Kind
	// Layers are shapes, activations and the mean network: the mean of each weight
	// for KindGaussian, KindCorrelated, KindJoint and KindSWAG, the weighted mean of the networks, rounded,
	// for KindFinite, the network without dropout for KindDropout. Spreads are
	// there for KindGaussian alone.
	Layers []Layer
	// Scale says what Params.Spread, or SWAG.Spread, holds, as the file had it, for
	// arrays that do not say it themselves (ScaleOf); ScaleUnknown for the kinds that
	// have neither.
	Scale Scale
	// Source describes where the numbers came from.
	Source Source
	// Input holds what the file says of the inputs that the network was trained on.
	Input Input
	// Reference holds what the file has to compare the network with, nil if it has nothing.
	Reference *Reference

	// The data of the other kinds; at most one is not nil.
	finite      *Finite
	swag        *SWAG
	dropout     []float64
	covariances []*Covariance
	joint       []*Covariance
	linearised  *Posterior
	// shifts says that layer 0 is that of WithInputNoise.
	shifts bool
}

// Source is the provenance of a posterior: what was read, in which format and
// with which content.
type Source struct {
	// Path is the file or directory as the user named it; in an Origin, only
	// its last element.
	Path string
	// Format is the short name of the format: "psafe", "safetensors",
	// "uai2020", "deepbayes", "batten2024", "onnx", or what tensors had a map for.
	Format string
	// SHA256 is the lower-case hexadecimal digest of the content.
	SHA256 string
	// Note is free text carried along by the psafe format.
	Note string
	// Rounded says which numbers of an ONNX graph no float64 is, and by how much they were
	// changed; empty if the network is the one of the file.
	Rounded string
	// Origin holds what a psafe or safetensors file says it was converted from:
	// Path, Format and SHA256 of the first file of the chain; nil if it is
	// silent.
	Origin *Source
	// Given holds what the user said of the standard deviations, where the format has none
	// (ONNX); else nil.
	Given *Given
}

// Given names where standard deviations came from that no posterior file had.
type Given struct {
	// Words say what they are, as format.Options.SpreadWords.
	Words string
	// Path and SHA256 are those of the file that has them, if there is one.
	Path, SHA256 string
}

// Layer is a layer of the network and the distributions of its parameters. The last layer
// of a posterior has activation Identity.
type Layer struct {
	network.Layer
	// Weight and Bias have one entry for each parameter of the layer's Linear map, in its
	// order: Weights() and Biases() of them.
	Weight, Bias Params
	// NoBias reports whether the file has no bias for this layer: Bias is there all the same, with
	// means and standard deviations that are exactly 0.
	NoBias bool
}

// Params is a flat list of independent random parameters, each with a normal
// distribution. Which of them meets which input, network.Linear says.
type Params struct {
	// Mean is mu, exactly as stored in the file.
	Mean []float64
	// Spread is the file's own spread parameter, exactly as stored; what it
	// means is Posterior.ScaleOf. (Of ONNX networks it is the standard deviation that the
	// user gave, rounded to float64.)
	Spread []float64
	// Scale tells what Spread holds; ScaleUnknown leaves it to Posterior.Scale.
	Scale Scale
	// SdLo <= sd <= SdHi bound the real standard deviation that Spread stands
	// for. They are equal where Spread is the standard deviation itself.
	SdLo, SdHi []float64
}

// Inputs returns the length of the network's input.
func (p *Posterior) Inputs() int { return p.Layers[0].Inputs() }

// Outputs returns the number of logits.
func (p *Posterior) Outputs() int { return p.Layers[len(p.Layers)-1].Outputs() }

// Weights returns the number of weights and biases.
func (p *Posterior) Weights() int {
	n := 0
	for _, g := range p.Params() {
		n += len(g.Mean)
	}
	return n
}

// Network returns what the posterior's networks compute.
func (p *Posterior) Network() network.Network {
	net := make(network.Network, len(p.Layers))
	for k, l := range p.Layers {
		net[k] = l.Layer
	}
	return net
}

// Mean is the mean network in the layout of Draw: the weights of layer 0, its biases, the
// weights of layer 1, and so on. It shares memory with p: the caller may not write to it.
func (p *Posterior) Mean() [][]float64 {
	var mean [][]float64
	for _, g := range p.Params() {
		mean = append(mean, g.Mean)
	}
	return mean
}

// LogitsApprox evaluates the mean network at x in ordinary float64: an approximation
// for choosing labels and reports, never part of a bound.
func (p *Posterior) LogitsApprox(x []float64) []float64 {
	return p.Network().OutputsApprox(p.Mean(), x)
}

// Validate returns what makes p unusable: no layers, shapes that do not chain, lengths that do not
// match, a number that is not finite, a negative standard deviation, a count below 1, a dropout
// rate outside [0, 1), data of another kind, an activation on the last layer, or an Input or a
// Reference of another shape.
func (p *Posterior) Validate() error {
	if err := p.Network().Check(); err != nil {
		return err
	}
	if err := p.Input.Validate(p.Inputs()); err != nil {
		return err
	}
	if err := p.validateReference(); err != nil {
		return err
	}
	return p.validateKind()
}

func (g *Params) validate(what string, n int) error {
	if len(g.Mean) != n || len(g.Spread) != n || len(g.SdLo) != n || len(g.SdHi) != n {
		return fmt.Errorf("%s: %d means, %d spreads, %d sd bounds; the shape needs %d of each", what, len(g.Mean), len(g.Spread), len(g.SdLo), n)
	}
	for j, m := range g.Mean {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return fmt.Errorf("%s: mean[%d] is %v", what, j, m)
		}
		lo, hi := g.SdLo[j], g.SdHi[j]
		if !(lo >= 0 && lo <= hi && hi <= math.MaxFloat64) {
			return fmt.Errorf("%s: standard deviation[%d] is %v (stored %v): it must be finite and not negative%s", what, j, hi, g.Spread[j], mend(g.Spread[j]))
		}
	}
	return nil
}

// mend returns what to do about a spread that is none.
func mend(stored float64) string {
	switch {
	case math.IsNaN(stored) || math.IsInf(stored, 0):
		return "; mend that entry where the file was made (a weight that is not random has the standard deviation 0, which is -inf for softplus and for logs)"
	case stored < 0:
		return "; numbers below 0 are often rho (scale softplus) or the log of a standard deviation (log_sd) or of a variance (log_variance)"
	}
	return ""
}
