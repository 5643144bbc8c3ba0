// Package infile opens files that somebody else made; nothing else does. What is no regular file is
// refused before it is opened, so that a pipe without a writer, a device or a socket cannot hold
// the program up (one that stands at standard input may; a signal ends the program all the same,
// cmd/psafe/signals.go); and the readers ask here whether what a file promises can be held in
// memory (Afford) and whether JSON is small enough to be taken apart (CheckJSON).
//
// Errors are one line without the name of the file, which the caller's message has.
package infile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// File is a file that is open for reading. Whoever opens one closes it.
type File struct {
	f    *os.File
	info fs.FileInfo
}

// Open opens a regular file. Everything else is an error that says what it is.
func Open(path string) (*File, error) { return open(path, false) }

// OpenInput opens a regular file, or the pipe that the shell put at standard input or at
// another open file of this process: /dev/stdin, /dev/fd/N. A FIFO that lies in a folder
// is refused as by Open.
func OpenInput(path string) (*File, error) { return open(path, true) }

func open(path string, pipe bool) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, because(err)
	}
	pipe = pipe && inherited(path)
	if err := refuse(info.Mode(), pipe); err != nil {
		return nil, err
	}
	// Non-blocking, lest the file has become a pipe since.
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, because(err)
	}
	if info, err = f.Stat(); err == nil {
		err = refuse(info.Mode(), pipe)
	}
	if err != nil {
		f.Close()
		return nil, because(err)
	}
	return &File{f: f, info: info}, nil
}

// Piped reports whether path names a pipe that OpenInput reads: what is read of it once is gone.
func Piped(path string) bool {
	info, err := os.Stat(path)
	return err == nil && inherited(path) && info.Mode()&fs.ModeNamedPipe != 0
}

// inherited reports whether path names an open file of this process.
func inherited(path string) bool {
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return path == "/dev/stdin"
}

// refuse returns what a file is that is not read.
func refuse(mode fs.FileMode, pipe bool) error {
	what := "neither a file nor a folder"
	switch {
	case mode.IsRegular(), pipe && mode&fs.ModeNamedPipe != 0:
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("is %s, not a regular file; name a file", what)
}

// because is err without the path, which the caller puts in front.
func because(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("cannot open: %w", e.Err)
	}
	return err
}

// Close closes the file.
func (f *File) Close() error {
	return f.f.Close()
}

// said is err without the path.
func said(n int, err error) (int, error) {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("cannot read: %w", e.Err)
	}
	return n, err
}

// Read reads on from where the last Read ended.
func (f *File) Read(b []byte) (int, error) { return said(f.f.Read(b)) }

// ReadAt reads at a place of a regular file.
func (f *File) ReadAt(b []byte, at int64) (int, error) { return said(f.f.ReadAt(b, at)) }

// Size is the length of a regular file, -1 for a pipe.
func (f *File) Size() int64 {
	if !f.info.Mode().IsRegular() {
		return -1
	}
	return f.info.Size()
}

// Unchanged is an error if a regular file was written to since it was opened: what was
// read at different times then belongs to no one file.
func (f *File) Unchanged() error {
	now, err := f.f.Stat()
	if err != nil {
		return because(err)
	}
	if now.Size() != f.info.Size() || !now.ModTime().Equal(f.info.ModTime()) {
		return errors.New("was written to while it was read; run the command again when it is complete")
	}
	return nil
}

// ReadAll reads a whole regular file of at most limit bytes.
func ReadAll(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := Fits(f.Size(), limit); err != nil {
		return nil, err
	}
	content := make([]byte, f.Size())
	if _, err := io.ReadFull(f, content); err != nil && err != io.EOF {
		return nil, err
	}
	return content, f.Unchanged()
}

// Fits refuses a file of more than limit bytes.
func Fits(size, limit int64) error {
	if size > limit {
		return fmt.Errorf("has %d bytes, the limit for such a file is %d; name the right file, or split it", size, limit)
	}
	return nil
}

// Regular returns why path is not a regular file that could be opened.
func Regular(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
