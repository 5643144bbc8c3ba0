package psafe_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestChangelog: CHANGELOG.md begins with unsound bounds and has the form of Keep a
// Changelog, and the version of the tree is not one that is listed as past.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile("cmd/psafe/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	var chapters []string
	kinds := []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "## "); ok {
			chapters = append(chapters, name)
		}
		if name, ok := strings.CutPrefix(line, "### "); ok && !slices.Contains(kinds, name) {
			t.Errorf("CHANGELOG.md: heading %q is none of %q", name, kinds)
		}
	}
	if len(chapters) < 2 || chapters[0] != "Unsound bounds" {
		t.Fatalf("CHANGELOG.md: headings %q: unsound bounds come first", chapters)
	}
	past := chapters[1:]
	if past[0] == "[Unreleased]" {
		past = past[1:]
	}
	for _, name := range past {
		if !regexp.MustCompile(`^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$`).MatchString(name) {
			t.Errorf("CHANGELOG.md: heading %q: write [MAJOR.MINOR.PATCH] - YYYY-MM-DD", name)
		}
	}
	next, dev := strings.CutSuffix(strings.TrimSpace(string(version)), "-dev")
	listed := slices.ContainsFunc(past, func(name string) bool { return strings.HasPrefix(name, "["+next+"]") })
	if dev == listed {
		t.Errorf("cmd/psafe/VERSION says %s, CHANGELOG.md lists %q as past: a version is listed when it is released, and -dev goes then", version, past)
	}
}
