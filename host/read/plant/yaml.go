package plant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"psafe/host/read/property"
	"psafe/internal/nearest"
)

// lineError is an error about a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

func at(n *yaml.Node, format string, args ...any) error {
	return &lineError{n.Line, fmt.Errorf(format, args...)}
}

// table is a mapping whose keys are all different.
type table struct {
	node   *yaml.Node
	keys   []*yaml.Node
	values []*yaml.Node
}

// plainNode refuses what makes a file say something else than can be read in that place.
func plainNode(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return at(n, "&NAME, *NAME and !TAG are not read in a plant file: write the value out")
	}
	return nil
}

func mapping(n *yaml.Node) (*table, error) {
	if err := plainNode(n); err != nil {
		return nil, err
	}
	if n.Kind != yaml.MappingNode {
		return nil, at(n, "%.40q stands where keys with values should: write KEY: VALUE", n.Value)
	}
	t := &table{node: n}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, err := scalar(key); err != nil {
			return nil, err
		}
		if t.value(key.Value) != nil {
			return nil, at(key, "%.60s is given twice: give it once", key.Value)
		}
		t.keys, t.values = append(t.keys, key), append(t.values, n.Content[i+1])
	}
	return t, nil
}

// value is the value of a key, nil if it is not there.
func (t *table) value(key string) *yaml.Node {
	i := slices.IndexFunc(t.keys, func(n *yaml.Node) bool { return n.Value == key })
	if i < 0 {
		return nil
	}
	return t.values[i]
}

// only refuses other keys.
func (t *table) only(keys ...string) error {
	for _, n := range t.keys {
		if !slices.Contains(keys, n.Value) {
			return at(n, "there is no key %.60q here: keys are %s%s", n.Value, strings.Join(keys, ", "), nearest.Hint(n.Value, keys))
		}
	}
	return nil
}

func scalar(n *yaml.Node) (string, error) {
	if err := plainNode(n); err != nil {
		return "", err
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", at(n, "a list, a mapping or nothing stands where a text or a number should")
	}
	return n.Value, nil
}

func list(n *yaml.Node) ([]string, error) {
	if err := plainNode(n); err != nil {
		return nil, err
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, at(n, "expected a list of at least one entry, as in [a, b]")
	}
	words := make([]string, len(n.Content))
	for i, item := range n.Content {
		var err error
		if words[i], err = scalar(item); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// exact reads a number.
func exact(n *yaml.Node, text string) (Number, error) {
	e, err := property.NewExact(text)
	if err != nil {
		return Number{}, at(n, "%w", err)
	}
	v, ok := number(e.Rat())
	if !ok {
		return v, at(n, "%.40s is beyond the range of float64: write a smaller number", text)
	}
	return v, nil
}

// pair reads [LO, HI] in order.
func pair(n *yaml.Node) (ends [2]Number, err error) {
	words, err := list(n)
	if err == nil && len(words) != 2 {
		err = at(n, "expected two numbers, as in [-1, 1], found %d", len(words))
	}
	for i := 0; err == nil && i < 2; i++ {
		ends[i], err = exact(n, words[i])
	}
	if err == nil && ends[0].Exact.Cmp(ends[1].Exact) > 0 {
		err = at(n, "[%.20s, %.20s] is empty: write the lesser number first", words[0], words[1])
	}
	return ends, err
}

func whole(n *yaml.Node, what string, most int) (int, error) {
	word, err := scalar(n)
	if err != nil {
		return 0, err
	}
	v, err := strconv.Atoi(word)
	if err != nil || v < 1 || v > most {
		return 0, at(n, "%s: %.40q is no whole number from 1 to %d", what, word, most)
	}
	return v, nil
}
