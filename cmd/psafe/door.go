package main

import (
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"psafe/internal/outfile"
)

// door is the way out of the program for everything that a person reads: standard output
// and standard error, both of which program makes doors. What commands a terminal comes
// out as a visible escape, wherever it came from: a file, its name, a flag, the environment
// or a driver. Only psafe's own ends of lines pass; fields that must not have any are for
// plain. In a string of JSON the escapes say what they replace.
type door struct {
	mu sync.Mutex
	w  io.Writer
	// err is the first error in writing: program makes a status of it.
	err error
}

func (d *door) Write(b []byte) (int, error) {
	if _, err := d.exactly(escaped(b, false)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// exactly writes what may be anything.
func (d *door) exactly(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.w.Write(b)
	d.err = err
	return n, err
}

// failed is the first error in writing, as an error that names what was written to.
func (d *door) failed(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		return nil
	}
	return &outfile.Error{Path: name, Err: d.err}
}

// exact is a door without escapes: for records, whose bytes are what they are, and for what
// psafe itself tells a terminal.
type exact struct{ *door }

func (e exact) Write(b []byte) (int, error) { return e.exactly(b) }

// exactly is w without escapes.
func exactly(w io.Writer) io.Writer {
	if d, ok := w.(*door); ok {
		return exact{d}
	}
	return w
}

// forProgram returns where text goes that a program reads, a shell for one: its bytes are what they
// are, unless it comes to a terminal, which would obey some of them.
func forProgram(w io.Writer) io.Writer {
	if onTerminal(w) {
		return w
	}
	return exactly(w)
}

// printForProgram prints such a text, and says so where a terminal shows something else.
func printForProgram(text string, stdout, stderr io.Writer) error {
	if shown := string(escaped([]byte(text), false)); shown != text && onTerminal(stdout) {
		fmt.Fprintln(stderr, "psafe: note: names have characters that a terminal does not show as they are: give this to a file or a pipe, do not copy it from here")
	}
	_, err := io.WriteString(forProgram(stdout), text)
	return err
}

// behind returns what a door leads to.
func behind(w io.Writer) io.Writer {
	switch d := w.(type) {
	case *door:
		return d.w
	case exact:
		return d.w
	}
	return w
}

// plain is text from outside as one field of a line may show it.
func plain(text string) string { return string(escaped([]byte(text), true)) }

// note tells a user something beside the results.
func note(stderr io.Writer, about fmt.Stringer) {
	printLine(stderr, noColour, "psafe: note:", about.String())
}

// escaped replaces what a terminal would obey or hide: control characters, characters
// that have no shape (of which some change the order of others), line separators, and bytes
// that are no UTF-8. Line feeds pass unless lines says that they too are replaced.
func escaped(text []byte, lines bool) []byte {
	var out []byte // nil as long as it would be text
	done := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if visible := escape(r, n, text[i], lines); visible != "" {
			out = append(append(out, text[done:i]...), visible...)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// escape returns what a rune of n bytes is replaced by, "" if it stays.
func escape(r rune, n int, first byte, lines bool) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, first)
	case r == '\n' && !lines:
		return ""
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return ""
	case r > 0xffff:
		a, b := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, a, b)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
