package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"psafe/host/job/certify"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/infile"
	"psafe/internal/nearest"
)

// Flag is a flag of psafe certify, as a key of a campaign file.
type Flag struct {
	Name string
	// Switch reports whether it is on or off, List whether it takes several values with commas between.
	Switch, List bool
	// Elsewhere, if it is not empty, says where else the flag belongs: then it is no key.
	Elsewhere string
}

// axis is one of the lists of a campaign file: every job has one item of each of them.
type axis struct {
	// key names the list, flag the flag that an item is the value of.
	key, flag string
	// path reports whether in an item of several keys it may be called so.
	path bool
}

// axes in the order in which they vary, the last fastest: tasks of one posterior lie together.
var axes = [...]axis{
	{key: "posteriors", flag: "posterior", path: true},
	{key: "inputs", flag: "inputs", path: true},
	{key: "methods", flag: "method"},
	{key: "properties", flag: "property", path: true},
}

// setting is a flag with its value, and the line of its key.
type setting struct {
	flag  Flag
	value string
	line  int
}

// item is an entry of an axis: a value, and what goes with it alone.
type item struct {
	line     int
	settings []setting // the first is the axis' own
}

// Spec is a campaign file that has been read.
type Spec struct {
	Path string
	// Renamed are words of the file that are called otherwise today; elsewhere they are as today.
	Renamed certify.Renamed
	axes    [len(axes)][]item
	// common are settings of all jobs whose items do not say otherwise.
	common []setting
	// keys are the flags that may be keys.
	keys []string
}

// Limits of a campaign file.
const (
	mostSpecBytes = 1 << 20
	mostJobs      = 100_000
)

// ReadSpec reads a campaign file: one document of YAML, a mapping whose keys are posteriors,
// inputs, methods and properties (lists) and flags (for all jobs). A scalar counts as it is
// written: 0.10, 1:30 and 0x10 are texts, as on a command line. Errors name file and line.
func ReadSpec(path string, flags []Flag) (*Spec, error) {
	text, err := infile.ReadAll(path, mostSpecBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := specReader{spec: &Spec{Path: path, Renamed: certify.Renamed{File: path}}, flags: flags, lines: map[string]int{}}
	r.spec.keys = r.keys()
	err = r.read(text)
	if place, ok := errors.AsType[*lineError](err); ok {
		return nil, fmt.Errorf("%s: line %d: %w", path, place.line, place.err)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r.spec, nil
}

// lineError is an error about a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

func at(n *yaml.Node, format string, args ...any) error {
	return &lineError{n.Line, fmt.Errorf(format, args...)}
}

type specReader struct {
	spec  *Spec
	flags []Flag
	// lists are the keys of the axes that have been read, as they are written; lines has the
	// lines of entries by their words.
	lists [len(axes)]string
	lines map[string]int
}

func (r *specReader) read(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	if err := decoder.Decode(&document); err == io.EOF {
		return errors.New("says nothing: begin with posteriors: [net.npz]")
	} else if err != nil {
		if i := slices.IndexFunc(bytes.Split(text, []byte("\n")), indentedByTab); i >= 0 {
			return &lineError{i + 1, errors.New("a tab stands where YAML wants spaces: write spaces")}
		}
		return unYAML(err)
	}
	if err := decoder.Decode(&more); err == nil {
		return at(&more, "a second document begins: a campaign file has one, so remove the line ---")
	} else if err != io.EOF {
		return unYAML(err)
	}
	if err := r.mapping(document.Content[0], r.top); err != nil {
		return err
	}
	return r.check()
}

// indentedByTab reports whether a line begins with a tab, or with spaces and a tab.
func indentedByTab(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t"))
}

// unYAML is an error of the YAML reader, which often names a line: that of the mistake, or one
// nearby.
func unYAML(err error) error {
	text, near := strings.TrimPrefix(err.Error(), "yaml: "), ""
	if line, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(line, "line ") {
		near, text = " near "+line, rest
	}
	return fmt.Errorf("is no YAML%s: %s: quote texts with : # [ ] { } or a comma", near, strings.ReplaceAll(text, "\n", " "))
}

// plainNode refuses what makes a file say something else than can be read in that place.
func plainNode(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at(n, "&NAME and *NAME are not read in a campaign file: write the value out, or quote it if it begins so")
	case n.Style&yaml.TaggedStyle != 0:
		return at(n, "the tag %.40q is not read in a campaign file: leave it out, or quote the value if it begins with !", n.Tag)
	}
	return nil
}

// mapping calls f for each key, as flags are written, and value of a mapping.
func (r *specReader) mapping(n *yaml.Node, f func(key string, at, value *yaml.Node) error) error {
	if err := plainNode(n); err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return at(n, "%s stands where keys with values should: write KEY: VALUE, with a space behind the colon", kind(n))
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		word, err := scalar(key, "a key")
		if err != nil {
			return err
		}
		name, _ := record.Today(strings.ReplaceAll(word, "_", "-"), "")
		r.spec.Renamed.Add(strings.ReplaceAll(word, "_", "-"), name)
		if before, twice := seen[name]; twice {
			return at(key, "%.60s was given in line %d already: give it once", word, before)
		}
		seen[name] = key.Line
		if err := f(name, key, value); err != nil {
			return err
		}
	}
	return nil
}

// top takes a key of the file.
func (r *specReader) top(name string, key, value *yaml.Node) error {
	for i, a := range axes {
		if name == a.key || name == a.flag {
			return r.list(i, key, value)
		}
	}
	if slices.Contains([]string{"state", "next", "semantics", "plant", "plants", "loop", "loops"}, name) {
		return at(key, "%s: a campaign has no closed loops: run psafe loop PLANT.yaml for each, with --resume to go on", name)
	}
	flag, err := r.flag(name, key, append(axisKeys(), r.spec.keys...))
	if err != nil {
		return err
	}
	text, err := r.value(flag, value)
	r.spec.common = append(r.spec.common, setting{flag, text, key.Line})
	return err
}

func axisKeys() []string {
	var keys []string
	for _, a := range axes {
		keys = append(keys, a.key)
	}
	return keys
}

// keys are the flags that may be keys.
func (r *specReader) keys() []string {
	var keys []string
	for _, f := range r.flags {
		if f.Elsewhere == "" {
			keys = append(keys, f.Name)
		}
	}
	return keys
}

// flag is the flag that a key names; known are the keys that might have been meant.
func (r *specReader) flag(name string, key *yaml.Node, known []string) (Flag, error) {
	i := slices.IndexFunc(r.flags, func(f Flag) bool { return f.Name == name })
	if name == "options" {
		return Flag{}, at(key, "there is no key %.60q: options are keys themselves, as in cells: 4", key.Value)
	}
	if i < 0 {
		return Flag{}, at(key, "there is no key %.60q: keys are posteriors, inputs, methods, properties and the flags of psafe certify%s", key.Value, nearest.Hint(name, known))
	}
	if f := r.flags[i]; f.Elsewhere != "" {
		return f, at(key, "%s is no key of a campaign: %s", name, f.Elsewhere)
	}
	return r.flags[i], nil
}

// list reads axis i: items in a list, or one alone.
func (r *specReader) list(i int, key, value *yaml.Node) error {
	a := axes[i]
	if before := r.lists[i]; before != "" {
		return at(key, "%s and %s are both given: write all in %s", before, key.Value, a.key)
	}
	r.lists[i] = key.Value
	if err := plainNode(value); err != nil {
		return err
	}
	entries := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		entries = value.Content
	}
	if len(entries) == 0 {
		return at(value, "the list %s is empty: fill it, or leave it out", key.Value)
	}
	for _, entry := range entries {
		item, err := r.item(a, entry)
		if err != nil {
			return err
		}
		words := strings.Join(args(item.settings), "\x00")
		if before, twice := r.lines[words]; twice {
			return at(entry, "%s stands in line %d already: list it once", item.name(), before)
		}
		r.lines[words] = item.line
		r.spec.axes[i] = append(r.spec.axes[i], item)
	}
	return nil
}

// item reads an entry of an axis: a value, or keys with the value under the axis' name.
func (r *specReader) item(a axis, n *yaml.Node) (item, error) {
	own, err := r.flag(a.flag, n, nil)
	if err != nil {
		return item{}, err
	}
	it := item{line: n.Line, settings: []setting{{flag: own, line: n.Line}}}
	if n.Kind != yaml.MappingNode {
		text, err := scalar(n, "an entry of "+a.key)
		it.settings[0].value = r.today(own, text)
		return it, err
	}
	named := false
	err = r.mapping(n, func(name string, key, value *yaml.Node) error {
		if name == a.flag || name == "path" && a.path {
			if named {
				return at(key, "path and %s are the same: give one of them", a.flag)
			}
			named = true
			text, err := r.value(own, value)
			it.settings[0].value = text
			return err
		}
		for _, other := range axes {
			if name == other.flag {
				return at(key, "%s cannot be a key of an entry of %s: every job has one of each list, so write it in %s", key.Value, a.key, other.key)
			}
		}
		flag, err := r.flag(name, key, append(r.spec.keys, "path"))
		if err != nil && a.flag == "property" && slices.Contains(property.SpecKinds(), key.Value) {
			return at(key, "%s and its value are one text: leave out the space behind the colon, and quote it: \"%s:%.40s\"", key.Value, key.Value, value.Value)
		} else if err != nil {
			return err
		}
		text, err := r.value(flag, value)
		it.settings = append(it.settings, setting{flag, text, key.Line})
		return err
	})
	if err == nil && !named {
		err = at(n, "this entry of %s does not say which it is: add %s", a.key, a.flag)
		if a.path {
			err = at(n, "this entry of %s does not say which it is: add path", a.key)
		}
	}
	return it, err
}

// value returns what a flag gets: a list is joined by commas where the flag takes one.
func (r *specReader) value(f Flag, n *yaml.Node) (string, error) {
	if n.Kind == yaml.SequenceNode && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		if !f.List {
			return "", at(n, "%s takes one value, and has a list: give one, or quote it if the brackets belong to it", f.Name)
		}
		if len(n.Content) == 0 {
			return "", at(n, "the list of %s is empty: fill it, or leave it out", f.Name)
		}
		var values []string
		for _, entry := range n.Content {
			text, err := scalar(entry, "an entry of "+f.Name)
			if err == nil && text == "" {
				err = at(entry, "an entry of %s is empty: leave it out", f.Name)
			}
			if err != nil {
				return "", err
			}
			values = append(values, text)
		}
		return strings.Join(values, ","), nil
	}
	text, err := scalar(n, f.Name)
	if err == nil && f.Switch && text != "true" && text != "false" {
		err = at(n, "%s is %.40q: write true or false", f.Name, text)
	}
	return r.today(f, text), err
}

// today is the value of a flag in the word of today.
func (r *specReader) today(f Flag, text string) string {
	_, today := record.Today(f.Name, text)
	r.spec.Renamed.Add(f.Name+" "+text, f.Name+" "+today)
	return today
}

// scalar is a single value, as it is written; what names it in errors.
func scalar(n *yaml.Node, what string) (string, error) {
	if err := plainNode(n); err != nil {
		return "", err
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", at(n, "%s is %s: write a single value, and quote it if its brackets belong to it", what, kind(n))
	case n.ShortTag() == "!!null":
		return "", at(n, "%s has no value: give it one, or leave it out", what)
	case strings.ContainsFunc(n.Value, unicode.IsControl):
		return "", at(n, "%s %.60q has more than one line or a control character: write it in one line, without", what, n.Value)
	}
	return n.Value, nil
}

// kind returns what a node is.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "a single value"
}

// check looks at the whole.
func (r *specReader) check() error {
	s := r.spec
	if len(s.axes[0]) == 0 {
		return errors.New("has no posteriors: list them, as in posteriors: [net.npz]")
	}
	jobs := 1
	for _, list := range s.axes {
		if jobs *= max(1, len(list)); jobs > mostJobs {
			return fmt.Errorf("has more than %d jobs, which are posteriors times inputs times methods times properties: make several campaigns", mostJobs)
		}
	}
	for i := range axes {
		for j := range i {
			for _, a := range s.axes[j] {
				for _, b := range s.axes[i] {
					if twice := common(a.settings, b.settings); twice != "" {
						return &lineError{b.line, fmt.Errorf("%s goes with this entry of %s and with one of %s in line %d, and a job has both: give it to one of the lists", twice, axes[i].key, axes[j].key, a.line)}
					}
				}
			}
		}
	}
	return nil
}

// common is a flag of both, empty if there is none.
func common(a, b []setting) string {
	for _, s := range a {
		if slices.ContainsFunc(b, func(t setting) bool { return t.flag.Name == s.flag.Name }) {
			return s.flag.Name
		}
	}
	return ""
}
