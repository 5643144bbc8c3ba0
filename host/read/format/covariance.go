package format

import (
	"fmt"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
)

// The covariance of a layer, in a header of version 3: docs/files.md, "Covariance".

// covarianceKeys are the keys of version 3 that version 2 has not.
var covarianceKeys = []string{"covariance"}

// The words for the covariance of a layer.
const (
	covarianceFull = "full"
	covarianceRows = "rows"
	covarianceKron = "kron"
)

// covariancePart is an array of a layer's covariance: layers.K.covariance.NAME.
type covariancePart struct {
	name string
	of   func(*posterior.Covariance) *[]float64
	// shape is that for so many inputs and outputs; a -1 is any number of columns.
	shape func(in, out int) []int
}

// array is the name of the part of layer k.
func (t covariancePart) array(k int) string { return fmt.Sprintf("layers.%d.covariance.%s", k, t.name) }

// covarianceParts lists the arrays of a covariance, in the order in which they are written.
func covarianceParts(word string) []covariancePart {
	switch word {
	case covarianceFull, covarianceRows:
		return []covariancePart{{"factor", func(c *posterior.Covariance) *[]float64 { return &c.Factor }, func(in, out int) []int { return []int{out * (in + 1), -1} }}}
	case covarianceKron:
		return []covariancePart{
			{"QA", func(c *posterior.Covariance) *[]float64 { return &c.QA }, func(in, _ int) []int { return []int{in + 1, in + 1} }},
			{"QG", func(c *posterior.Covariance) *[]float64 { return &c.QG }, func(_, out int) []int { return []int{out, out} }},
			{"sd", func(c *posterior.Covariance) *[]float64 { return &c.Sd }, func(in, out int) []int { return []int{out, in + 1} }},
		}
	}
	return nil
}

// covaries reports whether layers of a kind of posterior may have covariances.
func covaries(kind posterior.Kind) bool {
	return kind == posterior.KindCorrelated || kind == posterior.KindJoint
}

// covariances returns the covariances of the layers of p, nil if it has none.
func covariances(p *posterior.Posterior) []*posterior.Covariance {
	if p.Joint() != nil {
		return p.Joint()
	}
	return p.Covariances()
}

// checkCovariance refuses the field where it does not belong.
func (l *metaLayer) checkCovariance(kind posterior.Kind) error {
	switch {
	case l.Covariance == "":
		return nil
	case !covaries(kind):
		return fmt.Errorf(`field "covariance" does not belong to a posterior of kind %v: say "kind": %q, or %q where layers depend on each other`, kind, posterior.KindCorrelated, posterior.KindJoint)
	case kind == posterior.KindJoint && slices.Contains([]string{covarianceKron, covarianceRows}, l.Covariance):
		return fmt.Errorf("covariance %q: of kind %v it is %q, as all layers have one z", l.Covariance, kind, covarianceFull)
	case covarianceParts(l.Covariance) == nil:
		return fmt.Errorf("covariance %.40q is none of %q, %q and %q: leave it out where the weights are certain", l.Covariance, covarianceFull, covarianceRows, covarianceKron)
	case l.Kind == graph.Dense:
		return nil
	case l.Kind != graph.Conv2D && l.Kind != graph.Conv1D || l.Groups > 1:
		return fmt.Errorf("a covariance is for dense layers and convolutions without groups, this is a %s", l.Kind)
	case l.Covariance != covarianceKron:
		return fmt.Errorf("covariance %q is for dense layers, this is a %s: of convolutions it is %q", l.Covariance, l.Kind, covarianceKron)
	}
	return nil
}

// matrix returns how many inputs and outputs [W b] of the layer has. Rows are the order in which package network has
// the inputs, nil if that is the file's: of a convolution inputs are what one filter has in the file.
func (l *metaLayer) matrix() (in, out int, rows []int32) {
	shape := l.parameters.Weight
	out = shape[len(shape)-1]
	in = 1
	for _, n := range shape[:len(shape)-1] {
		in *= n
	}
	if len(shape) == 2 || l.parameters.Axes == nil { // dense, or channels last
		return in, out, l.rows
	}
	// In the file there are channels, and then the places of the window.
	channels := shape[len(shape)-2]
	for at := range in {
		places := in / channels
		rows = append(rows, int32(at%places*channels+at/places))
	}
	return in, out, rows
}

// findCovariance takes the arrays of the covariance of layer k, and adds up their numbers.
func (m *meta) findCovariance(k int, byName map[string]lazy, numbers *int64) (found []lazy, err error) {
	l := &m.Layers[k]
	for _, t := range covarianceParts(l.Covariance) {
		name := t.array(k)
		a, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("array %q is missing", name)
		}
		delete(byName, name)
		in, out, _ := l.matrix()
		want := t.shape(in, out)
		if len(a.shape) == 2 && want[1] < 0 {
			want[1] = max(1, a.shape[1])
		}
		if !slices.Equal(a.shape, want) {
			return nil, fmt.Errorf("array %q has shape %v, the header says %v: entries are those of [W b] row by row, (out, in+1), whatever the layout", name, a.shape, want)
		}
		*numbers += int64(want[0]) * int64(want[1]) // no overflow: there are as many bytes
		found = append(found, a)
	}
	return found, nil
}

// loadCovariance reads the arrays that findCovariance found, and puts the inputs in the order of
// package network.
func (m *meta) loadCovariance(k int, found []lazy) (*posterior.Covariance, error) {
	l := &m.Layers[k]
	if l.Covariance == "" {
		return nil, nil
	}
	c := &posterior.Covariance{Apart: l.Covariance == covarianceRows}
	in, out, order := l.matrix()
	for i, t := range covarianceParts(l.Covariance) {
		a, err := found[i].load()
		if err != nil {
			return nil, err
		}
		if t.name == "factor" {
			c.Rank = a.Shape[1]
		}
		*t.of(c) = a.Data
	}
	if order == nil {
		return c, nil
	}
	// Rows of the inputs of an image, or of the taps of a window, and the bias behind them.
	rows := append(slices.Clone(order), int32(in))
	if c.Full() {
		for o := range out {
			n := (in + 1) * c.Rank
			part := inRows(&npy.Array{Shape: []int{in + 1, c.Rank}, Data: c.Factor[o*n : (o+1)*n]}, rows)
			copy(c.Factor[o*n:], part.Data)
		}
		return c, nil
	}
	c.QA = inRows(&npy.Array{Shape: []int{in + 1, in + 1}, Data: c.QA}, rows).Data
	return c, nil
}

// covarianceArrays returns the arrays of layer k of p, which is layer at of the file.
func (m *meta) covarianceArrays(p *posterior.Posterior, k, at int) (list []npy.Named) {
	all := covariances(p)
	if all == nil || all[k] == nil {
		return nil
	}
	c := all[k]
	in, out, order := m.Layers[at].matrix()
	for _, t := range covarianceParts(c.String()) {
		shape, data := t.shape(in, out), *t.of(c)
		if t.name == "QA" && order != nil {
			data = inFileRows(data, append(slices.Clone(order), int32(in)))
		}
		if shape[1] < 0 {
			shape[1] = c.Rank
		}
		list = append(list, npy.Named{Name: t.array(at), Array: &npy.Array{Shape: shape, Data: data, DType: "<f8"}})
	}
	return list
}

// inFileRows undoes inRows for one square matrix.
func inFileRows(data []float64, rows []int32) []float64 {
	n := len(rows)
	file := make([]float64, 0, len(data))
	for _, to := range rows {
		file = append(file, data[int(to)*n:(int(to)+1)*n]...)
	}
	return file
}
