package property

import (
	"crypto/sha256"
	"fmt"

	"psafe/internal/infile"
)

// Masses are boxes of inputs, each with the probability of being there.
type Masses struct {
	Boxes  []Box
	Of     []Decimal
	SHA256 string
}

// ReadMasses reads {"boxes": [[[lo, hi], ...], ...], "masses": [p, ...]}, boxes as a property file has them. Errors are one
// line that names the file.
func ReadMasses(path string) (*Masses, error) {
	data, err := infile.ReadAll(path, maxPropertyFile)
	if err != nil {
		return nil, inFile(path, err)
	}
	m := &Masses{SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}
	if err := m.parse(data); err != nil {
		return nil, inFile(path, lineFirst(err))
	}
	return m, nil
}

func (m *Masses) parse(data []byte) error {
	top, err := parseJSON(data)
	if err != nil {
		return err
	}
	boxes, masses := top.values["boxes"], top.values["masses"]
	if boxes == nil || masses == nil {
		return top.errorf(`expected an object with "boxes" and "masses", found %s`, top.describe())
	}
	if err := top.onlyKeys("the file", "boxes", "masses"); err != nil {
		return err
	}
	if m.Boxes, _, err = parseBoxes(boxes); err != nil {
		return err
	}
	if masses.kind != '[' || len(masses.items) != len(m.Boxes) {
		return masses.errorf("masses: expected a list of %d, one for each box, found %s", len(m.Boxes), masses.count())
	}
	for i, item := range masses.items {
		p, err := item.decimal()
		if err != nil {
			return fmt.Errorf("mass %d: %w", i, err)
		}
		m.Of = append(m.Of, p)
	}
	return nil
}
