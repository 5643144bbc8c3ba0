package outfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"psafe/internal/infile"
)

// settle closes a file and gives it the name path, once it is on the disk.
func settle(file *os.File, path string, old Old) error {
	err := file.Sync()
	// Windows renames no open file.
	if e := file.Close(); err == nil {
		err = e
	}
	switch {
	case err != nil:
		return err
	case old == Replace:
		return os.Rename(file.Name(), path)
	}
	return rename(file.Name(), path, os.Link)
}

// rename is os.Rename where nothing is at path, else an *Exists, whoever puts a file there
// at the same time. No system that psafe is built for has that in one call of its own under
// one name, and all can link a file, which fails where the name is taken.
func rename(from, path string, link func(from, path string) error) error {
	err := link(from, path)
	switch {
	case err == nil || sameFile(from, path): // NFS may say that a link is there which it has just made
		os.Remove(from)
		return nil
	case errors.Is(err, fs.ErrExist):
		return &Exists{path}
	}
	// A file system without links, such as FAT: whoever makes the empty file has the name.
	claim, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return &Exists{path}
	}
	if err != nil {
		return err
	}
	claim.Close()
	if err = os.Rename(from, path); err != nil {
		os.Remove(path)
	}
	return err
}

// Unlink removes FILE.partial where it is FILE by another name: what is left of a program that
// was killed between the two steps in which a finished file gets its name.
func Unlink(path string) {
	if sameFile(path, path+PartialSuffix) {
		os.Remove(path + PartialSuffix)
	}
}

// sameBytes reports whether two files can be read and hold the same.
func sameBytes(a, b string) bool {
	x, err := infile.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := infile.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	ended := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	var p, q [1 << 16]byte
	for {
		n, errX := io.ReadFull(x, p[:])
		m, errY := io.ReadFull(y, q[:])
		if !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if errX != nil || errY != nil {
			return ended(errX) && ended(errY)
		}
	}
}
