package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestKeep: a file that is there stays, whether it was there before or came in the last moment,
// and nothing else is left; Same lets be what has the same bytes.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r")
	if err := WriteFile(path, Keep, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Keep); !errors.Is(err, fs.ErrExist) || err.Error() != path+": exists: --overwrite replaces it" {
		t.Errorf("there before: %v", err)
	}
	for _, c := range []struct {
		old     Old
		text    string
		refused bool
	}{{Keep, "first", true}, {Same, "other", true}, {Same, "firs", true}, {Same, "first and more", true}, {Same, "first", false}} {
		os.Remove(path)
		f, err := Create(path, c.old)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		put(t, path, "first")
		err = f.Commit()
		if _, is := errors.AsType[*Exists](err); is != c.refused || !is && err != nil {
			t.Errorf("%v %q: %v", c.old, c.text, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "first" {
			t.Errorf("%v %q: %q, %v", c.old, c.text, text, err)
		}
		if list := names(t, dir); len(list) != 1 {
			t.Errorf("%v %q: left %q", c.old, c.text, list)
		}
	}
}

// TestKeepGrowing: where a file has come meanwhile, it stays and so do the lines.
func TestKeepGrowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	g, err := Grow(path, Keep, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Write([]byte("a\n")); err != nil {
		t.Fatal(err)
	}
	put(t, path, "other")
	if err := g.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("committed: %v", err)
	}
	if left, err := g.Leave(); !left || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	for name, want := range map[string]string{path: "other", g.Name(): "a\n"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestRename: of many that want one name one gets it, and nothing of it is lost, with links
// and without.
func TestRename(t *testing.T) {
	for name, link := range map[string]func(string, string) error{
		"links": os.Link, "no links": func(from, path string) error {
			return &os.LinkError{Op: "link", Old: from, New: path, Err: syscall.EPERM}
		},
		// NFS repeats what it has done where the answer was lost.
		"answer lost": func(from, path string) error {
			if err := os.Link(from, path); err != nil {
				return err
			}
			return os.Link(from, path)
		},
	} {
		for range 50 {
			dir := t.TempDir()
			path := filepath.Join(dir, "r")
			var all sync.WaitGroup
			var won atomic.Pointer[string]
			for _, word := range []string{"a", "b", "c", "d"} {
				from := filepath.Join(dir, word)
				put(t, from, word)
				all.Go(func() {
					err := rename(from, path, link)
					switch {
					case err == nil && !won.CompareAndSwap(nil, &word):
						t.Errorf("%s: both %s and %s", name, word, *won.Load())
					case err != nil && !errors.Is(err, fs.ErrExist):
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			all.Wait()
			text, err := os.ReadFile(path)
			if w := won.Load(); err != nil || w == nil || *w != string(text) {
				t.Fatalf("%s: %q, %v", name, text, err)
			}
			if list := names(t, dir); len(list) != 4 || strings.Contains(strings.Join(list, ""), string(text)) {
				t.Fatalf("%s: left %q of %q", name, list, text)
			}
		}
	}
}
