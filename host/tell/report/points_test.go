package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"psafe/host/read/property"
)

// TestPack: both forms of a column give its texts back.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	forms := map[bool]int{}
	for range 300 {
		n, words := 1+rng.IntN(40), 1+rng.IntN(40)
		var texts []string
		for range n {
			texts = append(texts, strings.Repeat("x", rng.IntN(3))+fmt.Sprint(rng.IntN(words)))
		}
		if rng.IntN(4) == 0 {
			texts[0] = ""
		}
		var p packer
		for _, text := range texts {
			p.add(text)
		}
		c := p.column("c")
		forms[c.Words == nil]++
		d := decoded{Rows: n, Columns: []column{c}}
		if got := d.cells("c"); strings.Join(got, "|") != strings.Join(texts, "|") {
			t.Fatalf("%q became %q", texts, got)
		}
	}
	if forms[true] == 0 || forms[false] == 0 {
		t.Errorf("forms: %v", forms)
	}
}

// imagesOf writes a file of n grey images, and gives its digest.
func imagesOf(t *testing.T, path string, n, side int) string {
	t.Helper()
	idx := []byte{0, 0, 8, 3, 0, 0, 0, byte(n), 0, 0, 0, byte(side), 0, 0, 0, byte(side)}
	for i := range n * side * side {
		idx = append(idx, byte(i))
	}
	if err := os.WriteFile(path, idx, 0o666); err != nil {
		t.Fatal(err)
	}
	points, err := property.ReadPoints(path, property.InputOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return points.SHA256
}

// TestImages: the picture has the pixels of the data file, the weakest inputs first, wherever
// the file is found; a file with another digest is not drawn, and a note says so.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	there, moved := filepath.Join(dir, "images.idx"), filepath.Join(dir, "moved.idx")
	digest := imagesOf(t, there, 40, 5)
	records := synthetic(48 * 20)
	for i := range records {
		records[i].Inputs, records[i].InputsSHA256 = there, digest
	}
	page, notes := Make(records, Options{Inputs: 7})
	if len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
	d := decode(t, page)
	index, picture := d.cells("index"), d.cells("picture")
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(d.Sets[0].Picture, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{}
	for row := range index {
		if old, known := places[index[row]]; known && old != picture[row] {
			t.Fatalf("input %s has pictures %s and %s", index[row], old, picture[row])
		}
		places[index[row]] = picture[row]
		if picture[row] == "" {
			continue
		}
		var i, p int
		fmt.Sscan(index[row], &i)
		fmt.Sscan(picture[row], &p)
		for k := range 25 {
			grey, _, _, _ := img.At(p%3*5+k%5, p/3*5+k/5).RGBA()
			if byte(grey>>8) != byte(i*25+k) {
				t.Fatalf("input %d: pixel %d is %d", i, k, grey>>8)
			}
		}
	}
	if picture[0] != "0" || len(places) != 20 {
		t.Errorf("the weakest has picture %q; %d inputs", picture[0], len(places))
	}

	if err := os.Rename(there, moved); err != nil {
		t.Fatal(err)
	}
	if _, notes := Make(records, Options{Inputs: 7}); len(notes) != 1 || !strings.Contains(notes[0], "images.idx are not drawn") || !strings.Contains(notes[0], "--points") {
		t.Errorf("without the file: %q", notes)
	}
	again, notes := Make(records, Options{Inputs: 7, Points: []string{moved}})
	if len(notes) != 0 || !bytes.Equal(again, page) {
		t.Errorf("with --points: %q, or another page", notes)
	}
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	imagesOf(t, filepath.Join(other, "images.idx"), 41, 5)
	page, notes = Make(records, Options{Inputs: 7, Data: other})
	if d := decode(t, page); len(notes) != 1 || d.Sets[0].Kind != "" || d.Sets[0].Note == "" || d.cells("picture")[0] != "" {
		t.Errorf("with another file: %q, %+v", notes, d.Sets)
	}
	imagesOf(t, filepath.Join(other, "images.idx"), 40, 5)
	if _, notes := Make(records, Options{Inputs: 7, Data: other}); len(notes) != 0 {
		t.Errorf("with --data: %q", notes)
	}
}

// TestValues: points that are no images are given as numbers, those of CSV without the column of
// labels, and properties with boxes as the file writes them.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	csv, boxes := filepath.Join(dir, "points.csv"), filepath.Join(dir, "p.json")
	for path, text := range map[string]string{csv: "a,class,b\n0.1,3,-2\n0.25,1,1e3\n", boxes: `{"properties": [{"name": "n", "kind": "argmax_is", "class": 1, "boxes": [[[0, 0.10], [-1e-3, 1]], [[2, 3], [4, 5]]]}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	points, err := property.ReadPoints(csv, property.InputOptions{LabelColumn: "class"})
	if err != nil {
		t.Fatal(err)
	}
	records := synthetic(2)
	for i := range records {
		r := records[i].Record
		r.Index, r.Inputs, r.InputsSHA256, r.Flags, r.PLower, r.PUpper, r.Log10PLower = i, csv, points.SHA256, "--method ibp --label-column class", 0, 1, nil
		r.Decide(r.Require)
	}
	more := synthetic(1)[0]
	more.Eps, more.Inputs, more.InputsSHA256, more.Line = "", boxes, digestOf(t, boxes), 3
	more.PLower, more.PUpper, more.Verdict = 1, 1, "safe"
	page, notes := Make(append(records, more), Options{Inputs: 10})
	d := decode(t, page)
	if want := `[{points.csv values   [[0.1 -2] [0.25 1000]] 0 0} {p.json boxes   [[[0, 0.10] × [-1e-3, 1] [2, 3] × [4, 5]]] 0 0}]`; fmt.Sprint(d.Sets) != want {
		t.Errorf("%v, %q", d.Sets, notes)
	}
}

// TestGridOf: which shapes are images, and where their pixels are.
func TestGridOf(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  grid
		ok    bool
	}{
		{[]int{28, 27}, grid{28, 27, 1, 27, 1, 0}, true},
		{[]int{8, 9, 3}, grid{8, 9, 3, 27, 3, 1}, true},
		{[]int{3, 8, 9}, grid{8, 9, 3, 9, 1, 72}, true},
		{[]int{1, 8, 9}, grid{8, 9, 1, 9, 1, 72}, true},
		{[]int{784}, grid{}, false}, {nil, grid{}, false}, {[]int{2, 3}, grid{}, false}, {[]int{5, 8, 9}, grid{}, false},
	} {
		if g, ok := gridOf(c.shape); ok != c.ok || ok && g != c.want {
			t.Errorf("%v: %+v %v", c.shape, g, ok)
		}
	}
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
