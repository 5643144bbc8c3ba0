package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// fits holds a text to the width of help.
func fits(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
			t.Errorf("%s: %d columns: %s", what, n, line)
		}
	}
}

// TestHelpFits: no line of any help is wider than a terminal of 80 columns, and every flag
// stands in it.
func TestHelpFits(t *testing.T) {
	fits(t, "help", psafe(t, exitDone, "help"))
	for _, c := range commands() {
		text := psafe(t, exitDone, c.Name(), "--help")
		fits(t, c.Name(), text)
		if flagGroups[c.Name()] != nil {
			text = psafe(t, exitDone, c.Name(), "--help-all")
			fits(t, c.Name()+" --help-all", text)
		}
		for _, name := range flagNames(c.Flags()) {
			if n := strings.Count("\n"+text, "\n  --"+name+" ") + strings.Count(text, "\n  --"+name+"\n"); n != 1 {
				t.Errorf("%s: --%s is listed %d times", c.Name(), name, n)
			}
		}
	}
}

// TestFlagGroups: the groups of a command have each of its flags once, and what --help shows
// first is among them, with the way to the rest and none of the flags for files of others.
func TestFlagGroups(t *testing.T) {
	for _, c := range commands() {
		groups := flagGroups[c.Name()]
		if groups == nil {
			continue
		}
		var listed []string
		for _, g := range groups[1:] {
			listed = append(listed, g.names...)
		}
		all := flagNames(c.Flags())
		slices.Sort(all)
		slices.Sort(listed)
		if !slices.Equal(all, listed) {
			t.Errorf("%s has %q, its groups have %q", c.Name(), all, listed)
		}
		text := psafe(t, exitDone, "help", c.Name())
		for _, name := range all {
			if got, want := strings.Contains(text, "\n  --"+name+" "), slices.Contains(groups[0].names, name); got != want {
				t.Errorf("%s: --%s is shown first: %v, want %v", c.Name(), name, got, want)
			}
		}
		if len(groups[0].names) != 8 || !strings.Contains(text, "psafe "+c.Name()+" --help-all lists all ") {
			t.Errorf("%s: %s", c.Name(), text)
		}
		if psafe(t, exitDone, "help", c.Name(), "--help-all") != psafe(t, exitDone, c.Name(), "--help-all", "more", "words") {
			t.Errorf("%s: --help-all is not the same everywhere", c.Name())
		}
	}
}
