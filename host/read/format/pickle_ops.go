package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// The opcodes that files of known writers use, protocols 2 to 5. The names are
// those of Python's pickletools.
const (
	opMark          = '('
	opStop          = '.'
	opNone          = 'N'
	opNewTrue       = 0x88
	opNewFalse      = 0x89
	opBinInt        = 'J'
	opBinInt1       = 'K'
	opBinInt2       = 'M'
	opLong1         = 0x8a
	opBinFloat      = 'G'
	opShortBinStr   = 'U'
	opBinStr        = 'T'
	opShortBinBytes = 'C'
	opBinBytes      = 'B'
	opBinBytes8     = 0x8e
	opShortUnicode  = 0x8c
	opBinUnicode    = 'X'
	opBinUnicode8   = 0x8d
	opEmptyTuple    = ')'
	opTuple         = 't'
	opTuple1        = 0x85
	opTuple2        = 0x86
	opTuple3        = 0x87
	opEmptyList     = ']'
	opAppend        = 'a'
	opAppends       = 'e'
	opEmptyDict     = '}'
	opSetItem       = 's'
	opSetItems      = 'u'
	opGlobal        = 'c'
	opStackGlobal   = 0x93
	opReduce        = 'R'
	opBuild         = 'b'
	opBinPut        = 'q'
	opLongBinPut    = 'r'
	opMemoize       = 0x94
	opBinGet        = 'h'
	opLongBinGet    = 'j'
	opProto         = 0x80
	opFrame         = 0x95
	opByteArray8    = 0x96
	opNextBuffer    = 0x97
	opReadOnly      = 0x98
)

// sizes are the bytes of the number behind an opcode: a value, a place in the memo or a length.
var sizes = map[byte]int{
	opBinInt: 4, opBinInt1: 1, opBinInt2: 2,
	opBinPut: 1, opLongBinPut: 4, opBinGet: 1, opLongBinGet: 4,
	opShortBinStr: 1, opBinStr: 4, opShortBinBytes: 1, opBinBytes: 4, opBinBytes8: 8, opByteArray8: 8,
	opShortUnicode: 1, opBinUnicode: 4, opBinUnicode8: 8,
}

// step runs one opcode other than STOP.
func (u *unpickler) step(op byte) error {
	switch op {
	case opProto:
		version, err := u.uint(1)
		if err == nil && version > 5 {
			err = fmt.Errorf("protocol %d is newer than 5", version)
		}
		return err
	case opFrame:
		n, err := u.uint(8)
		if err == nil && u.has(n) != nil {
			err = fmt.Errorf("frame of %d bytes, %d remain", n, u.file.size-u.pos)
		}
		return err
	case opMark:
		u.push(pickleMark{})
		return nil
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		return u.stepMemo(op)
	case opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3,
		opEmptyList, opAppend, opAppends, opEmptyDict, opSetItem, opSetItems:
		return u.stepContainer(op)
	case opGlobal, opStackGlobal:
		return u.stepGlobal(op)
	case opReduce:
		return u.reduce()
	case opBuild:
		return u.build()
	case opNextBuffer:
		return fmt.Errorf("the numbers are in a buffer outside of the pickle: save it without buffer_callback")
	case opReadOnly:
		return u.readOnly()
	case opShortBinStr, opBinStr, opShortBinBytes, opBinBytes, opBinBytes8, opByteArray8,
		opShortUnicode, opBinUnicode, opBinUnicode8:
		return u.stepString(op)
	}
	return u.stepScalar(op)
}

func (u *unpickler) stepMemo(op byte) error {
	index, err := u.uint(sizes[op])
	switch {
	case err != nil:
		return err
	case op == opMemoize:
		return u.put(uint64(len(u.memo)))
	case op == opBinPut || op == opLongBinPut:
		return u.put(index)
	}
	return u.get(index)
}

func (u *unpickler) stepScalar(op byte) error {
	switch op {
	case opNone:
		u.push(nil)
	case opNewTrue, opNewFalse:
		u.push(op == opNewTrue)
	case opBinInt, opBinInt1, opBinInt2:
		n, err := u.uint(sizes[op])
		if err != nil {
			return err
		}
		if op == opBinInt {
			n = uint64(int64(int32(n)))
		}
		u.push(int64(n))
	case opLong1:
		size, err := u.uint(1)
		if err == nil && size > 8 {
			err = fmt.Errorf("integer of %d bytes", size)
		}
		if err != nil {
			return err
		}
		n, err := u.uint(int(size))
		if err != nil {
			return err
		}
		unused := 64 - 8*size
		u.push(int64(n<<unused) >> unused)
	case opBinFloat:
		b, err := u.take(8)
		if err != nil {
			return err
		}
		u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	default:
		return fmt.Errorf("opcode 0x%02x is not among those a posterior needs", op)
	}
	return nil
}

func (u *unpickler) stepString(op byte) error {
	n, err := u.uint(sizes[op])
	if err == nil {
		err = u.has(n)
	}
	if err != nil {
		return err
	}
	isText := op == opShortUnicode || op == opBinUnicode || op == opBinUnicode8
	if n > maxShort {
		s := span{file: u.file, from: u.pos, n: int64(n), length: int64(n)}
		u.pos += int64(n)
		if isText {
			u.push(longText{s})
		} else {
			u.push(longBytes{s})
		}
		return nil
	}
	b, err := u.take(n)
	if err != nil {
		return err
	}
	if isText {
		return u.text(b)
	}
	u.push(bytes.Clone(b))
	return nil
}

// readOnly checks that the top of the stack is bytes, which nobody writes to here anyway.
func (u *unpickler) readOnly() error {
	v, err := u.pop()
	if err != nil {
		return err
	}
	switch v.(type) {
	case []byte, longBytes:
		u.push(v)
		return nil
	}
	return fmt.Errorf("READONLY_BUFFER of something that is not bytes")
}

func (u *unpickler) stepContainer(op byte) error {
	var items pickleTuple
	var err error
	if op == opTuple || op == opAppends || op == opSetItems {
		items, err = u.popMark()
	} else {
		items, err = u.popMany(map[byte]int{opTuple1: 1, opAppend: 1, opTuple2: 2, opSetItem: 2, opTuple3: 3}[op])
	}
	if err != nil {
		return err
	}
	switch op {
	case opEmptyTuple, opTuple, opTuple1, opTuple2, opTuple3:
		u.push(items)
		return nil
	case opEmptyList:
		u.push(&pickleList{})
		return nil
	case opEmptyDict:
		u.push(&pickleDict{})
		return nil
	}
	return u.extend(op, items)
}

// extend adds items to the list or dictionary on top of the stack.
func (u *unpickler) extend(op byte, items pickleTuple) error {
	top, err := u.pop()
	if err != nil {
		return err
	}
	u.push(top)
	switch c := top.(type) {
	case *pickleList:
		if op == opAppend || op == opAppends {
			c.items = append(c.items, items...)
			return nil
		}
	case *pickleDict:
		if (op == opSetItem || op == opSetItems) && len(items)%2 == 0 {
			return nil
		}
	}
	return fmt.Errorf("opcode 0x%02x does not fit the value below", op)
}
