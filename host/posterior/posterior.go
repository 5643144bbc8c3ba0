// Package posterior holds a Bayesian neural network: its dense layers and the
// distribution of their weights, and the readers and writers of every file format
// such a posterior comes in.
//
// A network with layers k = 1..L computes (theory of the package bound)
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
	"strconv"
	"strings"
)

// Posterior is a network with a distribution of its weights. The zero value has no
// layers and is not valid; see Validate. A literal makes one of KindGaussian;
// FromSamples, FromSWAG and FromDropout make the others.
type Posterior struct {
	// Kind is the family of the distribution. Only of KindGaussian do Layers say
	// everything; see RequireIndependent.
	Kind Kind
	// Layers are shapes, activations and the mean network: the mean of each weight
	// for KindGaussian and KindSWAG, the weighted mean of the networks, rounded,
	// for KindSamples, the network without dropout for KindDropout. Spreads are
	// there for KindGaussian alone.
	Layers []Layer
	// Scale says what Gaussian.Spread, or SWAG.Spread, holds, as the file had it;
	// ScaleUnknown for the kinds that have neither.
	Scale Scale
	// Source describes where the numbers came from.
	Source Source

	// The data of the other kinds; at most one is not nil.
	samples *Samples
	swag    *SWAG
	dropout []float64
}

// Source is the provenance of a posterior: what was read, in which format and
// with which content.
type Source struct {
	// Path is the file or directory as the user named it; in an Origin, only
	// its last element.
	Path string
	// Format is the short name of the format: "psafe", "safetensors",
	// "uai2020", "deepbayes" or "batten2024".
	Format string
	// SHA256 is the lower-case hexadecimal digest of the content.
	SHA256 string
	// Note is free text carried along by the psafe format.
	Note string
	// Origin is what a psafe or safetensors file says it was converted from:
	// Path, Format and SHA256 of the first file of the chain; nil if it is
	// silent.
	Origin *Source
}

// Layer is one dense layer and the activation after it. The last layer of a
// posterior has activation Identity.
type Layer struct {
	In, Out    int
	Activation Activation
	// Weight has In*Out entries, entry j*Out+i goes from input j to output i.
	Weight Gaussian
	// Bias has Out entries.
	Bias Gaussian
}

// Gaussian is a list of independent normal distributions.
type Gaussian struct {
	// Mean is mu, exactly as stored in the file.
	Mean []float64
	// Spread is the file's own spread parameter, exactly as stored; what it
	// means is Posterior.Scale.
	Spread []float64
	// SdLo <= sd <= SdHi bound the real standard deviation that Spread stands
	// for. They are equal where Spread is the standard deviation itself.
	SdLo, SdHi []float64
}

// Scale says how a stored spread parameter s gives the standard deviation.
type Scale int

const (
	// ScaleUnknown is the zero value: nobody has said yet.
	ScaleUnknown Scale = iota
	// ScaleSD: sd = s.
	ScaleSD
	// ScaleVariance: sd = sqrt(s).
	ScaleVariance
	// ScaleSoftplus: sd = log(1 + exp(s)).
	ScaleSoftplus
)

// String returns the word that --scale and the file header use.
func (s Scale) String() string {
	switch s {
	case ScaleSD:
		return "sd"
	case ScaleVariance:
		return "variance"
	case ScaleSoftplus:
		return "softplus"
	}
	return "unknown"
}

// ParseScale reads sd, variance or softplus.
func ParseScale(word string) (Scale, error) {
	for _, s := range []Scale{ScaleSD, ScaleVariance, ScaleSoftplus} {
		if word == s.String() {
			return s, nil
		}
	}
	return ScaleUnknown, fmt.Errorf("scale %.40q is none of sd, variance, softplus", word)
}

// ActivationKind names an activation function.
type ActivationKind int

const (
	Identity ActivationKind = iota
	ReLU
	LeakyReLU
	Tanh
	Sigmoid
)

// Activation is an activation function, applied to every neuron of a layer.
type Activation struct {
	Kind ActivationKind
	// Slope is the factor of LeakyReLU for t < 0, in (0, 1); 0 for the others.
	Slope float64
}

// String returns identity, relu, tanh, sigmoid, or leaky_relu:SLOPE.
func (a Activation) String() string {
	switch a.Kind {
	case Identity:
		return "identity"
	case ReLU:
		return "relu"
	case LeakyReLU:
		return fmt.Sprintf("leaky_relu:%v", a.Slope)
	case Tanh:
		return "tanh"
	case Sigmoid:
		return "sigmoid"
	}
	return fmt.Sprintf("activation(%d)", int(a.Kind))
}

// ParseActivation reads the words that String writes.
func ParseActivation(word string) (Activation, error) {
	for _, kind := range []ActivationKind{Identity, ReLU, Tanh, Sigmoid} {
		if a := (Activation{Kind: kind}); a.String() == word {
			return a, nil
		}
	}
	if text, ok := strings.CutPrefix(word, "leaky_relu:"); ok {
		slope, err := strconv.ParseFloat(text, 64)
		if err == nil && slope > 0 && slope < 1 {
			return Activation{Kind: LeakyReLU, Slope: slope}, nil
		}
		return Activation{}, fmt.Errorf("leaky_relu slope %.40q is not a number between 0 and 1", text)
	}
	return Activation{}, fmt.Errorf("activation %.40q is none of relu, tanh, sigmoid, leaky_relu:SLOPE, identity", word)
}

// Inputs returns the length of the network's input.
func (p *Posterior) Inputs() int { return p.Layers[0].In }

// Outputs returns the number of logits.
func (p *Posterior) Outputs() int { return p.Layers[len(p.Layers)-1].Out }

// Weights returns the number of weights and biases.
func (p *Posterior) Weights() int {
	n := 0
	for _, l := range p.Layers {
		n += len(l.Weight.Mean) + len(l.Bias.Mean)
	}
	return n
}

// LogitsApprox evaluates the mean network at x in ordinary float64: an approximation
// for choosing labels and reports, never part of a bound.
func (p *Posterior) LogitsApprox(x []float64) []float64 {
	var mean [][]float64
	for _, l := range p.Layers {
		mean = append(mean, l.Weight.Mean, l.Bias.Mean)
	}
	return p.OutputsApprox(mean, x)
}

// OutputsApprox evaluates the network with weights in the order of NewWeights at x in
// ordinary float64: not a bound.
func (p *Posterior) OutputsApprox(weights [][]float64, x []float64) []float64 {
	if len(x) != p.Inputs() {
		panic(fmt.Sprintf("posterior: OutputsApprox: input has %d entries, network takes %d", len(x), p.Inputs()))
	}
	z := x
	for k, l := range p.Layers {
		y := append([]float64(nil), weights[2*k+1]...)
		for j, zj := range z {
			if zj == 0 {
				continue
			}
			row := weights[2*k][j*l.Out : (j+1)*l.Out]
			for i, w := range row {
				y[i] += w * zj
			}
		}
		for i, t := range y {
			y[i] = l.Activation.Approx(t)
		}
		z = y
	}
	return z
}

// Approx evaluates the activation in ordinary float64: not a bound.
func (a Activation) Approx(t float64) float64 {
	switch a.Kind {
	case ReLU:
		return math.Max(t, 0)
	case LeakyReLU:
		if t < 0 {
			return a.Slope * t
		}
		return t
	case Tanh:
		return math.Tanh(t)
	case Sigmoid:
		return 1 / (1 + math.Exp(-t))
	}
	return t
}

// Validate says what makes p unusable: no layers, shapes that do not chain,
// lengths that do not match, a number that is not finite, a negative standard
// deviation, a count below 1, a dropout rate outside [0, 1), data of another kind,
// or an activation on the last layer.
func (p *Posterior) Validate() error {
	if err := validateShapes(p.Layers); err != nil {
		return err
	}
	if err := p.validateKind(); err != nil {
		return err
	}
	for k, l := range p.Layers {
		if a := l.Activation; a.Kind < Identity || a.Kind > Sigmoid || a.Kind == LeakyReLU && !(a.Slope > 0 && a.Slope < 1) {
			return fmt.Errorf("layer %d has activation %v: it must be relu, tanh, sigmoid, identity, or leaky_relu with a slope between 0 and 1", k, a)
		}
	}
	if last := p.Layers[len(p.Layers)-1].Activation; last.Kind != Identity {
		return fmt.Errorf("last layer has activation %v: the property speaks of logits, so it must be identity", last)
	}
	return nil
}

// validateShapes checks that there are layers and that each fits the one before.
func validateShapes(layers []Layer) error {
	if len(layers) == 0 {
		return fmt.Errorf("posterior has no layers")
	}
	for k, l := range layers {
		if l.In < 1 || l.Out < 1 || l.In > math.MaxInt/l.Out {
			return fmt.Errorf("layer %d: shape %d x %d is empty or too large", k, l.In, l.Out)
		}
		if k > 0 && l.In != layers[k-1].Out {
			return fmt.Errorf("layer %d takes %d inputs but layer %d gives %d: shapes do not chain", k, l.In, k-1, layers[k-1].Out)
		}
	}
	return nil
}

func (g *Gaussian) validate(what string, n int) error {
	if len(g.Mean) != n || len(g.Spread) != n || len(g.SdLo) != n || len(g.SdHi) != n {
		return fmt.Errorf("%s: %d means, %d spreads, %d sd bounds; the shape needs %d of each", what, len(g.Mean), len(g.Spread), len(g.SdLo), n)
	}
	for j, m := range g.Mean {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return fmt.Errorf("%s: mean[%d] is %v", what, j, m)
		}
		lo, hi := g.SdLo[j], g.SdHi[j]
		if !(lo >= 0 && lo <= hi && hi <= math.MaxFloat64) {
			return fmt.Errorf("%s: standard deviation[%d] is %v (stored %v): it must be finite and not negative", what, j, hi, g.Spread[j])
		}
	}
	return nil
}
