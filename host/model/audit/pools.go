package audit

import (
	"fmt"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// pools are max pools taken for average pools and the other way round, one at a time and all,
// and average pools that count their padding, or do not.
func pools(p *posterior.Posterior) []change {
	var list []change
	kinds := map[string][]int{}
	add := func(words string, apply func(*trial, int), layers ...int) {
		list = append(list, onLayers(pooled, words, layers, apply))
	}
	const one, other, counted = "average", "max", "counted"
	appliers := map[string]func(*trial, int){one: averageToMax, other: maxToAverage, counted: countOtherwise}
	words := map[string]string{
		one: "a max pool: write kind max_pool", other: "an average pool: write kind avg_pool",
		counted: "one with the other count_padding",
	}
	for k, l := range p.Layers {
		of := other
		switch m := l.Map.(type) {
		case network.AvgPool:
			of = one
			if m.Window.Before != [2]int{} || m.Window.After != [2]int{} {
				kinds[counted] = append(kinds[counted], k)
			}
		case network.MaxPool:
		default:
			continue
		}
		kinds[of] = append(kinds[of], k)
	}
	for _, of := range []string{one, other, counted} {
		for _, k := range kinds[of] {
			add(fmt.Sprintf("the %s (layer %d of psafe inspect) looks like %s", network.Describe(p.Layers[k].Map), k, words[of]), appliers[of], k)
		}
		if layers := kinds[of]; len(layers) > 1 {
			what := map[string]string{one: "average", other: "max", counted: "average"}[of]
			add(fmt.Sprintf("the %s pools look each like %s", what, words[of]), appliers[of], layers...)
		}
	}
	return list
}

// averageToMax takes layer k for a max pool; its inputs have had their activation.
func averageToMax(t *trial, k int) {
	m := t.net[k].Map.(network.AvgPool)
	t.net[k].Map = network.MaxPool{In: m.In, Window: m.Window}
}

// maxToAverage takes layer k for an average pool. The activation behind a max pool is the one
// that the file has in front of it (package graph).
func maxToAverage(t *trial, k int) {
	m, before := t.net[k].Map.(network.MaxPool), k-1
	if s := t.net[k].Sources; s != nil {
		before = s[0]
	}
	t.net[k].Map = network.AvgPool{In: m.In, Window: m.Window}
	if before >= 0 && t.net[before].Activation.Kind == network.Identity {
		t.net[before].Activation, t.net[k].Activation = t.net[k].Activation, network.Activation{}
	}
}

// countOtherwise takes the padding of an average pool as it does not say.
func countOtherwise(t *trial, k int) {
	m := t.net[k].Map.(network.AvgPool)
	m.CountPadding = !m.CountPadding
	t.net[k].Map = m
}
