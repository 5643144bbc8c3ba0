package npy

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// file makes a .npy file by hand.
func file(version byte, dict string, data ...byte) []byte {
	b := append([]byte(Magic), version, 0)
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(dict)))
	}
	return append(append(b, dict...), data...)
}

func dict(descr, order, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }  \n"
}

func TestRead(t *testing.T) {
	pi32 := []byte{0xdb, 0x0f, 0x49, 0x40}
	tests := []struct {
		name  string
		file  []byte
		shape []int
		data  []float64
	}{
		{"f4", file(1, dict("<f4", "False", "(1,)"), pi32...), []int{1}, []float64{float64(float32(math.Pi))}},
		{"big-endian f4, version 2", file(2, dict(">f4", "False", "(1, 1)"), 0x40, 0x49, 0x0f, 0xdb), []int{1, 1}, []float64{float64(float32(math.Pi))}},
		{"f8, version 3", file(3, dict("<f8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0xf0, 0xbf), []int{1}, []float64{-1}},
		{"big-endian f8", file(1, dict(">f8", "False", "(1,)"), 0xbf, 0xf0, 0, 0, 0, 0, 0, 0), []int{1}, []float64{-1}},
		{"f2", file(1, dict("<f2", "False", "(3,)"), 0, 0x3c, 1, 0x80, 0xff, 0x7b), []int{3}, []float64{1, -math.Ldexp(1, -24), 65504}},
		{"big-endian f2", file(1, dict(">f2", "False", "(1,)"), 0x3c, 0), []int{1}, []float64{1}},
		{"i1", file(1, dict("|i1", "False", "(2,)"), 0xff, 0x7f), []int{2}, []float64{-1, 127}},
		{"u1, Python 2 shape", file(1, dict("|u1", "False", "(2L,)"), 0xff, 0x7f), []int{2}, []float64{255, 127}},
		{"i2", file(1, dict("<i2", "False", "(1,)"), 0xfe, 0xff), []int{1}, []float64{-2}},
		{"big-endian u2", file(1, dict(">u2", "False", "(1,)"), 1, 2), []int{1}, []float64{258}},
		{"i4", file(1, dict("<i4", "False", "(1,)"), 0, 0, 0, 0x80), []int{1}, []float64{-1 << 31}},
		{"u4", file(1, dict("<u4", "False", "(1,)"), 0, 0, 0, 0x80), []int{1}, []float64{1 << 31}},
		{"i8, -2^53", file(1, dict("<i8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0xe0, 0xff), []int{1}, []float64{-1 << 53}},
		{"u8, 2^53", file(1, dict("<u8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0x20, 0), []int{1}, []float64{1 << 53}},
		{"bool", file(1, dict("|b1", "False", "(2,)"), 0, 1), []int{2}, []float64{0, 1}},
		{"scalar", file(1, dict("|u1", "False", "()"), 7), []int{}, []float64{7}},
		{"no entries", file(1, dict("<f4", "False", "(0, 99999999999)")), []int{0, 99999999999}, []float64{}},
		{"Fortran 2x3", file(1, dict("|u1", "True", "(2, 3)"), 0, 10, 1, 11, 2, 12), []int{2, 3}, []float64{0, 1, 2, 10, 11, 12}},
		{"Fortran 2x2x2", file(1, dict("|u1", "True", "(2, 2, 2)"), 0, 100, 10, 110, 1, 101, 11, 111), []int{2, 2, 2}, []float64{0, 1, 10, 11, 100, 101, 110, 111}},
		{"keys in another order", file(1, `{"shape": (1,), "descr": "|u1", "fortran_order": False}`, 3), []int{1}, []float64{3}},
	}
	for _, test := range tests {
		a, err := Read(test.file)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !slices.Equal(a.Shape, test.shape) || !slices.Equal(a.Data, test.data) {
			t.Errorf("%s: got %v %v, want %v %v", test.name, a.Shape, a.Data, test.shape, test.data)
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := dict("<f4", "False", "(1,)")
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"empty", "not a .npy file", nil},
		{"other magic", "not a .npy file", []byte("PK\x03\x04 and more text")},
		{"version 4", "version 4", file(4, good, 0, 0, 0, 0)},
		{"header cut off", "cut off", file(1, good)[:30]},
		{"version 2 length cut off", "cut off", []byte(Magic + "\x02\x00\x01\x00")},
		{"huge header", "at most 65536", append([]byte(Magic), 2, 0, 0xff, 0xff, 0xff, 0xff, '{')},
		{"header of 64 KiB cut off", "cut off after 1", append([]byte(Magic), 2, 0, 0, 0, 1, 0, '{')},
		{"too few bytes", "needs more", file(1, good, 0, 0, 0)},
		{"too many bytes", "needs 4 bytes, there are 5", file(1, good, 0, 0, 0, 0, 0)},
		{"bytes after no entries", "needs 0 bytes", file(1, dict("<f4", "False", "(0,)"), 1)},
		{"shape overflows", "needs more", file(1, dict("<f4", "False", "(4294967296, 4294967296)"), 0, 0, 0, 0)},
		{"axis overflows", "axis length", file(1, dict("<f4", "False", "(99999999999999999999,)"))},
		{"negative axis", "axis length", file(1, dict("<f4", "False", "(-1,)"))},
		{"65 axes", "more than 64", file(1, dict("<f4", "False", "("+strings.Repeat("1,", 65)+")"))},
		{"f16", "element type", file(1, dict("<f16", "False", "(1,)"), make([]byte, 16)...)},
		{"complex", "element type", file(1, dict("<c8", "False", "(1,)"), make([]byte, 8)...)},
		{"native order", "element type", file(1, dict("=f4", "False", "(1,)"), make([]byte, 4)...)},
		{"structured", "structured", file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}")},
		{"missing key", `"shape" is missing`, file(1, "{'descr': '<f4', 'fortran_order': False}")},
		{"key twice", "twice", file(1, "{'descr': '<f4', 'descr': '<f4'}")},
		{"unknown key", "unknown key", file(1, "{'x': '<f4'}")},
		{"text after", "after the dictionary", file(1, dict("<f4", "False", "(1,)")+"x")},
		{"order is no bool", `"False" expected`, file(1, dict("<f4", "0", "(1,)"))},
		{"i8 beyond 2^53", "exactly", file(1, dict("<i8", "False", "(1,)"), 1, 0, 0, 0, 0, 0, 0x20, 0)},
		{"u8 beyond 2^53", "exactly", file(1, dict("<u8", "False", "(1,)"), 0, 0, 0, 0, 0, 0, 0, 0x80)},
		{"bool 2", "exactly", file(1, dict("|b1", "False", "(1,)"), 2)},
	}
	for _, test := range tests {
		a, err := Read(test.file)
		if err == nil {
			t.Errorf("%s: read %v, want an error", test.name, a)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want one line with %q", test.name, err, test.want)
		}
	}
}

func TestReadObject(t *testing.T) {
	f := file(1, dict("|O", "False", "(3,)"), 0x80, 2, 'N', '.')
	if _, err := Read(f); err != errObject {
		t.Errorf("error %v", err)
	}
	r, err := NewReader(bytes.NewReader(f), int64(len(f)), true)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := r.Rest()
	if err != nil || string(rest) != "\x80\x02N." || !r.Header.IsObject() || !slices.Equal(r.Header.Shape, []int{3}) || int(r.Offset) != len(f)-4 {
		t.Errorf("%q, %v, header %v of %d bytes", rest, err, r.Header, r.Offset)
	}
}

// A stream whose length nobody knows is read as far as its header says, to its end.
func TestReadStream(t *testing.T) {
	const most = 1 << 20
	good := file(1, dict("|u1", "False", "(3,)"), 1, 2, 3)
	for _, c := range []struct {
		name, want string
		file       []byte
	}{{"good", "", good}, {"short", "ends before", good[:len(good)-1]}, {"long", "goes on", append(bytes.Clone(good), 4)},
		{"beyond what can come", "needs more", file(1, dict("|u1", "False", "(1048576,)"), 1)}} {
		for _, as := range []func(*Reader) error{
			func(r *Reader) error { _, err := r.Array(); return err },
			func(r *Reader) error { _, err := r.Bytes(); return err },
		} {
			r, err := NewReader(bytes.NewReader(c.file), most, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := as(r); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		}
	}
	r, err := NewReader(bytes.NewReader(file(1, dict("<f4", "False", "(1,)"), 0, 0, 0, 0)), most, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Bytes(); err == nil {
		t.Error("floats were read as bytes")
	}
}

// readZip reads all arrays of a zip.
func readZip(file []byte) (names []string, arrays []*Array, err error) {
	members, err := OpenZip(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		err := m.Open(func(r *Reader) error {
			a, err := r.Array()
			names, arrays = append(names, m.Name), append(arrays, a)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return names, arrays, nil
}

func TestWriteRead(t *testing.T) {
	arrays := []Named{
		{"a", &Array{Shape: []int{2, 2}, Data: []float64{1, -0.5, math.SmallestNonzeroFloat32, math.MaxFloat32}, DType: "<f4"}},
		{"layers.0.b", &Array{Shape: []int{3}, Data: []float64{0.1, math.Inf(-1), math.SmallestNonzeroFloat64}, DType: "<f8"}},
		{"text", &Array{Shape: []int{2}, Data: []float64{0, 255}, DType: "|u1"}},
		{"scalar", &Array{Shape: []int{}, Data: []float64{2}, DType: "<f8"}},
	}
	var one, two bytes.Buffer
	if err := WriteZip(&one, arrays); err != nil {
		t.Fatal(err)
	}
	if err := WriteZip(&two, arrays); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("the same arrays gave different bytes")
	}
	names, got, err := readZip(one.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(arrays) {
		t.Fatalf("%d members, want %d", len(names), len(arrays))
	}
	for i, a := range got {
		if names[i] != arrays[i].Name || !reflect.DeepEqual(a, arrays[i].Array) {
			t.Errorf("%s: got %q %v, want %v", arrays[i].Name, names[i], a, arrays[i].Array)
		}
		if n := len(appendHeader(nil, a)); n%64 != 0 {
			t.Errorf("%s: data begins at byte %d, want a multiple of 64", names[i], n)
		}
	}
}

func TestWriteInexact(t *testing.T) {
	for _, a := range []*Array{
		{Shape: []int{1}, Data: []float64{0.1}, DType: "<f4"},
		{Shape: []int{1}, Data: []float64{1e300}, DType: "<f4"},
		{Shape: []int{1}, Data: []float64{256}, DType: "|u1"},
		{Shape: []int{1}, Data: []float64{-1}, DType: "|u1"},
		{Shape: []int{1}, Data: []float64{0.5}, DType: "|u1"},
	} {
		if _, err := Encode(a); err == nil {
			t.Errorf("%v was written as %s", a.Data, a.DType)
		}
	}
}

func TestReadZipErrors(t *testing.T) {
	var b bytes.Buffer
	a := &Array{Shape: []int{64}, Data: make([]float64, 64), DType: "<f4"}
	if err := WriteZip(&b, []Named{{"first", a}, {"other", a}}); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	damaged := bytes.Clone(good)
	damaged[200] ^= 1
	tests := []struct {
		name, want string
		file       []byte
	}{
		{"cut off", "damaged zip", good[:len(good)-30]},
		{"one bit changed", "checksum", damaged},
		{"one name twice", "two members", bytes.ReplaceAll(good, []byte("other"), []byte("first"))},
		{"not .npy", "not a .npy", bytes.ReplaceAll(good, []byte(".npy"), []byte(".txt"))},
		{"claims 4 GB", "claims", bytes.ReplaceAll(good, binary.LittleEndian.AppendUint32(nil, 128+256), []byte{0, 0, 0, 0xf0})},
	}
	for _, test := range tests {
		if _, _, err := readZip(test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(file(1, dict("<f4", "False", "(1,)"), 0, 0, 0, 0))
	f.Add(file(2, dict(">i8", "True", "(1, 2)"), make([]byte, 16)...))
	f.Add(file(3, dict("|O", "False", "(2L,)"), 0x80, 2, '.'))
	var b bytes.Buffer
	if err := WriteZip(&b, []Named{{"a", &Array{Shape: []int{1}, Data: []float64{1}, DType: "<f8"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		oneLine := func(err error) {
			if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error of several lines: %q", err)
			}
		}
		_, arrays, err := readZip(file)
		oneLine(err)
		if err != nil {
			a, err := Read(file)
			if oneLine(err); err != nil {
				return
			}
			if len(a.Data) > len(file) {
				t.Fatalf("%d values from %d bytes", len(a.Data), len(file))
			}
			arrays = []*Array{a}
		}
		for _, a := range arrays {
			// What is read can be written, and is read back the same.
			a.DType = "<f8"
			back, err := Encode(a)
			again, err2 := Read(back)
			if err != nil || err2 != nil || !slices.Equal(again.Shape, a.Shape) || len(again.Data) != len(a.Data) {
				t.Fatalf("written and read again: %v %v", err, err2)
			}
			for i, v := range a.Data {
				if math.Float64bits(v) != math.Float64bits(again.Data[i]) {
					t.Fatalf("value %d: %v became %v", i, v, again.Data[i])
				}
			}
		}
	})
}

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0400: 1. / (1 << 14), 0x0001: 1. / (1 << 24),
		0x03ff: 1023. / (1 << 24), 0x3555: 1365. / 4096, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		if got := Half(bits); got != want {
			t.Errorf("%04x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(Half(0x7e00)) || !math.Signbit(Half(0x8000)) {
		t.Error("NaN or -0 is lost")
	}
}

// Read reads a .npy file that is in memory: see Array.
func Read(file []byte) (*Array, error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), true)
	if err != nil {
		return nil, err
	}
	return r.Array()
}
