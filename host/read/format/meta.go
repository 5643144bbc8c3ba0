package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format/graph"
	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// The psafe format: arrays layers.K.{weight,bias}.{mean,scale} for K = 0, 1, ...
// (and others for other kinds than gaussian; see parts) and a JSON header, in
// a .npz (as the uint8 array __meta__) or in a safetensors file (under "psafe" in
// its metadata). This file has what the two containers share.

// meta is the JSON header.
type meta struct {
	Format  string      `json:"format"`
	Version int         `json:"version"`
	Kind    string      `json:"kind,omitempty"`
	Scale   string      `json:"scale,omitempty"`
	Counts  []int64     `json:"counts,omitempty"`
	DrawsOf string      `json:"draws_of,omitempty"`
	Rank    *int        `json:"rank,omitempty"`
	Layout  string      `json:"layout"`
	Order   string      `json:"order,omitempty"`
	Layers  []metaLayer `json:"layers"`
	Note    string      `json:"note,omitempty"`
	Shape   []int       `json:"input_shape,omitempty"`
	// FeaturesOf is Input.FeaturesOf.
	FeaturesOf string      `json:"features_of,omitempty"`
	Source     *metaSource `json:"source,omitempty"`

	// plan is the network of a header of version 2 that is read; of says which layer of one
	// that is written each layer of the posterior is.
	plan *graph.Plan
	of   []int
}

type metaLayer struct {
	Name       string   `json:"name,omitempty"`
	Kind       string   `json:"kind"`
	From       []string `json:"from,omitempty"`
	Activation string   `json:"activation,omitempty"`
	In         int      `json:"in,omitempty"`
	Out        int      `json:"out,omitempty"`
	graphFields
	Rate *float64 `json:"rate,omitempty"`
	// Covariance is a word of version 3 (covariance.go).
	Covariance string `json:"covariance,omitempty"`
	layerArrays

	// parameters are the shapes of its arrays, with no Weight where it has none; rows is the
	// order of dense weights (graph.Planned).
	parameters graph.Parameters
	rows       []int32
}

type metaSource struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	SHA256 string `json:"sha256"`
}

const (
	metaFormat = "psafe-posterior"
	// Version 1 is a chain of dense layers, version 2 any graph (graphmeta.go), version 3 a graph
	// whose layers may have covariances (covariance.go).
	metaChain, metaGraph, metaCovariance = 1, 2, 3
	layoutIO                             = "in,out"
	layoutOI                             = "out,in"
)

// metaKeys are all keys of a header of version 1, at any depth. encoding/json matches names
// without regard to case; the list makes it strict.
var metaKeys = []string{
	"format", "version", "scale", "layout", "layers", "note", "source", "input_shape", "features_of",
	"kind", "activation", "in", "out", "path", "sha256", "counts", "draws_of", "rank", "rate",
	"weight_scale", "bias_scale", "bias",
}

// maxMeta bounds the header, in bytes: what it is parsed into takes up to 20 times
// as much. It has room for two million counts.
const maxMeta = 4 << 20

func errMetaSize(n int64) error {
	return fmt.Errorf("JSON header of %d bytes: at most %d are allowed", n, maxMeta)
}

// maxMetaDepth is how deeply the headers of files may nest brackets; they need four.
const maxMetaDepth = 16

// checkJSON bounds what a text is taken apart into.
func checkJSON(text []byte, depth, values int) error {
	if line, err := infile.CheckJSON(text, depth, values); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

// parseMeta reads and checks the header, except for shapes.
func parseMeta(text []byte) (*meta, error) {
	if len(text) > maxMeta {
		return nil, errMetaSize(int64(len(text)))
	}
	if err := checkJSON(text, maxMetaDepth, maxMeta); err != nil {
		return nil, err
	}
	keys := slices.Concat(metaKeys, graphKeys, covarianceKeys)
	if err := checkKeys(text, keys); err != nil {
		return nil, located(text, err, keys)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var m meta
	if err := d.Decode(&m); err != nil {
		return nil, located(text, err, keys)
	}
	if m.Format != metaFormat || m.Version < metaChain || m.Version > metaCovariance {
		return nil, fmt.Errorf("format %.40q version %d: this psafe reads %q version %d to %d", m.Format, m.Version, metaFormat, metaChain, metaCovariance)
	}
	if m.Layout != layoutIO && m.Layout != layoutOI {
		return nil, fmt.Errorf("layout %.40q is neither %q nor %q", m.Layout, layoutIO, layoutOI)
	}
	if m.Version == metaCovariance {
		return &m, m.lower()
	}
	older := metaKeys
	if m.Version == metaGraph {
		older = slices.Concat(metaKeys, graphKeys)
	}
	if err := checkKeys(text, older); err != nil {
		return nil, fmt.Errorf("%w of version %d", err, m.Version)
	}
	if m.Version == metaGraph {
		return &m, m.lower()
	}
	if m.activeEnd() {
		return &m, m.lower()
	}
	for k := range m.Layers {
		l := &m.Layers[k]
		if l.Kind != graph.Dense {
			return nil, fmt.Errorf("layer %d: kind %.40q is not supported in version %d, only dense is", k, l.Kind, metaChain)
		}
		l.parameters = graph.Parameters{Weight: []int{l.In, l.Out}, Bias: l.Out}
		if m.Layout == layoutOI {
			l.parameters.Axes = []int{1, 0}
		}
	}
	return &m, nil
}

// activeEnd reports whether a header of version 1 has an activation at its last layer, behind which the
// network has one more.
func (m *meta) activeEnd() bool {
	for _, l := range m.Layers {
		if l.Kind != graph.Dense {
			return false
		}
	}
	if len(m.Layers) == 0 {
		return false
	}
	a, err := network.ParseActivation(m.Layers[len(m.Layers)-1].Activation)
	return err == nil && a.Kind != network.Identity
}

// checkKeys reads one JSON value and reports text after it, an object that has a
// key twice (encoding/json would silently take the last), and, if allowed is not
// nil, a key outside it.
func checkKeys(text []byte, allowed []string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	// One entry per open object or array; nil for an array. key says that the
	// next token of an object is a key.
	var open []map[string]bool
	key := false
	for {
		token, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return fmt.Errorf("no JSON")
		}
		if err != nil {
			return err
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, key = append(open, map[string]bool{}), true
				continue
			case '[':
				open = append(open, nil)
				continue
			}
			open = open[:len(open)-1]
		case string:
			if inObject && key {
				seen := open[len(open)-1]
				if seen[t] {
					return fmt.Errorf("key %.60q comes twice", t)
				}
				if allowed != nil && !slices.Contains(allowed, t) {
					return &unknownField{t, d.InputOffset()}
				}
				seen[t], key = true, false
				continue
			}
		}
		// A value has ended: in an object, a key is next.
		key = len(open) > 0 && open[len(open)-1] != nil
		if len(open) == 0 {
			break
		}
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("text after the end of the JSON")
	}
	return nil
}

// contents joins the header with the arrays. It takes every array out of byName
// and reports what is missing, left over, or has another shape than the header
// says, or too many numbers for a file of that length, and only then reads them.
func (m *meta) contents(format string, byName map[string]lazy, file int64) (*contents, error) {
	n := &contents{format: format, note: m.Note, counts: m.Counts, drawsOf: m.DrawsOf, inputShape: m.Shape, featuresOf: m.FeaturesOf, plan: m.plan}
	var err error
	if n.kind, err = m.kind(); err != nil {
		return nil, err
	}
	if n.kind.HasSpread() {
		if n.scale, err = posterior.ParseScale(m.Scale); err != nil {
			return nil, err
		}
	}
	if m.Rank != nil {
		n.rank = *m.Rank
	}
	if m.Source != nil {
		n.origin = &posterior.Source{Path: m.Source.Path, Format: m.Source.Format, SHA256: m.Source.SHA256}
	}
	for k := range m.Layers { // before arrays are missed that another kind has
		if err := m.Layers[k].checkCovariance(n.kind); err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
	}
	numbers, lazies := int64(0), make([][]lazy, len(m.Layers))
	n.layers = make([]arrays, len(m.Layers))
	for k, l := range m.Layers {
		if m.plan == nil {
			a, err := network.ParseActivation(l.Activation)
			if err != nil {
				return nil, fmt.Errorf("layer %d: %w", k, err)
			}
			n.activations = append(n.activations, a)
		}
		if n.kind == posterior.KindDropout {
			n.rates = append(n.rates, 0)
			if l.Rate != nil {
				n.rates[k] = *l.Rate
			}
		}
		if err := l.settle(n.kind, &n.layers[k]); err != nil {
			return nil, fmt.Errorf("layer %d: %w", k, err)
		}
		if lazies[k], err = m.find(n.kind, k, byName, &numbers); err != nil {
			return nil, err
		}
		covariance, err := m.findCovariance(k, byName, &numbers)
		if err != nil {
			return nil, err
		}
		lazies[k] = append(lazies[k], covariance...)
	}
	numbers += n.unitNumbers()
	beside, err := findExtras(byName, &numbers)
	if err != nil {
		return nil, err
	}
	extra := ""
	for name := range byName {
		if extra == "" || name < extra {
			extra = name
		}
	}
	if len(byName) > 0 {
		return nil, fmt.Errorf("array %.60q belongs to none of the %d layers of the header", extra, len(m.Layers))
	}
	if err := afford(numbers, file); err != nil {
		return nil, err
	}
	for k := range n.layers {
		if err := m.load(n.kind, k, lazies[k], &n.layers[k]); err != nil {
			return nil, err
		}
	}
	n.extras = map[string]*npy.Array{}
	for name, a := range beside {
		if n.extras[name], err = a.load(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// find takes the arrays of layer k, in the order of parts, and adds up their numbers.
func (m *meta) find(kind posterior.Kind, k int, byName map[string]lazy, numbers *int64) ([]lazy, error) {
	var found []lazy
	for _, t := range parts(kind) {
		if m.Layers[k].parameters.Weight == nil {
			found = append(found, lazy{})
			continue
		}
		name := t.array(k)
		if m.Layers[k].lacks(t) {
			if err := t.absent(&m.Layers[k].parameters, m.stack(), numbers); err != nil {
				return nil, fmt.Errorf("layer %d: %w", k, err)
			}
			found = append(found, lazy{})
			continue
		}
		a, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("array %q is missing", name)
		}
		delete(byName, name)
		if want := t.shape(&m.Layers[k].parameters, m.stack(), true); !slices.Equal(a.shape, want) {
			return nil, fmt.Errorf("array %q has shape %v, the header says %v%s", name, a.shape, want, m.seeTo(k, t.bias))
		}
		size := int64(1)
		for _, d := range a.shape {
			size *= int64(d) // no overflow: there are as many bytes
		}
		*numbers += size
		found = append(found, a)
	}
	return found, nil
}

// seeTo returns what in the header decides the shape of the weights of layer k.
func (m *meta) seeTo(k int, bias bool) string {
	switch {
	case bias:
		return ""
	case m.Layers[k].Kind == graph.Dense:
		return `: see to "layout" and to the sizes`
	case m.Layers[k].Kind == graph.BatchNorm:
		return ""
	}
	return `: see to "order", "input_shape", kernel, filters and groups`
}

// load reads the arrays of a layer and turns the weights to (in, out), kernels to (rows,
// columns, channels, filters). Those that the header says are absent are zeros.
func (m *meta) load(kind posterior.Kind, k int, found []lazy, to *arrays) error {
	l := &m.Layers[k]
	for i, t := range parts(kind) {
		if l.parameters.Weight == nil {
			*t.of(to) = zeros([]int{0})
			continue
		}
		if found[i].load == nil {
			*t.of(to) = zeros(t.shape(&l.parameters, m.stack(), false))
			continue
		}
		a, err := found[i].load()
		if err != nil {
			return err
		}
		if !t.bias {
			a = inRows(transposeEach(a, l.parameters.Axes), l.rows)
		}
		*t.of(to) = a
	}
	var err error
	to.covariance, err = m.loadCovariance(k, found[len(parts(kind)):])
	return err
}
