package property

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// maxAlternatives bounds the disjunctive normal form of one safe set, and
	// the number of its different rows.
	maxAlternatives = 4096
	// maxExpansion bounds the work of one expansion, in row indices written, so
	// that no file can exhaust memory or time.
	maxExpansion = 1 << 24
	// maxFileExpansion bounds that of all properties of a file.
	maxFileExpansion = 1 << 26
	// maxCoefficients bounds the coefficients of all safe sets of a file together: 1 GiB.
	maxCoefficients = 1 << 27
)

// rowParser expands a tree of "and", "or" and "row" into a Safe.
type rowParser struct {
	outputs int
	rows    []Row
	// index finds a row by its bits, so that equal rows are stored once.
	index map[string]int
	// written counts row indices written, up to maxExpansion.
	written int
}

// parseSafe reads the "safe" field of a property file: {"and": [...]},
// {"or": [...]} or {"row": [c0, ...], "offset": d}, the latter meaning
// sum c_i y_i + d >= 0 with one coefficient for each of the outputs, or > 0 with
// "strict": true. It is
// expanded to a disjunction of conjunctions without repetitions. steps is the work of it.
func parseSafe(n *node, outputs int) (s Safe, steps int, err error) {
	p := rowParser{outputs: outputs, index: map[string]int{}}
	alternatives, err := p.expand(n)
	if err != nil {
		return Safe{}, p.written, err
	}
	return Safe{Rows: p.rows, Any: alternatives}, p.written, nil
}

// expand returns the alternatives of the tree n, each a sorted list of
// different indices into p.rows, no two of them equal.
func (p *rowParser) expand(n *node) ([][]int, error) {
	if n.kind != '{' {
		return nil, n.errorf(`expected an object with "and", "or" or "row", found %s`, n.describe())
	}
	if n.values["row"] != nil {
		r, err := p.row(n)
		return [][]int{{r}}, err
	}
	keys := slices.DeleteFunc(slices.Clone(n.keys), forHumans)
	if len(keys) != 1 || keys[0] != "and" && keys[0] != "or" {
		return nil, n.errorf(`an expression has exactly one key, "and" or "or", or else "row" with "offset"; this one has %s`, keyList(keys))
	}
	list := n.values[keys[0]]
	if list.kind != '[' || len(list.items) == 0 {
		return nil, list.errorf("%q needs a list of at least one expression, found %s", keys[0], list.count())
	}
	if keys[0] == "and" {
		return p.and(list)
	}
	return p.or(list)
}

// keyList names the first keys.
func keyList(keys []string) string {
	if len(keys) == 0 {
		return "none"
	}
	var names []string
	for _, key := range keys[:min(4, len(keys))] {
		names = append(names, quote(key))
	}
	return strings.Join(names, ", ")
}

// or collects the alternatives of all expressions of the list.
func (p *rowParser) or(list *node) ([][]int, error) {
	var out [][]int
	for _, item := range list.items {
		more, err := p.expand(item)
		if err != nil {
			return nil, err
		}
		for _, x := range more {
			if err := p.spend(item, len(x)); err != nil {
				return nil, err
			}
		}
		out = append(out, more...)
	}
	if out = unique(out); len(out) > maxAlternatives {
		return nil, list.errorf("the safe set expands to %d alternatives here, the limit is %d; split the property", len(out), maxAlternatives)
	}
	return out, nil
}

// and distributes the conjunction of the list over the alternatives of its
// expressions.
func (p *rowParser) and(list *node) ([][]int, error) {
	out := [][]int{nil}
	for _, item := range list.items {
		more, err := p.expand(item)
		if err != nil {
			return nil, err
		}
		if out, err = p.join(item, out, more); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// join pairs every alternative of a with every one of b, both not empty.
func (p *rowParser) join(n *node, a, b [][]int) ([][]int, error) {
	if len(a) > maxAlternatives/len(b) {
		return nil, n.errorf("the safe set expands to %d alternatives here, the limit is %d; write fewer \"or\" inside of \"and\"", len(a)*len(b), maxAlternatives)
	}
	out := make([][]int, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if err := p.spend(n, len(x)+len(y)); err != nil {
				return nil, err
			}
			z := slices.Concat(x, y)
			slices.Sort(z)
			out = append(out, slices.Compact(z))
		}
	}
	return unique(out), nil
}

// spend accounts for work of k row indices at n.
func (p *rowParser) spend(n *node, k int) error {
	if p.written += k; p.written > maxExpansion {
		return n.errorf("the safe set takes more than %d steps to expand; split the property", maxExpansion)
	}
	return nil
}

// unique drops repeated alternatives and keeps the order of the first ones.
func unique(all [][]int) [][]int {
	seen := make(map[string]bool, len(all))
	out := all[:0]
	var key []byte
	for _, x := range all {
		key = key[:0]
		for _, r := range x {
			key = binary.BigEndian.AppendUint16(key, uint16(r)) // r < maxAlternatives
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, x)
		}
	}
	return out
}

// row reads {"row": [...], "offset": d, "strict": true} and returns its index in p.rows.
// Coefficients and offset are enclosed: a weight vector that satisfies the stored
// row, whose offset is the lower end, satisfies the written one.
func (p *rowParser) row(n *node) (int, error) {
	if err := n.onlyKeys("a row", "row", "offset", "strict"); err != nil {
		return 0, err
	}
	list := n.values["row"]
	if list.kind != '[' || len(list.items) != p.outputs {
		return 0, list.errorf("a row needs a list of %d coefficients, one for each output, found %s", p.outputs, list.count())
	}
	r := Row{CLo: make([]float64, p.outputs), CHi: make([]float64, p.outputs)}
	for i, item := range list.items {
		c, err := item.decimal()
		if err != nil {
			return 0, fmt.Errorf("coefficient %d: %w", i, err)
		}
		r.CLo[i], r.CHi[i] = c.Lo, c.Hi
	}
	if offset := n.values["offset"]; offset != nil {
		d, err := offset.decimal()
		if err != nil {
			return 0, fmt.Errorf("offset: %w", err)
		}
		r.D, r.DHi = d.Lo, d.Hi
	}
	if strict := n.values["strict"]; strict != nil {
		if strict.kind != 'b' {
			return 0, strict.errorf("strict: expected true or false, found %s", strict.describe())
		}
		if strict.text == "true" {
			r.makeStrict()
		}
	}
	if !ordered(r.D, r.DHi) {
		return 0, n.errorf("offset: a strict row needs one above the least float64")
	}
	return p.store(n, r)
}

// store returns the index of the row in p.rows.
func (p *rowParser) store(n *node, r Row) (int, error) {
	key := binary.BigEndian.AppendUint64(nil, math.Float64bits(r.D))
	key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.DHi))
	for i := range r.CLo {
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.CLo[i]))
		key = binary.BigEndian.AppendUint64(key, math.Float64bits(r.CHi[i]))
	}
	if k, ok := p.index[string(key)]; ok {
		return k, nil
	}
	if len(p.rows) == maxAlternatives {
		return 0, n.errorf("the safe set has more than %d different rows; split the property", maxAlternatives)
	}
	p.index[string(key)] = len(p.rows)
	p.rows = append(p.rows, r)
	return len(p.rows) - 1, nil
}
