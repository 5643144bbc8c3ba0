package format

import (
	"fmt"
	"math"

	"psafe/host/model/audit"
	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// What a psafe file may say beside the posterior itself: of its network's inputs, and what
// the framework computed for some of them. All of it is optional.

// extra is an array that belongs to no layer.
type extra struct {
	name string
	of   func(*posterior.Posterior) *[]float64
	// shape holds what p and the number of references make of it.
	shape func(p *posterior.Posterior, n int) []int
}

// reference is p's, made if there is none.
func reference(p *posterior.Posterior) *posterior.Reference {
	if p.Reference == nil {
		p.Reference = &posterior.Reference{}
	}
	return p.Reference
}

// extras are in the order in which they are written.
var extras = []extra{
	{"input.mean", func(p *posterior.Posterior) *[]float64 { return &p.Input.Mean },
		func(p *posterior.Posterior, _ int) []int { return []int{len(p.Input.Mean)} }},
	{"input.std", func(p *posterior.Posterior) *[]float64 { return &p.Input.Std },
		func(p *posterior.Posterior, _ int) []int { return []int{len(p.Input.Std)} }},
	{"reference.inputs", func(p *posterior.Posterior) *[]float64 { return &reference(p).Inputs },
		func(p *posterior.Posterior, n int) []int { return []int{n, p.Inputs()} }},
	{"reference.logits", func(p *posterior.Posterior) *[]float64 { return &reference(p).Logits },
		func(p *posterior.Posterior, n int) []int { return []int{n, p.Outputs()} }},
	{spreadName, func(p *posterior.Posterior) *[]float64 { return &reference(p).Spread },
		func(p *posterior.Posterior, _ int) []int { return []int{len(p.Layers), 2} }},
}

// findExtras takes them out of byName and adds up their numbers. Of their shapes it checks
// what bounds their size; the rest, when there is a posterior, is for addExtras.
func findExtras(byName map[string]lazy, numbers *int64) (map[string]lazy, error) {
	found := map[string]lazy{}
	if _, compared := byName["reference.logits"]; compared {
		*numbers += *numbers / 3 // package audit has the weights' absolute values and squares
	}
	for _, e := range extras {
		a, ok := byName[e.name]
		if !ok {
			continue
		}
		delete(byName, e.name)
		n := int64(1)
		for _, d := range a.shape {
			n *= int64(d) // no overflow: there are as many bytes
		}
		if (e.name == "reference.inputs" || e.name == "reference.logits") && len(a.shape) > 0 && a.shape[0] > posterior.MaxReferences {
			return nil, fmt.Errorf("array %q has %d references, at most %d are read: write fewer", e.name, a.shape[0], posterior.MaxReferences)
		}
		if n == 0 {
			return nil, fmt.Errorf("array %q of shape %v is empty: leave it out", e.name, a.shape)
		}
		*numbers += n
		found[e.name] = a
	}
	return found, nil
}

// addExtras puts the extras of the file into p, which is valid without them.
func (n *contents) addExtras(p *posterior.Posterior) error {
	p.Input.Shape, p.Input.FeaturesOf = n.inputShape, n.featuresOf
	for _, e := range extras {
		a := n.extras[e.name]
		if a == nil {
			continue
		}
		*e.of(p) = a.Data
		want := e.shape(p, 0)
		if want[0] == 0 && len(a.Shape) > 0 { // references, as many as there are
			want[0] = a.Shape[0]
		}
		if fmt.Sprint(a.Shape) != fmt.Sprint(want) {
			return fmt.Errorf("array %q has shape %v, the header says %v", e.name, a.Shape, want)
		}
	}
	return p.Validate()
}

// writeExtras gives the extras of p as arrays, each float32 if that loses nothing.
func writeExtras(p *posterior.Posterior) []npy.Named {
	q := *p // of would give p an empty reference
	var list []npy.Named
	for _, e := range extras {
		data := *e.of(&q)
		if len(data) == 0 {
			continue
		}
		shape := e.shape(p, p.References())
		if e.name == spreadName {
			data = spreadRows(p, data)
			shape[0] = len(data) / 2
		}
		a := npy.Named{Name: e.name, Array: &npy.Array{Shape: shape, Data: data, DType: "<f4"}}
		for _, v := range data {
			if float64(float32(v)) != v && !math.IsNaN(v) {
				a.Array.DType = "<f8"
				break
			}
		}
		list = append(list, a)
	}
	return list
}

// withGuess adds to an error about spreads what they look like, if that shows.
func (n *contents) withGuess(err error) error {
	if n.kind != posterior.KindGaussian {
		return err
	}
	var stored [][]float64
	for _, a := range n.layers {
		for _, s := range []*npy.Array{a.weightSpread, a.biasSpread} {
			var data []float64
			if s != nil {
				data = s.Data
			}
			stored = append(stored, data)
		}
	}
	if ref := n.extras[spreadName]; ref != nil && len(ref.Data) == len(stored) {
		if guess := audit.GuessScale(stored, ref.Data); guess != "" {
			return fmt.Errorf("%w: %s", err, guess)
		}
	}
	return err
}
