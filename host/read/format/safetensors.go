package format

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"psafe/host/model/posterior"
	"psafe/host/read/npy"
)

// A safetensors file is the length of a JSON header in 8 bytes, little-endian,
// the header, and the tensors' bytes without gaps.

const (
	// maxSafetensorsHeader bounds the header, in bytes: room for psafe's own in its metadata
	// and for tens of thousands of tensors. The format's own limit is 100 MB.
	maxSafetensorsHeader = 16 << 20
	// maxSafetensorsValues bounds its values; a tensor has about fifteen.
	maxSafetensorsValues = 1 << 20
)

// Keys of the header: the file's metadata, and psafe's JSON header in it.
const (
	safetensorsMeta = "__metadata__"
	safetensorsKey  = "psafe"
)

// safetensor is one tensor of the header; Offsets are its first byte and the one
// after its last, counted from the end of the header.
type safetensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// looksLikeSafetensors recognises a header length below 2^48 and the brace that
// begins a header.
func looksLikeSafetensors(head []byte) bool {
	return len(head) > 8 && head[8] == '{' && head[6] == 0 && head[7] == 0
}

// parseSafetensors reads a safetensors file with psafe's keys.
func parseSafetensors(file blob) (*contents, error) {
	header, data, err := openSafetensors(file)
	if err != nil {
		return nil, err
	}
	if header.psafe == "" {
		return nil, fmt.Errorf("safetensors metadata has no entry %q: name its tensors in Python, by save_gaussian of the file that psafe exporter prints", safetensorsKey)
	}
	m, err := parseMeta([]byte(header.psafe))
	if err != nil {
		return nil, fmt.Errorf("safetensors metadata %q: %w", safetensorsKey, err)
	}
	byName, err := header.arrays(data)
	if err != nil {
		return nil, err
	}
	return m.contents("safetensors", byName, file.size)
}

// openSafetensors gives the header of a safetensors file, and the data after it.
func openSafetensors(file blob) (header *safetensorsHeader, data blob, err error) {
	head, err := file.head()
	if err != nil {
		return nil, data, err
	}
	length, left := binary.LittleEndian.Uint64(head), file.size-8
	if length > maxSafetensorsHeader || length > uint64(left) {
		return nil, data, fmt.Errorf("safetensors header of %d bytes: the file has %d, at most %d are allowed", length, left, maxSafetensorsHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(file.from(8, left), text); err != nil {
		return nil, data, err
	}
	if header, err = parseSafetensorsHeader(text); err != nil {
		return nil, data, fmt.Errorf("safetensors header: %w", err)
	}
	at := 8 + int64(length)
	return header, blob{file.from(at, file.size-at), file.size - at}, nil
}

// safetensorsHeader is a decoded header.
type safetensorsHeader struct {
	psafe   string
	tensors map[string]safetensor
}

func parseSafetensorsHeader(text []byte) (*safetensorsHeader, error) {
	if err := checkJSON(text, maxMetaDepth, maxSafetensorsValues); err != nil {
		return nil, err
	}
	if err := checkKeys(text, nil); err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	h := &safetensorsHeader{tensors: map[string]safetensor{}}
	for name, value := range raw {
		if name == safetensorsMeta {
			var metadata map[string]string
			if err := json.Unmarshal(value, &metadata); err != nil {
				return nil, fmt.Errorf("%s: %w", safetensorsMeta, err)
			}
			h.psafe = metadata[safetensorsKey]
			continue
		}
		if err := checkKeys(value, []string{"dtype", "shape", "data_offsets"}); err != nil {
			return nil, fmt.Errorf("tensor %.60q: %w", name, err)
		}
		var t safetensor
		if err := json.Unmarshal(value, &t); err != nil {
			return nil, fmt.Errorf("tensor %.60q: %w", name, err)
		}
		if len(t.Offsets) != 2 || t.Shape == nil {
			return nil, fmt.Errorf("tensor %.60q needs a shape and two data_offsets", name)
		}
		h.tensors[name] = t
	}
	return h, nil
}

// arrays cuts data into the tensors. They must cover it without overlap or gap.
func (h *safetensorsHeader) arrays(data blob) (map[string]lazy, error) {
	names := slices.SortedFunc(maps.Keys(h.tensors), func(a, b string) int {
		x, y := h.tensors[a].Offsets, h.tensors[b].Offsets
		if c := slices.Compare(x, y); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	byName := map[string]lazy{}
	end := uint64(0)
	for _, name := range names {
		t := h.tensors[name]
		from, to := t.Offsets[0], t.Offsets[1]
		if from > to || to > uint64(data.size) {
			return nil, fmt.Errorf("tensor %.60q has offsets %d to %d in %d bytes of data", name, from, to, data.size)
		}
		if from != end {
			return nil, fmt.Errorf("tensor %.60q begins at byte %d of the data, the one before ends at %d: overlap or gap", name, from, end)
		}
		a, err := t.lazy(blob{data.from(int64(from), int64(to-from)), int64(to - from)})
		if err != nil {
			return nil, fmt.Errorf("tensor %.60q: %w", name, err)
		}
		a.shape = t.Shape
		byName[name], end = a, to
	}
	if end != uint64(data.size) {
		return nil, fmt.Errorf("%d bytes of data belong to no tensor", uint64(data.size)-end)
	}
	return byName, nil
}

// tensorTypes are the types that are read, all exactly: how long a number is, and which.
var tensorTypes = map[string]struct {
	size  int
	value func([]byte) float64
}{
	"F64": {8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	"F32": {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"F16": {2, func(b []byte) float64 { return npy.Half(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float64 {
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}},
}

// lazy checks that one tensor's bytes are what its shape needs.
func (t *safetensor) lazy(raw blob) (lazy, error) {
	of, known := tensorTypes[t.DType]
	if !known {
		return lazy{}, fmt.Errorf("type %.20q is none of F64, F32, F16, BF16", t.DType)
	}
	n, err := npy.Count(t.Shape, of.size, raw.size)
	if err != nil {
		return lazy{}, err
	}
	if need := int64(n) * int64(of.size); need != raw.size {
		return lazy{}, fmt.Errorf("shape %v of %s needs %d bytes, there are %d", t.Shape, t.DType, need, raw.size)
	}
	return lazy{t.Shape, func() (*npy.Array, error) {
		value := func(b []byte) (float64, bool) { return of.value(b), true }
		data, _, err := npy.Floats(raw.from(0, raw.size), n, of.size, value)
		return &npy.Array{Shape: t.Shape, Data: data, DType: t.DType}, err
	}}, nil
}

// WriteSafetensors writes p as a safetensors file with the arrays and the JSON
// header of the psafe format. What WriteNPZ says holds here too.
func WriteSafetensors(w io.Writer, p *posterior.Posterior) error {
	meta, list, err := encode(p)
	if err != nil {
		return err
	}
	header := map[string]any{safetensorsMeta: map[string]string{safetensorsKey: string(meta)}}
	var data []byte
	for _, a := range list {
		from := uint64(len(data))
		dtype := "F64"
		if a.Array.DType == "<f4" {
			dtype = "F32"
		}
		for _, v := range a.Array.Data {
			if dtype == "F32" {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
			} else {
				data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
			}
		}
		header[a.Name] = safetensor{DType: dtype, Shape: a.Array.Shape, Offsets: []uint64{from, uint64(len(data))}}
	}
	// encoding/json sorts the keys of a map, so the bytes are always the same.
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	// The data begins at a multiple of 8 bytes, as other writers align it.
	text = append(text, strings.Repeat(" ", (8-len(text)%8)%8)...)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	file = append(append(file, text...), data...)
	_, err = w.Write(file)
	return err
}
