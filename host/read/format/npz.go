package format

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// metaName is the array of a psafe .npz that holds the JSON header, one byte per
// element.
const metaName = "__meta__"

// parseNPZ reads the members of a psafe .npz: the headers of all and the text first, and
// the numbers when it is known that they fit each other and the length of the file.
func parseNPZ(members []npy.Member, file int64) (*contents, error) {
	byName := map[string]lazy{}
	var text []byte
	for i := range members {
		member := &members[i]
		err := member.Open(func(r *npy.Reader) (err error) {
			if member.Name == metaName {
				text, err = metaText(r)
				return err
			}
			byName[member.Name], err = lazyMember(member, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m, err := parseMeta(text)
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", metaName, err)
	}
	return m.contents("psafe", byName, file)
}

// metaText reads the JSON header, which is an array of bytes.
func metaText(r *npy.Reader) ([]byte, error) {
	switch {
	case r.Header.IsObject():
		return nil, errObjects
	case r.Header.Descr != "|u1":
		return nil, fmt.Errorf("array %s has type %.10q: the JSON header needs uint8", metaName, r.Header.Descr)
	case r.Left() > maxMeta:
		return nil, errMetaSize(r.Left())
	case r.Check() != nil:
		return nil, fmt.Errorf("array %s of shape %v has %d bytes", metaName, r.Header.Shape, r.Left())
	}
	return r.Bytes()
}

var errObjects = errors.New("holds Python objects: a psafe .npz has numbers only")

// lazyMember is the array of a member, of which r has read the header.
func lazyMember(member *npy.Member, r *npy.Reader) (lazy, error) {
	h := r.Header
	t := lazy{shape: h.Shape}
	switch {
	case h.IsObject():
		return t, errObjects
	// Were weights bytes, a small zip could grow to eight times what its members unpack to.
	case !slices.Contains([]string{"<f4", ">f4", "<f8", ">f8"}, h.Descr):
		return t, fmt.Errorf("array %.60q has type %.10q: save float32 or float64", member.Name, h.Descr)
	}
	t.load = func() (a *npy.Array, err error) {
		err = member.Open(func(r *npy.Reader) error {
			a, err = r.Array()
			return err
		})
		return a, err
	}
	return t, r.Check()
}

// WriteNPZ writes p in psafe's own format, in which nothing is lost: means and
// spreads bit by bit, scale, activations, note, and as origin the file p was read
// from (its last path element, format and digest). The same p always gives the
// same bytes. Bounds of standard deviations are not written; reading makes them
// again. It is an error when p is not valid or w fails. An unknown scale is a
// mistake of the caller.
func WriteNPZ(w io.Writer, p *posterior.Posterior) error {
	header, list, err := encode(p)
	if err != nil {
		return err
	}
	text := &npy.Array{Shape: []int{len(header)}, Data: make([]float64, len(header)), DType: "|u1"}
	for i, b := range header {
		text.Data[i] = float64(b)
	}
	return npy.WriteZip(w, append([]npy.Named{{Name: metaName, Array: text}}, list...))
}
