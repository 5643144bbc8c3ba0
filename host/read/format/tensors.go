package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"psafe/host/read/npy"
)

// tensor is an array of a file that may have any name, of which only the header is read.
// refused says why its numbers cannot be read; it may still be named as one to ignore.
type tensor struct {
	lazy
	dtype   string
	refused error
}

// tensorFile is the arrays of a safetensors file or a .npz, with names that somebody else
// chose.
type tensorFile struct {
	// format is what Source.Format says of posteriors made of them.
	format string
	byName map[string]tensor
	file   int64
}

// names lists the tensors in the order of the alphabet, numbers by their size.
func (t *tensorFile) names() []string {
	list := make([]string, 0, len(t.byName))
	for name := range t.byName {
		list = append(list, name)
	}
	slices.SortFunc(list, compareNatural)
	return list
}

var errOwn = errors.New("the file says itself what it holds: use it as it is, or psafe convert")

// openTensors recognises a file by its content and lists its arrays.
func openTensors(file blob) (*tensorFile, error) {
	head, err := file.head()
	switch {
	case err != nil:
		return nil, err
	case looksLikeSafetensors(head):
		header, data, err := openSafetensors(file)
		if err != nil {
			return nil, err
		}
		if header.psafe != "" {
			return nil, errOwn
		}
		byName, err := header.arrays(data)
		return &tensorFile{"safetensors with a map", byName, file.size}, err
	case !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		// What is refused by name gets the same words here.
		for _, f := range fileFormats {
			if f.name == "" && f.recognise(head) {
				_, err := f.parse(file)
				return nil, err
			}
		}
		return nil, fmt.Errorf("neither a safetensors file nor a .npz: save the arrays as one of these two")
	case bytes.Contains(head, []byte("/data.pkl")):
		return nil, fmt.Errorf("torch checkpoints are not read: %s", elsewhere)
	}
	members, err := npy.OpenZip(file, file.size)
	if err != nil {
		return nil, fmt.Errorf("%w: save it again, or get it again", err)
	}
	t := &tensorFile{"npz with a map", map[string]tensor{}, file.size}
	for i := range members {
		if members[i].Name == metaName {
			return nil, errOwn
		}
		err := members[i].Open(func(r *npy.Reader) (err error) {
			t.byName[members[i].Name], err = lazyMember(&members[i], r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// compareNatural orders "layer2" before "layer10".
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if len(m) != len(n) {
			return len(m) - len(n)
		}
		if c := strings.Compare(m, n); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return len(a) - len(b)
}

// digits returns how many digits text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}
