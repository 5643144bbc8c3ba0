package gpu

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"psafe/kernels"
)

// aKept is a program's file in a folder of its own.
func aKept(t *testing.T) *keptProgram {
	folder := filepath.Join(t.TempDir(), "cache", "psafe")
	return &keptProgram{path: filepath.Join(folder, "a"+keptFile), of: [32]byte{1, 2, 3}}
}

// TestKept: a binary comes back as it was, and not if the file is cut, changed in any bit, longer, another
// program's or none.
func TestKept(t *testing.T) {
	binary := []byte("\x7fELF and so on")
	k := aKept(t)
	if k.load() != nil || k.noted {
		t.Error("a binary of no file")
	}
	k.save(nil)
	if b := k.load(); len(b) != 0 || !k.noted {
		t.Errorf("%q, %v", b, k.noted)
	}
	k.save(binary)
	if b := k.load(); !bytes.Equal(b, binary) {
		t.Errorf("got %q", b)
	}
	if info, err := os.Stat(filepath.Dir(k.path)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	whole, err := os.ReadFile(k.path)
	check(t, err)
	refused := func(what string, text []byte, k keptProgram) {
		t.Helper()
		check(t, os.WriteFile(k.path, text, 0o600))
		if k.noted = false; k.load() != nil || k.noted {
			t.Errorf("%s: taken", what)
		}
	}
	for n := range whole {
		refused(fmt.Sprintf("%d bytes", n), whole[:n], *k)
		flipped := bytes.Clone(whole)
		flipped[n] ^= 1 << (n % 8)
		refused(fmt.Sprintf("a bit of byte %d", n), flipped, *k)
	}
	refused("longer", append(bytes.Clone(whole), 0), *k)
	other := *k
	other.of[31]++
	refused("another program's", whole, other)

	k.save(make([]byte, mostKept-31))
	if text, err := os.ReadFile(k.path); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("too long a binary was written: %d bytes, %v", len(text), err)
	}
	check(t, os.Truncate(k.path, mostKept+1))
	if k.load() != nil {
		t.Error("too long a file is read")
	}
	k.save(binary)
	if k.forget(); k.load() == nil {
		t.Error("forgotten although nothing was made of it")
	}
	k.used = true
	if k.forget(); k.load() != nil {
		t.Error("not forgotten")
	}
}

// TestKeptFolder: others' folders, those that others may enter, links, files and folders that cannot be written to hold nothing.
func TestKeptFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights are not in modes there")
	}
	k := aKept(t)
	k.save([]byte("binary"))
	folder := filepath.Dir(k.path)
	for what, change := range map[string]func() (back func()){
		"for the group": func() func() { check(t, os.Chmod(folder, 0o750)); return func() { check(t, os.Chmod(folder, 0o700)) } },
		"for others":    func() func() { check(t, os.Chmod(folder, 0o701)); return func() { check(t, os.Chmod(folder, 0o700)) } },
		"a link": func() func() {
			check(t, os.Rename(folder, folder+"2"))
			check(t, os.Symlink(folder+"2", folder))
			return func() { check(t, os.Remove(folder)); check(t, os.Rename(folder+"2", folder)) }
		},
		"a file": func() func() {
			check(t, os.Rename(folder, folder+"2"))
			check(t, os.WriteFile(folder, nil, 0o600))
			return func() { check(t, os.Remove(folder)); check(t, os.Rename(folder+"2", folder)) }
		},
	} {
		back := change()
		if k.load() != nil {
			t.Errorf("%s: read", what)
		}
		k.save([]byte("another"))
		Forget(folder)
		if back(); string(k.load()) != "binary" {
			t.Errorf("%s: written or forgotten", what)
		}
	}
	if os.Geteuid() == 0 {
		check(t, os.Chown(folder, 12345, -1))
		if k.load() != nil {
			t.Error("another user's: read")
		}
		check(t, os.Chown(folder, 0, -1))
	} else {
		check(t, os.Chmod(folder, 0o500))
		k.save([]byte("another"))
		check(t, os.Chmod(folder, 0o700))
	}
	if string(k.load()) != "binary" {
		t.Error("it is gone")
	}

	// What is old goes when another is written, and what is no program's stays.
	old, mine := filepath.Join(folder, "b"+keptFile), filepath.Join(folder, "note.txt")
	for _, name := range []string{old, mine} {
		check(t, os.WriteFile(name, nil, 0o600))
		check(t, os.Chtimes(name, time.Time{}, time.Now().AddDate(0, 0, -keptDays-1)))
	}
	k.save([]byte("new"))
	if _, err := os.Stat(old); err == nil || string(k.load()) != "new" {
		t.Error("an old file stays, or a new one goes")
	}
	Forget(folder)
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 || k.load() != nil {
		t.Errorf("%v, %v: not all was forgotten, or too much", entries, err)
	}
}

// TestKeptTogether: whoever reads while others write and forget finds one of the binaries or none.
func TestKeptTogether(t *testing.T) {
	k := aKept(t)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			mine := *k
			for range 10 {
				mine.save(bytes.Repeat([]byte{byte('a' + w)}, 100000+w))
				if w == 3 {
					Forget(filepath.Dir(k.path))
				}
			}
		}()
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		mine := *k
		if b := mine.load(); len(b) > 0 && (len(b) != 100000+int(b[0]-'a') || bytes.Count(b, b[:1]) != len(b)) {
			t.Fatalf("%d bytes of several", len(b))
		}
	}
}

// TestKeptOf: everything that a binary depends on has a file of its own.
func TestKeptOf(t *testing.T) {
	info := devices(t)[0]
	source, options := kernels.Program(kernels.Sources()), shapes[1].Options()
	seen := map[string]string{}
	for what, k := range map[string]keptProgram{
		"this":    newKept("f", &info, options, source),
		"source":  newKept("f", &info, options, source+" "),
		"options": newKept("f", &info, options+" -DREAL64", source),
		"border":  newKept("f", &info, options+source[:1], source[1:]),
	} {
		seen[k.path] = what
	}
	for i, change := range []func(*Info){
		func(i *Info) { i.Platform += "2" }, func(i *Info) { i.Name += "2" }, func(i *Info) { i.Driver += "2" }, func(i *Info) { i.Version += "2" },
		func(i *Info) { i.CVersion += "2" }, func(i *Info) { i.PCI += "2" }, func(i *Info) { i.UUID += "2" },
	} {
		other := info
		change(&other)
		k := newKept("f", &other, options, source)
		seen[k.path] = fmt.Sprint(i)
	}
	if len(seen) != 11 {
		t.Errorf("%d files of 11: %v", len(seen), seen)
	}
	if k := newKept("", &info, options, source); k.path != "" || k.load() != nil {
		t.Errorf("kept nowhere: %q", k.path)
	}
	for path := range seen {
		if !strings.HasPrefix(path, "f"+string(filepath.Separator)) {
			t.Error(path)
		}
	}
}
