package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// A pickle is a program for Python's pickle machine, and a program may do
// anything. unpickle runs the harmless part of that language: it builds lists,
// tuples, numbers, strings and NumPy arrays, and it knows the few globals of
// pickle_numpy.go by name. It never runs code, refuses every other global and
// every other opcode, and uses memory in proportion to the length of the file:
//
//   - every declared length is checked against the bytes that remain;
//   - at most maxPickleSteps opcodes run, so the stack, the memo and all lists
//     together hold no more entries than that;
//   - strings of more than maxShort bytes, which is where numbers are, stay in the file
//     until a reader asks for the numbers, and copies are paid out of a budget of twice
//     the file's own length;
//   - nothing recurses.

// maxPickleSteps bounds the opcodes of one pickle. A posterior of a hundred
// layers has a few thousand.
const maxPickleSteps = 1 << 20

// maxShort is the longest string that is taken out of the file. The names of globals and
// types are far shorter.
const maxShort = 256

// Values on the stack are nil, bool, int64, float64, string (Python unicode),
// []byte (Python bytes, bytearray, and the str of Python 2), and the types below.
type (
	// longText and longBytes are strings of more than maxShort bytes.
	longText    struct{ span }
	longBytes   struct{ span }
	pickleTuple []any
	pickleList  struct{ items []any }
	// pickleDict is only ever ignored, so it keeps nothing.
	pickleDict struct{}
	pickleMark struct{}
	// pickleGlobal is one of the allowed functions and classes.
	pickleGlobal string
)

// budget is the number of bytes that may still be copied out of a file. The
// memo lets a short pickle name one long string many times; without a budget
// each name could become a copy.
type budget struct {
	left int64
	// file is the length of the file that the user named.
	file int64
}

func (b *budget) take(n int64) error {
	if n > b.left {
		return fmt.Errorf("pickle repeats data: it asks for more bytes than the file has")
	}
	b.left -= n
	return nil
}

// unpickler is the state of the pickle machine.
type unpickler struct {
	file blob
	pos  int64
	// window holds the bytes of the file from windowAt on.
	window   []byte
	windowAt int64
	stack    []any
	memo     map[uint32]any
	copies   *budget
}

// unpickle gives the value of the pickle that file is, from its first byte to
// its last; copies bounds what is copied (see budget). Errors are one line and
// name the byte position.
func unpickle(file blob, copies *budget) (any, error) {
	u := &unpickler{file: file, memo: map[uint32]any{}, copies: copies}
	for step := 0; ; step++ {
		at := u.pos
		op, err := u.take(1)
		if err != nil {
			return nil, fmt.Errorf("pickle ends at byte %d without a STOP", at)
		}
		if op[0] == opStop {
			break
		}
		if step >= maxPickleSteps {
			return nil, fmt.Errorf("pickle runs more than %d opcodes: not a posterior", maxPickleSteps)
		}
		if err := u.step(op[0]); err != nil {
			return nil, fmt.Errorf("pickle at byte %d: %w", at, err)
		}
	}
	if len(u.stack) != 1 {
		return nil, fmt.Errorf("pickle stops at byte %d with %d values on its stack instead of one", u.pos-1, len(u.stack))
	}
	if u.pos != file.size {
		return nil, fmt.Errorf("pickle ends at byte %d but the file goes on for %d bytes", u.pos, file.size-u.pos)
	}
	if _, ok := u.stack[0].(pickleMark); ok {
		return nil, fmt.Errorf("pickle stops with a mark on its stack")
	}
	return u.stack[0], nil
}

// windowBytes is the number of bytes of a pickle read at once.
const windowBytes = 1 << 14

// peek gives the next bytes, n <= windowBytes of them or what remains of the file, until
// the next peek.
func (u *unpickler) peek(n int64) ([]byte, error) {
	n = min(n, u.file.size-u.pos)
	if at := u.pos - u.windowAt; at >= 0 && at+n <= int64(len(u.window)) {
		return u.window[at : at+n], nil
	}
	if u.window == nil {
		u.window = make([]byte, windowBytes)
	}
	u.window, u.windowAt = u.window[:min(windowBytes, u.file.size-u.pos)], u.pos
	if _, err := io.ReadFull(u.file.from(u.pos, int64(len(u.window))), u.window); err != nil {
		u.window = u.window[:0]
		return nil, err
	}
	return u.window[:n], nil
}

// has returns an error unless n more bytes remain.
func (u *unpickler) has(n uint64) error {
	if left := uint64(u.file.size - u.pos); n > left {
		return fmt.Errorf("needs %d bytes, %d remain", n, left)
	}
	return nil
}

// take gives the next n <= windowBytes bytes, until the next peek or take.
func (u *unpickler) take(n uint64) ([]byte, error) {
	if err := u.has(n); err != nil {
		return nil, err
	}
	b, err := u.peek(int64(n))
	u.pos += int64(n)
	return b, err
}

// uint gives the next size bytes as a little-endian number.
func (u *unpickler) uint(size int) (uint64, error) {
	b, err := u.take(uint64(size))
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// line gives the text up to the next newline.
func (u *unpickler) line() (string, error) {
	const longest = 256
	rest, err := u.peek(longest)
	if err != nil {
		return "", err
	}
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		return "", fmt.Errorf("name does not end within %d bytes", longest)
	}
	u.pos += int64(n) + 1
	return string(rest[:n]), nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

// pop takes the top value, which must not be a mark.
func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, fmt.Errorf("stack is empty")
	}
	v := u.stack[len(u.stack)-1]
	if _, ok := v.(pickleMark); ok {
		return nil, fmt.Errorf("mark where a value is needed")
	}
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popMany takes the top n values, in the order they were pushed.
func (u *unpickler) popMany(n int) (pickleTuple, error) {
	values := make(pickleTuple, n)
	for i := n - 1; i >= 0; i-- {
		v, err := u.pop()
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// popMark takes everything above the last mark, and the mark.
func (u *unpickler) popMark() (pickleTuple, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pickleMark); ok {
			values := append(pickleTuple{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return values, nil
		}
	}
	return nil, fmt.Errorf("no mark on the stack")
}

// put stores the top of the stack in the memo.
func (u *unpickler) put(index uint64) error {
	v, err := u.pop()
	if err != nil {
		return err
	}
	u.push(v)
	u.memo[uint32(index)] = v
	return nil
}

// get pushes what the memo holds.
func (u *unpickler) get(index uint64) error {
	v, ok := u.memo[uint32(index)]
	if !ok {
		return fmt.Errorf("memo has no entry %d", index)
	}
	u.push(v)
	return nil
}

// text checks that b is UTF-8 and pushes it as a unicode string.
func (u *unpickler) text(b []byte) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("unicode string is not valid UTF-8")
	}
	u.push(string(b))
	return nil
}
