package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// identityFields are those that the field id is the digest of (docs/cli.md), in their order.
var identityFields = []string{"activations", "channels", "clip", "clip_sha256", "eps", "eps_sha256", "fix", "flags", "free", "index", "input_scale", "inputs",
	"inputs_sha256", "label", "mean", "mean_sha256", "name", "numerics", "posterior_scale", "posterior_sd", "posterior_sd_sha256", "posterior_sha256",
	"precision", "property", "require", "seed", "std", "std_sha256", "template_entry", "template_sha256"}

// identities are what the field id may be: the digest of what the line says of its question.
// Sums of neurons have float64 in the field precision, whatever was asked for.
func identities(line []byte) ([]string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return nil, err
	}
	for _, of := range [][2]string{{"eps_sha256", "eps"}, {"mean_sha256", "mean"}, {"std_sha256", "std"}, {"clip_sha256", "clip"}} {
		if _, digest := fields[of[0]]; digest {
			delete(fields, of[1]) // a path
		}
	}
	array := arrayOf(string(fields["inputs"]))
	delete(fields, "inputs")
	if array != "" {
		fields["inputs"] = json.RawMessage(array)
	}
	precisions := []string{string(fields["precision"])}
	if string(fields["method"]) == `"neuronsum"` {
		precisions = append(precisions, `"float32"`)
	}
	var list []string
	for _, p := range precisions {
		fields["precision"] = json.RawMessage(p)
		var parts [][]byte
		for _, name := range identityFields {
			if value, there := fields[name]; there {
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

// identified checks the field id.
func (r *record) identified(line []byte) error {
	ids, err := identities(line)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if !slices.Contains(ids, r.ID) {
		return fmt.Errorf("id: it is %.40q, what the record says of its question makes it %q", r.ID, ids[0])
	}
	return nil
}

// runOf is the field run of records with these ids, in the order of their tasks.
func runOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n") + "\n"))
	return hex.EncodeToString(sum[:8])
}
