package format

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// The arrays of a Keras model in the order of its layers: weights, then biases; of a batch norm
// gamma, beta, moving mean and moving variance.

// inputShape is the shape of an input of a graph; a chain of dense layers says none.
func (net *kerasNet) inputShape() []int {
	if net.plan == nil {
		return nil
	}
	return net.input
}

// batchNorm is the mean and variance of a batch norm.
type batchNorm struct{ mean, variance *npy.Array }

// taker takes arrays of a list, one after the other.
type taker struct {
	list []*npy.Array
	at   int
}

// take gives the next array, which must have that shape.
func (t *taker) take(what string, shape []int) (*npy.Array, error) {
	if t.at == len(t.list) {
		return nil, fmt.Errorf("%s: there are only %d arrays", what, len(t.list))
	}
	a := t.list[t.at]
	if !slices.Equal(a.Shape, shape) && !(len(shape) == 1 && slices.Equal(a.Shape, []int{1, shape[0]})) {
		return nil, fmt.Errorf("%s: array %d of the list has shape %v, arch.json needs %v", what, t.at, a.Shape, shape)
	}
	t.at++
	return a, nil
}

// layers takes the arrays of all layers, weights and biases, nil where a layer has none; norms
// are the mean and variance of batch norms.
func (net *kerasNet) layers(list []*npy.Array) (layers []arrays, norms map[int]*batchNorm, err error) {
	t := &taker{list: list}
	layers, norms = make([]arrays, len(net.stated)), map[int]*batchNorm{}
	for k, w := range net.weights {
		of, a := &net.plan.Parameters[k], &layers[k]
		if of.Weight == nil {
			continue
		}
		what := net.stated[k].Place(k)
		next := func(there bool, part string, shape []int) *npy.Array {
			if !there || err != nil {
				return nil
			}
			var next *npy.Array
			next, err = t.take(what+" "+part, shape)
			return next
		}
		a.weight, a.bias = next(w.weight, "weight", of.FileShape()), next(w.bias, "bias", []int{of.Bias})
		if w.norm {
			norms[k] = &batchNorm{next(true, "moving mean", of.Weight), next(true, "moving variance", of.Weight)}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if t.at != len(list) {
		return nil, nil, fmt.Errorf("%d arrays, the layers of arch.json have %d", len(list), t.at)
	}
	return layers, norms, nil
}

// gaussian joins means and spreads of a graph.
func (net *kerasNet) gaussian(means, spreads []*npy.Array) (*contents, error) {
	layers, norms, err := net.layers(means)
	if err != nil {
		return nil, fmt.Errorf("mean.npy: %w", err)
	}
	of, spreadNorms, err := net.layers(spreads)
	if err != nil {
		return nil, fmt.Errorf("var.npy: %w", err)
	}
	n := &contents{format: "deepbayes", inputShape: net.input, layers: layers, plan: net.plan, normalise: map[int]*arrays{}}
	apart := false
	for k := range layers {
		a, spread := &layers[k], &of[k]
		a.weightSpread, a.biasSpread = spread.weight, spread.bias
		if norms[k] == nil {
			if a.weight != nil && a.bias == nil {
				a.without(net.plan.Parameters[k].Bias)
			}
			continue
		}
		n.assumed = true
		if !certain(spreadNorms[k].mean) || !certain(spreadNorms[k].variance) {
			return nil, fmt.Errorf("%s: its moving mean or variance has spreads that are not 0: both must be certain", net.stated[k].Place(k))
		}
		split, err := a.norm(norms[k], net.weights[k].eps, certain(spread.weight))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", net.stated[k].Place(k), err)
		}
		if split != nil {
			n.normalise[k], net.stated[k].Normalise, apart = split, true, true
		}
	}
	if apart {
		if n.plan, err = graph.Lower(net.stated, net.input); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// without gives a layer the n biases that it has not.
func (a *arrays) without(n int) {
	a.bias, a.biasSpread, a.noBias, a.biasScale = zeros([]int{n}), zeros([]int{n}), true, posterior.ScaleNone
}

// certain reports whether every spread that is stored is 0, as it is of what is no parameter.
func certain(a *npy.Array) bool {
	return a == nil || !slices.ContainsFunc(a.Data, func(v float64) bool { return v != 0 })
}

// norm makes gain and shift of a batch norm of gamma and beta, which a has, or nil for 1 and 0;
// each rounded to float64 once or twice:
//
//	gain = gamma / sqrt(variance + eps),   shift = beta - mean gain
//
// Where gamma is not sure they stay gamma and beta, and the map in front of them, which is
// returned, has gain and shift of 1 for gamma and 0 for beta.
func (a *arrays) norm(of *batchNorm, eps float64, sure bool) (apart *arrays, err error) {
	n := len(of.mean.Data)
	for _, v := range of.variance.Data {
		if !(v+eps > 0) {
			return nil, fmt.Errorf("the moving variance of a batch norm is %v, and with epsilon %v not above 0", v, eps)
		}
	}
	ones := zeros([]int{n})
	for i := range ones.Data {
		ones.Data[i] = 1
	}
	if a.weight == nil {
		a.weight, sure = ones, true
	}
	if a.bias == nil {
		a.without(n)
	}
	if sure {
		a.weight, a.bias = foldNorm(a.weight, a.bias, of, eps)
		a.weightSpread, a.weightScale, a.noBias = zeros([]int{n}), posterior.ScaleNone, false
		return nil, nil
	}
	apart = &arrays{weightSpread: zeros([]int{n}), biasSpread: zeros([]int{n}), weightScale: posterior.ScaleNone, biasScale: posterior.ScaleNone}
	apart.weight, apart.bias = foldNorm(ones, zeros([]int{n}), of, eps)
	return apart, nil
}

// foldNorm is gain and shift of a batch norm with gamma and beta.
func foldNorm(gamma, beta *npy.Array, of *batchNorm, eps float64) (gain, shift *npy.Array) {
	n := len(of.mean.Data)
	gain, shift = zeros([]int{n}), zeros([]int{n})
	for i := range n {
		gain.Data[i] = gamma.Data[i] / math.Sqrt(of.variance.Data[i]+eps)
		shift.Data[i] = beta.Data[i] - float64(of.mean.Data[i]*gain.Data[i])
	}
	return gain, shift
}

// sample takes the arrays of one network.
func (net *kerasNet) sample(list []*npy.Array) ([]arrays, error) {
	if net.plan == nil {
		return net.denseSample(list)
	}
	layers, norms, err := net.layers(list)
	if err != nil {
		return nil, err
	}
	for k := range layers {
		a := &layers[k]
		switch of := norms[k]; {
		case of != nil:
			if _, err := a.norm(of, net.weights[k].eps, true); err != nil {
				return nil, fmt.Errorf("%s: %w", net.stated[k].Place(k), err)
			}
		case a.weight == nil:
			a.weight, a.bias = zeros([]int{0}), zeros([]int{0})
		case a.bias == nil:
			a.without(net.plan.Parameters[k].Bias)
		}
	}
	return layers, nil
}

// denseSample takes the arrays of one network of a chain.
func (net *kerasNet) denseSample(list []*npy.Array) ([]arrays, error) {
	if len(list)%2 != 0 {
		return nil, fmt.Errorf("%d arrays where dense layers need pairs W0, b0, W1, b1", len(list))
	}
	// There are no spreads; check sees the means in their place.
	layers, err := pair(list, list)
	if err != nil {
		return nil, err
	}
	if len(layers) != len(net.dense) {
		return nil, fmt.Errorf("%d dense layers, arch.json has %d", len(layers), len(net.dense))
	}
	for k := range layers {
		if err := layers[k].check(k); err != nil {
			return nil, err
		}
		if err := net.dense[k].fits(k, layers[k].weight); err != nil {
			return nil, err
		}
	}
	return layers, nil
}
