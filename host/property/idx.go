package property

import (
	"encoding/binary"
	"fmt"
	"math"
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

// isIDX recognises an IDX file by its magic: two zero bytes, with which no text
// and no other format read here begins.
func isIDX(data []byte) bool {
	return len(data) >= 2 && data[0] == 0 && data[1] == 0
}

// decodeIDX decodes an IDX file: 00 00, type, number of axes, the sizes of the
// axes as big-endian uint32, then the elements in C order. The length of the
// file must be exactly what its header says.
func decodeIDX(data []byte) (*array, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("IDX header is cut short at %d bytes; get the file again", len(data))
	}
	kind, ok := idxTypes[data[2]]
	if !ok {
		return nil, fmt.Errorf("IDX header: type 0x%02x at byte 2 is unknown; save the data as unsigned bytes, 0x08", data[2])
	}
	axes := int(data[3])
	body := 4 + 4*axes
	if axes == 0 || len(data) < body {
		return nil, fmt.Errorf("IDX header: %d axes at byte 3 do not fit a file of %d bytes; get the file again", axes, len(data))
	}
	a := &array{shape: make([]int, axes)}
	// The product is compared as it grows, so it cannot overflow.
	count, most := 1, (len(data)-body)/kind.size
	for k := range a.shape {
		a.shape[k] = int(binary.BigEndian.Uint32(data[4+4*k:]))
		if a.shape[k] != 0 && count > most/a.shape[k] {
			return nil, fmt.Errorf("IDX header promises more than the %d elements that follow; get the file again", most)
		}
		count *= a.shape[k]
	}
	if count*kind.size != len(data)-body {
		return nil, fmt.Errorf("IDX header of shape %v needs %d bytes of data, there are %d; get the file again", a.shape, count*kind.size, len(data)-body)
	}
	if data[2] == idxUbyte {
		a.bytes = data[body:]
		return a, nil
	}
	a.data = make([]float64, count)
	for k := range a.data {
		a.data[k] = kind.value(data[body+k*kind.size:])
	}
	return a, nil
}
