package train

import (
	"fmt"
	"math"
	"math/rand/v2"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// variational is the posterior being trained. All its parameters lie in
// one list, so that the optimiser needs to know nothing of layers.
type variational struct {
	layers []layer
	// graph is the network if it has other layers than dense ones, else nil.
	graph network.Network
	// param holds every mu and then every rho; grad is the gradient of the loss.
	param, grad []float64
	// half is the number of weights and biases.
	half int
	// sd = softplus(rho), variance = sd^2 and slope = d sd / d rho belong to
	// param and are brought up to date by refresh.
	sd, variance, slope []float64
	// prior is the standard deviation of every prior.
	prior []float64
	// targetVariance holds the target variance of a regression's noise.
	targetVariance float64
}

// layer is one layer: its weights, of a dense one (in, out) with outputs contiguous, begin
// at weight in the lists of the network, its biases at bias. fan is how many weights lead into
// an output.
type layer struct {
	in, out      int
	weight, bias int
	biases, fan  int
	activation   network.Activation
	mapped       network.Map
}

// newNetwork draws the initial means and sets all standard deviations to
// InitSD. The error says why Layers do not fit the data.
func newNetwork(c *Config, inputs, outputs int, rng *rand.Rand) (*variational, error) {
	net := &variational{targetVariance: c.Noise * c.Noise}
	if c.Layers != "" {
		var err error
		if net.graph, err = c.graph(inputs, outputs); err != nil {
			return nil, err
		}
		for _, l := range net.graph {
			net.addLayer(l)
		}
	} else {
		in := inputs
		for _, out := range c.Hidden {
			net.addLayer(network.DenseLayer(in, out, c.Activation))
			in = out
		}
		net.addLayer(network.DenseLayer(in, outputs, network.Activation{}))
	}
	net.param = make([]float64, 2*net.half)
	net.grad = make([]float64, 2*net.half)
	net.sd = make([]float64, net.half)
	net.variance = make([]float64, net.half)
	net.slope = make([]float64, net.half)
	net.prior = make([]float64, net.half)
	for k, l := range net.layers {
		// Means that keep the size of signals from layer to layer. Biases are drawn
		// too, to spread the kinks of a network of one input.
		size := math.Sqrt(1 / float64(l.fan))
		if _, kinked := c.Activation.Kinked(); kinked && k+1 < len(net.layers) {
			size *= math.Sqrt2
		}
		prior := c.PriorSD
		if c.PriorFanIn {
			prior /= math.Sqrt(float64(l.fan))
		}
		for i := l.weight; i < l.bias+l.biases; i++ {
			net.param[i] = size * rng.NormFloat64()
			net.param[net.half+i] = inverseSoftplus(c.InitSD)
			net.prior[i] = prior
			if i >= l.bias {
				net.prior[i] = c.PriorSD
			}
		}
	}
	net.refresh()
	return net, nil
}

func (net *variational) addLayer(of network.Layer) {
	l := layer{in: of.Inputs(), out: of.Outputs(), biases: of.Biases(), activation: of.Activation, mapped: of.Map}
	l.weight, l.bias = net.half, net.half+of.Weights()
	net.half = l.bias + l.biases
	if l.biases > 0 {
		l.fan = of.Weights() / l.biases
	}
	net.layers = append(net.layers, l)
}

// refresh recomputes what follows from rho.
func (net *variational) refresh() {
	for i, rho := range net.param[net.half:] {
		sd, slope := softplus(rho)
		net.sd[i], net.slope[i], net.variance[i] = sd, slope, sd*sd
	}
}

// kl is the sum over all weights of KL( N(mu, sd^2) || N(0, prior^2) ).
func (net *variational) kl() float64 {
	sum := 0.0
	for i, s := range net.prior {
		mu, sd := net.param[i]/s, net.sd[i]/s
		sum += (float64(mu*mu)+float64(sd*sd)-1)/2 - math.Log(sd)
	}
	return sum
}

// addKL adds the gradient of factor times kl.
func (net *variational) addKL(factor float64) {
	for i, s := range net.prior {
		mu, sd := net.param[i], net.sd[i]
		v := s * s
		net.grad[i] += float64(factor * (mu / v))
		net.grad[net.half+i] += float64(factor * float64(sd/v-1/sd) * net.slope[i])
	}
}

// posterior is the result, rounded to float32: what devices compute with by
// default, and half the size.
func (net *variational) posterior() (*posterior.Posterior, error) {
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	gaussian := func(from, to int) posterior.Params {
		mean, sd := make([]float64, to-from), make([]float64, to-from)
		for i := range mean {
			mean[i] = float64(float32(net.param[from+i]))
			sd[i] = float64(float32(net.sd[from+i]))
		}
		return posterior.NewParams(mean, sd, posterior.ScaleSD)
	}
	for _, l := range net.layers {
		p.Layers = append(p.Layers, posterior.Layer{Layer: network.Layer{Map: l.mapped, Activation: l.activation}, Weight: gaussian(l.weight, l.bias), Bias: gaussian(l.bias, l.bias+l.biases)})
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("the trained network: %w", err)
	}
	return p, nil
}

// softplus is log(1 + exp(rho)) and its derivative.
func softplus(rho float64) (y, slope float64) {
	if rho > 30 {
		return rho, 1
	}
	e := math.Exp(rho)
	return math.Log1p(e), e / (1 + e)
}

// inverseSoftplus is log(exp(sd) - 1).
func inverseSoftplus(sd float64) float64 {
	if sd > 30 {
		return sd
	}
	return math.Log(math.Expm1(sd))
}
