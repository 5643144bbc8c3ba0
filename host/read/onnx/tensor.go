package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"psafe/host/read/npy"
	"psafe/internal/infile"
)

// parts are the fields of a tensor in which elements may be.
type parts struct {
	floats, doubles []field // 4, 10
	ints32, ints64  []field // 5, 7
	raw             []byte  // 9
	hasRaw          bool
}

// tensor reads a TensorProto.
func tensor(message []byte) (*Tensor, error) {
	t := &Tensor{Shape: []int{}}
	var dims []int64
	var kind, location int64
	var p parts
	err := fields(message, func(f field) (err error) {
		switch f.n {
		case 1:
			dims, err = f.ints(dims)
			if len(dims) > maxAxes {
				return fmt.Errorf("more than %d axes", maxAxes)
			}
		case 2:
			err = f.int(&kind)
		case 3:
			err = fmt.Errorf("it is a segment of a tensor, which is not read")
		case 4:
			p.floats = append(p.floats, f)
		case 5:
			p.ints32 = append(p.ints32, f)
		case 7:
			p.ints64 = append(p.ints64, f)
		case 8:
			err = f.text(&t.Name)
		case 9:
			p.raw, err = f.bytes()
			p.hasRaw = true
		case 10:
			p.doubles = append(p.doubles, f)
		case 13:
			err = errExternal
		case 14:
			if err = f.int(&location); err == nil && location != 0 {
				err = errExternal
			}
		}
		return err
	})
	t.Type = DataType(kind)
	if err == nil {
		err = t.fill(dims, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %.60q: %w", t.Name, err)
	}
	return t, nil
}

var errExternal = fmt.Errorf("its numbers are in another file (external data): save the model in one file, in Python with onnx.save_model(onnx.load(PATH), OUT)")

// fill checks that there are as many elements as the shape says, and then reads them.
func (t *Tensor) fill(dims []int64, p *parts) error {
	d, known := dataTypes[t.Type]
	if !known {
		return fmt.Errorf("element type %d is none of float16, bfloat16, float32, float64, int32, int64, bool", int64(t.Type))
	}
	n := int64(1)
	for _, v := range dims {
		if v < 0 || v > math.MaxInt32 {
			return fmt.Errorf("shape %v has an axis of %d", dims, v)
		}
		t.Shape = append(t.Shape, int(v))
		if v > 0 && n > math.MaxInt32/v {
			return fmt.Errorf("shape %v has more than %d elements", dims, math.MaxInt32)
		}
		n *= v
	}
	there, err := p.count(t.Type, d.size)
	if err != nil {
		return err
	}
	if there != n {
		return fmt.Errorf("shape %v needs %d elements, there are %d", dims, n, there)
	}
	if err := infile.Afford(8 * n); err != nil {
		return err
	}
	return t.read(int(n), p)
}

// count returns how many elements there are, in raw_data or in the field of the type.
func (p *parts) count(t DataType, size int) (int64, error) {
	typed := p.typed(t)
	if p.hasRaw {
		if len(p.floats)+len(p.doubles)+len(p.ints32)+len(p.ints64) > 0 {
			return 0, fmt.Errorf("it has both raw_data and typed data")
		}
		if len(p.raw)%size != 0 {
			return 0, fmt.Errorf("%d bytes of raw_data are no whole number of elements of %d", len(p.raw), size)
		}
		return int64(len(p.raw) / size), nil
	}
	n := int64(0)
	for _, f := range typed {
		switch width, packed := widths[t], f.typ == protowire.BytesType; {
		case !packed:
			n++
		case width > 0:
			n += int64(len(f.raw) / width)
		default:
			for _, b := range f.raw { // a varint ends where the high bit is clear
				if b < 0x80 {
					n++
				}
			}
		}
	}
	return n, nil
}

// widths are the bytes of an element in a packed typed field; 0 for varints.
var widths = map[DataType]int{Float32: 4, Float64: 8}

// typed is the field that the format has for the type.
func (p *parts) typed(t DataType) []field {
	switch t {
	case Float32:
		return p.floats
	case Float64:
		return p.doubles
	case Int64:
		return p.ints64
	}
	return p.ints32 // also bool, and the bits of float16 and bfloat16
}

// read reads n elements, which there are.
func (t *Tensor) read(n int, p *parts) (err error) {
	if p.hasRaw {
		t.readRaw(n, p.raw)
		return t.checkBool()
	}
	if t.Type == Float32 || t.Type == Float64 {
		t.Floats = make([]float64, 0, n)
	} else {
		t.Ints = make([]int64, 0, n)
	}
	for _, f := range p.typed(t.Type) {
		switch t.Type {
		case Float32:
			t.Floats, err = f.floats(t.Floats)
		case Float64:
			t.Floats, err = f.doubles(t.Floats)
		default:
			t.Ints, err = f.ints(t.Ints)
		}
		if err != nil {
			return err
		}
	}
	if t.Type == Float16 || t.Type == BFloat16 {
		for _, bits := range t.Ints {
			if bits < 0 || bits > math.MaxUint16 {
				return fmt.Errorf("an element of %d is no %v", bits, t.Type)
			}
			t.Floats = append(t.Floats, short(t.Type, uint16(bits)))
		}
		t.Ints = nil
	}
	if n != len(t.Floats)+len(t.Ints) {
		return errCut
	}
	return t.checkBool()
}

// checkBool refuses elements of a tensor of bool that are neither 0 nor 1.
func (t *Tensor) checkBool() error {
	for _, v := range t.Ints {
		if t.Type == Bool && v != 0 && v != 1 {
			return fmt.Errorf("an element of %d is no %v", v, t.Type)
		}
	}
	return nil
}

// readRaw reads n elements of raw_data, which is little-endian.
func (t *Tensor) readRaw(n int, raw []byte) {
	le := binary.LittleEndian
	if t.Type.IsFloat() {
		t.Floats = make([]float64, n)
	} else {
		t.Ints = make([]int64, n)
	}
	for i := range n {
		switch t.Type {
		case Float32:
			t.Floats[i] = float64(math.Float32frombits(le.Uint32(raw[4*i:])))
		case Float64:
			t.Floats[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		case Float16, BFloat16:
			t.Floats[i] = short(t.Type, le.Uint16(raw[2*i:]))
		case Bool:
			t.Ints[i] = int64(raw[i])
		case Int32:
			t.Ints[i] = int64(int32(le.Uint32(raw[4*i:])))
		case Int64:
			t.Ints[i] = int64(le.Uint64(raw[8*i:]))
		}
	}
}

// short is the number that 16 bits stand for, exactly.
func short(t DataType, bits uint16) float64 {
	if t == BFloat16 {
		return float64(math.Float32frombits(uint32(bits) << 16))
	}
	return npy.Half(bits)
}
