package paper

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWrap: lines are broken at spaces and keep their words and their meaning.
func TestWrap(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("p_lower ", 30))
	for _, c := range []struct{ name, text string }{
		{"short", "a line\n\nand another"},
		{"paragraph", long + " and é é é é é é é é é é é é é é é é é é é é"},
		{"heading", "### " + long},
		{"list", "what:\n\n- " + long + "\n- b"},
		{"marks", strings.TrimSpace(strings.Repeat("x = [0.1, 0.2] - 1. + ) > y # ", 20))},
		{"a long word", "the file " + strings.Repeat("x", 2*pageWidth) + " is long"},
	} {
		got := wrap(c.text)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.text), " ") {
			t.Errorf("%s: other words:\n%s", c.name, got)
		}
		if again := wrap(got); again != got && c.name != "list" {
			t.Errorf("%s: wrapped twice:\n%s", c.name, again)
		}
		for i, line := range strings.Split(got, "\n") {
			if utf8.RuneCountInString(line) > pageWidth && strings.Contains(line, " ") && c.name != "heading" {
				t.Errorf("%s: line %d has %d columns: %q", c.name, i, utf8.RuneCountInString(line), line)
			}
			first, _, _ := strings.Cut(line, " ")
			if c.name == "marks" && isMark(first) {
				t.Errorf("line %d begins with a mark: %q", i, line)
			}
		}
	}
	if got := wrap("- " + long); !strings.Contains(got, "\n  p_lower") {
		t.Errorf("an item of a list: %q", got)
	}
}
