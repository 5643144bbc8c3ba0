package property

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"psafe/internal/infile"
)

const (
	// maxUnpacked holds what a data file may hold, in bytes after decompression.
	maxUnpacked = 2 << 30
	// maxInflate is above the largest factor by which gzip can expand (1032).
	maxInflate = 1100
	// maxSpool bounds a .npz that is read from a pipe or out of a gzip file, in bytes: it
	// has to be held in memory.
	maxSpool = 256 << 20
)

// source is the content of a data file on its way through a reader: decompressed if the
// file is gzip, and hashed. Nothing of it is held but what a reader asks for.
type source struct {
	*bufio.Reader
	// size is the length of the content if exact, and otherwise the most that it can be.
	size  int64
	exact bool
	// at is the file itself, nil if the content has to be unpacked or comes out of a pipe.
	at     io.ReaderAt
	raw    io.Reader
	digest hash.Hash
}

// newSource begins to read r, of the given length, which is -1 if nobody knows it.
func newSource(r io.Reader, length int64) (*source, error) {
	s := &source{size: maxUnpacked, digest: sha256.New()}
	if length > maxUnpacked {
		return nil, errTooLarge
	}
	raw := bufio.NewReaderSize(io.TeeReader(&limited{r, maxUnpacked}, s.digest), 1<<16)
	s.raw, s.Reader = raw, raw
	magic, err := raw.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case string(magic) != "\x1f\x8b":
		if length >= 0 {
			s.size, s.exact = length, true
			s.at, _ = r.(io.ReaderAt)
		}
		return s, nil
	case length >= 0:
		s.size = min(maxUnpacked, length*maxInflate)
	}
	z, err := gzip.NewReader(raw)
	if err != nil {
		return nil, damaged(err)
	}
	s.Reader = bufio.NewReaderSize(&limited{unzipped{z}, maxUnpacked}, 1<<16)
	return s, nil
}

// finish reads what is left, so that the digest is that of the whole file.
func (s *source) finish() (digest string, err error) {
	if _, err := io.Copy(io.Discard, s.raw); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", s.digest.Sum(nil)), nil
}

// begins reports whether the content begins with any of the texts.
func (s *source) begins(texts ...string) bool {
	for _, text := range texts {
		if head, _ := s.Peek(len(text)); string(head) == text {
			return true
		}
	}
	return false
}

// ended is an error unless everything was read.
func (s *source) ended() error {
	if _, err := s.ReadByte(); err != io.EOF {
		return or(err, errors.New("goes on after its last element; get the file again"))
	}
	return nil
}

// or returns what if err is none of the stream itself, else err.
func or(err, what error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return what
	}
	return err
}

var errTooLarge = fmt.Errorf("is larger than the limit of %d bytes; split it", maxUnpacked)

// limited refuses to give more than left bytes.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// unzipped gives the errors of a gzip stream their mend.
type unzipped struct{ r io.Reader }

func (g unzipped) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	if err != nil && err != io.EOF {
		err = damaged(err)
	}
	return n, err
}

// damaged is an error of package gzip, with the mend; others pass unchanged.
func damaged(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	for _, of := range []error{gzip.ErrHeader, gzip.ErrChecksum, io.ErrUnexpectedEOF, io.EOF} {
		corrupt = corrupt || errors.Is(err, of)
	}
	if corrupt {
		return fmt.Errorf("damaged gzip file: %w; get it again", err)
	}
	return err
}

// spool is content in memory, in pieces, so that it never has to be copied as it grows.
type spool struct {
	pieces [][]byte
	size   int64
}

const spoolPiece = 1 << 20

// newSpool reads all of r.
func newSpool(r io.Reader) (*spool, error) {
	s := &spool{}
	for {
		piece := make([]byte, spoolPiece)
		n, err := io.ReadFull(r, piece)
		s.pieces, s.size = append(s.pieces, piece), s.size+int64(n)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return s, nil
		case err != nil:
			return nil, err
		case s.size > maxSpool:
			return nil, fmt.Errorf("is a .npz of more than %d bytes in a pipe or a gzip file; give the .npz itself", maxSpool)
		}
	}
}

func (s *spool) ReadAt(b []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, errors.New("damaged zip: a place before the beginning")
	}
	for n < len(b) {
		if at >= s.size {
			return n, io.EOF
		}
		piece := s.pieces[at/spoolPiece]
		k := copy(b[n:], piece[at%spoolPiece:min(spoolPiece, s.size-at+at%spoolPiece)])
		n, at = n+k, at+int64(k)
	}
	return n, nil
}

// openSource opens the file that path names, and hands use its content. It returns the
// digest of the file as it was read, before unpacking.
func openSource(path string, use func(s *source, member string) error) (digest string, err error) {
	name, member := FileOf(path), ""
	if name != path {
		if member = path[len(name)+1:]; member == "" {
			return "", errors.New("names no array after the colon; write file.npz:array")
		}
	}
	file, err := infile.OpenInput(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	s, err := newSource(file, file.Size())
	if err != nil {
		return "", err
	}
	if err := use(s, member); err != nil {
		return "", err
	}
	if digest, err = s.finish(); err == nil && file.Size() >= 0 {
		err = file.Unchanged()
	}
	return digest, err
}

// FileOf is the file that the name of an input stands for: the name itself, or
// what stands before the colon in "file.npz:array" if there is no file of the
// whole name.
func FileOf(path string) string {
	k := strings.LastIndex(path, ".npz:")
	if k < 0 {
		return path
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return path[:k+len(".npz")]
}
