// Package outfile is the one way in which psafe writes a file of results: into a temporary
// file beside it, which gets the name when everything is written and on the disk. Whoever
// looks finds the old file, the whole new one or none, whatever ends the program. What a
// killed program leaves is a file .psafe-*.tmp, whose name no other run will use.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Error says which file cannot be written, and why.
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
	tmp  *os.File
	// ended says that Commit or Discard was called.
	ended      bool
	unfinished *Unfinished
}

// Create begins the file at path, which Refuse must not refuse; inputs are files and
// folders that the caller reads. The error names the path, like all of this package: an
// *Error if nothing can be written there.
func Create(path string, inputs ...string) (*File, error) {
	if err := Refuse(path, inputs...); err != nil {
		return nil, err
	}
	name := ""
	u := Begin(func() string { os.Remove(name); return "" })
	u.Lock()
	defer u.Unlock()
	for {
		// Not os.CreateTemp, whose files only their owner may read.
		name = filepath.Join(filepath.Dir(path), fmt.Sprintf(".psafe-%016x.tmp", rand.Uint64()))
		tmp, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		switch {
		case err == nil:
			return &File{path: path, tmp: tmp, unfinished: u}, nil
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
// left and the error is an *Error.
func (f *File) Commit() error {
	f.ended = true
	defer f.unfinished.End()
	f.unfinished.Lock()
	defer f.unfinished.Unlock()
	if err := Settle(f.tmp, f.path); err != nil {
		os.Remove(f.tmp.Name())
		return &Error{f.path, err}
	}
	return nil
}

// Settle closes a file and gives it the name path, once it is on the disk.
func Settle(file *os.File, path string) error {
	err := file.Sync()
	// Windows renames no open file.
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
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
func WriteFile(path string, content []byte, inputs ...string) error {
	f, err := Create(path, inputs...)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit()
}

// Refuse says why no result may be written to path: it is one of the inputs, lies in the
// folder of one, or is there and is no regular file. Empty inputs do not count.
func Refuse(path string, inputs ...string) error {
	for _, in := range inputs {
		if in != "" && (sameFile(path, in) || inFolder(path, in)) {
			return fmt.Errorf("%s: is also an input: name another file", path)
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: exists and is no regular file: name another", path)
	}
	return nil
}

// inFolder says whether path is in the folder of a posterior, or in that of its
// samples.
func inFolder(path, folder string) bool {
	dir := filepath.Dir(path)
	return sameFile(dir, folder) || sameFile(dir, filepath.Join(folder, "samples"))
}

func sameFile(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}
