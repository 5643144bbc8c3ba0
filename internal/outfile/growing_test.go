package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGrowing: lines are under the partial name until Commit, an empty file goes, and what
// could not be written leaves what was.
func TestGrowing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r")
	g, err := Grow(path, Replace, "taken over")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Grow(path, Replace, ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second: %v", err)
	}
	if left, err := g.Leave(); left || err != nil || len(names(t, dir)) != 0 {
		t.Errorf("nothing written: %v, %v, %q", left, err, names(t, dir))
	}
	if g, err = Grow(path, Replace, ""); err != nil {
		t.Fatal(err)
	}
	write := func(line string, want bool) {
		t.Helper()
		if _, err := g.Write([]byte(line)); (err == nil) != want {
			t.Errorf("%q: %v", line, err)
		}
	}
	write("a\n", true)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(g.Name(), old, old); err != nil {
		t.Fatal(err)
	}
	g.Touch()
	if info, err := os.Stat(g.Name()); err != nil || time.Since(info.ModTime()) > time.Minute {
		t.Errorf("untouched: %v, %v", info, err)
	}
	write("b\n", true)
	if err := g.Commit(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "a\nb\n" || len(names(t, dir)) != 1 {
		t.Errorf("%q, %v, %q", text, err, names(t, dir))
	}

	if g, err = Grow(path, Replace, "taken over"); err != nil {
		t.Fatal(err)
	}
	write("c\n", true)
	g.f.Close()
	if g.f, err = os.Open(g.Name()); err != nil { // which takes no more
		t.Fatal(err)
	}
	write("d\n", false)
	if left, err := g.Leave(); !left || err != nil || g.Lines() != 1 {
		t.Errorf("a full disk: %v, %v, %d", left, err, g.Lines())
	}

	if g, err = GrowOn(path, Replace, "taken over", 1, func(w io.Writer) error { _, err := io.WriteString(w, "x\n"); return err }); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "other"), "other\n")
	if err := os.Rename(filepath.Join(dir, "other"), g.Name()); err != nil {
		t.Fatal(err)
	}
	write("y\n", false)
	if err := g.Commit(); err == nil || !strings.HasSuffix(err.Error(), "was removed, or taken over") {
		t.Errorf("a file of another: %v", err)
	}
	if text, err := os.ReadFile(g.Name()); err != nil || string(text) != "other\n" {
		t.Errorf("the other's: %q, %v", text, err)
	}
}
