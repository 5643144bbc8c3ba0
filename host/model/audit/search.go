package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// change is a usual mistake: what it is called, and the trial with what would have been
// meant. Two changes of the same kind are not tried together.
type change struct {
	kind  int
	words string
	apply func(*trial)
}

// onLayers is a change of some layers, of copies of what the trial has of them.
func onLayers(kind int, words string, layers []int, apply func(t *trial, k int)) change {
	return change{kind, words, func(t *trial) {
		t.net, t.weights = slices.Clone(t.net), slices.Clone(t.weights)
		for _, k := range layers {
			apply(t, k)
		}
	}}
}

// Kinds of changes.
const (
	transposed = iota
	activated
	scaled
	flattened
	unbiased
	finished
	swapped
	pooled
)

// search looks for changes after which the network gives the reference logits.
type search struct {
	p        *posterior.Posterior
	rounding network.Rounding
	// left is how many products may still be computed.
	left int
}

// tries is the number of references that decide about a change; those of all are asked only once.
const tries = 32

// run names the change that fits best, as float32; of several that fit as well, two. Unless
// coarse says that TF32 explains the file without any, it goes on with what has numbers of
// its own to fit, with two changes at a time, and with one change in TF32. It is empty if
// nothing fits.
func (s *search) run(coarse bool) string {
	s.rounding = single
	list := changes(s.p)
	words := s.best(list, nil)
	if words != "" || coarse {
		return words
	}
	for _, look := range []func() string{s.order, s.pairs, s.constant} {
		if words := look(); words != "" {
			return words
		}
	}
	for i := range list {
		if words := s.best(list[i+1:], &list[i]); words != "" {
			return words
		}
	}
	if words := s.affine(); words != "" {
		return words
	}
	s.rounding = tf32
	if words := s.best(list, nil); words != "" {
		return words
	}
	return lacking(s.p)
}

// best tries each change, together with another if there is one.
func (s *search) best(list []change, with *change) string {
	type fit struct {
		share float64
		words string
	}
	var fits []fit
	for _, c := range list {
		words := c.words
		t := asRead(s.p)
		if with != nil {
			if with.kind == c.kind {
				continue
			}
			with.apply(t)
			words = with.words + "; and " + words
		}
		c.apply(t)
		if share := s.try(t); share <= 1 {
			fits = append(fits, fit{share, words})
		}
	}
	if len(fits) == 0 {
		return ""
	}
	slices.SortStableFunc(fits, func(a, b fit) int {
		// What is within the rounding of float32 fits as well as can be.
		return int(math.Ceil(min(4*a.share, 1e6))) - int(math.Ceil(min(4*b.share, 1e6)))
	})
	if len(fits) > 1 && fits[1].share <= 4*max(fits[0].share, 0.25) {
		return fits[0].words + " (or else: " + fits[1].words + ")"
	}
	return fits[0].words
}

// try compares the references with a trial, +Inf where there is no time left for it.
func (s *search) try(t *trial) float64 {
	n := min(s.p.References(), tries)
	if s.left -= 8 * s.p.Network().Work(); s.left < 0 {
		return math.Inf(1)
	}
	share := t.compare(s.p, &Comparison{}, s.rounding, n)
	if share <= 1 {
		s.left -= 4 * n * s.p.Network().Work()
	}
	return share
}

// changes lists what is tried.
func changes(p *posterior.Posterior) []change {
	list := append(transpositions(p), activations(p)...)
	list = append(append(list, swaps(p)...), pools(p)...)
	list = append(list, normalisations(p)...)
	list = append(list, flattenings(p)...)
	list = append(list, biases(p)...)
	return append(list, finishes(p)...)
}

// square are the layers whose weights could have been written the other way round.
func square(p *posterior.Posterior) []int {
	var list []int
	for k, l := range p.Layers {
		if _, dense := l.Map.(network.Dense); dense && l.Inputs() == l.Outputs() && l.Inputs() > 1 {
			list = append(list, k)
		}
	}
	return list
}

// transpose turns the weights of layer k, which is square.
func transpose(t *trial, k int) {
	n := t.net[k].Inputs()
	turned := make([]float64, n*n)
	for e, v := range t.weights[2*k] {
		turned[e%n*n+e/n] = v
	}
	t.weights[2*k] = turned
}

func transpositions(p *posterior.Posterior) []change {
	squares := square(p)
	var list []change
	add := func(layers []int) {
		words := fmt.Sprintf("layer %d looks transposed: turn its weights", layers[0])
		if len(layers) > 1 {
			words = fmt.Sprintf("layers %s look transposed: turn their weights", commas(layers))
		}
		list = append(list, onLayers(transposed, words+", or see to \"layout\"", layers, transpose))
	}
	for _, k := range squares {
		add([]int{k})
	}
	if len(squares) > 1 {
		add(squares)
	}
	// Some of several.
	for set := 1; len(squares) <= 5 && set < 1<<len(squares)-1; set++ {
		var some []int
		for i, k := range squares {
			if set>>i&1 != 0 {
				some = append(some, k)
			}
		}
		if len(some) > 1 {
			add(some)
		}
	}
	return list
}

func commas(list []int) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(list), "[]")), ", ")
}

// usual are the activations that are tried.
func usual() []network.Activation {
	list := []network.Activation{{Kind: network.ReLU}, {Kind: network.Tanh}, {Kind: network.Sigmoid}, {Kind: network.Identity}}
	for _, slope := range []float64{0.01, 0.1, 0.2, 0.3, 0.05, 0.02} {
		list = append(list, network.Activation{Kind: network.LeakyReLU, Slope: slope})
	}
	return list
}

// withActivation lists the layers whose activation may have been meant to be another: the hidden
// layers of a chain of dense layers, and in other networks those that have one.
func withActivation(p *posterior.Posterior) []int {
	var list []int
	chain := p.Network().Chain()
	for k := range len(p.Layers) - 1 {
		if chain || p.Layers[k].Activation.Kind != network.Identity {
			list = append(list, k)
		}
	}
	return list
}

func activations(p *posterior.Posterior) []change {
	var list []change
	hidden := withActivation(p)
	add := func(a network.Activation, words string, layers ...int) {
		list = append(list, onLayers(activated, words, layers, func(t *trial, k int) { t.net[k].Activation = a }))
	}
	for _, a := range usual() {
		var others []int // the hidden layers that have another one
		same := true
		for _, k := range hidden {
			if p.Layers[k].Activation != a {
				others = append(others, k)
			}
			same = same && p.Layers[k].Activation == p.Layers[hidden[0]].Activation
		}
		switch {
		case len(others) == 0:
			continue
		case len(others) > 1 && same || len(hidden) == 1:
			add(a, fmt.Sprintf("the hidden layers look as if their activation were %v, not %v", a, p.Layers[hidden[0]].Activation), others...)
		case len(others) > 1:
			add(a, fmt.Sprintf("all hidden layers look as if their activation were %v", a), others...)
		}
		for _, k := range others {
			if len(hidden) > 1 {
				add(a, fmt.Sprintf("layer %d looks as if its activation were %v, not %v", k, a, p.Layers[k].Activation), k)
			}
		}
	}
	return list
}

func biases(p *posterior.Posterior) []change {
	var list []change
	add := func(words string, layers ...int) {
		list = append(list, onLayers(unbiased, words, layers, func(t *trial, k int) { t.weights[2*k+1] = make([]float64, len(t.weights[2*k+1])) }))
	}
	var all []int
	for k := range p.Layers {
		if slices.ContainsFunc(p.ReferenceNetwork()[2*k+1], func(b float64) bool { return b != 0 }) {
			all = append(all, k)
		}
	}
	if len(all) > 1 {
		add("the framework used no biases: write zeros", all...)
	}
	for _, k := range all {
		add(fmt.Sprintf("the framework used no bias in layer %d: write zeros", k), k)
	}
	return list
}

// finishes returns what may have been done to logits.
func finishes(p *posterior.Posterior) []change {
	each := func(f func(float64) float64) func(y, dy []float64) (z, dz []float64) {
		return func(y, dy []float64) (z, dz []float64) {
			for _, v := range y {
				z = append(z, f(v))
			}
			return z, dy // every f here has slopes of at most 1
		}
	}
	list := []change{
		{finished, "reference.logits look like probabilities (a sigmoid was applied): write what comes before it",
			func(t *trial) { t.output = each(network.Activation{Kind: network.Sigmoid}.Approx) }},
		{finished, "reference.logits look as if tanh had been applied: write what comes before it",
			func(t *trial) { t.output = each(network.Activation{Kind: network.Tanh}.Approx) }},
		{finished, "reference.logits look as if relu had been applied: write what comes before it",
			func(t *trial) { t.output = each(network.Activation{Kind: network.ReLU}.Approx) }},
		{finished, "reference.logits look like their negatives", func(t *trial) { t.output = each(func(v float64) float64 { return -v }) }},
	}
	if p.Outputs() == 1 {
		return list
	}
	return append(list, change{finished, "reference.logits look like probabilities (a softmax was applied): write what comes before it",
		func(t *trial) { t.output = softmax(false) }},
		change{finished, "reference.logits look like log-probabilities (a log_softmax was applied): write what comes before it",
			func(t *trial) { t.output = softmax(true) }})
}

// softmax is that, or its logarithm: if no logit is off by more than e, it is off by 2e at most.
func softmax(logarithm bool) func(y, dy []float64) (z, dz []float64) {
	return func(y, dy []float64) (z, dz []float64) {
		all := floats.LogSumExp(y)
		for _, v := range y {
			if v -= all; !logarithm {
				v = math.Exp(v)
			}
			z, dz = append(z, v), append(dz, 2*slices.Max(dy)+0x1p-22*math.Abs(v))
		}
		return z, dz
	}
}
