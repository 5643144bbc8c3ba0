package vnnlib

import (
	"slices"
	"strings"
)

// The networks of version 2.

// maxNetworks bounds the networks of a query.
const maxNetworks = 64

// named is what a name of version 2 stands for: a network, or its variable of so many numbers before.
type named struct {
	*Variable
	network, first int
	output         bool
}

// declareNetwork reads a network.
func (q *parser) declareNetwork(f *form) error {
	switch {
	case q.asserted:
		return f.errorf("networks are declared before everything that is asserted")
	case len(q.inputs)+len(q.outputs) > 0:
		return f.errorf("a network is VNN-LIB 2, but variables were declared as in 1.0; use one of both")
	case q.query.Version == "1.0":
		return f.errorf("a network is VNN-LIB 2, but the file says version 1.0; write <2.0>")
	case len(f.items) < 2 || f.items[1].kind != 'a' || !isName(strings.ReplaceAll(f.items[1].text, "-", "_")): // f-copy is an example of the standard
		return f.errorf("write (declare-network NAME (declare-input X Real [3]) (declare-output Y Real [2]))")
	}
	if q.network == nil {
		q.query.Networks, q.names, q.likes = nil, map[string]named{}, map[int]bool{}
	}
	if len(q.query.Networks) == maxNetworks {
		return f.errorf("more than %d networks: write a query about fewer", maxNetworks)
	}
	q.network = &f.place
	n, isomorphic := Network{Name: f.items[1].text, Equal: -1}, -1
	for k := 2; k < len(f.items); k++ {
		if err := q.part(&f.items[k], &n, &isomorphic); err != nil {
			return err
		}
	}
	if n.Input.Name == "" || n.Output.Name == "" {
		return f.errorf("network %s needs a (declare-input ...) and a (declare-output ...)", cut(n.Name))
	}
	if of := max(n.Equal, isomorphic); of >= 0 {
		for k, v := range []*Variable{&n.Input, &n.Output} {
			if as := []*Variable{&q.query.Networks[of].Input, &q.query.Networks[of].Output}[k]; !slices.Equal(v.Shape, as.Shape) || n.Equal >= 0 && v.Type != as.Type {
				return f.errorf("%s is declared as %s %v and %s as %s %v: of such networks they are the same", cut(v.Name), v.Type, v.Shape, cut(as.Name), as.Type, as.Shape)
			}
		}
	}
	return q.name(f, n)
}

// name takes a network and its names, of which there is one of each.
func (q *parser) name(f *form, n Network) error {
	at, inputs, outputs := len(q.query.Networks), q.query.Inputs(), q.query.Outputs()
	if inputs > maxVariables-n.Input.Size || outputs > maxVariables-n.Output.Size {
		return f.errorf("the networks have more than %d inputs or outputs together", maxVariables)
	}
	q.query.Networks = append(q.query.Networks, n)
	for _, d := range []struct {
		name string
		named
	}{{n.Name, named{network: at}}, {n.Input.Name, named{&n.Input, at, inputs, false}}, {n.Output.Name, named{&n.Output, at, outputs, true}}} {
		if _, twice := q.names[d.name]; twice {
			return f.errorf("%s is declared twice: rename one", cut(d.name))
		}
		q.names[d.name] = d.named
	}
	return nil
}

// part reads (declare-input X Real [1,3]) and what else stands in a network.
func (q *parser) part(f *form, n *Network, isomorphic *int) error {
	word := ""
	if f.kind == '(' && len(f.items) > 0 && f.items[0].kind == 'a' {
		word = f.items[0].text
	}
	switch word {
	case "declare-output":
		return q.tensor(f, &n.Output)
	case "declare-input":
		return q.tensor(f, &n.Input)
	case "declare-hidden":
		return f.errorf("declare-hidden: psafe supports statements about inputs and outputs only")
	case "isomorphic-to", "equal-to":
		return q.alike(f, n, isomorphic)
	}
	return f.errorf("a network has (declare-input ...) and (declare-output ...), found %s", f.describe())
}

// alike reads (equal-to f) or (isomorphic-to f).
func (q *parser) alike(f *form, n *Network, isomorphic *int) error {
	word := f.items[0].text
	if len(f.items) != 2 || f.items[1].kind != 'a' || f.items[1].indexed || max(n.Equal, *isomorphic) >= 0 {
		return f.errorf("write (%s NAME) once, with the name of a network before", word)
	}
	of, there := q.names[f.items[1].text]
	if !there || of.Variable != nil {
		return f.items[1].errorf("%s is no network that was declared before", f.items[1].describe())
	}
	if q.likes[of.network] {
		return f.items[1].errorf("network %s is like another itself: name that one", cut(f.items[1].text))
	}
	q.likes[len(q.query.Networks)] = true
	if *isomorphic = of.network; word == "equal-to" {
		n.Equal, *isomorphic = of.network, -1
	}
	return nil
}

// tensor reads a declared variable.
func (q *parser) tensor(f *form, v *Variable) error {
	word, items := f.items[0].text, f.items
	if n := len(items); n == 4 && items[3].kind == '"' {
		items = items[:3] // the name in the ONNX file, of which there is one anyway
	} else if n == 4 && items[3].kind == 'a' && items[3].text == "initialized" {
		return items[3].errorf("initialized: psafe supports networks with one input, which the query bounds")
	}
	switch {
	case len(items) != 3 || items[1].kind != 'a' || items[1].indexed || items[2].kind != 'a' || !items[2].indexed || !isName(items[1].text):
		return f.errorf("write (%s X Real [1,3])", word)
	case v.Name != "":
		return f.errorf("a second (%s ...): psafe supports networks with one input and one output", word)
	}
	v.Name, v.Type = items[1].text, items[2].text
	switch v.Type {
	case "Real", "real", "float16", "float32", "float64", "bfloat16":
	default:
		return items[2].errorf("element type %s: psafe supports Real, and the float types of ONNX as real numbers", quote(v.Type))
	}
	shape, err := q.numbers(&items[2])
	if err != nil {
		return err
	}
	v.Shape, v.Size = shape, 1
	for _, n := range shape {
		if n < 1 || v.Size > maxVariables/n {
			return items[2].errorf("shape [%s] is empty or has more than %d numbers", cut(items[2].index), maxVariables)
		}
		v.Size *= n
	}
	return nil
}

func isName(text string) bool {
	for i, c := range []byte(text) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && !(i > 0 && (digit(c) || c == '_')) {
			return false
		}
	}
	return text != ""
}
