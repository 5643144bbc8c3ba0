//go:build unix

package infile

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadAll(t *testing.T) {
	path := file(t, "content")
	got, err := ReadAll(path, 7)
	if err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ReadAll(file(t, ""), 0); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := ReadAll(path, 6); err == nil || !strings.Contains(err.Error(), "has 7 bytes, the limit for such a file is 6") {
		t.Error(err)
	}
	if _, err := ReadAll(path+"x", 6); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// What is no regular file is refused, by every way to open one, and a FIFO at once.
func TestRefuses(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "is a pipe", t.TempDir(): "is a folder", os.DevNull: "is a device"} {
		for name, open := range map[string]func(string) (*File, error){"Open": Open, "OpenInput": OpenInput} {
			if f, err := open(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of %s: %v, %v", name, path, f, err)
			}
		}
		if err := Regular(path); err == nil {
			t.Errorf("%s is regular", path)
		}
	}
	if err := Regular(file(t, "")); err != nil {
		t.Error(err)
	}
}

// pipe is a pipe and its name as the shell gives it.
func pipe(t *testing.T) (name string, r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if runtime.GOOS != "linux" {
		t.Skip("only Linux opens /dev/fd/N anew")
	}
	return "/proc/self/fd/" + fd(r), r, w
}

func TestPipe(t *testing.T) {
	name, _, w := pipe(t)
	if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Error(err)
	}
	f, err := OpenInput(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	go func() {
		_, _ = w.WriteString("some")
		time.Sleep(10 * time.Millisecond)
		_, _ = w.WriteString(" text")
		w.Close()
	}()
	if got, err := io.ReadAll(f); err != nil || string(got) != "some text" || f.Size() != -1 {
		t.Errorf("%q of %d bytes, %v", got, f.Size(), err)
	}
}

func TestUnchanged(t *testing.T) {
	path := file(t, "content")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("contents"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err == nil || !strings.Contains(err.Error(), "written to") {
		t.Error(err)
	}
}

func TestAfford(t *testing.T) {
	if err := Afford(always); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	err := Afford(math.MaxInt64 / 2)
	if err == nil || !strings.Contains(err.Error(), "takes 4611686018.4 GB of memory") {
		t.Error(err)
	}
}

func TestCheckJSON(t *testing.T) {
	for _, c := range []struct {
		text          string
		depth, values int
		line          int
		want          string
	}{
		{`[[1]]`, 2, 3, 1, ""},
		{`[[1]]`, 1, 3, 1, "deeper than the limit of 1"},
		{"[\n[\n1]]", 1, 3, 2, "deeper"},
		{`[1,2,3]`, 1, 4, 1, ""},
		{"[1,2\n,3]", 1, 3, 2, "more than 3 values"},
		{`{"a":1,"b":2}`, 1, 5, 1, ""},
		{`{"a":1,"b":2}`, 1, 4, 1, "more than 4"},
		{`["[[[[,,,\"[[["]`, 1, 2, 1, ""},
		{`]]]][[`, 1, 9, 1, "deeper"},
		{`"a`, 0, 1, 1, ""}, {`"\`, 0, 1, 1, ""}, {``, 0, 1, 1, ""},
	} {
		line, err := CheckJSON([]byte(c.text), c.depth, c.values)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || line != c.line {
			t.Errorf("%q: line %d, %v; want line %d, %q", c.text, line, err, c.line, c.want)
		}
	}
}

// FuzzCheckJSON: whatever is within the limits has no more than so many values, and what
// is beyond them is told on one line.
func FuzzCheckJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":null}],"c":"\"["}`, `[[[]]]`, `"\\"`, "1,2]"} {
		f.Add(text, 2, 4)
	}
	f.Fuzz(func(t *testing.T, text string, depth, values int) {
		line, err := CheckJSON([]byte(text), depth, values)
		if lines := 1 + strings.Count(text, "\n"); line < 1 || line > lines {
			t.Fatalf("line %d of %d", line, lines)
		}
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		deepest, count, ok := measure(text)
		if ok && (deepest > max(0, depth) || count > max(1, values)) {
			t.Fatalf("%d deep with %d values passed limits of %d and %d", deepest, count, depth, values)
		}
	})
}
