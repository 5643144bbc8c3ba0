package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsAreKnown: every command has a heading and a row of the first table in
// docs/cli.md, and a script that runs it.
func TestCommandsAreKnown(t *testing.T) {
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, scripts := read("../../docs/cli.md"), ""
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		scripts += read(path)
	}
	for _, c := range commands() {
		if !strings.Contains(page, "\n## "+c.Name()+"\n") {
			t.Errorf("docs/cli.md has no heading for %s", c.Name())
		}
		if row := "\n| [`" + c.Name() + "`](#" + c.Name() + ") | "; !strings.Contains(page, row) {
			t.Errorf("docs/cli.md has no row for %s in the table of commands", c.Name())
		}
		if !strings.Contains(scripts, "psafe "+c.Name()+" ") && !strings.Contains(scripts, "psafe "+c.Name()+"\n") {
			t.Errorf("no script in testdata/script runs psafe %s", c.Name())
		}
	}
}
