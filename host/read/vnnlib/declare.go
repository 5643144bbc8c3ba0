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
	// network is where the last network of a file of version 2 was declared, versioned that it
	// said its version.
	network   *place
	versioned bool
	// names are what a file of version 2 declares: networks, with no axes, and variables.
	names map[string]named
	// likes are the networks that are declared to be like another.
	likes map[int]bool
	// inputs and outputs say where each variable of version 1 was declared.
	inputs, outputs map[int]place
	asserted        bool
	// held holds what comparisons take.
	held    infile.Account
	common  conjunction
	choices []*expression
	// relations hold wherever the file asks for a counterexample.
	relations []*atom
}

// parse reads the text of a query.
func parse(text string) (*Query, error) {
	r, q := newReader(text), &parser{worker: worker{most: max(freeWork, workPerByte*len(text))}, inputs: map[int]place{}, outputs: map[int]place{}}
	q.query.Networks = []Network{{Equal: -1, Input: Variable{Name: "X", Type: "Real"}, Output: Variable{Name: "Y", Type: "Real"}}}
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
	of, there := q.names[f.text]
	if !there || of.Variable == nil {
		return variable{}, f.errorf("%s is no declared input or output", f.describe())
	}
	at, err := q.numbers(f)
	if err != nil {
		return variable{}, err
	}
	if len(at) != len(of.Shape) || f.indexed != (len(of.Shape) > 0) {
		return variable{}, f.errorf("%s has %d indices, %s has %d axes; give one for each", f.describe(), len(at), of.Name, len(of.Shape))
	}
	v := variable{output: of.output}
	for k, i := range at {
		if i >= of.Shape[k] {
			return v, f.errorf("%s: index %d is not among the %d of axis %d", f.describe(), i, of.Shape[k], k)
		}
		v.i = v.i*of.Shape[k] + i
	}
	v.i += of.first
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
	}{{&q.query.Networks[0].Input, q.inputs}, {&q.query.Networks[0].Output, q.outputs}} {
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

// element returns what messages call input i of all.
func (q *parser) element(i int) string {
	if q.network == nil {
		return "X_" + strconv.Itoa(i)
	}
	k := 0
	for ; i >= q.query.Networks[k].Input.Size; k++ {
		i -= q.query.Networks[k].Input.Size
	}
	in := &q.query.Networks[k].Input
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
