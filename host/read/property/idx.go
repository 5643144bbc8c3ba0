package property

import (
	"encoding/binary"
	"fmt"
	"io"

	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// idxTypes maps the third byte of an IDX file to the type of its elements as NumPy writes it. All
// values are float64 exactly.
var idxTypes = map[byte]string{0x08: "|u1", 0x09: "|i1", 0x0b: ">i2", 0x0c: ">i4", 0x0d: ">f4", 0x0e: ">f8"}

const idxUbyte = 0x08

// idxMagic begins an IDX file: two zero bytes, with which no text and no other format read
// here begins.
const idxMagic = "\x00\x00"

// maxAxes bounds the axes of an IDX file, as NumPy does those of its own.
const maxAxes = 64

// decodeIDX decodes an IDX file: 00 00, type, number of axes, the sizes of the
// axes as big-endian uint32, then the elements in C order. The length of the
// file must be exactly what its header says.
func decodeIDX(s *source, fits func(shape []int, bytes bool) error) (*array, error) {
	var head [4]byte
	if n, err := io.ReadFull(s, head[:]); err != nil {
		return nil, or(err, fmt.Errorf("IDX header is cut short at %d bytes; get the file again", n))
	}
	size, value, err := npy.Element(idxTypes[head[2]])
	if err != nil {
		return nil, fmt.Errorf("IDX header: type 0x%02x at byte 2 is unknown; save the data as unsigned bytes, 0x08", head[2])
	}
	axes := int(head[3])
	if axes == 0 || axes > maxAxes {
		return nil, fmt.Errorf("IDX header: %d axes at byte 3, there are 1 to %d; get the file again", axes, maxAxes)
	}
	sizes := make([]byte, 4*axes)
	if _, err := io.ReadFull(s, sizes); err != nil {
		return nil, or(err, fmt.Errorf("IDX header: %d axes at byte 3 do not fit the file; get the file again", axes))
	}
	a := &array{shape: make([]int, axes)}
	for k := range a.shape {
		a.shape[k] = int(binary.BigEndian.Uint32(sizes[4*k:]))
	}
	left := s.size - int64(len(head)+len(sizes))
	count, err := npy.Count(a.shape, size, left)
	if err != nil {
		return nil, fmt.Errorf("IDX header promises more than the %d bytes that follow; get the file again", left)
	}
	if need := int64(count) * int64(size); s.exact && need != left {
		return nil, fmt.Errorf("IDX header of shape %v needs %d bytes of data, there are %d; get the file again", a.shape, need, left)
	}
	isBytes := head[2] == idxUbyte
	if err := fits(a.shape, isBytes); err != nil {
		return nil, err
	}
	if isBytes {
		if err := infile.Afford(int64(count)); err != nil {
			return nil, err
		}
		a.bytes = make([]byte, count)
		_, err = io.ReadFull(s, a.bytes)
	} else {
		a.data, _, err = npy.Floats(s, count, size, value)
	}
	if err != nil {
		return nil, or(err, fmt.Errorf("IDX header of shape %v needs more data than there is; get the file again", a.shape))
	}
	return a, s.ended()
}
