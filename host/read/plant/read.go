package plant

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"psafe/internal/infile"
	"psafe/internal/nearest"
)

// Limits of a plant file.
const (
	mostBytes  = 1 << 20
	mostCells  = 10_000_000
	mostAlong  = 100_000
	mostSteps  = 1_000_000
	mostStates = 16
)

// Read reads a plant file: one document of YAML, whose keys docs/loops.md lists. Numbers are exact.
// Errors are one line that names the file and the line in it.
func Read(path string) (*Plant, error) {
	text, err := infile.ReadAll(path, mostBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p := &Plant{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(text))}
	err = p.parse(text)
	if at, ok := errors.AsType[*lineError](err); ok {
		return nil, fmt.Errorf("%s: line %d: %w", path, at.line, at.err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// keys of the file: what is needed, and what is not.
var (
	needed   = []string{"state", "network", "next", "start", "safe", "semantics"}
	optional = []string{"noise", "goal", "steps"}
)

func (p *Plant) parse(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err == io.EOF {
		return errors.New("says nothing: docs/loops.md shows a plant file")
	} else if err != nil {
		return fmt.Errorf("is no YAML: %s", strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := decoder.Decode(&more); err != io.EOF {
		return errors.New("has more than one document: a plant file has one, so remove the line ---")
	}
	top, err := mapping(document.Content[0])
	if err != nil {
		return err
	}
	if err := top.only(slices.Concat(needed, optional)...); err != nil {
		return err
	}
	for _, key := range needed {
		if top.value(key) == nil {
			return at(top.node, "%s is missing: a plant file has the keys %s", key, strings.Join(needed, ", "))
		}
	}
	for _, read := range []func(*table) error{p.readState, p.readNetwork, p.readNoise, p.readNext, p.readSets, p.readSemantics} {
		if err := read(top); err != nil {
			return err
		}
	}
	return nil
}

// newName refuses a word that is no name of a variable, or is one already.
func (p *Plant) newName(n *yaml.Node, word string) error {
	ok := word != "" && letter(word[0])
	for i := range len(word) {
		ok = ok && (letter(word[i]) || digit(word[i]))
	}
	switch {
	case !ok:
		return at(n, "%.40q is no name: names are letters, digits and _", word)
	case slices.Contains(functions, word):
		return at(n, "%s is a function: choose another name", word)
	case slices.Contains(p.names(), word):
		return at(n, "the name %.40s is given twice: state, outputs and noise have names of their own", word)
	}
	return nil
}

// names are those of all variables so far.
func (p *Plant) names() []string { return slices.Concat(p.stateNames(), p.Outputs, p.Noise) }

func (p *Plant) stateNames() []string {
	var names []string
	for _, c := range p.State {
		names = append(names, c.Name)
	}
	return names
}

func (p *Plant) readState(top *table) error {
	t, err := mapping(top.value("state"))
	if err != nil {
		return err
	}
	cells := 1
	for i, key := range t.keys {
		if err := p.newName(key, key.Value); err != nil {
			return err
		}
		if len(p.State) == mostStates {
			return at(key, "more than %d coordinates, the limit", mostStates)
		}
		c, err := mapping(t.values[i])
		if err != nil {
			return err
		}
		if err := c.only("range", "cells"); err != nil {
			return err
		}
		if c.value("range") == nil || c.value("cells") == nil {
			return at(c.node, "%s needs a range and cells, as in {range: [-1, 1], cells: 50}", key.Value)
		}
		ends, err := pair(c.value("range"))
		if err != nil {
			return err
		}
		n, err := whole(c.value("cells"), "cells", mostAlong)
		if err != nil {
			return err
		}
		if cells *= n; cells > mostCells {
			return at(c.node, "the grid has more than %d cells, the limit: make it coarser", mostCells)
		}
		edges, ok := edgesOf(ends, n)
		if !ok {
			return at(c.node, "%s: the range is too narrow, or too far from 0, for %d cells: widen it", key.Value, n)
		}
		p.State = append(p.State, Coordinate{key.Value, edges})
	}
	if len(p.State) == 0 {
		return at(t.node, "state has no coordinate")
	}
	return nil
}

// edgesOf are the ends of n cells of about the same width: multiples of a power of two of at most a
// 4096th of it, so that they are float64 with short decimals, and the outermost are within the range.
// ok is false if there are none.
func edgesOf(ends [2]Number, n int) (edges []float64, ok bool) {
	width := new(big.Rat).Sub(ends[1].Exact, ends[0].Exact)
	step := new(big.Rat).Quo(width, big.NewRat(int64(n), 1))
	f, _ := step.Float64()
	if !(f > 0) {
		return nil, false
	}
	_, exp := math.Frexp(f)
	unit := math.Ldexp(1, exp-13) // f < 2^exp
	if exp < -900 || exp > 900 {
		return nil, false
	}
	inUnits := func(k int) (down *big.Int) {
		x := new(big.Rat).Mul(step, big.NewRat(int64(k), 1))
		x.Add(x, ends[0].Exact)
		x.Quo(x, new(big.Rat).SetFloat64(unit))
		switch k {
		case 0: // up
			x.Neg(x)
			q := new(big.Int).Div(x.Num(), x.Denom())
			return q.Neg(q)
		case n:
		default:
			x.Add(x, big.NewRat(1, 2))
		}
		return new(big.Int).Div(x.Num(), x.Denom()) // Euclidean: down, as denominators are positive
	}
	for k := range n + 1 {
		units := inUnits(k)
		if !units.IsInt64() || units.Int64() > 1<<53 || units.Int64() < -1<<53 {
			return nil, false
		}
		edges = append(edges, float64(units.Int64())*unit)
		if k > 0 && !(edges[k-1] < edges[k]) {
			return nil, false
		}
	}
	return edges, true
}

func (p *Plant) readNetwork(top *table) error {
	t, err := mapping(top.value("network"))
	if err != nil {
		return err
	}
	if err := t.only("inputs", "outputs"); err != nil {
		return err
	}
	if t.value("inputs") == nil || t.value("outputs") == nil {
		return at(t.node, "network needs inputs and outputs, as in {inputs: [x, v], outputs: [u]}")
	}
	inputs, err := list(t.value("inputs"))
	if err != nil {
		return err
	}
	for _, word := range inputs {
		i := slices.Index(p.stateNames(), word)
		if i < 0 {
			return at(t.value("inputs"), "input %.40q is no coordinate of the state%s", word, nearest.Hint(word, p.stateNames()))
		}
		p.Inputs = append(p.Inputs, i)
	}
	outputs, err := list(t.value("outputs"))
	if err != nil {
		return err
	}
	for _, word := range outputs {
		if err := p.newName(t.value("outputs"), word); err != nil {
			return err
		}
		p.Outputs = append(p.Outputs, word)
	}
	return nil
}

func (p *Plant) readNoise(top *table) error {
	if top.value("noise") == nil {
		return nil
	}
	t, err := mapping(top.value("noise"))
	if err != nil {
		return err
	}
	for i, key := range t.keys {
		if err := p.newName(key, key.Value); err != nil {
			return err
		}
		ends, err := pair(t.values[i])
		if err != nil {
			return err
		}
		p.Noise, p.Between = append(p.Noise, key.Value), append(p.Between, ends)
	}
	return nil
}

func (p *Plant) readNext(top *table) error {
	t, err := mapping(top.value("next"))
	if err != nil {
		return err
	}
	if err := t.only(p.stateNames()...); err != nil {
		return err
	}
	for _, c := range p.State {
		n := t.value(c.Name)
		if n == nil {
			return at(t.node, "next has no %s: say for each coordinate of the state what comes next", c.Name)
		}
		text, err := scalar(n)
		if err != nil {
			return err
		}
		f, err := parseForm(text, p.names())
		if err != nil {
			return at(n, "%s: %w", c.Name, err)
		}
		p.Next = append(p.Next, f)
	}
	return nil
}

func (p *Plant) readSets(top *table) error {
	for i, set := range []*Set{&p.Start, &p.Safe, &p.Goal} {
		key := []string{"start", "safe", "goal"}[i]
		n := top.value(key)
		if n == nil {
			continue
		}
		texts, err := list(n)
		if err != nil {
			return err
		}
		for _, text := range texts {
			forms, err := parseConstraint(text, p.stateNames())
			if err != nil {
				return at(n, "%s: %w", key, err)
			}
			*set = append(*set, forms...)
		}
		if along, empty := set.empty(p); empty {
			return at(n, "%s: no state is in it, by its constraints of %s: see to their order and signs", key, along)
		}
	}
	return nil
}

// empty reports whether the constraints of one coordinate by itself contradict each other: most sets that are empty by
// mistake are found so.
func (s Set) empty(p *Plant) (along string, is bool) {
	lo, hi := make([]*big.Rat, len(p.State)), make([]*big.Rat, len(p.State))
	for _, f := range s {
		if len(f.Terms) != 1 || f.Terms[0].Of.Of != nil {
			continue
		}
		i, by := f.Terms[0].Of.Variable, f.Terms[0].By.Exact
		root := new(big.Rat).Quo(f.Constant.Exact, by)
		root.Neg(root)
		if by.Sign() > 0 && (lo[i] == nil || root.Cmp(lo[i]) > 0) {
			lo[i] = root
		}
		if by.Sign() < 0 && (hi[i] == nil || root.Cmp(hi[i]) < 0) {
			hi[i] = root
		}
		if lo[i] != nil && hi[i] != nil && lo[i].Cmp(hi[i]) > 0 {
			return p.State[i].Name, true
		}
	}
	return "", false
}

func (p *Plant) readSemantics(top *table) error {
	n := top.value("semantics")
	word, err := scalar(n)
	if err != nil {
		return err
	}
	words := []string{Once, EachStep}
	if !slices.Contains(words, word) {
		return at(n, "semantics: %.40q is none of %s%s", word, strings.Join(words, ", "), nearest.Hint(word, words))
	}
	p.Fresh = word == EachStep
	steps := top.value("steps")
	switch {
	case !p.Fresh && steps != nil:
		return at(steps, "steps are for each-step: once is for all time")
	case p.Fresh && steps == nil:
		return at(n, "steps is missing: say for how many steps each-step is asked")
	case p.Fresh:
		p.Steps, err = whole(steps, "steps", mostSteps)
	}
	return err
}
