package property

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxVector bounds the numbers of a vector.
const maxVector = 1 << 24

// Vector is a real number for each input of a network: the same for all of them, or one for
// each. Every number is held as the interval that encloses it.
type Vector struct {
	// each has a number for each input, in the network's order; nil if every one has all.
	each []Decimal
	all  Decimal
	// SHA256 is the lower-case hexadecimal digest of the file that the numbers were read from,
	// empty if they were written out.
	SHA256 string
}

// ParseVector reads the numbers of a vector:
//
//	8/255           one for all inputs, as NewDecimal reads it
//	[0.1,0,1/3]     one for each
//	radii.npy       one for each, from a NumPy file of one axis
//
// An error is one line; that of a file begins with its name.
func ParseVector(text string) (Vector, error) {
	text = strings.TrimSpace(text)
	switch {
	case VectorFile(text) != "":
		rows, digest, err := readRows(text, 1)
		if err != nil {
			return Vector{}, err
		}
		return Vector{each: rows[0], SHA256: digest}, nil
	case strings.HasPrefix(text, "["):
		body, closed := strings.CutSuffix(text[1:], "]")
		if !closed || strings.ContainsAny(body, "[]") {
			return Vector{}, fmt.Errorf("%s is no list; write the numbers of all inputs as in [0.1,0,1/3]", quote(text))
		}
		each, err := parseNumbers(strings.Split(body, ","))
		return Vector{each: each}, err
	}
	all, err := NewDecimal(text)
	return Vector{all: all}, err
}

// VectorFile is the file that the text of a vector names, empty if it names none.
func VectorFile(text string) string {
	if text = strings.TrimSpace(text); strings.HasSuffix(text, ".npy") {
		return text
	}
	return ""
}

// equal reports whether both have the same number for every input.
func (v *Vector) equal(w *Vector) bool {
	return v.all == w.all && slices.Equal(v.each, w.each)
}

// parseNumbers reads a number of each text.
func parseNumbers(texts []string) ([]Decimal, error) {
	numbers := make([]Decimal, len(texts))
	for j, text := range texts {
		var err error
		if numbers[j], err = NewDecimal(strings.TrimSpace(text)); err != nil {
			return nil, fmt.Errorf("number %d of the list: %w", j, err)
		}
	}
	return numbers, nil
}

// readRows reads a NumPy file of so many rows of numbers; one row may stand without an axis
// of rows. Every number is a float64, and its own enclosure.
func readRows(path string, rows int) (out [][]Decimal, digest string, err error) {
	var a *array
	digest, err = openSource(path, func(s *source, member string) (err error) {
		a, err = decodeArray(s, member, func(shape []int, bytes bool) error { return fitsRows(shape, bytes, rows) })
		if err == nil && (a == nil || a.png) {
			err = fmt.Errorf("is no NumPy file; save the numbers with numpy.save")
		}
		return err
	})
	if err != nil {
		return nil, "", inFile(path, err)
	}
	length := len(a.data) / rows
	for k := range rows {
		row := make([]Decimal, length)
		for j, v := range a.data[k*length : (k+1)*length] {
			if !(math.Abs(v) <= math.MaxFloat64) {
				return nil, "", inFile(path, fmt.Errorf("number %d is %v; every number must be finite", k*length+j, v))
			}
			row[j] = Decimal{0 + v, 0 + v} // never negative zero
		}
		out = append(out, row)
	}
	return out, digest, nil
}

// fitsRows returns why an array of that shape is not so many rows of numbers.
func fitsRows(shape []int, bytes bool, rows int) error {
	want := "(inputs,)"
	if rows > 1 {
		want = fmt.Sprintf("(%d, inputs)", rows)
	}
	flat := rows == 1 && len(shape) == 1
	switch {
	case bytes:
		return fmt.Errorf("holds bytes, of which nobody knows whether they mean 0 to 255 or 0 to 1; save it as an array of float64")
	case !flat && !(rows > 1 && len(shape) == 2 && shape[0] == rows):
		return fmt.Errorf("has shape %v; save an array of shape %s, in the order of the network's inputs", shape, want)
	case shape[len(shape)-1] < 1 || shape[len(shape)-1] > maxVector:
		return fmt.Errorf("has shape %v; give a number for each input, at most %d", shape, maxVector)
	}
	return nil
}

// at is the number of input j.
func (v *Vector) at(j int) Decimal {
	if v.each == nil {
		return v.all
	}
	return v.each[j]
}

// fits returns an error unless there is a number for each of so many inputs.
func (v *Vector) fits(inputs int) error {
	if v.each != nil && len(v.each) != inputs {
		return fmt.Errorf("has %d numbers, the network has %d inputs; give one for each, or one for all without brackets", len(v.each), inputs)
	}
	return nil
}

// negated is the vector of minus the numbers.
func (v *Vector) negated() Vector {
	minus := func(d Decimal) Decimal { return Decimal{0 - d.Hi, 0 - d.Lo} }
	n := Vector{all: minus(v.all)}
	for _, d := range v.each {
		n.each = append(n.each, minus(d))
	}
	return n
}

// find returns the first input for which a number satisfies what is asked, -1 if none does;
// where all inputs have one number, that is input 0.
func (v *Vector) find(is func(Decimal) bool) int {
	if v.each == nil {
		if is(v.all) {
			return 0
		}
		return -1
	}
	for j, d := range v.each {
		if is(d) {
			return j
		}
	}
	return -1
}

// SplitList splits a list at the commas that are in no brackets: "0.1,[0,1],r.npy" are
// three.
func SplitList(text string) []string {
	var parts []string
	depth, from := 0, 0
	for k, c := range []byte(text) {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			parts, from = append(parts, text[from:k]), k+1
		}
	}
	return append(parts, text[from:])
}
