package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTablesApply: every row of every table of the project still names a text that
// occurs once in its file, and tests that exist.
func TestTablesApply(t *testing.T) {
	root := filepath.Join("..", "..")
	all, err := readTables(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Errorf("%d mutants in all tables", len(all))
	}
	if err := check(root, all); err != nil {
		t.Error(err)
	}
}

// TestCheckNotices: a row that is out of date is named.
func TestCheckNotices(t *testing.T) {
	root := filepath.Join("..", "..")
	good := mutant{table: "t", line: 1, dir: "internal/mutants", name: "matching", old: "func matching(", new: "func x(", pkg: "./internal/mutants", test: "TestTables|TestCheck/a/b"}
	if err := check(root, []mutant{good}); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*mutant){
		"no Go code there":   func(m *mutant) { m.dir = "absent" },
		"nothing declares":   func(m *mutant) { m.name = "receiver.absent" },
		"occurs 0 times":     func(m *mutant) { m.name = "receiver" },
		"want once":          func(m *mutant) { m.old = "n" },
		"is not changed":     func(m *mutant) { m.new = m.old },
		"has no tests":       func(m *mutant) { m.pkg = "./docs" },
		`matches "TestGone"`: func(m *mutant) { m.test = "TestTables|TestGone/TestTables" },
	} {
		m := good
		spoil(&m)
		if err := check(root, []mutant{m}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t:1") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestTopLevel(t *testing.T) {
	for text, want := range map[string][]string{
		"TestA": {"TestA"}, "TestA/b|TestC": {"TestA", "TestC"}, "TestD/float32/(A|B)$": {"TestD"}, "Test(A|B)/[/|]|TestC/d/e": {"Test(A|B)", "TestC"},
	} {
		if got := topLevel(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
