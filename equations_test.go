package psafe_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// TestEquations: the numbers of equations mean one thing each, in all pages and in the comments of
// Go and OpenCL C that cite them.
func TestEquations(t *testing.T) {
	page := map[string]string{}
	paper := map[string]bool{} // what docs/theory.md defines: it takes the other pages' proofs over
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for line := range strings.Lines(all[name]) {
			m := defined.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				continue
			}
			if name == "docs/theory.md" {
				if paper[m[1]] {
					t.Errorf("(%s) is defined twice in %s", m[1], name)
				}
				paper[m[1]] = true
				continue
			}
			if before, is := page[m[1]]; is {
				t.Errorf("(%s) is defined in %s and in %s", m[1], before, name)
			}
			page[m[1]] = name
		}
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
