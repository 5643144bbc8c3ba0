package vnnlib

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"psafe/internal/infile"
)

const (
	// maxFile is the size of a query, in bytes, as it lies there and unpacked. A packed one may
	// have 64 times its bytes unpacked, and unpackedFree in any case.
	maxFile      = 1 << 30
	maxRatio     = 64
	unpackedFree = 128 << 20
	// tokenBytes is about what each word and bracket of a statement takes while it is read, and
	// maxDepth how deeply brackets nest.
	tokenBytes = 320
	maxDepth   = 100
)

// place holds where something stands, from 1; columns count bytes.
type place struct{ line, column int32 }

func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d:%d: %w", p.line, p.column, fmt.Errorf(format, args...))
}

// form is a list, a symbol or a quoted text.
type form struct {
	place
	// kind is '(' for a list, 'a' for a symbol and '"' for a text.
	kind byte
	text string
	// index holds what stands in square brackets behind a symbol, if indexed.
	index   string
	indexed bool
	items   []form
}

// describe names the form for messages.
func (f *form) describe() string {
	switch {
	case f.kind == '"':
		return "the text " + quote(f.text)
	case f.kind == '(' && len(f.items) > 0 && f.items[0].kind == 'a':
		return "(" + strings.Trim(quote(f.items[0].text), `"`) + " ...)"
	case f.kind == '(':
		return "a list in brackets"
	case f.indexed:
		return quote(f.text + "[" + f.index + "]")
	}
	return quote(f.text)
}

func cut(text string) string { return text[:min(len(text), 40)] }

func quote(text string) string { return fmt.Sprintf("%q", cut(text)) }

// reader takes text apart, one statement after the other. Symbols share its memory.
type reader struct {
	text string
	at   int
	place
	// statement holds what this statement takes.
	statement infile.Account
}

func newReader(text string) *reader { return &reader{text: text, place: place{1, 1}} }

// step goes on by one byte.
func (r *reader) step() {
	if r.text[r.at] == '\n' {
		r.line, r.column = r.line+1, 0
	}
	r.at++
	r.column++
}

// blank passes what means nothing: white space and comments.
func (r *reader) blank() {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ';':
			for r.at < len(r.text) && r.text[r.at] != '\n' {
				r.step()
			}
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			r.step()
		default:
			return
		}
	}
}

// spend counts a token.
func (r *reader) spend() error {
	if err := r.statement.Take(tokenBytes); err != nil {
		return r.errorf("words and brackets of this statement: %w", err)
	}
	return nil
}

// next reads a statement; ok is false at the end of the text.
func (r *reader) next() (f form, ok bool, err error) {
	r.statement.Reset()
	r.blank()
	if r.at == len(r.text) {
		return form{}, false, nil
	}
	f, err = r.form(0)
	if err == nil && f.kind != '(' {
		err = f.errorf("expected a statement in brackets, found %s", f.describe())
	}
	return f, err == nil, err
}

// form reads one form, which begins here. It recurses no deeper than maxDepth.
func (r *reader) form(depth int) (form, error) {
	f := form{place: r.place}
	if err := r.spend(); err != nil {
		return f, err
	}
	switch r.text[r.at] {
	case '(':
		f.kind = '('
		return f, r.list(&f, depth+1)
	case ')':
		return f, f.errorf("a closing bracket that nothing opened; remove it")
	case '"':
		f.kind = '"'
		return f, r.quoted(&f)
	case '[', ']':
		return f, f.errorf("square brackets stand behind a name, as in X[0,3]; put one there")
	}
	f.kind = 'a'
	return f, r.symbol(&f)
}

func (r *reader) list(f *form, depth int) error {
	if depth > maxDepth {
		return f.errorf("brackets nest deeper than %d; write the statement flatter", maxDepth)
	}
	r.step()
	for {
		r.blank()
		if r.at == len(r.text) {
			return f.errorf("this bracket is never closed; the file may have been cut off")
		}
		if r.text[r.at] == ')' {
			r.step()
			return r.spend()
		}
		item, err := r.form(depth)
		if err != nil {
			return err
		}
		f.items = append(f.items, item)
	}
}

func (r *reader) quoted(f *form) error {
	r.step()
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != '"' && r.text[r.at] != '\n' {
		if r.text[r.at] == '\\' && r.at+1 < len(r.text) {
			r.step()
		}
		r.step()
	}
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return f.errorf("this text has no closing quote in its line")
	}
	f.text = r.text[from:r.at]
	r.step()
	return nil
}

// symbol reads a symbol, and the square brackets behind it. Operators are symbols whatever
// follows them: the grammar asks for no space behind.
func (r *reader) symbol(f *form) error {
	from, c := r.at, r.text[r.at]
	operator := comparing(c) || (c == '+' || c == '-' || c == '*') && !(r.at+1 < len(r.text) && numeric(r.text[r.at+1]))
	if c == '<' && r.at+1 < len(r.text) && digit(r.text[r.at+1]) {
		operator = false
		for r.at < len(r.text) && r.text[r.at] != '>' && r.text[r.at] != '\n' { // <2.0>
			r.step()
		}
		if r.at < len(r.text) && r.text[r.at] == '>' {
			r.step()
		}
	}
	for r.at < len(r.text) {
		c := r.text[r.at]
		if operator && r.at > from && !comparing(c) || comparing(c) != operator && r.at > from || delimiter(c) {
			break
		}
		if c < ' ' || c >= utf8.RuneSelf || c == 0x7f || c == '|' {
			return r.errorf("the byte %#x belongs to no name and no number; mend the text there", c)
		}
		r.step()
	}
	f.text = r.text[from:r.at]
	if operator {
		return nil
	}
	r.blank()
	if r.at < len(r.text) && r.text[r.at] == '[' {
		return r.brackets(f)
	}
	return nil
}

func (r *reader) brackets(f *form) error {
	open := r.place
	r.step()
	from := r.at
	for r.at < len(r.text) && r.text[r.at] != ']' {
		if c := r.text[r.at]; !digit(c) && c != ',' && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '-' {
			return open.errorf("square brackets hold whole numbers with commas between, as in [0,3]")
		}
		r.step()
	}
	if r.at == len(r.text) {
		return open.errorf("this square bracket is never closed")
	}
	f.index, f.indexed = r.text[from:r.at], true
	if strings.ContainsAny(f.index, " \t\n\r") { // messages of one line quote it
		f.index = strings.Join(strings.Fields(f.index), " ")
	}
	r.step()
	return nil
}

func digit(c byte) bool     { return '0' <= c && c <= '9' }
func numeric(c byte) bool   { return digit(c) || c == '.' }
func comparing(c byte) bool { return c == '<' || c == '>' || c == '=' || c == '!' }

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '[', ']', '"', ';', ' ', '\t', '\n', '\r', '\f':
		return true
	}
	return false
}
