package npy

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"
)

// Named is an array and its name in a .npz file.
type Named struct {
	Name  string
	Array *Array
}

// Encode gives the bytes that Write writes.
func Encode(a *Array) ([]byte, error) {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	if n != len(a.Data) {
		panic(fmt.Sprintf("npy: Encode: shape %v with %d values", a.Shape, len(a.Data)))
	}
	file := appendHeader(nil, a)
	for i, v := range a.Data {
		exact := true
		switch a.DType {
		case "<f8":
			file = binary.LittleEndian.AppendUint64(file, math.Float64bits(v))
		case "<f4":
			f := float32(v)
			exact = float64(f) == v || math.IsNaN(v)
			file = binary.LittleEndian.AppendUint32(file, math.Float32bits(f))
		case "|u1":
			exact = v >= 0 && v <= 255 && v == math.Trunc(v)
			file = append(file, byte(v))
		default:
			panic(fmt.Sprintf("npy: Encode: element type %q is none of <f4, <f8, |u1", a.DType))
		}
		if !exact {
			return nil, fmt.Errorf("value %d, %v, is not exactly a %s", i, v, a.DType)
		}
	}
	return file, nil
}

// appendHeader appends a version 1 header, padded as NumPy pads it so that the
// data begins at a multiple of 64 bytes.
func appendHeader(file []byte, a *Array) []byte {
	axes := make([]string, len(a.Shape))
	for i, d := range a.Shape {
		axes[i] = strconv.Itoa(d)
	}
	shape := strings.Join(axes, ", ")
	if len(axes) == 1 {
		shape += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.DType, shape)
	const before = len(Magic) + 4
	total := (before + len(dict) + 1 + 63) / 64 * 64
	file = append(file, Magic...)
	file = append(file, 1, 0)
	file = binary.LittleEndian.AppendUint16(file, uint16(total-before))
	file = append(file, dict...)
	file = append(file, strings.Repeat(" ", total-before-len(dict)-1)...)
	return append(file, '\n')
}

// WriteZip writes arrays as a .npz file: not compressed, in the order given, all
// members dated 1980-01-01, so the same arrays always give the same bytes.
// Errors are those of Write. Two arrays of one name are a mistake of the caller.
func WriteZip(w io.Writer, arrays []Named) error {
	z := zip.NewWriter(w)
	seen := map[string]bool{}
	for _, a := range arrays {
		if seen[a.Name] {
			panic(fmt.Sprintf("npy: WriteZip: two arrays named %q", a.Name))
		}
		seen[a.Name] = true
		file, err := Encode(a.Array)
		if err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
		// A raw member with known size and sum needs no data descriptor, which
		// some readers cannot handle.
		m, err := z.CreateRaw(&zip.FileHeader{
			Name:   a.Name + ".npy",
			Method: zip.Store,
			//lint:ignore SA1019 CreateRaw writes this field as it is and does not look at Modified
			ModifiedDate:       1<<5 | 1,
			CRC32:              crc32.ChecksumIEEE(file),
			CompressedSize64:   uint64(len(file)),
			UncompressedSize64: uint64(len(file)),
		})
		if err != nil {
			return err
		}
		if _, err := m.Write(file); err != nil {
			return err
		}
	}
	return z.Close()
}
