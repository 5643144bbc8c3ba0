package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/summary"
	"psafe/internal/infile"
)

// set holds what is drawn of the inputs of one data file or property file.
type set struct {
	Name string `json:"name"`
	// Kind is "image", "values" (the coordinates of a point) or "boxes" (of a property); empty
	// if the file was not found, and then Note says so.
	Kind string `json:"kind,omitempty"`
	Note string `json:"note,omitempty"`
	// Values are texts of the coordinates, or boxes, of each that is drawn; Dim is how many
	// coordinates there are, of which the first are given.
	Values [][]string `json:"values,omitempty"`
	Dim    int        `json:"dim,omitempty"`
	*sheet
}

// mostValues is how many coordinates of a point the page gives.
const mostValues = 64

// source tells data files apart, and ways to read one.
type source struct {
	sha256, scale, labelColumn string
	// array holds the array of an archive, whose digest is that of the whole: ":x" of "points.npz:x".
	array      string
	isProperty bool
}

// sourceOf returns where the input of a record comes from.
func sourceOf(r *record.Record) source {
	return source{r.InputsSHA256, r.InputScale, labelColumn(r.Flags), r.Member(), r.Eps == "" && r.TemplateSHA256 == ""}
}

// labelColumn is the value of --label-column among the flags of a record.
func labelColumn(flags string) string {
	_, after, there := strings.Cut(" "+flags, " --label-column ")
	if !there {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(after); err == nil {
		name, _ := strconv.Unquote(quoted)
		return name
	}
	name, _, _ := strings.Cut(after, " ")
	return name
}

// drawn is which inputs are drawn: of each record the number of its set, and the number of its
// input in that; both -1 where there is none.
type drawn struct {
	sets    []set
	of      []int
	picture []int
	notes   []string
}

// draw reads and draws the inputs of records, which are in the order of the page: the first
// most different ones.
func draw(records []record.Placed, o Options) *drawn {
	d := &drawn{of: make([]int, len(records)), picture: make([]int, len(records))}
	numbers := map[source]int{}
	var sources []source
	var names []string
	var firsts []*record.Record
	var inputs [][]int // of each set, the indices of the points that are drawn
	places := map[source]map[int]int{}
	all := 0
	for i := range records {
		r := records[i].Record
		d.of[i], d.picture[i] = -1, -1
		if r.InputsSHA256 == "" {
			continue
		}
		from := sourceOf(r)
		k, known := numbers[from]
		if !known {
			k = len(sources)
			numbers[from], places[from] = k, map[int]int{}
			sources, names, inputs, firsts = append(sources, from), append(names, r.Inputs), append(inputs, nil), append(firsts, r)
		}
		d.of[i] = k
		place, known := places[from][r.Index]
		if !known {
			if all == o.Inputs {
				continue
			}
			place = len(inputs[k])
			places[from][r.Index], inputs[k] = place, append(inputs[k], r.Index)
			all++
		}
		d.picture[i] = place
	}
	for k, from := range sources {
		own := o
		if len(own.Shape) == 0 && own.ShapeOf != nil {
			own.Shape = own.ShapeOf(firsts[k])
		}
		s, err := own.set(names[k], from, inputs[k])
		s.Name = shown(summary.Base(names[k]))
		if err != nil {
			s.Note = fmt.Sprintf("the inputs of %s are not drawn: %s", s.Name, shown(err.Error()))
			d.notes = append(d.notes, s.Note)
			for i := range d.of {
				if d.of[i] == k {
					d.picture[i] = -1
				}
			}
		}
		d.sets = append(d.sets, s)
	}
	return d
}

// set reads a file and draws the inputs of those indices.
func (o *Options) set(name string, from source, indices []int) (set, error) {
	if len(indices) == 0 {
		return set{}, nil
	}
	var reason error
	for _, path := range o.candidates(name) {
		var s set
		var err error
		if from.isProperty {
			s, err = readBoxes(path, from.sha256, indices)
		} else {
			s, err = o.readPoints(path, from, indices)
		}
		if err == nil {
			return s, nil
		}
		reason = err
	}
	return set{}, fmt.Errorf("%w: give the file that the records are about with --points", reason)
}

// Files are the files where the inputs of records are looked for, which no page must replace.
func (o *Options) Files(records []record.Placed) []string {
	var list []string
	for _, path := range o.Points {
		list = append(list, property.FilesOf(path)...)
	}
	seen := map[string]bool{}
	for i := range records {
		name := records[i].Inputs
		if seen[name] || name == "" {
			continue
		}
		seen[name] = true
		for _, path := range o.candidates(name) {
			list = append(list, property.FilesOf(path)...)
		}
	}
	return list
}

// candidates returns where a file that a record names may be; the last one is where the record says.
func (o *Options) candidates(name string) []string {
	list := slices.Clone(o.Points)
	// A file of that name is likely to be it, and others have to be read for nothing.
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Compare(bool01(summary.Base(a) != summary.Base(name)), bool01(summary.Base(b) != summary.Base(name)))
	})
	if o.Data != "" {
		list = append(list, filepath.Join(o.Data, summary.Base(name)))
	}
	for _, folder := range o.Bases {
		if !filepath.IsAbs(name) {
			list = append(list, filepath.Join(folder, name))
		}
	}
	return append(list, name)
}

func bool01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// readPoints draws points of a data file, which must have the digest of the records.
func (o *Options) readPoints(path string, from source, indices []int) (set, error) {
	if archive := property.FileOf(path); from.array != "" && strings.HasSuffix(archive, ".npz") {
		path = archive + from.array // whichever array --points names
	}
	points, err := property.ReadPoints(path, property.InputOptions{Scale: from.scale, LabelColumn: from.labelColumn})
	if err != nil {
		return set{}, err
	}
	if points.SHA256 != from.sha256 {
		return set{}, fmt.Errorf("%s: has another digest than the records say", path)
	}
	if last := slices.Max(indices); last >= points.N() || slices.Min(indices) < 0 {
		return set{}, fmt.Errorf("%s: has no point %d", path, last)
	}
	shape := points.Shape
	if n := 1; len(o.Shape) > 0 {
		for _, side := range o.Shape {
			n *= side
		}
		if n == points.Dim {
			shape = o.Shape
		}
	}
	if g, ok := gridOf(shape); ok {
		sheet, err := drawSheet(points, g, indices)
		return set{Kind: "image", sheet: sheet}, err
	}
	s := set{Kind: "values", Dim: points.Dim}
	for _, i := range indices {
		lo, hi := points.At(i)
		var values []string
		for j := range min(points.Dim, mostValues) {
			values = append(values, property.Decimal{Lo: lo[j], Hi: hi[j]}.String())
		}
		s.Values = append(s.Values, values)
	}
	return s, nil
}

// maxPropertyFile is the size of a property file whose boxes are shown, in bytes.
const maxPropertyFile = 64 << 20

// readBoxes lists the boxes of properties of a JSON property file, as it writes them.
func readBoxes(path, digest string, indices []int) (set, error) {
	text, err := infile.ReadAll(path, maxPropertyFile)
	if err != nil {
		return set{}, fmt.Errorf("%s: %w", path, err)
	}
	if fmt.Sprintf("%x", sha256.Sum256(text)) != digest {
		return set{}, fmt.Errorf("%s: has another digest than the records say", path)
	}
	var file struct {
		Properties []struct {
			Boxes [][][]json.Number `json:"boxes"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(infile.Unmarked(text), &file); err != nil {
		return set{}, fmt.Errorf("%s: only the boxes of JSON property files are shown", path)
	}
	s := set{Kind: "boxes"}
	for _, i := range indices {
		if i < 0 || i >= len(file.Properties) {
			return set{}, fmt.Errorf("%s: has no property %d", path, i)
		}
		var boxes []string
		for b, box := range file.Properties[i].Boxes {
			if b == mostValues {
				boxes = append(boxes, fmt.Sprintf("and %d more", len(file.Properties[i].Boxes)-b))
				break
			}
			boxes = append(boxes, boxText(box))
		}
		s.Values = append(s.Values, boxes)
	}
	return s, nil
}

// boxText writes a box as a product of intervals.
func boxText(box [][]json.Number) string {
	var sides []string
	for j, ends := range box {
		if j == mostValues {
			sides = append(sides, "...")
			break
		}
		var list []string
		for _, end := range ends {
			list = append(list, shown(end.String()))
		}
		sides = append(sides, "["+strings.Join(list, ", ")+"]")
	}
	return strings.Join(sides, " × ")
}
