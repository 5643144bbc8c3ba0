package psafe_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// rule is what the architecture says of sources and no import shows.
type rule struct {
	what    string
	pattern *regexp.Regexp
	// allowed are the folders and files that may have it.
	allowed []string
}

var rules = []rule{
	{"the place of a weight by input and output: network.Linear alone knows it (Into, From, BiasOf)",
		regexp.MustCompile(`\bj\s*\*\s*[\w.]*(Out\b|Outputs\(\))\s*\+\s*i\b`),
		// The operations of devices are about dense arrays (In, Out).
		[]string{"host/model/network/", "internal/testkit/devicetest/", "fallback/"}},
	{"a choice by the kind of an activation: ask network for the fact that matters",
		regexp.MustCompile(`case network\.(ReLU|LeakyReLU|Tanh|Sigmoid|Identity)\b|\bKind\s*[!=]=\s*network\.(ReLU|LeakyReLU|Tanh|Sigmoid)\b`),
		[]string{"host/model/network/", "internal/testkit/devicetest/"}},
	{"numbers of a device in a slice that is there without them: bound.ReadAll gives none after an error",
		regexp.MustCompile(`\b(dev|Device|owner|pair|d\.[ab])\.Read\(`),
		// Devices around others, and what only waits.
		[]string{"host/bound/device.go", "host/bound/until.go", "host/lab/lockstep/", "internal/testkit/devicetest/faulty.go", "host/lab/bench/"}},
	{"a file put in its place by renaming: internal/outfile does that",
		regexp.MustCompile(`\bos\.(Rename|CreateTemp)\(`),
		[]string{"internal/outfile/"}},
	{"a file opened for reading: internal/infile does that, at once and within limits",
		regexp.MustCompile(`\bos\.(Open|ReadFile)\(`),
		// What runs no user's file: /proc, the linker's list of libraries, the program's own
		// file, tools of the project.
		[]string{"internal/infile/", "internal/testkit/pagetest/", "host/job/certify/peak.go", "host/lab/bench/job.go", "gpu/cl/open_linux.go", "cmd/psafe/version.go", "internal/mutants/", "internal/release/", "testdata/gen/"}},
	{"a goroutine whose panic Go ends the program by: internal/fault starts those (Go), or gives what others start (Caught)",
		regexp.MustCompile(`(?m)(^|[{;])\s*go (func\b|[\w.]+\()|\b\w+\.Go\(func\b|\.Go\([a-z]\w*(\.\w+)*\)|AfterFunc\([^,]+, (func\b|[a-eg-z])`),
		[]string{"internal/fault/", "internal/mutants/"}},
}

// TestRules looks for what no package but those allowed may contain, tests apart.
func TestRules(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Skipf("no git: %v", err) // an archive of the sources
	}
	files := strings.Fields(string(out))
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	used := make([]int, len(rules))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for r, rule := range rules {
			for _, m := range rule.pattern.FindAllString(string(text), -1) {
				if used[r]++; !hasPrefixOf(file, rule.allowed) {
					t.Errorf("%s has %q: %s", file, m, rule.what)
				}
			}
		}
	}
	for r, n := range used {
		if n == 0 {
			t.Errorf("no file has what this rule is about: %s", rules[r].what)
		}
	}
}

func hasPrefixOf(file string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(file, p) {
			return true
		}
	}
	return false
}
