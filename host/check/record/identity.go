package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"psafe/host/record/fields"
)

// Identities returns what the field id may be: the digest of what the line says of its question.
// Sums of neurons have float64 in the field precision, whatever was asked for.
func Identities(line []byte) ([]string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, err
	}
	for _, f := range fields.Table {
		if _, digest := values[f.Digest]; digest && f.Digest != "" {
			delete(values, f.Name) // a path
		}
	}
	if _, end := values["radius_end"]; end {
		delete(values, "eps") // what came out
	}
	array := arrayOf(string(values["inputs"]))
	delete(values, "inputs")
	if array != "" {
		values["inputs"] = json.RawMessage(array)
	}
	precisions := []string{string(values["precision"])}
	if string(values["method"]) == `"neuronsum"` {
		precisions = append(precisions, `"float32"`)
	}
	var list []string
	for _, p := range precisions {
		values["precision"] = json.RawMessage(p)
		var parts [][]byte
		for _, name := range fields.Asked() {
			if value, there := values[name]; there {
				parts = append(parts, fmt.Appendf(nil, "%q:%s", name, value))
			}
		}
		sum := sha256.Sum256(slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")))
		list = append(list, hex.EncodeToString(sum[:16]))
	}
	return list, nil
}

// arrayOf is, of the JSON text of FILE.npz:ARRAY, that of :ARRAY.
func arrayOf(path string) string {
	const archive = ".npz:"
	at := strings.LastIndex(path, archive)
	if at < 0 {
		return ""
	}
	return `"` + path[at+len(archive)-1:]
}

// Identified checks the field id.
func (r *Record) Identified(line []byte) error {
	ids, err := Identities(line)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if !slices.Contains(ids, r.ID) {
		return fmt.Errorf("id: it is %.40q, what the record says of its question makes it %q", r.ID, ids[0])
	}
	return nil
}

// RunOf is the field run of records with these ids, in the order of their tasks.
func RunOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n") + "\n"))
	return hex.EncodeToString(sum[:8])
}
