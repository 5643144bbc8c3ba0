package format

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"psafe/host/npy"
	"psafe/host/posterior"
)

// A safetensors file is the length of a JSON header in 8 bytes, little-endian,
// the header, and the tensors' bytes without gaps.

// maxSafetensorsHeader is the format's own limit, in bytes.
const maxSafetensorsHeader = 100_000_000

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
func looksLikeSafetensors(file []byte) bool {
	return len(file) > 8 && file[8] == '{' && file[6] == 0 && file[7] == 0
}

// parseSafetensors reads a safetensors file with psafe's keys.
func parseSafetensors(file []byte) (*contents, error) {
	length, body := binary.LittleEndian.Uint64(file), file[8:]
	if length > maxSafetensorsHeader || length > uint64(len(body)) {
		return nil, fmt.Errorf("safetensors header of %d bytes: the file has %d, at most %d are allowed", length, len(body), maxSafetensorsHeader)
	}
	header, err := parseSafetensorsHeader(body[:length])
	if err != nil {
		return nil, fmt.Errorf("safetensors header: %w", err)
	}
	if header.psafe == "" {
		return nil, fmt.Errorf("safetensors metadata has no entry %q: see docs/formats.md for what it must say", safetensorsKey)
	}
	m, err := parseMeta([]byte(header.psafe))
	if err != nil {
		return nil, fmt.Errorf("safetensors metadata %q: %w", safetensorsKey, err)
	}
	byName, err := header.arrays(body[length:])
	if err != nil {
		return nil, err
	}
	return m.contents("safetensors", byName)
}

// safetensorsHeader is a decoded header.
type safetensorsHeader struct {
	psafe   string
	tensors map[string]safetensor
}

func parseSafetensorsHeader(text []byte) (*safetensorsHeader, error) {
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
func (h *safetensorsHeader) arrays(data []byte) (map[string]*npy.Array, error) {
	names := make([]string, 0, len(h.tensors))
	for name := range h.tensors {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := h.tensors[a].Offsets, h.tensors[b].Offsets
		if c := slices.Compare(x, y); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	byName := map[string]*npy.Array{}
	end := uint64(0)
	for _, name := range names {
		t := h.tensors[name]
		from, to := t.Offsets[0], t.Offsets[1]
		if from > to || to > uint64(len(data)) {
			return nil, fmt.Errorf("tensor %.60q has offsets %d to %d in %d bytes of data", name, from, to, len(data))
		}
		if from != end {
			return nil, fmt.Errorf("tensor %.60q begins at byte %d of the data, the one before ends at %d: overlap or gap", name, from, end)
		}
		a, err := t.array(data[from:to])
		if err != nil {
			return nil, fmt.Errorf("tensor %.60q: %w", name, err)
		}
		byName[name], end = a, to
	}
	if end != uint64(len(data)) {
		return nil, fmt.Errorf("%d bytes of data belong to no tensor", uint64(len(data))-end)
	}
	return byName, nil
}

// array decodes one tensor, exactly.
func (t *safetensor) array(raw []byte) (*npy.Array, error) {
	switch t.DType {
	case "F32":
		return npy.Decode(npy.Header{Descr: "<f4", Shape: t.Shape}, raw)
	case "F64":
		return npy.Decode(npy.Header{Descr: "<f8", Shape: t.Shape}, raw)
	case "F16", "BF16":
		n, err := npy.Count(t.Shape, 2, len(raw))
		if err != nil {
			return nil, err
		}
		if 2*n != len(raw) {
			return nil, fmt.Errorf("shape %v of %s needs %d bytes, there are %d", t.Shape, t.DType, 2*n, len(raw))
		}
		widen := halfToFloat
		if t.DType == "BF16" {
			widen = func(h uint16) float64 { return float64(math.Float32frombits(uint32(h) << 16)) }
		}
		data := make([]float64, n)
		for i := range data {
			data[i] = widen(binary.LittleEndian.Uint16(raw[2*i:]))
		}
		return &npy.Array{Shape: t.Shape, Data: data, DType: t.DType}, nil
	}
	return nil, fmt.Errorf("type %.20q is none of F64, F32, F16, BF16", t.DType)
}

// halfToFloat gives the number that IEEE 754 binary16 bits stand for, exactly.
func halfToFloat(h uint16) float64 {
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
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
