package property

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"psafe/internal/infile"
)

// Template is a property of a file whose box is relative to a data point: with each point it
// makes a task.
type Template struct {
	// Index counts the properties of the file from 0; Name may be empty.
	Index int
	Name  string
	// ByLabel reports whether the class of the property is that of the point.
	ByLabel bool
	// Gamma and Samples are as in Task.
	Gamma   float64
	Samples int

	outputs int
	// words holds the words of a property whose class is that of the point, up to the class.
	words    string
	safe     Safe
	label    int
	lock     sync.Mutex // of ofLabels: tasks are made on all cores
	ofLabels map[int]Safe
	from, to Vector
}

// ErrOwnBoxes is the error of ReadTemplates for a file whose properties have boxes of their
// own.
var ErrOwnBoxes = errors.New("has its own input boxes")

// labelWord stands for the class of the point.
const labelWord = "label"

// ReadTemplates reads a JSON property file whose boxes are relative to data points, for a
// network with so many inputs and outputs, and returns its digest too. docs/files.md
// describes the format. Errors are those of ReadFile, and ErrOwnBoxes.
func ReadTemplates(path string, inputs, outputs int) (templates []*Template, digest string, err error) {
	needOutputs("ReadTemplates", outputs)
	data, err := infile.ReadAll(path, maxPropertyFile)
	if err != nil {
		return nil, "", inFile(path, err)
	}
	if templates, err = parseTemplates(data, inputs, outputs); err != nil {
		return nil, "", inFile(path, lineFirst(err))
	}
	return templates, fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// parseTemplates reads the text of a file of templates.
func parseTemplates(data []byte, inputs, outputs int) (templates []*Template, err error) {
	err = parseEntries(data, outputs, func(sets *safeSets, n *node) error {
		if n.kind == '{' && n.values["relative"] == nil {
			if len(templates) > 0 {
				return n.errorf(`"relative" is missing, which those before have; put properties with boxes of their own into another file`)
			}
			return ErrOwnBoxes
		}
		t, err := sets.parseTemplate(n)
		if err != nil {
			return err
		}
		for _, v := range []*Vector{&t.from, &t.to} {
			if err := v.fits(inputs); err != nil {
				return n.values["relative"].errorf("relative: %w", err)
			}
		}
		t.Index = len(templates)
		templates = append(templates, t)
		return nil
	})
	return templates, err
}

// parseTemplate reads one property.
func (p *safeSets) parseTemplate(n *node) (*Template, error) {
	task, kind, err := p.parseHead(n, "relative")
	if err != nil {
		return nil, err
	}
	t := &Template{Name: task.Name, outputs: p.outputs, label: -1}
	field := n.values[specField[kind]]
	switch {
	case field.kind == 's' && field.text == labelWord && specField[kind] == "class":
		t.words = kind + ":"
	case field.kind == 's' && kind == kindRows && NeedsClass(field.text):
		t.words = strings.TrimSuffix(WithClass(field.text, 0), "0")
	}
	if t.ByLabel = t.words != ""; t.ByLabel {
		t.ofLabels = map[int]Safe{}
		_, _, err = ParseSpec(t.words+"0", p.outputs)
	} else {
		t.safe, t.label, err = p.parseSet(kind, field)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", specField[kind], err)
	}
	if err := t.parseRelative(n.values["relative"]); err != nil {
		return nil, fmt.Errorf("relative: %w", err)
	}
	task.T = make([]Box, 1)
	err = task.parseHints(n)
	t.Gamma, t.Samples = task.Gamma, task.Samples
	return t, err
}

// parseRelative reads the box: a list of pairs, or an object with a radius.
func (t *Template) parseRelative(n *node) error {
	if n.kind == '{' {
		if err := n.onlyKeys("a relative box", "eps"); err != nil {
			return err
		}
		eps, err := parseEps(n)
		if err == nil {
			t.from, t.to = eps.negated(), eps
		}
		return err
	}
	if n.kind != '[' || len(n.items) == 0 {
		return n.errorf(`expected a list of pairs [lo, hi] or {"eps": radius}, found %s`, n.count())
	}
	for j, pair := range n.items {
		s, err := parsePair(pair, false)
		if err != nil {
			return fmt.Errorf("coordinate %d: %w", j, err)
		}
		t.from.each, t.to.each = append(t.from.each, *s.lo), append(t.to.each, *s.hi)
	}
	return nil
}

// parseEps reads a radius: a number, or a list with one for each input.
func parseEps(n *node) (v Vector, err error) {
	eps := n.values["eps"]
	if eps == nil {
		return v, n.errorf(`"eps" is missing; give a radius, or a list with one for each input`)
	}
	if eps.kind != '[' {
		if v.all, err = eps.decimal(); err != nil {
			return v, fmt.Errorf("eps: %w", err)
		}
	} else if len(eps.items) == 0 {
		return v, eps.errorf("eps: the list is empty; give a radius for each input")
	}
	for j, item := range eps.items {
		d, err := item.decimal()
		if err != nil {
			return v, fmt.Errorf("eps: number %d: %w", j, err)
		}
		v.each = append(v.each, d)
	}
	if v.find(func(d Decimal) bool { return d.Lo < 0 }) >= 0 {
		return v, eps.errorf("eps: a radius is at least 0")
	}
	return v, nil
}

// Words name the property in records.
func (t *Template) Words() string {
	if t.Name != "" {
		return t.Name
	}
	return fmt.Sprintf("number %d of the property file", t.Index)
}

// Around is the region of the template: with the clip interval and the fixed inputs of r, a
// region without offsets of its own.
func (t *Template) Around(r *Region) *Region {
	region := *r
	region.from, region.to = t.from, t.to
	return &region
}

// Safe is the safe set for a point of a class, and the class that the property speaks of, -1
// for none. The class counts only if the template is ByLabel; one that is not among the
// outputs is then an error.
func (t *Template) Safe(class int) (Safe, int, error) {
	if !t.ByLabel {
		return t.safe, t.label, nil
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	s, known := t.ofLabels[class]
	if !known {
		var err error
		if s, _, err = ParseSpec(t.words+strconv.Itoa(class), t.outputs); err != nil {
			return Safe{}, -1, err
		}
		t.ofLabels[class] = s
	}
	return s, class, nil
}
