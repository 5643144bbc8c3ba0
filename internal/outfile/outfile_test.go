package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestWhole: until Commit the old file is there, after it the new one, after Discard the
// old one still; nothing else stays.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.jsonl")
	put(t, path, "old")
	is := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q, %v: want %q", got, err, want)
		}
	}
	for _, commit := range []bool{false, true} {
		f, err := Create(path, Replace)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		is("old")
		if commit {
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		f.Discard()
	}
	is("new")
	if err := WriteFile(path, Replace, []byte("newer")); err != nil {
		t.Error(err)
	}
	is("newer")
	if list := names(t, dir); len(list) != 1 {
		t.Errorf("the folder has %q", list)
	}
}

// TestOthersBeside: what a killed program left, or another one writes at the same time,
// is in nobody's way.
func TestOthersBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	killed, err := Create(path, Replace)
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Discard()
	if err := WriteFile(path, Replace, []byte("second")); err != nil {
		t.Errorf("beside the file of a killed run: %v", err)
	}
	if list := names(t, filepath.Dir(path)); len(list) != 2 {
		t.Errorf("the folder has %q: the other's file is not to be touched", list)
	}
}

// TestMode: results may be read by whoever may read new files here.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plain"), "")
	if err := WriteFile(filepath.Join(dir, "r"), Replace, nil); err != nil {
		t.Fatal(err)
	}
	want, _ := os.Stat(filepath.Join(dir, "plain"))
	if got, err := os.Stat(filepath.Join(dir, "r")); err != nil || got.Mode() != want.Mode() {
		t.Errorf("%v, %v: want %v", got.Mode(), err, want.Mode())
	}
}

// TestRefuse: nothing is written over an input, by whatever name, or among the files of a
// folder that is one, nor over a folder or a link.
func TestRefuse(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.npz")
	put(t, in, "input")
	posterior := filepath.Join(dir, "posterior")
	folder := filepath.Join(dir, "folder")
	if err := errors.Join(os.MkdirAll(filepath.Join(posterior, "samples"), 0o755), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, words string }{
		{in, "in.npz: is also an input: name another file"},
		{dir + "/posterior/../in.npz", "is also an input"},
		{filepath.Join(posterior, "mean.npy"), "is also an input"},
		{filepath.Join(posterior, "samples", "sample_0.npy"), "is also an input"},
		{folder, "folder: exists and is no regular file: name another"},
	} {
		if _, err := Create(c.path, Replace, "", in, posterior); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.path, err, c.words)
		}
	}
	if err := WriteFile(filepath.Join(posterior, "r.jsonl"), Replace, nil, filepath.Join(posterior, "samples")); err != nil {
		t.Errorf("beside a folder that is an input: %v", err)
	}
}

// TestError: an error is one line that names the file once, says why, and is typed.
func TestError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "r.jsonl")
	err := WriteFile(path, Replace, nil)
	if err == nil || err.Error() != path+": cannot be written: "+Reason(err).Error() || strings.Count(err.Error(), "r.jsonl") != 1 {
		t.Errorf("error %v", err)
	}
	if _, typed := errors.AsType[*Error](err); !typed || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%T does not say that there is no folder", err)
	}
	f, err := Create(filepath.Join(t.TempDir(), "r.jsonl"), Replace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	f.tmp.Close()
	if _, err := f.Write([]byte("x")); err == nil || !strings.HasSuffix(err.Error(), "r.jsonl: cannot be written: file already closed") {
		t.Errorf("a write that fails: %v", err)
	}
}
