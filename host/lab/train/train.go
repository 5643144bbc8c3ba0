// Package train makes small Bayesian neural networks: Bayes by Backprop
// (Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015) on the
// processor, in float64.
//
// The posterior over weights is approximated by independent normal
// distributions q(w_j) = N(mu_j, softplus(rho_j)^2), which minimise
//
//	E_q[ -log p(data | w) ] + kl * KL(q || prior),   prior(w_j) = N(0, s_j^2)
//
// by Adam on minibatches. The expectation is estimated with one draw of every
// pre-activation per example instead of one of every weight (local
// reparameterisation; Kingma, Salimans, Welling 2015): the same expectation,
// less noise. Networks with convolutions are evaluated with one draw of all weights for
// every example instead.
//
// Training uses one goroutine and one random generator in a fixed order, so the
// same data, configuration and program on the same kind of processor give the
// same bits.
package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Streams of the random generator: different uses of one seed are independent.
const (
	streamData  = 0x64617461
	streamTrain = 0x747261696e
)

// Config describes how to train. Every number must be set; Check says what is allowed.
type Config struct {
	// Hidden are the widths of the hidden layers, first layer first.
	Hidden []int
	// Layers are hidden layers of any kind in place of Hidden, if not empty, joined by commas:
	// conv:FILTERSxHEIGHTxWIDTH and pool:SIZE (the greatest) or average:SIZE, of images, with
	// /STRIDE behind them unless it is 1 or the pool's size, and then dense:WIDTH. Nothing is
	// padded.
	Layers string
	// Image is the shape of an input, channels last; if zero, it is a square of one channel.
	Image network.Image
	// Activation follows every hidden layer; of an average pool, what it is behind.
	Activation network.Activation
	// Epochs is the number of passes over the data, Batch the number of examples
	// of one step.
	Epochs, Batch int
	// LearningRate is Adam's at the start; it falls linearly to 0.
	LearningRate float64
	// KLWeight is the factor of the Kullback-Leibler term: 1 is Bayes' rule, less
	// is a colder posterior with smaller standard deviations.
	KLWeight float64
	// PriorSD is the standard deviation of the prior of every weight and bias.
	PriorSD float64
	// PriorFanIn divides the prior standard deviation of weights, not biases, by
	// the square root of the layer's number of inputs.
	PriorFanIn bool
	// InitSD is the standard deviation of every weight before training.
	InitSD float64
	// Noise is the standard deviation of a regression's targets.
	Noise float64
	// Seed chooses the initial weights, the order of examples and the draws.
	Seed uint64
	// Progress, if set, is called after every epoch, counted from 1, with the
	// mean loss per example.
	Progress func(epoch int, loss float64)
}

// maxWeights bounds the network: this package is for small ones.
const maxWeights = 10_000_000

// maxCount bounds Epochs and Batch, so that no product with a number of examples
// overflows.
const maxCount = 1 << 30

// FieldError reports what is wrong with one field of a Config.
type FieldError struct {
	// Field is the field's name; Problem says what is wrong and what to give.
	Field, Problem string
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// Check returns what is wrong with the configuration for data of the given shape, nil if nothing
// is. Any error is a *FieldError.
func (c *Config) Check(inputs, outputs int) error {
	bad := func(field, format string, args ...any) error {
		return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
	}
	if c.Layers != "" {
		if _, err := parseLayers(c.Layers); err != nil {
			return bad("Layers", "%v", err)
		}
	} else if len(c.Hidden) == 0 {
		return bad("Hidden", "is empty; give at least one width")
	}
	weights, in := 0, inputs
	widths := append(slices.Clone(c.Hidden), outputs)
	if c.Layers != "" {
		widths = nil // Run says what does not fit the data
	}
	for _, width := range widths {
		if width < 1 {
			return bad("Hidden", "has a layer of width %d; give whole numbers from 1", width)
		}
		// The quotient cannot overflow as the product could.
		if width > (maxWeights-weights)/(in+1) {
			return bad("Hidden", "makes a network of more than %d weights; give smaller widths", maxWeights)
		}
		weights += width * (in + 1)
		in = width
	}
	if c.Activation.Kind == network.Identity {
		return bad("Activation", "identity makes a linear network; give another of %s", network.Words())
	}
	for _, n := range []struct {
		field string
		value int
	}{{"Epochs", c.Epochs}, {"Batch", c.Batch}} {
		if n.value < 1 || n.value > maxCount {
			return bad(n.field, "is %d; give a whole number from 1 to %d", n.value, maxCount)
		}
	}
	for _, n := range []struct {
		field     string
		value     float64
		zeroIsFit bool
	}{{"LearningRate", c.LearningRate, false}, {"KLWeight", c.KLWeight, true}, {"PriorSD", c.PriorSD, false}, {"InitSD", c.InitSD, false}, {"Noise", c.Noise, false}} {
		// Beyond 1e9 squares and their sums leave the range of useful numbers.
		fit := n.value >= 1e-9 && n.value <= 1e9 || n.zeroIsFit && n.value == 0
		if !fit {
			return bad(n.field, "is %v; give a number from 1e-9 to 1e9", n.value)
		}
	}
	return nil
}

// Run trains a network on data and returns its posterior: standard deviations
// (ScaleSD), all parameters rounded to float32. The error is that of
// Config.Check, or says that training diverged (a *FieldError too), or is that of
// ctx, which ends training between two steps. Data whose lengths do not fit are a
// mistake of the caller.
func Run(ctx context.Context, data *Data, c Config) (*posterior.Posterior, error) {
	data.check()
	if err := c.Check(data.Inputs, data.Outputs); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, streamTrain))
	net, err := newNetwork(&c, data.Inputs, data.Outputs, rng)
	if err != nil {
		return nil, err
	}
	opt := newAdam(len(net.param))
	n := data.N()
	size := min(c.Batch, n)
	steps := c.Epochs * ((n + size - 1) / size)
	b := net.newBatch(size)
	step := 0
	for epoch := 1; epoch <= c.Epochs; epoch++ {
		sum := 0.0
		order := rng.Perm(n)
		for from := 0; from < n; from += size {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			pick := order[from:min(from+size, n)]
			b.load(data, pick)
			b.drawNoise(rng)
			sum += b.forward() * float64(len(pick))
			b.backward()
			net.addKL(c.KLWeight / float64(n))
			opt.step(net.param, net.grad, c.LearningRate*(1-float64(step)/float64(steps)))
			net.refresh()
			step++
		}
		loss := sum/float64(n) + c.KLWeight/float64(n)*net.kl()
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return nil, &FieldError{"LearningRate", fmt.Sprintf("%v makes training diverge in epoch %d; give a smaller one, or scale the data", c.LearningRate, epoch)}
		}
		if c.Progress != nil {
			c.Progress(epoch, loss)
		}
	}
	return net.posterior()
}
