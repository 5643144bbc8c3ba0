package property

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"psafe/internal/infile"
)

// Boxes hold the regions of a property file, for figures.
type Boxes struct {
	// Of[i] is T of property i, rounded outward as in a Task.
	Of [][]Box
	// Columns are names of the inputs, nil if the file is silent.
	Columns []string
	// SHA256 is the lower-case hexadecimal digest of the file.
	SHA256 string
}

// ReadBoxes reads the boxes of a JSON property file, whatever its safe sets are. Errors are one line that names the file.
func ReadBoxes(path string) (*Boxes, error) {
	data, err := infile.ReadAll(path, maxPropertyFile)
	if err != nil {
		return nil, inFile(path, err)
	}
	b := &Boxes{SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
	if err := b.parse(data); err != nil {
		return nil, inFile(path, lineFirst(err))
	}
	return b, nil
}

func (b *Boxes) parse(data []byte) error {
	top, err := parseJSON(data)
	if err != nil {
		return err
	}
	list := top.values["properties"]
	if list == nil || len(list.items) == 0 {
		return errors.New("it is no JSON property file with boxes")
	}
	if b.Columns, err = top.values["columns"].texts("columns"); err != nil {
		return err
	}
	for i, n := range list.items {
		of := n.values["boxes"]
		if of == nil {
			return n.errorf("property %s has no boxes of its own", n.title(i))
		}
		boxes, _, err := parseBoxes(of)
		if err != nil {
			return fmt.Errorf("property %s: %w", n.title(i), err)
		}
		if dim := len(boxes[0].Lo); b.Columns != nil && len(b.Columns) != dim {
			return of.errorf("property %s: boxes have %d coordinates, the file has names of %d columns", n.title(i), dim, len(b.Columns))
		}
		b.Of = append(b.Of, boxes)
	}
	return nil
}
