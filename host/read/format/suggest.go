package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A suggestion reads names as people and libraries write them: which layer, weight or bias,
// mean or spread, and of which scale. Shapes then say what the order of the layers and their
// layout can be. What is wrong is seen by the user, who is told to look.

// role is what a word of a name says.
type role struct {
	mean bool
	// scale is a word for ParseScale, of a spread; a final ":" asks for the EPS of the type.
	scale string
}

// roles are the words for means and spreads, the longest first.
var roles = []struct {
	words []string
	role  role
}{
	{[]string{"untransformed", "scale"}, role{scale: "softplus:"}}, // TensorFlow Probability
	{[]string{"log", "sigma", "sq"}, role{scale: "log_variance"}},
	{[]string{"log", "variance"}, role{scale: "log_variance"}},
	{[]string{"log", "sigma2"}, role{scale: "log_variance"}},
	{[]string{"log", "var"}, role{scale: "log_variance"}},
	{[]string{"log", "sigma"}, role{scale: "log_sd"}}, // torchbnn
	{[]string{"log", "scale"}, role{scale: "log_sd"}},
	{[]string{"log", "std"}, role{scale: "log_sd"}},
	{[]string{"log", "sd"}, role{scale: "log_sd"}},
	{[]string{"logvar"}, role{scale: "log_variance"}},
	{[]string{"logsigma"}, role{scale: "log_sd"}},
	{[]string{"logstd"}, role{scale: "log_sd"}},
	{[]string{"rho"}, role{scale: "softplus"}}, // bayesian-torch, blitz
	{[]string{"sigma"}, role{scale: "sd"}},
	{[]string{"std"}, role{scale: "sd"}},
	{[]string{"sd"}, role{scale: "sd"}},
	{[]string{"scale"}, role{scale: "sd"}}, // Pyro and numpyro
	{[]string{"scales"}, role{scale: "sd"}},
	{[]string{"variance"}, role{scale: "variance"}},
	{[]string{"var"}, role{scale: "variance"}},
	{[]string{"mu"}, role{mean: true}},
	{[]string{"mean"}, role{mean: true}},
	{[]string{"loc"}, role{mean: true}},
	{[]string{"locs"}, role{mean: true}},
}

var (
	weightWords = []string{"weight", "weights", "kernel", "w", "gamma"}
	biasWords   = []string{"bias", "biases", "b", "beta"}
	// fillers say nothing about which array it is.
	fillers = []string{"posterior", "sampler", "auto", "q"}
	// foreign names belong to what is no network: priors, and the noise of the last draw.
	foreign = []string{"prior", "eps", "epsilon", "num", "step", "running"}
)

// guess is what a name says.
type guess struct {
	layer string
	// bias and weight are both false where no word says which.
	weight, bias bool
	role         role
	// stat is "mean" or "variance" of the running statistics of a batch norm, else empty.
	stat string
}

var separators = regexp.MustCompile(`[./:_\-]+`)

// guessName reads the name of a tensor; ok is false if it is no part of a network.
func guessName(name string) (g guess, ok bool) {
	words := separators.Split(strings.TrimSuffix(strings.ToLower(name), ":0"), -1)
	unconstrained := words[len(words)-1] == "unconstrained"
	if unconstrained {
		words = words[:len(words)-1]
	}
	if words, stat := statistic(words); stat != "" {
		return guess{layer: strings.Join(words, "."), stat: stat}, true
	}
	for _, f := range foreign {
		if slices.Contains(words, f) {
			return g, false
		}
	}
	g.role.mean = true
	at, from := -1, 0
	for _, r := range roles {
		// The last words count: mu_head.weight_rho is a spread.
		for i := len(words) - len(r.words); i > at; i-- {
			if slices.Equal(words[i:i+len(r.words)], r.words) {
				if at >= 0 && i < at+from {
					break // inside of a longer one
				}
				at, from, g.role = i, len(r.words), r.role
				break
			}
		}
	}
	if at >= 0 {
		words = slices.Delete(slices.Clone(words), at, at+from)
	}
	if unconstrained && g.role.scale == "sd" {
		g.role.scale = "softplus" // Pyro keeps what its constraint softplus_positive maps
	}
	for i := len(words) - 1; i >= 0 && !g.weight && !g.bias; i-- {
		g.weight, g.bias = slices.Contains(weightWords, words[i]), slices.Contains(biasWords, words[i])
		if g.weight || g.bias {
			words = slices.Delete(slices.Clone(words), i, i+1)
		}
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" || slices.Contains(fillers, w) })
	g.layer = strings.Join(words, ".")
	return g, true
}

// candidate is a layer as the names have it: dense, a convolution or a batch norm.
type candidate struct {
	key          string
	weight, bias struct{ mean, spread, scale string }
	shape        []int // of the weight, or of the statistics
	biases       int   // -1 without a bias
	// mean and variance are the running statistics of a batch norm.
	mean, variance string
	// block is the residual block that the layer is in, side whether it is on the shortcut.
	block string
	side  bool
}

// suggest makes a map and notes about it; references may be nil.
func suggest(t *tensorFile, refs *references) (text []byte, notes []string, err error) {
	m := &tensorMap{}
	list := t.candidates(m)
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("no tensor of two axes or more has a name that looks like the weight of a layer; the file has %s: write the map by hand (docs/files.md)", someNames(t.names()))
	}
	order, layout, note := t.arranged(list)
	if m.Layout = layout; note != "" {
		notes = append(notes, note)
	}
	notes = append(notes, m.fill(order, layout)...)
	found, tried := m.fit(t, order, refs)
	if others := guessed(order, layout); found == nil && others != nil {
		var more int
		found, more = m.fit(t, others, refs)
		tried += more
	}
	switch {
	case found != nil:
		m = found
		notes = append(notes, fmt.Sprintf("activations, layout, paddings, pools and sums were found by trying (%s): the map gives the logits of the references", combinations(tried)))
	case refs != nil:
		notes = append(notes, fmt.Sprintf("none of %d usual combinations of activations, paddings, pools and sums gives the logits of the references", tried))
		fallthrough
	default:
		notes = append(notes, m.unknown()...)
	}
	if len(m.Ignore) > 0 {
		notes = append(notes, fmt.Sprintf("left out under ignore: %s: see whether the network needs them", someNames(m.Ignore)))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(m)
	return b.Bytes(), notes, err
}

func combinations(n int) string {
	if n == 1 {
		return "1 combination"
	}
	return fmt.Sprintf("%d combinations", n)
}

// candidates sorts the tensors into layers, by the order of their names, and puts all others
// under ignore.
func (t *tensorFile) candidates(m *tensorMap) []candidate {
	byKey, of := map[string]*candidate{}, map[string]guess{}
	var list []*candidate
	norms := map[string]bool{}
	for _, name := range t.names() {
		if g, ok := guessName(name); ok && g.stat != "" {
			norms[g.layer] = true
		}
	}
	for _, name := range t.names() {
		g, ok := guessName(name)
		if !ok || !g.suits(t.byName[name].shape, norms[g.layer]) {
			m.Ignore = append(m.Ignore, name)
			continue
		}
		of[name] = g
		if byKey[g.layer] == nil {
			c := &candidate{key: g.layer, biases: -1}
			byKey[g.layer], list = c, append(list, c)
		}
	}
	for _, name := range samplersFirst(t.names()) {
		g, ok := of[name]
		if !ok {
			continue
		}
		if c := byKey[g.layer]; !c.put(name, g, t.byName[name]) {
			m.Ignore = append(m.Ignore, name)
		}
	}
	var found []candidate
	for _, c := range list {
		if (c.weight.mean != "" || c.mean != "") && c.fits(t) {
			found = append(found, *c)
			continue
		}
		for _, name := range []string{c.weight.mean, c.weight.spread, c.bias.mean, c.bias.spread, c.mean, c.variance} {
			if name != "" {
				m.Ignore = append(m.Ignore, name)
			}
		}
	}
	slices.SortFunc(m.Ignore, compareNatural)
	return found
}

// suits says whether a tensor of that shape can be what its name says, and settles whether it
// is a weight or a bias where no word does; norm says that its layer has running statistics.
func (g *guess) suits(shape []int, norm bool) bool {
	axes := len(shape)
	if g.stat != "" {
		return axes == 1
	}
	if !g.weight && !g.bias {
		g.weight, g.bias = axes >= 2 && axes <= 4, axes == 1
	}
	if g.weight {
		return norm && axes == 1 || !norm && axes >= 2 && axes <= 4
	}
	return g.bias && (axes == 1 || axes == 2 && shape[0] == 1)
}

// samplersFirst puts blitz's weight_sampler.mu before weight_mu: forward() draws from the
// sampler, whose numbers are others once the module was moved to another device.
func samplersFirst(names []string) []string {
	first := []string{}
	for _, name := range names {
		if strings.Contains(name, "_sampler.") {
			first = append(first, name)
		}
	}
	return append(first, slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "_sampler.") })...)
}

// put says whether the tensor has a place in the layer that nothing else has.
func (c *candidate) put(name string, g guess, t tensor) bool {
	if g.stat != "" {
		to := &c.mean
		if c.shape = t.shape; g.stat == "variance" {
			to = &c.variance
		}
		if *to != "" {
			return false
		}
		*to = name
		return true
	}
	a := &c.weight
	if g.bias {
		a = &c.bias
	}
	to := &a.mean
	if !g.role.mean {
		to = &a.spread
	}
	if *to != "" {
		return false
	}
	*to = name
	switch {
	case !g.role.mean:
		a.scale = g.role.scale
		if strings.HasSuffix(a.scale, ":") {
			a.scale += epsOf(t.dtype)
		}
	case g.bias:
		c.biases = t.shape[len(t.shape)-1]
	default:
		c.shape = t.shape
	}
	return true
}

// epsOf is numpy.finfo(dtype).eps, which TensorFlow Probability adds to a softplus.
func epsOf(dtype string) string {
	if dtype == "F64" || strings.HasSuffix(dtype, "f8") {
		return "2.220446049250313080847263336181640625e-16"
	}
	return "1.1920928955078125e-07"
}

// fits says whether spreads have the shapes of their means.
func (c *candidate) fits(t *tensorFile) bool {
	for _, a := range []struct{ mean, spread, scale string }{c.weight, c.bias} {
		if a.spread != "" && (a.mean == "" || !slices.Equal(t.byName[a.mean].shape, t.byName[a.spread].shape)) {
			return false
		}
	}
	return !c.norm() || c.mean != "" && c.variance != "" && slices.Equal(t.byName[c.mean].shape, t.byName[c.variance].shape) &&
		(c.weight.mean == "" || slices.Equal(t.byName[c.mean].shape, t.byName[c.weight.mean].shape)) && (c.biases < 0 || c.biases == c.shape[0])
}

// arrange finds an order in which the layers chain, the first of those that are given if it
// does, and their layout, which is to be filled in if nothing tells. note is "" if there is no
// doubt.
func arrange(orders [][]candidate) (order []candidate, layout, note string) {
	list, fits := orders[0], map[string][]candidate{}
	for _, other := range orders {
		if chains(other, layoutOI) || chains(other, layoutIO) {
			list = other
			break
		}
	}
	var natural []string
	for _, layout := range []string{layoutOI, layoutIO} {
		if chains(list, layout) {
			natural, fits[layout] = append(natural, layout), list
			continue
		}
		steps := 10000
		if found := chain(nil, slices.Clone(list), layout, &steps); found != nil {
			fits[layout] = found
		}
	}
	const whose = `"out,in" (torch) or "in,out" (Keras, JAX)`
	const unsorted = "the order of the layers is that in which their shapes chain, not that of their names"
	switch {
	case len(fits) == 0 && len(orders) > 1:
		return list, orientation(list), "the shapes of the layers do not chain in any order, as where there are shortcuts: write \"from\" and layers of kind add or concat into the list, in the order in which they are computed, and " + whose + " for layout"
	case len(fits) == 0:
		return list, toFill, "the shapes of the layers do not chain in any order: mend the list of layers, and write " + whose + " for layout"
	case len(natural) == 2:
		return list, toFill, "both layouts fit the shapes: write " + whose + " for layout"
	case len(natural) == 1 && len(fits) == 2:
		return list, natural[0], "the layers also chain in another order with the other layout: see that layout is right, " + whose
	case len(natural) == 1:
		return list, natural[0], ""
	case len(fits) == 2:
		return fits[layoutOI], toFill, unsorted + "; both layouts fit, each with its own order: write " + whose
	}
	for layout, order := range fits {
		return order, layout, unsorted
	}
	panic("unreachable")
}

// chains says whether each layer takes what the one before gives.
func chains(list []candidate, layout string) bool {
	before := flow{}
	for i := range list {
		var ok bool
		if before, ok = list[i].after(before, layout); !ok {
			return false
		}
	}
	return true
}

// chain puts left behind done so that all of it chains, nil if that cannot be or is not found
// within steps.
func chain(done, left []candidate, layout string, steps *int) []candidate {
	if len(left) == 0 {
		return done
	}
	for i, next := range left {
		if *steps--; *steps < 0 {
			return nil
		}
		longer := append(slices.Clone(done), next)
		if !chains(longer, layout) {
			continue
		}
		if all := chain(longer, slices.Delete(slices.Clone(left), i, i+1), layout, steps); all != nil {
			return all
		}
	}
	return nil
}
