package format

import (
	"bytes"
	"errors"
	"fmt"

	"psafe/host/read/npy"
)

var errOwn = errors.New("the file says itself what it holds: use it as it is, or psafe convert")

// openTensors recognises a safetensors file or a .npz by its content and returns its arrays, with names
// that somebody else chose.
func openTensors(file blob) (map[string]lazy, error) {
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
		return header.arrays(data)
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
	byName := map[string]lazy{}
	for i := range members {
		if members[i].Name == metaName {
			return nil, errOwn
		}
		err := members[i].Open(func(r *npy.Reader) (err error) {
			byName[members[i].Name], err = lazyMember(&members[i], r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return byName, nil
}
