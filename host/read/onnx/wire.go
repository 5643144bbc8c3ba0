package onnx

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message: number n of wire type typ, its bytes if it has a length,
// its bits if it is a number.
type field struct {
	n    protowire.Number
	typ  protowire.Type
	raw  []byte
	bits uint64
}

var errCut = errors.New("damaged: it ends in the middle of a field, or a field is longer than what it is in")

// fields hands every field of a message to use.
func fields(message []byte, use func(field) error) error {
	for len(message) > 0 {
		f, n, err := next(message)
		if err != nil {
			return err
		}
		if err := use(f); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// next reads the first field of b, and says how many bytes it takes.
func next(b []byte) (f field, n int, err error) {
	num, typ, head := protowire.ConsumeTag(b)
	if head < 0 {
		return f, 0, errCut
	}
	f.n, f.typ = num, typ
	body := b[head:]
	switch typ {
	case protowire.VarintType:
		f.bits, n = protowire.ConsumeVarint(body)
	case protowire.Fixed32Type:
		f.bits, n = fixed32(body)
	case protowire.Fixed64Type:
		f.bits, n = protowire.ConsumeFixed64(body)
	case protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(body)
	default:
		return f, 0, fmt.Errorf("damaged: field %d is a group, which ONNX has nowhere", num)
	}
	if n < 0 {
		return f, 0, errCut
	}
	return f, head + n, nil
}

// is refuses a field of another wire type than the format gives it.
func (f *field) is(typ protowire.Type) error {
	if f.typ != typ {
		return fmt.Errorf("damaged: field %d has wire type %d instead of %d", f.n, f.typ, typ)
	}
	return nil
}

// bytes is a field with a length.
func (f *field) bytes() ([]byte, error) { return f.raw, f.is(protowire.BytesType) }

// each hands the fields of the message that a field is to use.
func (f *field) each(use func(field) error) error {
	raw, err := f.bytes()
	if err != nil {
		return err
	}
	return fields(raw, use)
}

// text is a name.
func (f *field) text(to *string) error {
	raw, err := f.bytes()
	*to = string(raw)
	return err
}

// int is a whole number.
func (f *field) int(to *int64) error {
	*to = int64(f.bits)
	return f.is(protowire.VarintType)
}

// fixed32 is protowire.ConsumeFixed32 with the bits of others.
func fixed32(b []byte) (uint64, int) {
	v, n := protowire.ConsumeFixed32(b)
	return uint64(v), n
}

// numbers appends what of makes of the bits of a field of wire type typ, or of the many of a packed
// one, of which next takes the first off.
func numbers[T any](f *field, to []T, typ protowire.Type, next func([]byte) (uint64, int), of func(bits uint64) T) ([]T, error) {
	if f.typ == typ {
		return append(to, of(f.bits)), nil
	}
	raw, err := f.bytes()
	for err == nil && len(raw) > 0 {
		bits, n := next(raw)
		if n < 0 {
			return to, errCut
		}
		to, raw = append(to, of(bits)), raw[n:]
	}
	return to, err
}

// ints appends one whole number, or many.
func (f *field) ints(to []int64) ([]int64, error) {
	return numbers(f, to, protowire.VarintType, protowire.ConsumeVarint, func(bits uint64) int64 { return int64(bits) })
}

// floats appends one float32, or many.
func (f *field) floats(to []float64) ([]float64, error) {
	return numbers(f, to, protowire.Fixed32Type, fixed32, func(bits uint64) float64 { return float64(math.Float32frombits(uint32(bits))) })
}

// doubles appends one float64, or many.
func (f *field) doubles(to []float64) ([]float64, error) {
	return numbers(f, to, protowire.Fixed64Type, protowire.ConsumeFixed64, math.Float64frombits)
}

// modelFields are the fields of a model that have a length; ir_version (1) and
// model_version (5) are numbers.
var modelFields = map[protowire.Number]bool{2: true, 3: true, 4: true, 6: true, 7: true, 8: true, 14: true, 20: true, 25: true, 26: true}

// Looks reports whether the first bytes of a file may be those of a model: every field is one of a
// model, and there is a version, as in every model, or the graph itself. Protocol buffers begin
// with nothing that would say more.
func Looks(head []byte) bool {
	version := false
	for rest := head; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return version
		}
		switch {
		case typ == protowire.VarintType && (num == 1 || num == 5):
			version = version || num == 1
		case typ == protowire.BytesType && modelFields[num]:
			version = version || num == 7
			if _, m := protowire.ConsumeBytes(rest[n:]); m < 0 {
				return version // the rest of the field is beyond the head
			}
		default:
			return false
		}
		_, m, err := next(rest)
		if err != nil {
			return version
		}
		rest = rest[m:]
	}
	return version
}
