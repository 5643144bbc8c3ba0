package format

import (
	"fmt"
	"slices"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// References that come in a file of their own: what the framework gives for some inputs, to
// hold an imported posterior to. The arrays are called as in psafe's own format, or without
// the part before the dot, except that mean and std are those of input.mean and input.std.
var referenceNames = map[string]string{
	"inputs": "reference.inputs", "logits": "reference.logits", "mean": "input.mean", "std": "input.std",
}

// references are arrays of extras, inputs and normalisation as lists, and the shape of an input
// if it has several axes.
type references struct {
	arrays map[string]*npy.Array
	shape  []int
}

// readReferences reads a .npz or safetensors file; nil for the path "". Errors begin with path.
func readReferences(path string) (r *references, err error) {
	if path == "" {
		return nil, nil
	}
	_, err = withFile(path, maxFile, func(file blob) error {
		t, err := openTensors(file)
		if err != nil {
			return err
		}
		r, err = t.references()
		return err
	})
	if err != nil {
		return nil, &oneLine{path, err}
	}
	return r, nil
}

// references loads what readReferences returns.
func (t *tensorFile) references() (*references, error) {
	byName := map[string]lazy{}
	for _, name := range t.names() {
		full := name
		if of := referenceNames[name]; of != "" {
			full = of
		}
		if !slices.ContainsFunc(extras, func(e extra) bool { return e.name == full }) || full == spreadName {
			return nil, fmt.Errorf("array %.100q is none of inputs, logits, mean and std: leave it out", name)
		}
		if _, twice := byName[full]; twice {
			return nil, fmt.Errorf("array %.100q is there twice, also as %s: leave one out", name, full)
		}
		if refused := t.byName[name].refused; refused != nil {
			return nil, fmt.Errorf("array %.100q: %w", name, refused)
		}
		byName[full] = t.byName[name].lazy
	}
	for _, name := range []string{"inputs", "logits"} {
		if _, there := byName[referenceNames[name]]; !there {
			return nil, fmt.Errorf("there is no array %q: write inputs and logits, as np.savez(%q, inputs=x, logits=y)", name, "points.npz")
		}
	}
	numbers := int64(0)
	lazies, err := findExtras(byName, &numbers)
	if err == nil && numbers > maxFile {
		err = fmt.Errorf("the arrays have more than %d numbers", int64(maxFile))
	}
	if err == nil {
		err = afford(numbers, t.file)
	}
	if err != nil {
		return nil, err
	}
	r := &references{arrays: map[string]*npy.Array{}}
	for name, of := range lazies {
		a, err := of.load()
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		switch {
		case name == "reference.inputs" && len(a.Shape) > 2:
			r.shape = slices.Clone(a.Shape[1:])
			a.Shape = []int{a.Shape[0], len(a.Data) / a.Shape[0]}
		case strings.HasPrefix(name, "input."):
			a.Shape = []int{len(a.Data)}
		}
		r.arrays[name] = a
	}
	return r, nil
}

// addTo puts the references into p, which is made of n.
func (r *references) addTo(p *posterior.Posterior, n *contents) error {
	for _, of := range []struct {
		what string
		each int
	}{{"inputs", p.Inputs()}, {"logits", p.Outputs()}} {
		if a := r.arrays[referenceNames[of.what]]; len(a.Shape) != 2 || a.Shape[1] != of.each {
			return fmt.Errorf("array %q has shape %v: the network of the map has %d %[1]s, so write an array of shape (N, %[3]d)", of.what, a.Shape, of.each)
		}
	}
	n.extras = r.arrays
	if n.inputShape == nil {
		n.inputShape = r.shape
	}
	return n.addExtras(p)
}
