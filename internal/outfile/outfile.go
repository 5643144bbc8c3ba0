// Package outfile writes files of results; nothing else does: into a temporary file beside it,
// which gets the name when everything is written and on the disk. Whoever looks finds the old file,
// the whole new one or none, whatever ends the program. What a killed program leaves is a file
// .psafe-*.tmp, whose name no other run will use.
//
// What is there is replaced only where the caller says so (Old): looked at when a file is
// begun, and once more, in one step with the file's naming, when it is put in its place.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Old names what becomes of a file that is there already.
type Old int

const (
	// Keep refuses to write: the error is an *Exists.
	Keep Old = iota
	// Same lets be what has the very bytes that were to be written, and refuses other files.
	Same
	// Replace puts the new file in the place of the old one.
	Replace
)

// Exists reports that there is a file where nothing may be overwritten.
type Exists struct{ Path string }

func (e *Exists) Error() string     { return e.Path + ": exists: --overwrite replaces it" }
func (e *Exists) Is(err error) bool { return err == fs.ErrExist }

// Error reports which file cannot be written, and why.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Path + ": cannot be written: " + Reason(e.Err).Error() }
func (e *Error) Unwrap() error { return e.Err }

// Reason is err without the path that the caller's message already has.
func Reason(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return Reason(e.Err)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// File is a file that is being written. Whoever creates one calls Commit or Discard.
type File struct {
	path string
	old  Old
	tmp  *os.File
	// ended says that Commit or Discard was called.
	ended      bool
	unfinished *Unfinished
}

// Create begins the file at path, which Refuse must not refuse; inputs are files and
// folders that the caller reads. The error names the path, like all of this package: an
// *Error if nothing can be written there.
func Create(path string, old Old, inputs ...string) (*File, error) {
	if err := Refuse(path, old, inputs...); err != nil {
		return nil, err
	}
	name := ""
	u := Begin(func(error) string { os.Remove(name); return "" })
	u.Lock()
	defer u.Unlock()
	for {
		// Not os.CreateTemp, whose files only their owner may read.
		name = filepath.Join(filepath.Dir(path), fmt.Sprintf(".psafe-%016x.tmp", rand.Uint64()))
		tmp, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		switch {
		case err == nil:
			return &File{path: path, old: old, tmp: tmp, unfinished: u}, nil
		case !errors.Is(err, fs.ErrExist):
			u.End()
			return nil, &Error{path, err}
		}
	}
}

// Write appends to the file. Its error is an *Error.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.tmp.Write(b)
	if err != nil {
		err = &Error{f.path, err}
	}
	return n, err
}

// Stat describes the file; os.SameFile tells it later from another of its name.
func (f *File) Stat() (fs.FileInfo, error) { return f.tmp.Stat() }

// Commit puts the file in its place, once it is on the disk. If it cannot, nothing is
// left and the error is an *Error, or an *Exists if a file has come there meanwhile.
func (f *File) Commit() error {
	f.ended = true
	defer f.unfinished.End()
	f.unfinished.Lock()
	defer f.unfinished.Unlock()
	err := settle(f.tmp, f.path, f.old)
	if err == nil {
		return nil
	}
	defer os.Remove(f.tmp.Name())
	if _, there := errors.AsType[*Exists](err); !there {
		return &Error{f.path, err}
	}
	if f.old == Same && sameBytes(f.tmp.Name(), f.path) {
		return nil
	}
	return err
}

// Discard removes what was written; after Commit it does nothing, so it may be deferred.
func (f *File) Discard() {
	if f.ended {
		return
	}
	f.ended = true
	defer f.unfinished.End()
	f.tmp.Close()
	os.Remove(f.tmp.Name())
}

// WriteFile writes a whole file; its errors are those of Create and Commit.
func WriteFile(path string, old Old, content []byte, inputs ...string) error {
	f, err := Create(path, old, inputs...)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}

// Refuse returns why no result may be written to path: it is one of the inputs, lies in the folder
// of one, is there and is no regular file, or is there and is to be kept (*Exists). Empty inputs do
// not count.
func Refuse(path string, old Old, inputs ...string) error {
	for _, in := range inputs {
		if in != "" && (sameFile(path, in) || inFolder(path, in)) {
			return fmt.Errorf("%s: is also an input: name another file", path)
		}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &Error{path, errors.New("its folder may not be entered: name another, or have its owner give the right (chmod +x)")}
	case err != nil:
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: exists and is no regular file: name another", path)
	case old == Keep:
		return &Exists{path}
	}
	return nil
}

// inFolder reports whether path is in the folder of a posterior, or in that of its samples.
func inFolder(path, folder string) bool {
	dir := filepath.Dir(path)
	return sameFile(dir, folder) || sameFile(dir, filepath.Join(folder, "samples"))
}

func sameFile(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}
