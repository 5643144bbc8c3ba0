package property

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"psafe/internal/infile"
)

const (
	// maxDepth is how deeply a property file may nest brackets.
	maxDepth = 100
	// valueBytes is about what each of its values and keys takes.
	valueBytes = 130
)

// node is a JSON value that remembers where it stands and keeps numbers as
// text. Package encoding/json alone would round numbers and silently keep the
// last of two equal keys.
type node struct {
	// kind is '{', '[', 's' (string), 'n' (number), 'b' (boolean) or '0' (null).
	kind byte
	line int32
	// text is the string, the number as written, or true or false.
	text  string
	items []*node
	// keys are the keys of an object in order, values its entries.
	keys   []string
	values map[string]*node
}

// placed is an error with the line it belongs to.
type placed struct {
	line int
	err  error
}

func (e *placed) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

// errorf is an error at the node.
func (n *node) errorf(format string, args ...any) error {
	return &placed{int(n.line), fmt.Errorf(format, args...)}
}

// describe names the node's kind, with an article.
func (n *node) describe() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 's':
		return "the text " + quote(n.text)
	case 'n':
		return "the number " + quote(n.text)
	case 'b':
		return "a boolean"
	}
	return "null"
}

// parseJSON parses one JSON value, which must be all of data. Syntax errors,
// duplicate keys and nesting beyond maxDepth are errors with their line.
func parseJSON(data []byte) (*node, error) {
	data = infile.Unmarked(data)
	if line, err := infile.CheckJSON(data, maxDepth, len(data)+1); err != nil {
		return nil, &placed{line, err}
	}
	values := 0
	for _, c := range []byte{',', ':', '[', '{'} {
		values += bytes.Count(data, []byte{c})
	}
	if err := infile.Afford(int64(values) * valueBytes); err != nil {
		return nil, &placed{1, fmt.Errorf("about %d values: %w", values, err)}
	}
	p := jsonParser{data: data, line: 1, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	// The check first: it refuses what follows the value, and leaves only
	// well-formed tokens to the loop below.
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, p.syntax(err)
	}
	return p.value()
}

// jsonParser builds nodes from the tokens of a decoder.
type jsonParser struct {
	data []byte
	dec  *json.Decoder
	// line is the line, from 1, of the byte at offset.
	line, offset int
}

// syntax is a decoder's error with its line.
func (p *jsonParser) syntax(err error) error {
	line := 1 + bytes.Count(p.data, []byte("\n"))
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		line = 1 + bytes.Count(p.data[:min(int(e.Offset), len(p.data))], []byte("\n"))
	}
	return &placed{line, fmt.Errorf("not JSON: %w; mend the text there", err)}
}

// next returns the next token, and leaves p.line at the line it ends on.
func (p *jsonParser) next() (json.Token, error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, p.syntax(err)
	}
	end := int(p.dec.InputOffset())
	p.line += bytes.Count(p.data[p.offset:end], []byte("\n"))
	p.offset = end
	return t, nil
}

// value parses one value. It recurses, no deeper than maxDepth.
func (p *jsonParser) value() (*node, error) {
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	n := &node{line: int32(p.line)}
	switch t := t.(type) {
	case json.Delim:
		if n.kind = byte(t); n.kind == '{' {
			return n, p.object(n)
		}
		return n, p.list(n)
	case json.Number:
		n.kind, n.text = 'n', t.String()
	case string:
		n.kind, n.text = 's', t
	case bool:
		n.kind, n.text = 'b', strconv.FormatBool(t)
	default:
		n.kind = '0'
	}
	return n, nil
}

// object parses the entries of n and the closing brace.
func (p *jsonParser) object(n *node) error {
	n.values = map[string]*node{}
	for p.dec.More() {
		t, err := p.next()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return n.errorf("not JSON: a key is not text; mend the text there")
		}
		if n.values[key] != nil {
			return &placed{p.line, fmt.Errorf("key %s stands twice in one object; remove one", quote(key))}
		}
		v, err := p.value()
		if err != nil {
			return err
		}
		n.keys = append(n.keys, key)
		n.values[key] = v
	}
	_, err := p.next()
	return err
}

// list parses the entries of n and the closing bracket.
func (p *jsonParser) list(n *node) error {
	for p.dec.More() {
		v, err := p.value()
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
	}
	_, err := p.next()
	return err
}
