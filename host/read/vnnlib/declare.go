package vnnlib

import (
	"slices"
	"strconv"
	"strings"

	"psafe/internal/infile"
)

// maxVariables bounds the inputs, and the outputs, of a query, as those of a layer of a network.
const maxVariables = 1 << 24

// parser reads statements.
type parser struct {
	worker
	query Query
	// network is where the network of a file of version 2 was declared, versioned that it
	// said its version.
	network   *place
	versioned bool
	// inputs and outputs say where each variable of version 1 was declared.
	inputs, outputs map[int]place
	asserted        bool
	// held holds what comparisons take.
	held    infile.Account
	common  conjunction
	choices []*expression
}

// parse reads the text of a query.
func parse(text string) (*Query, error) {
	r, q := newReader(text), &parser{worker: worker{most: max(freeWork, workPerByte*len(text))}, inputs: map[int]place{}, outputs: map[int]place{}}
	q.query.Input, q.query.Output = Variable{Name: "X", Type: "Real"}, Variable{Name: "Y", Type: "Real"}
	for {
		f, ok, err := r.next()
		if err == nil && ok {
			err = q.statement(&f)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	if err := q.declared(r.place); err != nil {
		return nil, err
	}
	if err := q.expand(r.place); err != nil {
		return nil, err
	}
	return &q.query, nil
}

// statement reads one statement.
func (q *parser) statement(f *form) error {
	if len(f.items) == 0 || f.items[0].kind != 'a' {
		return f.errorf("a statement begins with a word such as assert; found %s", f.describe())
	}
	switch word := f.items[0].text; word {
	case "assert":
		q.asserted = true
		return q.assert(f)
	case "vnnlib-version":
		return q.version(f)
	case "declare-const", "declare-fun":
		return q.declareOne(f)
	case "declare-network":
		return q.declareNetwork(f)
	case "set-logic", "set-info", "check-sat", "get-model", "exit":
		return nil // of SMT-LIB; they say nothing about the question
	case "declare-input", "declare-hidden", "declare-output":
		return f.errorf("(%s ...) belongs into (declare-network ...)", word)
	}
	return f.errorf("%s is no statement of VNN-LIB 1.0 or 2", f.describe())
}

// version reads (vnnlib-version <2.0>).
func (q *parser) version(f *form) error {
	if q.versioned || q.asserted || q.network != nil || len(q.inputs)+len(q.outputs) > 0 {
		return f.errorf("the version stands once, before everything else")
	}
	if len(f.items) != 2 || f.items[1].kind != 'a' {
		return f.errorf("write (vnnlib-version <2.0>)")
	}
	text := strings.TrimSuffix(strings.TrimPrefix(f.items[1].text, "<"), ">")
	major, minor, two := strings.Cut(text, ".")
	if two && len(minor) < 10 && minor != "" && strings.Trim(minor, "0123456789") == "" && (major == "1" && minor == "0" || major == "2") {
		q.query.Version, q.versioned = text, true
		return nil
	}
	return f.items[1].errorf("version %s is not known; psafe reads <1.0> and <2.0> to <2.9>", quote(f.items[1].text))
}

// declareOne reads a declaration of version 1: (declare-const X_0 Real) or
// (declare-fun X_0 () Real).
func (q *parser) declareOne(f *form) error {
	kind, items := f.items[0].text, f.items
	if kind == "declare-fun" && len(items) == 4 && items[2].kind == '(' && len(items[2].items) == 0 {
		items = slices.Delete(slices.Clone(items), 2, 3)
	}
	switch {
	case q.network != nil:
		return f.errorf("(%s ...) is VNN-LIB 1.0, but line %d has a network of version 2; use one of both", kind, q.network.line)
	case len(items) != 3 || items[1].kind != 'a' || items[2].kind != 'a':
		return f.errorf("write (declare-const X_0 Real) or (declare-fun X_0 () Real)")
	case items[2].text != "Real":
		return items[2].errorf("%s: only Real is supported", items[2].describe())
	}
	v, ok := oldName(items[1].text)
	if !ok || items[1].indexed {
		return items[1].errorf("%s: inputs are X_0, X_1, ... and outputs Y_0, Y_1, ...", items[1].describe())
	}
	declared := q.inputs
	if v.output {
		declared = q.outputs
	}
	if at, twice := declared[v.i]; twice {
		return items[1].errorf("%s is declared in line %d already; remove one", quote(items[1].text), at.line)
	}
	declared[v.i] = items[1].place
	return nil
}

// oldName reads a name of version 1.
func oldName(text string) (v variable, ok bool) {
	letter, number, two := strings.Cut(text, "_")
	if !two || letter != "X" && letter != "Y" {
		return v, false
	}
	i, ok := index(number)
	return variable{letter == "Y", i}, ok
}

// index reads a whole number from 0 as it is usually written.
func index(text string) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0 && i < maxVariables && strconv.Itoa(i) == text
}

// declareNetwork reads the network of version 2.
func (q *parser) declareNetwork(f *form) error {
	switch {
	case q.network != nil:
		return f.errorf("a second network: psafe supports queries about one")
	case q.asserted:
		return f.errorf("the network is declared before everything that is asserted")
	case len(q.inputs)+len(q.outputs) > 0:
		return f.errorf("a network is VNN-LIB 2, but variables were declared as in 1.0; use one of both")
	case q.query.Version == "1.0":
		return f.errorf("a network is VNN-LIB 2, but the file says version 1.0; write <2.0>")
	case len(f.items) < 2 || f.items[1].kind != 'a' || !isName(f.items[1].text):
		return f.errorf("write (declare-network NAME (declare-input X Real [3]) (declare-output Y Real [2]))")
	}
	q.network, q.query.Network = &f.place, f.items[1].text
	q.query.Input.Name, q.query.Output.Name = "", ""
	for k := 2; k < len(f.items); k++ {
		if err := q.tensor(&f.items[k]); err != nil {
			return err
		}
	}
	in, out := &q.query.Input, &q.query.Output
	switch {
	case in.Name == "" || out.Name == "":
		return f.errorf("network %s needs a (declare-input ...) and a (declare-output ...)", cut(q.query.Network))
	case in.Name == out.Name:
		return f.errorf("input and output are both called %s; rename one", cut(in.Name))
	}
	return nil
}

// tensor reads (declare-input X Real [1,3]) and what else stands in a network.
func (q *parser) tensor(f *form) error {
	word := ""
	if f.kind == '(' && len(f.items) > 0 && f.items[0].kind == 'a' {
		word = f.items[0].text
	}
	v := &q.query.Input
	switch word {
	case "declare-output":
		v = &q.query.Output
	case "declare-input":
	case "declare-hidden":
		return f.errorf("declare-hidden: psafe supports statements about inputs and outputs only")
	case "isomorphic-to", "equal-to":
		return f.errorf("%s: psafe supports queries about one network", word)
	default:
		return f.errorf("a network has (declare-input ...) and (declare-output ...), found %s", f.describe())
	}
	items := f.items
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

// numbers reads the square brackets behind a symbol.
func (q *parser) numbers(f *form) ([]int, error) {
	list := []int{}
	if strings.TrimSpace(f.index) == "" {
		return list, nil
	}
	for part := range strings.SplitSeq(f.index, ",") {
		i, ok := index(strings.TrimSpace(part))
		if !ok || len(list) == 16 {
			return nil, f.errorf("[%s]: square brackets hold up to 16 whole numbers from 0 to %d, with commas between", cut(f.index), maxVariables-1)
		}
		list = append(list, i)
	}
	return list, nil
}

// variable reads the name of an input or an output.
func (q *parser) variable(f *form) (variable, error) {
	if q.network == nil {
		v, ok := oldName(f.text)
		declared := q.inputs
		if v.output {
			declared = q.outputs
		}
		if _, there := declared[v.i]; !ok || f.indexed || !there {
			return v, f.errorf("%s is not declared; declare it with (declare-const ...) before", f.describe())
		}
		return v, nil
	}
	of := &q.query.Input
	switch f.text {
	case of.Name:
	case q.query.Output.Name:
		of = &q.query.Output
	default:
		return variable{}, f.errorf("%s is not declared in network %s", f.describe(), cut(q.query.Network))
	}
	at, err := q.numbers(f)
	if err != nil {
		return variable{}, err
	}
	if len(at) != len(of.Shape) || f.indexed != (len(of.Shape) > 0) {
		return variable{}, f.errorf("%s has %d indices, %s has %d axes; give one for each", f.describe(), len(at), of.Name, len(of.Shape))
	}
	v := variable{output: of == &q.query.Output}
	for k, i := range at {
		if i >= of.Shape[k] {
			return v, f.errorf("%s: index %d is not among the %d of axis %d", f.describe(), i, of.Shape[k], k)
		}
		v.i = v.i*of.Shape[k] + i
	}
	return v, nil
}

// declared checks and counts the variables at the end of the file.
func (q *parser) declared(end place) error {
	if q.network != nil {
		if !q.versioned {
			q.query.Version = "2.0"
		}
		return nil
	}
	if strings.HasPrefix(q.query.Version, "2") {
		return end.errorf("a file of version %s needs a (declare-network ...)", q.query.Version)
	}
	q.query.Version = "1.0"
	for _, of := range []struct {
		v        *Variable
		declared map[int]place
	}{{&q.query.Input, q.inputs}, {&q.query.Output, q.outputs}} {
		n := len(of.declared)
		if n == 0 {
			return end.errorf("no %s_0 is declared; a query has inputs X_0, X_1, ... and outputs Y_0, Y_1, ...", of.v.Name)
		}
		for i, at := range of.declared {
			if i >= n {
				return at.errorf("%s_%d is declared, but not all of %s_0 to %s_%d; declare every one", of.v.Name, i, of.v.Name, of.v.Name, i-1)
			}
		}
		of.v.Shape, of.v.Size = []int{n}, n
	}
	return nil
}

// element returns what messages call input i.
func (q *parser) element(i int) string {
	in := &q.query.Input
	if q.network == nil {
		return "X_" + strconv.Itoa(i)
	}
	at := make([]string, len(in.Shape))
	for k := len(in.Shape) - 1; k >= 0; k-- {
		at[k] = strconv.Itoa(i % in.Shape[k])
		i /= in.Shape[k]
	}
	if len(at) == 0 {
		return cut(in.Name)
	}
	return cut(in.Name) + "[" + strings.Join(at, ",") + "]"
}
