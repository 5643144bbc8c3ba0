package psafe_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContainerfile checks what can be checked without a container engine: what is copied
// is there or is made by the stage it comes from, the Go version is go.mod's, the images that it
// begins with are pinned by digest, and the one that comes out by default is from scratch and not
// run by root.
func TestContainerfile(t *testing.T) {
	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	if version == nil || !strings.Contains(string(text), "FROM golang:"+version[1]+".") {
		t.Errorf("Containerfile is not for go.mod's Go %v", version)
	}
	instructions := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(text), "")
	instructions = strings.ReplaceAll(instructions, "\\\n", " ")
	stages := map[string]string{} // what each stage does
	base, stage, copies := "", "", 0
	for line := range strings.Lines(instructions) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "FROM":
			base, stage = f[1], ""
			if _, own := stages[base]; !own && base != "scratch" && !regexp.MustCompile(`^[a-z]+:[^@]+@sha256:[0-9a-f]{64}$`).MatchString(base) {
				t.Errorf("%s is pinned by no digest", base)
			}
			if len(f) == 4 {
				stage = f[3]
			}
			stages[stage] = stages[base]
		case "COPY":
			from, sources := "", []string{}
			for _, word := range f[1 : len(f)-1] {
				if name, ok := strings.CutPrefix(word, "--from="); ok {
					from = name
				} else if !strings.HasPrefix(word, "--") {
					sources = append(sources, word)
				}
			}
			for _, s := range sources {
				copies++
				if inTree, ok := strings.CutPrefix(s, "/src/"); ok || from == "" {
					if !ok {
						inTree = s
					}
					if _, err := os.Stat(filepath.FromSlash(inTree)); err != nil {
						t.Errorf("%s: %v", strings.TrimSpace(line), err)
					}
				} else if !strings.Contains(stages[from]+" ", " "+s+" ") {
					t.Errorf("%s: stage %q does not make %s", strings.TrimSpace(line), from, s)
				}
			}
		}
		stages[stage] += " " + strings.TrimSpace(line)
	}
	if copies < 8 {
		t.Errorf("%d files are copied", copies)
	}
	if base != "scratch" || !strings.Contains(stages[""], " USER 65532:65532") {
		t.Errorf("the last stage is from %s and does %s", base, stages[""])
	}
}
