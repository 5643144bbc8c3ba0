package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// blob is a file, a part of one or bytes in memory, of which a reader takes what it needs
// where it needs it: structure is read before numbers, and numbers straight into arrays.
type blob struct {
	io.ReaderAt
	size int64
}

// held is a blob of bytes in memory.
func held(b []byte) blob { return blob{bytes.NewReader(b), int64(len(b))} }

// from is the part from byte at on, of n bytes.
func (b blob) from(at, n int64) *io.SectionReader { return io.NewSectionReader(b, at, n) }

// all reads the whole blob, of at most limit bytes.
func (b blob) all(limit int64) ([]byte, error) {
	if err := infile.Fits(b.size, limit); err != nil {
		return nil, err
	}
	content := make([]byte, b.size)
	if _, err := io.ReadFull(b.from(0, b.size), content); err != nil {
		return nil, err
	}
	return content, nil
}

// lazy is an array that is not read yet, of a shape that its bytes are known to fit.
type lazy struct {
	shape []int
	load  func() (*npy.Array, error)
}

// memoryPerNumber is about how many bytes a number of a file takes in a posterior: as a
// mean or a spread 8, as many for the bounds of standard deviations, and as many for what
// is done with them next.
const memoryPerNumber = 24

// freeNumbers is the number of numbers that a posterior may have whatever the length of its file.
const freeNumbers = 1 << 24

// afford refuses a posterior of n numbers that the file has no room for, or that cannot be
// held. The numbers of a trained posterior take a byte or more each however they are
// compressed; a thousand times as many in a file of one megabyte are zeros.
func afford(n, file int64) error {
	if n > freeNumbers && n > file {
		return fmt.Errorf("a posterior of %d numbers in a file of %d bytes: from %d numbers on there must be a byte for each; save it without compression", n, file, freeNumbers)
	}
	if err := infile.Afford(n * memoryPerNumber); err != nil {
		return fmt.Errorf("a posterior of %d numbers: %w", n, err)
	}
	return nil
}

// latin1 decodes UTF-8 of characters below 256 into a byte for each.
type latin1Reader struct{ r *bufio.Reader }

func (l latin1Reader) Read(b []byte) (n int, err error) {
	for n < len(b) {
		c, err := l.r.ReadByte()
		if err != nil {
			return n, err
		}
		if c >= 0x80 {
			d, err := l.r.ReadByte()
			if err != nil && err != io.EOF {
				return n, err
			}
			// The characters from 0x80 to 0xff are the ones that begin with these two.
			if c != 0xc2 && c != 0xc3 || d&0xc0 != 0x80 || err != nil {
				return n, errors.New("text has a character that is not in latin1")
			}
			c = c<<6 | d&0x3f
		}
		b[n] = c
		n++
	}
	return n, nil
}

// span is a long string of a pickle, still in the file.
type span struct {
	file    blob
	from, n int64
	// latin1 reports whether the bytes meant are those that the text decodes to; length is how
	// many there are.
	latin1 bool
	length int64
}

// reader reads the bytes meant.
func (s span) reader() io.Reader {
	r := s.file.from(s.from, s.n)
	if s.latin1 {
		return latin1Reader{bufio.NewReaderSize(r, 1<<16)}
	}
	return r
}

// shortBytes is a span of bytes in memory.
func shortBytes(b []byte) span {
	n := int64(len(b))
	return span{file: held(b), n: n, length: n}
}

// decoded is a text as the bytes that latin1 makes of it.
func (s span) decoded() (span, error) {
	s.latin1 = true
	var err error
	s.length, err = io.Copy(io.Discard, s.reader())
	return s, err
}
