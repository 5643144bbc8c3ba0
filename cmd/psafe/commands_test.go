package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsAreKnown: every command has a script that runs it.
func TestCommandsAreKnown(t *testing.T) {
	scripts := ""
	paths, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		scripts += string(text)
	}
	for _, c := range commands() {
		if !strings.Contains(scripts, "psafe "+c.Name()+" ") && !strings.Contains(scripts, "psafe "+c.Name()+"\n") {
			t.Errorf("no script in testdata/script runs psafe %s", c.Name())
		}
	}
}
