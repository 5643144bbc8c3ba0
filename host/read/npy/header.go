package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Magic begins every .npy file.
const Magic = "\x93NUMPY"

// Header holds what a .npy header says.
type Header struct {
	// Descr is the element type, for example "<f4", "|u1" or "|O".
	Descr string
	// Fortran reports whether the first index runs fastest in the file.
	Fortran bool
	// Shape has one entry >= 0 per axis.
	Shape []int
}

// IsObject reports whether the elements are Python objects.
func (h Header) IsObject() bool {
	return strings.TrimLeft(h.Descr, "|<>=") == "O"
}

// maxHeader bounds the dictionary of a header, in bytes: NumPy's own reader stops at 10,000
// characters.
const maxHeader = 1 << 16

// readHeader reads a header from its first byte to its last. n is its length. It is an
// error when there is no .npy file of version 1, 2 or 3, when it is cut off inside the
// header, or when the header is not the dictionary NumPy writes.
func readHeader(r io.Reader) (h Header, n int64, err error) {
	head := make([]byte, 8, 12)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:6]) != Magic {
		return h, 0, or(err, fmt.Errorf("not a .npy file: it does not begin with %q and a version", Magic))
	}
	size := 4
	switch head[6] {
	case 1:
		size = 2
	case 2, 3:
	default:
		return h, 0, fmt.Errorf(".npy version %d is none of 1, 2, 3", head[6])
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:size]); err != nil {
		return h, 0, or(err, fmt.Errorf(".npy header is cut off"))
	}
	most := binary.LittleEndian.Uint32(length[:])
	if most > maxHeader {
		return h, 0, fmt.Errorf(".npy header of %d bytes: at most %d are allowed", most, maxHeader)
	}
	text := make([]byte, most)
	if got, err := io.ReadFull(r, text); err != nil {
		return h, 0, or(err, fmt.Errorf(".npy header of %d bytes is cut off after %d", most, got))
	}
	if h, err = parseDict(string(text)); err != nil {
		return h, 0, fmt.Errorf(".npy header: %w", err)
	}
	return h, int64(8 + size + len(text)), nil
}

// or returns what for a stream that ended, or never began, and for the rest the stream's own error.
func or(err, what error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return what
	}
	return err
}

// parseDict reads the Python dictionary of a header. The three keys may come in
// any order, once each.
func parseDict(text string) (Header, error) {
	var h Header
	s := &scanner{rest: text}
	seen := map[string]bool{}
	if err := s.expect("{"); err != nil {
		return h, err
	}
	for !s.accept("}") {
		key, err := s.quoted()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, fmt.Errorf("key %q comes twice", key)
		}
		seen[key] = true
		if err := s.expect(":"); err != nil {
			return h, err
		}
		if err := s.field(key, &h); err != nil {
			return h, err
		}
		if !s.accept(",") {
			if err := s.expect("}"); err != nil {
				return h, err
			}
			break
		}
	}
	if s.skip(); s.rest != "" {
		return h, fmt.Errorf("text after the dictionary")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, fmt.Errorf("key %q is missing", key)
		}
	}
	return h, nil
}

// scanner reads a Python literal from the front of rest.
type scanner struct{ rest string }

func (s *scanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// accept takes token if it is next, after white space.
func (s *scanner) accept(token string) bool {
	s.skip()
	var ok bool
	s.rest, ok = strings.CutPrefix(s.rest, token)
	return ok
}

func (s *scanner) expect(token string) error {
	if !s.accept(token) {
		return fmt.Errorf("%q expected before %.20q", token, s.rest)
	}
	return nil
}

// quoted reads a string without escapes, in either kind of quote.
func (s *scanner) quoted() (string, error) {
	s.skip()
	if s.rest == "" || (s.rest[0] != '\'' && s.rest[0] != '"') {
		return "", fmt.Errorf("string expected before %.20q (structured arrays are not read)", s.rest)
	}
	text, rest, ok := strings.Cut(s.rest[1:], s.rest[:1])
	if !ok || strings.Contains(text, `\`) {
		return "", fmt.Errorf("string %.20q does not end or has escapes", s.rest)
	}
	s.rest = rest
	return text, nil
}

// field reads the value of key into h.
func (s *scanner) field(key string, h *Header) (err error) {
	switch key {
	case "descr":
		h.Descr, err = s.quoted()
	case "fortran_order":
		h.Fortran = s.accept("True")
		if !h.Fortran {
			err = s.expect("False")
		}
	case "shape":
		h.Shape, err = s.tuple()
	default:
		err = fmt.Errorf("unknown key %.20q", key)
	}
	return err
}

// tuple reads a tuple of at most maxRank integers >= 0. Python 2 wrote some of
// them with an L behind.
func (s *scanner) tuple() ([]int, error) {
	if err := s.expect("("); err != nil {
		return nil, err
	}
	shape := []int{}
	for !s.accept(")") {
		s.skip()
		end := 0
		for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(s.rest[:end])
		if err != nil {
			return nil, fmt.Errorf("axis length expected before %.20q", s.rest)
		}
		if len(shape) == maxRank {
			return nil, fmt.Errorf("shape has more than %d axes", maxRank)
		}
		shape = append(shape, n)
		s.rest = s.rest[end:]
		s.accept("L")
		if !s.accept(",") {
			if err := s.expect(")"); err != nil {
				return nil, err
			}
			break
		}
	}
	return shape, nil
}
