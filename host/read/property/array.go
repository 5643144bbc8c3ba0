package property

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"psafe/host/read/npy"
)

// array is a decoded file in C order: bytes (unsigned), wide (of PNG) or data holds its
// elements.
type array struct {
	shape []int
	bytes []byte
	wide  []uint16
	data  []float64
	// png reports whether it is an image, with the channels last.
	png bool
}

// decodeArray decodes an IDX or NumPy file; it returns nil for anything else. member is
// the array of a .npz file, empty if the user named none. fits is asked whether elements
// of a shape are wanted, and whether as bytes, before they are read.
func decodeArray(s *source, member string, fits func(shape []int, bytes bool) error) (*array, error) {
	switch {
	case s.begins("PK\x03\x04", "PK\x05\x06"):
		return decodeZip(s, member, fits)
	case member != "":
		return nil, fmt.Errorf("is not a .npz file and has no array %s; leave the array's name out", quote(member))
	case s.begins(pngMagic):
		return decodePNG(s, fits)
	case s.begins(idxMagic):
		return decodeIDX(s, fits)
	case s.begins(npy.Magic):
		r, err := npy.NewReader(s, s.size, s.exact)
		if err != nil {
			return nil, again(err)
		}
		return decodeNPY(r, fits)
	}
	return nil, nil
}

// again is an error of package npy with the mend.
func again(err error) error {
	return fmt.Errorf("%w; save it again as an array of float64 or uint8", err)
}

// decodeNPY decodes a .npy file.
func decodeNPY(r *npy.Reader, fits func(shape []int, bytes bool) error) (*array, error) {
	h := r.Header
	if h.IsObject() {
		return nil, errors.New("holds Python objects, not numbers; save it as an array of float64 or uint8")
	}
	a := &array{shape: h.Shape}
	isBytes := strings.HasSuffix(h.Descr, "u1")
	err := r.Check()
	if err == nil {
		if err := fits(h.Shape, isBytes); err != nil {
			return nil, err
		}
		if isBytes {
			a.bytes, err = r.Bytes()
		} else {
			var numbers *npy.Array
			if numbers, err = r.Array(); err == nil {
				a.data = numbers.Data
			}
		}
	}
	if err != nil {
		return nil, again(err)
	}
	return a, nil
}

// decodeZip decodes the .npy file of a zip that is called name, or its only one if name is
// empty.
func decodeZip(s *source, name string, fits func(shape []int, bytes bool) error) (a *array, err error) {
	// The first member of a torch file is NAME/data.pkl.
	if head, _ := s.Peek(512); bytes.Contains(head, []byte("/data.pkl")) {
		return nil, errors.New("is a file of torch.save, which is not read; save the points with numpy.save, as in numpy.save(\"x.npy\", x.numpy())")
	}
	at, size := s.at, s.size
	if at == nil {
		held, err := newSpool(s)
		if err != nil {
			return nil, err
		}
		at, size = held, held.size
	}
	members, err := npy.OpenZip(at, size)
	if err != nil {
		return nil, fmt.Errorf("%w; save it again with numpy.savez", err)
	}
	m, err := pickMember(members, name)
	if err != nil {
		return nil, err
	}
	err = m.Open(func(r *npy.Reader) error {
		a, err = decodeNPY(r, fits)
		return err
	})
	return a, err
}

// pickMember finds the member that is called name, or the only one if name is empty.
func pickMember(members []npy.Member, name string) (*npy.Member, error) {
	var names []string
	for i, m := range members {
		if m.Name == name || name == "" && len(members) == 1 {
			return &members[i], nil
		}
		if len(names) < 8 {
			names = append(names, quote(m.Name))
		}
	}
	list := strings.Join(names, ", ")
	if name != "" {
		return nil, fmt.Errorf("has no array %s, it has: %s; name one of them", quote(name), list)
	}
	if len(members) == 0 {
		return nil, errors.New("holds no array; save one with numpy.savez")
	}
	return nil, fmt.Errorf("has %d arrays: %s; choose one as in file.npz:array", len(members), list)
}
