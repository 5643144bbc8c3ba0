package psafe_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"psafe/host/model/network"
)

// pages are all pages of the documentation, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	list := map[string]string{}
	for _, path := range append(paths, "README.md", "CHANGELOG.md", "testdata/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list[filepath.ToSlash(path)] = string(text)
	}
	return list
}

var link = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)

// TestLinks: every file that the pages point to, figures too, is there, and so is
// every heading; and the links of README lead to every page, over one page or none
// between.
func TestLinks(t *testing.T) {
	all := pages(t)
	leadsTo := map[string][]string{}
	links := 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			target := page
			if m[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), m[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s points to %s: %v", page, m[1], err)
			}
			if m[2] != "" && !anchors(all[target])[m[2]] {
				t.Errorf("%s points to %s%s: no such heading", page, target, m[2])
			}
			leadsTo[page] = append(leadsTo[page], target)
		}
	}
	if links < 10 {
		t.Errorf("%d links in all pages", links)
	}
	reached := map[string]bool{"README.md": true}
	for _, page := range leadsTo["README.md"] {
		reached[page] = true
		for _, next := range leadsTo[page] {
			reached[next] = true
		}
	}
	for page := range all {
		if !reached[page] {
			t.Errorf("README does not lead to %s", page)
		}
	}
}

// anchors are the fragments by which a page's headings are linked: lower case,
// spaces as hyphens, without punctuation.
func anchors(text string) map[string]bool {
	list := map[string]bool{}
	for _, line := range prose(text) {
		if title := strings.TrimLeft(line, "#"); title != line {
			list["#"+strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(title))] = true
		}
	}
	return list
}

// wide are the pages that may have lines of any length.
var wide = map[string]bool{}

// TestWidth: prose fits 100 columns. Tables and code may be wider, and so may a
// line without a place to break it, such as a link.
func TestWidth(t *testing.T) {
	whole := regexp.MustCompile(`^\s*([-*] +)?(\S+|!?\[[^]]*\]\([^)]*\)\S?)$`)
	for page, text := range pages(t) {
		for number, line := range prose(text) {
			if n := utf8.RuneCountInString(line); n > 100 && !wide[page] && !whole.MatchString(line) {
				t.Errorf("%s:%d: %d columns", page, number, n)
			}
		}
	}
}

// prose are a page's lines that are neither code nor a table, by their numbers
// from 1.
func prose(text string) map[int]string {
	list := map[int]string{}
	fenced := false
	before := ""
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		// Four spaces make code, but in the middle of a paragraph.
		indented := strings.HasPrefix(line, "    ") && (before == "" || strings.HasPrefix(before, "    "))
		if fence {
			fenced = !fenced
		} else if !fenced && !indented && !strings.HasPrefix(line, "|") {
			list[i+1] = line
		}
		before = line
	}
	return list
}

// TestActivationWords: every page that lists activations, and the Python file that writes them,
// has the word of each.
func TestActivationWords(t *testing.T) {
	for _, path := range []string{"docs/reference.md", "docs/files.md", "python/psafe_export.py"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.SplitSeq(network.Words(), ", ") {
			if !regexp.MustCompile(`\b` + word + `\b`).Match(text) {
				t.Errorf("%s lists activations, and not %s", path, word)
			}
		}
	}
}
