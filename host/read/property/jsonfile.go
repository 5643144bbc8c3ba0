package property

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/vnnlib"
	"psafe/internal/infile"
)

// maxPropertyFile is the size of a property file, in bytes.
const maxPropertyFile = 1 << 30

// ReadFile reads a JSON property file or a VNN-LIB query (QueryTasks), told apart by
// their content, for a network with the given number of outputs (at least 1; it panics
// otherwise); docs/files.md describes the formats. Task.Index counts the properties of the file from 0. Numbers are real
// numbers there: input boxes are rounded outward and safe sets shrunk.
//
// Everything that is not of the format, unknown and duplicate keys included, is
// an error of one line that names the file, the line, the property and the
// place in it.
func ReadFile(path string, outputs int) ([]Task, error) {
	needOutputs("ReadFile", outputs)
	data, err := infile.ReadAll(path, maxPropertyFile)
	if err != nil {
		return nil, inFile(path, err)
	}
	parse := parseTasks
	if vnnlib.Recognises(data) {
		parse = readQuery
	}
	tasks, err := parse(data, outputs)
	if err != nil {
		return nil, inFile(path, lineFirst(err))
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(data)) // of all at once: files have 100,000 properties
	for i := range tasks {
		tasks[i].FileSHA256 = digest
	}
	return tasks, nil
}

// lineFirst moves the line number, which the innermost error knows, in front of
// the place that the outer ones name.
func lineFirst(err error) error {
	at, ok := errors.AsType[*placed](err)
	if !ok {
		return err
	}
	place := strings.TrimSuffix(err.Error(), at.Error())
	return fmt.Errorf("line %d: %s%w", at.line, place, at.err)
}

// parseTasks reads the text of a property file.
func parseTasks(data []byte, outputs int) (tasks []Task, err error) {
	err = parseEntries(data, outputs, func(sets *safeSets, n *node) error {
		t, err := sets.parseTask(n)
		t.Index = len(tasks)
		tasks = append(tasks, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tasks, nil
}

// parseEntries hands each entry of a property file to a reader, with the safe sets of the
// file so far.
func parseEntries(data []byte, outputs int, each func(*safeSets, *node) error) error {
	top, err := parseJSON(data)
	if err != nil {
		return err
	}
	if top.kind != '{' {
		return top.errorf(`expected an object with "properties", found %s`, top.describe())
	}
	if err := top.onlyKeys("the file", "posterior", "inputs", "outputs", "columns", "properties"); err != nil {
		return err
	}
	for _, key := range []string{"posterior", "inputs", "outputs"} {
		if v := top.values[key]; v != nil && v.kind != 's' {
			return v.errorf("%q is a description and must be text, found %s", key, v.describe())
		}
	}
	if _, err := top.values["columns"].texts("columns"); err != nil {
		return err
	}
	list := top.values["properties"]
	if list == nil {
		return top.errorf(`"properties" is missing; add a list of them`)
	}
	if list.kind != '[' || len(list.items) == 0 {
		return list.errorf(`"properties" must be a list of at least one property, found %s`, list.count())
	}
	sets := safeSets{outputs: outputs, argmax: map[string]Safe{}, labels: map[string]int{}}
	for i, n := range list.items {
		if err := each(&sets, n); err != nil {
			return fmt.Errorf("property %s: %w", n.title(i), err)
		}
	}
	return nil
}

// texts reads a list of texts under a key, nil if it is not there.
func (n *node) texts(key string) (list []string, err error) {
	if n == nil {
		return nil, nil
	}
	for _, item := range n.items {
		if item.kind != 's' {
			return nil, item.errorf("%q are names of the inputs and must be text, found %s", key, item.describe())
		}
		list = append(list, item.text)
	}
	if n.kind != '[' || len(list) == 0 {
		return nil, n.errorf("%q must be a list of names of the inputs, found %s", key, n.count())
	}
	return list, nil
}

// title returns what messages call the property n, the i-th of the file.
func (n *node) title(i int) string {
	if name := n.values["name"]; name != nil && name.kind == 's' && name.text != "" {
		return quote(name.text)
	}
	return strconv.Itoa(i)
}

// specField is the field that each kind of property has for its safe set.
var specField = map[string]string{
	kindArgmaxIs:      "class",
	kindArgmaxIsNever: "class",
	kindOutputBox:     "output",
	kindRows:          "safe",
}

// safeSets makes the safe sets of a file.
type safeSets struct {
	outputs int
	// argmax holds those of classes, by kind and class, and those in words, whose classes are
	// labels: properties share them.
	argmax map[string]Safe
	labels map[string]int
	// memory holds what all of them take.
	memory memory
}

// spend accounts for the rows of a safe set that was made without a formula.
func (p *safeSets) spend(n *node, s Safe) error {
	if err := p.memory.rows(len(s.Rows), p.outputs); err != nil {
		return n.errorf("%w", err)
	}
	return nil
}

// parseTask reads one property.
func (p *safeSets) parseTask(n *node) (Task, error) {
	t, kind, err := p.parseHead(n, "boxes")
	if err != nil {
		return t, err
	}
	field := specField[kind]
	if t.S, t.Label, err = p.parseSet(kind, n.values[field]); err != nil {
		return t, fmt.Errorf("%s: %w", field, err)
	}
	if t.T, t.Inner, err = parseBoxes(n.values["boxes"]); err != nil {
		return t, err
	}
	return t, t.parseHints(n)
}

// parseHead reads the name and the kind of a property, which has its region under the key
// where, and checks what keys there are.
func (p *safeSets) parseHead(n *node, where string) (t Task, kind string, err error) {
	t.Label = -1
	if n.kind != '{' {
		return t, "", n.errorf("expected an object, found %s", n.describe())
	}
	of, ok := n.values["kind"]
	if !ok || of.kind != 's' || specField[of.text] == "" {
		return t, "", n.errorf(`"kind" must be one of "%s", "%s", "%s" or "%s"`, kindArgmaxIs, kindArgmaxIsNever, kindOutputBox, kindRows)
	}
	kind = of.text
	field := specField[kind]
	if relative := n.values["relative"]; relative != nil && where != "relative" {
		return t, "", relative.errorf(`"relative" boxes are around data points; name those with --inputs`)
	}
	if err := n.onlyKeys("a property of kind "+kind, "name", "kind", field, where, "gamma", "samples_per_box"); err != nil {
		return t, "", err
	}
	if name := n.values["name"]; name != nil {
		if name.kind != 's' {
			return t, "", name.errorf(`"name" must be text, found %s`, name.describe())
		}
		t.Name = name.text
	}
	for _, key := range []string{field, where} {
		if n.values[key] == nil {
			return t, "", n.errorf("%q is missing; a property of kind %s needs it", key, kind)
		}
	}
	return t, kind, nil
}

// parseSet reads the safe set of a property from its field.
func (p *safeSets) parseSet(kind string, n *node) (s Safe, label int, err error) {
	switch kind {
	case kindOutputBox:
		s, err = parseOutputs(n, p.outputs)
	case kindRows:
		if n.kind == 's' {
			return p.parseWords(n)
		}
		s, err = parseSafe(n, p.outputs, &p.memory)
		return s, -1, err
	default:
		return p.parseClass(kind, n)
	}
	if err == nil {
		err = p.spend(n, s)
	}
	return s, -1, err
}

// parseWords reads a safe set in the words of --property.
func (p *safeSets) parseWords(n *node) (s Safe, label int, err error) {
	key := "in words: " + n.text
	s, known := p.argmax[key]
	if known {
		return s, p.labels[key], nil
	}
	if s, label, err = ParseSpec(n.text, p.outputs); err != nil {
		return Safe{}, -1, n.errorf("%w", err)
	}
	p.argmax[key], p.labels[key] = s, label
	return s, label, p.spend(n, s)
}

// parseOutputs reads an output box.
func parseOutputs(n *node, outputs int) (Safe, error) {
	if n.kind != '[' {
		return Safe{}, n.errorf("expected a list of pairs [lo, hi], found %s", n.describe())
	}
	sides := make([]side, len(n.items))
	for i, pair := range n.items {
		var err error
		if sides[i], err = parsePair(pair, true); err != nil {
			return Safe{}, fmt.Errorf("output %d: %w", i, err)
		}
	}
	s, err := outputBox(sides, outputs)
	if err != nil {
		err = n.errorf("%w", err)
	}
	return s, err
}

// parseClass reads a class and makes the set of it.
func (p *safeSets) parseClass(kind string, n *node) (s Safe, label int, err error) {
	if n.kind == 'n' {
		label, err = strconv.Atoi(n.text)
	}
	if n.kind != 'n' || err != nil {
		return Safe{}, -1, n.errorf("expected a whole number from 0 to %d, found %s", p.outputs-1, n.describe())
	}
	key := fmt.Sprint(kind, label)
	s, known := p.argmax[key]
	if known {
		return s, label, nil
	}
	if s, err = argmaxSafe(kind, label, p.outputs); err != nil {
		return Safe{}, -1, n.errorf("%w", err)
	}
	p.argmax[key] = s
	return s, label, p.spend(n, s)
}

// parseBoxes reads a list of input boxes, all of one dimension, rounded outward
// and inward. A real interval is never empty here: parsePair compares its ends
// as real numbers.
func parseBoxes(n *node) (boxes, inner []Box, err error) {
	if n.kind != '[' || len(n.items) == 0 {
		return nil, nil, n.errorf("boxes: expected a list of at least one box, found %s", n.count())
	}
	boxes, inner = make([]Box, len(n.items)), make([]Box, len(n.items))
	for b, item := range n.items {
		if item.kind != '[' || len(item.items) == 0 {
			return nil, nil, item.errorf("box %d: expected a list of pairs [lo, hi], found %s", b, item.count())
		}
		if dim := len(n.items[0].items); len(item.items) != dim {
			return nil, nil, item.errorf("box %d has %d coordinates, box 0 has %d; give all of them the same", b, len(item.items), dim)
		}
		ends := make([][4]float64, len(item.items))
		for j, pair := range item.items {
			s, err := parsePair(pair, false)
			if err != nil {
				return nil, nil, fmt.Errorf("box %d: coordinate %d: %w", b, j, err)
			}
			ends[j] = [4]float64{s.lo.Lo, s.hi.Hi, s.lo.Hi, s.hi.Lo}
		}
		boxes[b], inner[b] = boxOf(ends, 0), boxOf(ends, 2)
	}
	return boxes, inner, nil
}

// boxOf is the box of the columns at and at+1.
func boxOf(ends [][4]float64, at int) Box {
	b := Box{Lo: make([]float64, len(ends)), Hi: make([]float64, len(ends))}
	for j, e := range ends {
		b.Lo[j], b.Hi[j] = e[at], e[at+1]
	}
	return b
}

// parsePair reads [lo, hi]; null stands for an unbounded side where that is
// allowed.
func parsePair(n *node, unbounded bool) (side, error) {
	if n.kind != '[' || len(n.items) != 2 {
		return side{}, n.errorf("expected a pair [lo, hi], found %s", n.count())
	}
	var text [2]string
	for k, item := range n.items {
		if item.kind == '0' && unbounded {
			continue
		}
		if !item.isNumber() {
			return side{}, item.errorf("expected a number, found %s", item.describe())
		}
		text[k] = item.text
	}
	s, err := newSide(text[0], text[1])
	if err != nil {
		return side{}, n.errorf("%w", err)
	}
	return s, nil
}

// parseHints reads gamma, rounded to nearest, and the samples of all boxes.
func (t *Task) parseHints(n *node) error {
	if g := n.values["gamma"]; g != nil {
		d, err := g.decimal()
		if err != nil {
			return fmt.Errorf("gamma: %w", err)
		}
		// decimal() checked the grammar and the range.
		e, err := NewExact(g.text)
		if t.Gamma = e.Approx(); err != nil || d.Lo <= 0 {
			return g.errorf("gamma: %s is not above 0; give the half-width of a weight box in standard deviations", quote(g.text))
		}
	}
	if s := n.values["samples_per_box"]; s != nil {
		k, err := strconv.Atoi(s.text)
		if s.kind != 'n' || err != nil || k < 1 || k > math.MaxInt32/len(t.T) {
			return s.errorf("samples_per_box: expected a whole number from 1 to %d, found %s", math.MaxInt32/len(t.T), s.describe())
		}
		t.Samples = k * len(t.T)
	}
	return nil
}

// isNumber reports whether the node is a number, or a text with a fraction, "8/255".
func (n *node) isNumber() bool { return n.kind == 'n' || n.kind == 's' && isFraction(n.text) }

// decimal reads a number.
func (n *node) decimal() (Decimal, error) {
	if !n.isNumber() {
		return Decimal{}, n.errorf("expected a number, found %s", n.describe())
	}
	d, err := NewDecimal(n.text)
	if err != nil {
		return Decimal{}, n.errorf("%w", err)
	}
	return d, nil
}

// count describes the node, a list by its length.
func (n *node) count() string {
	if n.kind == '[' {
		return fmt.Sprintf("a list of %d", len(n.items))
	}
	return n.describe()
}

// onlyKeys refuses keys of the object n other than those allowed and the ones
// for humans.
func (n *node) onlyKeys(what string, allowed ...string) error {
	for _, key := range n.keys {
		if !forHumans(key) && !slices.Contains(allowed, key) {
			return n.values[key].errorf("unknown key %s; %s has %s, and note, comment and paper_* for humans",
				quote(key), what, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// forHumans reports whether a key is ignored, in every object of the file.
func forHumans(key string) bool {
	return key == "note" || key == "comment" || strings.HasPrefix(key, "paper_")
}
