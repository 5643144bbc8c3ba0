package property

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/internal/fault"
)

// TestTemplates: the box of a property relative to a point is the real one, rounded outward,
// and inward what is known of it.
func TestTemplates(t *testing.T) {
	text := `{"properties": [
 {"name": "a", "kind": "argmax_is", "class": "label", "relative": [[-0.1, "1/3"], [0.05, 0.2]], "gamma": 2, "samples_per_box": 7},
 {"kind": "argmax_is_never", "class": 1, "relative": {"eps": "8/255"}},
 {"name": "c", "kind": "output_box", "output": [[0, 1], [null, 2]], "relative": {"eps": [0, 0.3]}}]}`
	path := write(t, "t.json", text)
	templates, digest, err := ReadTemplates(path, 2, 2)
	if err != nil || len(templates) != 3 || len(digest) != 64 {
		t.Fatalf("%d templates, %q, %v", len(templates), digest, err)
	}
	clip, err := ReadRegion(RegionText{Clip: []string{"0", "0.7"}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	points, err := decodePoints(textSource(t, "0.1,0.6\n"), "", InputOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range [][2][2]string{{{"0", "13/30"}, {"0.65", "0.7"}}, {{"35/510", "67/510"}, {"290/510", "322/510"}}, {{"0.1", "0.1"}, {"0.3", "0.7"}}} {
		region := templates[k].Around(clip)
		outer, err := points.Around(0, region)
		if err != nil {
			t.Fatal(err)
		}
		inner := points.Inside(0, region)
		for j := range 2 {
			if k == 1 { // 0.1 and 0.6 less and plus 8/255
				v := []*big.Rat{number("0.1"), number("0.6")}[j]
				want[j] = [2]string{new(big.Rat).Sub(v, number("8/255")).String(), new(big.Rat).Add(v, number("8/255")).String()}
			}
			checkNested(t, fmt.Sprint("template ", k), outer, inner, j, number(want[j][0]), number(want[j][1]), 0x1p-50)
		}
	}
	a := templates[0]
	for class := range 2 {
		if s, label, err := a.Safe(class); err != nil || label != class || len(s.Rows) != 1 || s.Rows[0].CLo[class] != 1 {
			t.Errorf("class %d: %v, %d, %v", class, s, label, err)
		}
	}
	if _, _, err := a.Safe(2); err == nil || !a.ByLabel || a.Gamma != 2 || a.Samples != 7 || a.Words() != "a" {
		t.Errorf("%+v, %v", a, err)
	}
	open, err := parseTemplates([]byte(one(`"kind": "rows", "safe": "margin:1/2", "relative": {"eps": 1}`)), 2, 2)
	if err != nil || !open[0].ByLabel {
		t.Fatal(err)
	}
	for class := range 2 {
		if s, label, err := open[0].Safe(class); err != nil || label != class || len(s.Rows) != 1 || s.Rows[0].CLo[class] != 1 || s.Rows[0].D != -0.5 {
			t.Errorf("class %d: %v, %d, %v", class, s, label, err)
		}
	}
	if _, label, err := templates[1].Safe(0); err != nil || label != 1 || templates[1].Words() != "number 1 of the property file" {
		t.Errorf("label %d, %v", label, err)
	}
	_, err = ReadFile(path, 2)
	wantError(t, err, `line 2: property "a": "relative" boxes are around data points; name those with --inputs`)
}

func TestTemplateErrors(t *testing.T) {
	const is = `"kind": "argmax_is", "class": "label", `
	for text, want := range map[string]string{
		is + `"relative": 3`: "relative: expected a list of pairs", is + `"relative": []`: "a list of 0", is + `"relative": {}`: `relative: "eps" is missing`,
		is + `"relative": {"eps": -1}`: "eps: a radius is at least 0", is + `"relative": {"eps": [0, "-1/2"]}`: "eps: a radius is at least 0",
		is + `"relative": {"eps": []}`: "the list is empty", is + `"relative": {"eps": "x"}`: "eps: expected a number", is + `"relative": {"eps": [0, null]}`: "eps: number 1: expected a number",
		is + `"relative": {"eps": 1, "clip": 2}`: `unknown key "clip"`, is + `"relative": {"eps": [1]}`: "relative: has 1 numbers, the network has 2 inputs",
		is + `"relative": [[0, 1]]`: "relative: has 1 numbers, the network has 2 inputs", is + `"relative": [[0, 1], [1, 0]]`: `coordinate 1: lower bound "1" is above`,
		is + `"relative": [[0, 1], [null, 0]]`: "coordinate 1: expected a number", is + `"relative": [[0, 1], [0, 1]], "boxes": [[[0, 1]]]`: `unknown key "boxes"`,
		`"kind": "argmax_is", "class": "first", "relative": {"eps": 1}`: "class: expected a whole number", `"kind": "output_box", "output": "label", "relative": {"eps": 1}`: "output: expected a list",
		is + `"relative": {"eps": 1}, "gamma": 0`: "gamma",
	} {
		_, _, err := ReadTemplates(write(t, "t.json", one(text)), 2, 2)
		wantError(t, err, "t.json: line ", want)
	}
	_, _, err := ReadTemplates(write(t, "t.json", one(`"kind": "argmax_is", "class": 0, "boxes": [[[0, 1]]]`)), 2, 2)
	if !errors.Is(err, ErrOwnBoxes) {
		t.Error(err)
	}
	relative := `{"name": "r", "kind": "argmax_is", "class": 0, "relative": {"eps": 1}}`
	_, _, err = ReadTemplates(write(t, "t.json", `{"properties": [`+relative+`, {"name": "q", "kind": "argmax_is", "class": 0, "boxes": [[[0, 1]]]}]}`), 2, 2)
	wantError(t, err, `property "q": "relative" is missing, which those before have`)
	_, _, err = ReadTemplates(write(t, "t.json", `{"properties": [`+relative+`]}`), 2, 1)
	wantError(t, err, "at least 2 outputs")
	_, _, err = ReadTemplates("none.json", 2, 2)
	wantError(t, err, "none.json: cannot open")
	wantPanic(t, func() { _, _, _ = ReadTemplates("x", 2, 0) }, "0 outputs")
}

// FuzzTemplates looks for panics, for errors of more than one line, and for templates that
// make tasks which are not well-formed.
func FuzzTemplates(f *testing.F) {
	f.Add(one(`"kind": "argmax_is", "class": "label", "relative": [[-0.1, "1/3"], [0, 0]]`))
	f.Add(one(`"kind": "rows", "safe": {"row": [1, -1]}, "relative": {"eps": [0.1, 0]}, "gamma": 1, "samples_per_box": 2`))
	f.Fuzz(func(t *testing.T, text string) {
		templates, err := parseTemplates([]byte(text), 2, 2)
		if errors.Is(err, ErrOwnBoxes) {
			return
		}
		if err != nil {
			wantError(t, lineFirst(err), "line ")
			return
		}
		for _, of := range templates {
			box, err := of.Around(&Region{}).Around([]float64{0, 1}, []float64{0, 1})
			if err != nil {
				wantError(t, err)
				continue
			}
			task := Task{T: []Box{box}, Inner: []Box{of.Around(&Region{}).Inside([]float64{0, 1}, []float64{0, 1})}}
			if task.S, task.Label, err = of.Safe(1); err == nil {
				err = task.Check(2, 2)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestVectorFiles: NumPy files of radii and of intervals.
func TestVectorFiles(t *testing.T) {
	two := write(t, "r.npy", npyFile("<f8", "(2,)", []float64{0.5, 0}))
	v, err := ParseVector(two)
	if err != nil || len(v.SHA256) != 64 || !slices.Equal(v.each, []Decimal{exactly(0.5), exactly(0)}) {
		t.Errorf("%+v, %v", v, err)
	}
	rows := write(t, "c.npy", npyFile("<f4", "(2, 2)", []float32{0, -1, 1, 0.5}))
	r, err := ReadRegion(RegionText{Eps: two, Clip: []string{rows}}, 2)
	if err != nil || r.ClipSHA256 == "" || r.EpsSHA256 != v.SHA256 || r.clip[0].at(1) != exactly(-1) || r.clip[1].at(0) != exactly(1) {
		t.Errorf("%+v, %v", r, err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"bytes": {npyFile("|u1", "(2,)", []byte{1, 2}), "holds bytes"}, "matrix": {npyFile("<f8", "(1, 2)", []float64{1, 2}), "has shape [1 2]; save an array of shape (inputs,)"},
		"nan": {npyFile("<f8", "(2,)", []uint64{0, 0x7ff8000000000000}), "number 1 is NaN"}, "none": {npyFile("<f8", "(0,)", []float64{}), "has shape [0]"},
		"text": {"1,2\n", "is no NumPy file"}, "scalar": {npyFile("<f8", "()", []float64{1}), "has shape []"},
	} {
		path := write(t, name+".npy", c.content)
		_, err := ParseVector(path)
		wantError(t, err, path+": ", c.want)
	}
	_, err = ReadRegion(RegionText{Clip: []string{two}}, 2)
	wantError(t, err, "--clip: ", "save an array of shape (2, inputs)")
	_, err = ReadRegion(RegionText{Eps: two}, 3)
	wantError(t, err, "--eps: has 2 numbers, the network has 3 inputs")
}

// TestDocumentedTemplates: the example of docs/files.md is read as it stands there.
func TestDocumentedTemplates(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "files.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "### Boxes relative to data points")
	_, text, _ = strings.Cut(text, "```json\n")
	text, _, _ = strings.Cut(text, "```")
	templates, _, err := ReadTemplates(write(t, "t.json", text), 3, 3)
	if err != nil || len(templates) != 2 || !templates[0].ByLabel || templates[1].Name != "never 2" {
		t.Errorf("%v, %v", templates, err)
	}
}

// TestTemplateOnCores: tasks are made on all cores, with one template. The race detector looks.
func TestTemplateOnCores(t *testing.T) {
	templates, _, err := ReadTemplates(write(t, "t.json", `{"properties": [{"kind": "argmax_is", "class": "label", "relative": {"eps": 0.1}}]}`), 3, 30)
	if err != nil {
		t.Fatal(err)
	}
	err = fault.OnCores(t.Context(), 90, func(i int) {
		s, class, err := templates[0].Safe(i % 30)
		if err != nil || class != i%30 || len(s.Rows) != 29 {
			t.Errorf("class %d: %d rows of %d, %v", i%30, len(s.Rows), class, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
