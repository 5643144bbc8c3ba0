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

// TestDraw: the same mutants all day, others another day, as many of what changed as of the rest.
func TestDraw(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	all, err := readTables(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(n int, day, since string) []mutant {
		t.Helper()
		some, err := draw(t.Context(), all, n, day, since)
		if err != nil {
			t.Fatal(err)
		}
		return some
	}
	one := drawn(20, "2026-01-01", "")
	if again := drawn(20, "2026-01-01", ""); len(one) != 20 || !slices.Equal(one, again) {
		t.Errorf("%d mutants drawn, or not the same again", len(one))
	}
	if other := drawn(20, "2026-01-02", ""); slices.Equal(one, other) {
		t.Error("the same on another day")
	}
	if every := drawn(len(all), "", ""); len(every) != len(all) {
		t.Errorf("%d of %d", len(every), len(all))
	}
	if _, err := draw(t.Context(), all, 1, "", "no-such-commit"); err == nil || !strings.Contains(err.Error(), "-since no-such-commit") {
		t.Errorf("a commit that is none: %v", err)
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

// TestWrite: loops that only an experiment builds are built with it, everything else as it is.
func TestWrite(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for old, want := range map[string][]string{"func checkActivations(": nil, "func sharedChannelF32x16(": {"GOEXPERIMENT=simd"}} {
		name := strings.TrimSuffix(strings.TrimPrefix(old, "func "), "(")
		m := mutant{dir: "fallback", name: name, old: old, new: "func changed("}
		if _, env, err := m.write(t.TempDir()); err != nil || !slices.Equal(env, want) {
			t.Errorf("%s: %q, %v", old, env, err)
		}
	}
}
