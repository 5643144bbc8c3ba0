package psafe_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	// An equation's number ends the line, in the block of the equation.
	defined = regexp.MustCompile(`^    .*\s\(([1-9][0-9]?[a-t]?)\)$`)
	// A citation stands by itself: f(2) is none, and (3u) is a size.
	cited = regexp.MustCompile(`(?:^|\s)\(([1-9][0-9]?[a-t]?)\)`)
	// counted is no citation either: so many mutants or records of a package or file.
	counted = regexp.MustCompile(`\w/\w+ \(\d+\)|, \d+ \(\d+\)`)
	// Citations with their page.
	pageFirst   = regexp.MustCompile(`(\w+)\.md\)?,? \(([1-9][0-9]?[a-t]?)\)`)
	numberFirst = regexp.MustCompile(`\(([1-9][0-9]?[a-t]?)\) of (?:docs/)?\[?(\w+)\.md`)
)

// theory is the page that defines equations.
const theory = "docs/theory.md"

// TestEquations: the numbers of equations mean one thing each, in docs/theory.md alone, and so do
// they in all pages and in the comments of Go and OpenCL C that cite them.
func TestEquations(t *testing.T) {
	page := map[string]string{}
	all := pages(t)
	for line := range strings.Lines(all[theory]) {
		m := defined.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		if page[m[1]] != "" {
			t.Errorf("(%s) is defined twice in %s", m[1], theory)
		}
		page[m[1]] = theory
	}
	if len(page) < 40 {
		t.Errorf("%d equations", len(page))
	}
	out, err := exec.Command("git", "ls-files", "*.go", "*.cl").Output()
	if err != nil {
		t.Skipf("no git: %v", err) // an archive of the sources
	}
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		if err == nil {
			all[file] = string(text)
		}
	}
	citations := 0
	for file, text := range all {
		for i, line := range strings.Split(text, "\n") {
			if !strings.HasSuffix(file, ".md") {
				_, line, _ = strings.Cut(line, "//")
			}
			line = counted.ReplaceAllString(line, "")
			for _, m := range cited.FindAllStringSubmatch(line, -1) {
				if citations++; page[m[1]] == "" {
					t.Errorf("%s:%d cites (%s), which no page defines", file, i+1, m[1])
				}
			}
			for _, m := range pageFirst.FindAllStringSubmatch(line, -1) {
				if want := "docs/" + m[1] + ".md"; page[m[2]] != want {
					t.Errorf("%s:%d cites (%s) of %s, which %q defines", file, i+1, m[2], want, page[m[2]])
				}
			}
			for _, m := range numberFirst.FindAllStringSubmatch(line, -1) {
				if want := "docs/" + m[2] + ".md"; page[m[1]] != want {
					t.Errorf("%s:%d cites (%s) of %s, which %q defines", file, i+1, m[1], want, page[m[1]])
				}
			}
		}
	}
	if citations < 200 {
		t.Errorf("%d citations", citations)
	}
}
