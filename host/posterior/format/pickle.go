package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
//   - array data is a slice of the file until a reader asks for the numbers, and
//     copies are paid out of a budget of the file's own length;
//   - nothing recurses.

// maxPickleSteps bounds the opcodes of one pickle. A posterior of a hundred
// layers has a few thousand.
const maxPickleSteps = 1 << 20

// Values on the stack are nil, bool, int64, float64, string (Python unicode),
// []byte (Python bytes, and the str of Python 2), and the types below.
type (
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
type budget struct{ left int }

func (b *budget) take(n int) error {
	if n > b.left {
		return fmt.Errorf("pickle repeats data: it asks for more bytes than the file has")
	}
	b.left -= n
	return nil
}

// unpickler is the state of the pickle machine.
type unpickler struct {
	file   []byte
	pos    int
	stack  []any
	memo   map[uint32]any
	copies *budget
}

// unpickle gives the value of the pickle that file is, from its first byte to
// its last; copies bounds what is copied (see budget). Errors are one line and
// name the byte position.
func unpickle(file []byte, copies *budget) (any, error) {
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
	if u.pos != len(file) {
		return nil, fmt.Errorf("pickle ends at byte %d but the file goes on for %d bytes", u.pos, len(file)-u.pos)
	}
	if _, ok := u.stack[0].(pickleMark); ok {
		return nil, fmt.Errorf("pickle stops with a mark on its stack")
	}
	return u.stack[0], nil
}

// take gives the next n bytes.
func (u *unpickler) take(n uint64) ([]byte, error) {
	if left := uint64(len(u.file) - u.pos); n > left {
		return nil, fmt.Errorf("needs %d bytes, %d remain", n, left)
	}
	b := u.file[u.pos : u.pos+int(n) : u.pos+int(n)]
	u.pos += int(n)
	return b, nil
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

// counted gives the bytes of a string whose length stands before it in size bytes.
func (u *unpickler) counted(size int) ([]byte, error) {
	n, err := u.uint(size)
	if err != nil {
		return nil, err
	}
	return u.take(n)
}

// line gives the text up to the next newline.
func (u *unpickler) line() (string, error) {
	const longest = 256
	rest := u.file[u.pos:min(len(u.file), u.pos+longest)]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		return "", fmt.Errorf("name does not end within %d bytes", longest)
	}
	u.pos += n + 1
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
