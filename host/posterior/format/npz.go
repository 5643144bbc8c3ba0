package format

import (
	"fmt"
	"io"
	"slices"

	"psafe/host/npy"
	"psafe/host/posterior"
)

// metaName is the array of a psafe .npz that holds the JSON header, one byte per
// element.
const metaName = "__meta__"

// parseNPZ reads the members of a psafe .npz.
func parseNPZ(members []npy.Member) (*contents, error) {
	byName := map[string]*npy.Array{}
	var text []byte
	for _, member := range members {
		h, payload, err := npy.ParseHeader(member.File)
		if err != nil {
			return nil, fmt.Errorf("array %.60q: %w", member.Name, err)
		}
		// Only the header is of bytes. Were a weight, a small zip could grow to
		// eight times what its members unpack to.
		isText, isBytes := member.Name == metaName, h.Descr == "|u1"
		switch {
		case h.IsObject():
			return nil, fmt.Errorf("array %.60q holds Python objects: a psafe .npz has numbers only", member.Name)
		case isText && !isBytes:
			return nil, fmt.Errorf("array %s has type %.10q: the JSON header needs uint8", metaName, h.Descr)
		case isText:
			if n, err := npy.Count(h.Shape, 1, len(payload)); err != nil || n != len(payload) {
				return nil, fmt.Errorf("array %s of shape %v has %d bytes", metaName, h.Shape, len(payload))
			}
			text = payload
			continue
		case !slices.Contains([]string{"<f4", ">f4", "<f8", ">f8"}, h.Descr):
			return nil, fmt.Errorf("array %.60q has type %.10q: save float32 or float64", member.Name, h.Descr)
		}
		if byName[member.Name], err = npy.Decode(h, payload); err != nil {
			return nil, fmt.Errorf("array %.60q: %w", member.Name, err)
		}
	}
	m, err := parseMeta(text)
	if err != nil {
		return nil, fmt.Errorf("array %s: %w", metaName, err)
	}
	return m.contents("psafe", byName)
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
