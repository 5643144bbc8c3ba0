// Package pagetest compares pages with what they are made of.
package pagetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Part compares the part of a page between the lines "<!-- made: NAME -->" and "<!-- end -->" with
// text, or with update writes it there. path is relative to the test.
func Part(t *testing.T, path, name, text string, update bool) {
	t.Helper()
	path = filepath.FromSlash(path)
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), "<!-- made: "+name+" -->\n")
	old, tail, ends := strings.Cut(rest, "<!-- end -->\n")
	switch text = "\n" + strings.Trim(text, "\n") + "\n\n"; {
	case !found || !ends:
		t.Fatalf("%s has no part %q", path, name)
	case old == text:
	case !update:
		t.Errorf("%s: the part %q is stale: run this test with -update", path, name)
	default:
		if err := os.WriteFile(path, []byte(head+"<!-- made: "+name+" -->\n"+text+"<!-- end -->\n"+tail), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Item is an item of a list in lines of at most 100 columns.
func Item(text string) string {
	var b strings.Builder
	line := "-"
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > 100 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
