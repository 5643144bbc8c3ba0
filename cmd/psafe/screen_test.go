package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/format"
)

// TestWrapped: lines have the width, but for longer words, and say what the text says.
func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"a bb ccc", []string{"a bb", "> ccc"}},
		{"abcdefgh a", []string{"abcdefgh", "> a"}},
		{"äöü äö ab", []string{"äöü äö", "> ab"}},
		{"", []string{""}},
	} {
		if got := wrapped(c.text, "> ", 6); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestPrintLine: off a terminal a line stays one, with what would command one escaped.
func TestPrintLine(t *testing.T) {
	var b strings.Builder
	printLine(&b, red, "psafe:", strings.Repeat("word ", 40)+"\x1b[2J: psafe certify")
	if got := b.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") || !strings.HasPrefix(got, "psafe: word word") {
		t.Errorf("%q", got)
	}
}

// TestInspectedWords: what a file says in words is of one line each, without control characters.
func TestInspectedWords(t *testing.T) {
	p, err := format.Read(filepath.Join("..", "..", "testdata", "tiny-2-3-2-tanh.npz"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Input.FeaturesOf = "a network\n17 weights, 0 of them random \x1b[31m"
	var b strings.Builder
	if err := inspect(p, &b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "\n17 weights, 0") || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}
