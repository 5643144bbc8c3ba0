package property

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// idxTypes maps the third byte of an IDX file to the size of an element and to
// the number that its big-endian bytes are. All values are float64 exactly.
var idxTypes = map[byte]struct {
	size  int
	value func(b []byte) float64
}{
	0x08: {1, func(b []byte) float64 { return float64(b[0]) }},
	0x09: {1, func(b []byte) float64 { return float64(int8(b[0])) }},
	0x0b: {2, func(b []byte) float64 { return float64(int16(binary.BigEndian.Uint16(b))) }},
	0x0c: {4, func(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) }},
	0x0d: {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(b))) }},
	0x0e: {8, func(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }},
}

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
	kind, ok := idxTypes[head[2]]
	if !ok {
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
	count, err := npy.Count(a.shape, kind.size, left)
	if err != nil {
		return nil, fmt.Errorf("IDX header promises more than the %d bytes that follow; get the file again", left)
	}
	if need := int64(count) * int64(kind.size); s.exact && need != left {
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
		a.data, _, err = npy.Floats(s, count, kind.size, func(b []byte) (float64, bool) { return kind.value(b), true })
	}
	if err != nil {
		return nil, or(err, fmt.Errorf("IDX header of shape %v needs more data than there is; get the file again", a.shape))
	}
	return a, s.ended()
}
