package property

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
)

// one is a property file with one property named p of the given fields.
func one(fields string) string {
	return "{\"properties\": [\n{\"name\": \"p\", " + fields + "}\n]}\n"
}

func TestReadFile(t *testing.T) {
	path := write(t, "p.json", "\xef\xbb\xbf"+`{
 "posterior": "net", "inputs": "two", "outputs": "two", "note": ["anything", {"goes": 1}], "comment": 1, "paper_x": {},
 "properties": [
  {"name": "a", "kind": "argmax_is", "class": 1, "boxes": [[[0.1, 0.3], [-1, 1]], [[0, 0], [-0.3, -0.1]]],
   "gamma": 2.5, "samples_per_box": 100, "paper_ibp": 0.9},
  {"kind": "argmax_is_never", "class": 0, "boxes": [[[0, 1]]]},
  {"name": "c", "kind": "output_box", "output": [[0.1, 0.1], [null, 3]], "boxes": [[[0, 1]]]},
  {"name": "d", "kind": "rows", "boxes": [[[0, 1]]], "safe":
    {"note": "x", "or": [{"row": [0.1, -1], "offset": 0.1}, {"and": [{"row": [1, 0]}, {"row": [0.1, -1], "offset": 1e-1, "comment": ""}]}]}}
 ]}`)
	tasks, err := ReadFile(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	coef := func(a, b float64) []float64 { return []float64{a, b} }
	unit := []Box{{Lo: []float64{0}, Hi: []float64{1}}} // exact, so its own inner box
	want := []Task{
		// 0.1 is below its nearest float64 and 0.3 above its own.
		{Name: "a", Label: 1, S: ArgmaxIs(1, 2), Gamma: 2.5, Samples: 200, T: []Box{
			{Lo: coef(down(0.1), -1), Hi: coef(up(0.3), 1)}, {Lo: coef(0, down(-0.3)), Hi: coef(0, up(-0.1))}}, Inner: []Box{
			{Lo: coef(0.1, -1), Hi: coef(0.3, 1)}, {Lo: coef(0, -0.3), Hi: coef(0, -0.1)}}},
		{Index: 1, Label: 0, S: ArgmaxIsNever(0, 2), T: unit, Inner: unit},
		{Index: 2, Name: "c", Label: -1, T: unit, Inner: unit, S: Safe{Any: [][]int{{0, 1, 2}}, Rows: []Row{
			{CLo: coef(1, 0), CHi: coef(1, 0), D: -0.1, DHi: up(-0.1)}, {CLo: coef(-1, 0), CHi: coef(-1, 0), D: down(0.1), DHi: 0.1},
			{CLo: coef(0, -1), CHi: coef(0, -1), D: 3, DHi: 3}}}},
		{Index: 3, Name: "d", Label: -1, T: unit, Inner: unit, S: Safe{Any: [][]int{{0}, {0, 1}}, Rows: []Row{
			{CLo: coef(down(0.1), -1), CHi: coef(0.1, -1), D: down(0.1), DHi: 0.1}, {CLo: coef(1, 0), CHi: coef(1, 0)}}}},
	}
	for i := range want {
		if len(tasks[i].FileSHA256) != 64 {
			t.Errorf("task %d: digest %q", i, tasks[i].FileSHA256)
		}
		tasks[i].FileSHA256 = ""
		if !reflect.DeepEqual(tasks[i], want[i]) {
			t.Errorf("task %d:\n got %+v\nwant %+v", i, tasks[i], want[i])
		}
		if err := tasks[i].Check(len(want[i].T[0].Lo), 2); err != nil {
			t.Error(err)
		}
	}
	if len(tasks) != len(want) {
		t.Errorf("%d tasks", len(tasks))
	}
}

func TestVCASFile(t *testing.T) {
	tasks, err := ReadFile(dataFile(t, "uai2020/vcas_properties.json"), 9)
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != 4 {
		t.Fatalf("%d tasks", len(tasks))
	}
	for i, want := range []struct {
		label, boxes, samples int
		gamma                 float64
		s                     Safe
	}{
		{1, 3, 10500, 2.5, ArgmaxIs(1, 9)}, {2, 3, 9000, 2.5, ArgmaxIs(2, 9)}, {1, 1, 2000, 2.75, ArgmaxIsNever(1, 9)}, {2, 1, 2000, 2.75, ArgmaxIsNever(2, 9)},
	} {
		k := tasks[i]
		if k.Name != fmt.Sprint("phi_", i+1) || k.Index != i || k.Label != want.label || len(k.T) != want.boxes || k.Samples != want.samples ||
			k.Gamma != want.gamma || !reflect.DeepEqual(k.S, want.s) {
			t.Errorf("task %d: %+v", i, k)
		}
		if err := k.Check(4, 9); err != nil {
			t.Error(err)
		}
	}
	// Box 0 of phi_1 begins [0.10, 0.15].
	if b := tasks[0].T[0]; exact(b.Lo[0]).Cmp(big.NewRat(1, 10)) > 0 || exact(b.Hi[0]).Cmp(big.NewRat(15, 100)) < 0 || b.Hi[0]-b.Lo[0] > 0.05+1e-15 {
		t.Errorf("box %v", b)
	}
}

func TestReadFileErrors(t *testing.T) {
	const box = `"boxes": [[[0,1]]]`
	const is = `"kind": "argmax_is", "class": 0, `
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{"line 1: not JSON"}},
		{"[]", []string{"line 1: expected an object"}},
		{"{}", []string{`line 1: "properties" is missing`}},
		{`{"properties": []}`, []string{"a list of 0"}},
		{`{"properties": {}}`, []string{"an object"}},
		{`{"properties": [1]}`, []string{`property 0: expected an object, found the number "1"`}},
		{one(is+box) + "x", []string{"line 4: not JSON"}},
		{one(is+box) + "{}", []string{"line 4: not JSON"}},
		{`{"properties": [` + strings.Repeat("[", 20000), []string{"limit of 100"}},
		{`{"note": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, []string{"limit of 100"}},
		{"{\n\n\"prop\": 1}", []string{`line 3: unknown key "prop"`}},
		{`{"inputs": 4}`, []string{`"inputs"`, "must be text"}},
		{one(is + box + ",\n\n\"gama\": 1"), []string{`line 4: property "p": unknown key "gama"`}},
		{one(is + box + `, "class": 1`), []string{`line 2: key "class" stands twice`}},
		{one(is + box + `, "note": {"a": 1, "a": 2}`), []string{`key "a" stands twice`}},
		{`{"properties": [], "properties": []}`, []string{"twice"}},
		{one(box), []string{`property "p": "kind" must be one of`}},
		{one(`"kind": "max", ` + box), []string{`"kind" must be`}},
		{one(`"kind": 1, ` + box), []string{`"kind" must be`}},
		{`{"properties": [{"name": 5, "kind": "argmax_is", "class": 0, ` + box + `}]}`, []string{"property 0:", `"name" must be text`}},
		{one(`"kind": "argmax_is", ` + box), []string{`"class" is missing`}},
		{one(`"kind": "rows", "class": 1, ` + box), []string{`unknown key "class"`}},
		{one(`"kind": "argmax_is", "class": 2, ` + box), []string{"class: class 2 is not among the 2 outputs"}},
		{one(`"kind": "argmax_is", "class": -1, ` + box), []string{"class -1"}},
		{one(`"kind": "argmax_is", "class": 1.0, ` + box), []string{"whole number", `"1.0"`}},
		{one(`"kind": "argmax_is", "class": "1", ` + box), []string{`the text "1"`}},
		{one(is + `"boxes": []`), []string{"boxes: expected", "a list of 0"}},
		{one(is + `"boxes": 3`), []string{"boxes: expected"}},
		{one(is + `"boxes": [[]]`), []string{"box 0: expected"}},
		{one(is + `"boxes": [[[0,1]],[[0,1],[0,1]]]`), []string{"box 1 has 2 coordinates, box 0 has 1"}},
		{one(is + `"boxes": [[[0,1],[0]]]`), []string{"box 0: coordinate 1: expected a pair", "a list of 1"}},
		{one(is + `"boxes": [[[0,1],[1,0]]]`), []string{`line 2: property "p": box 0: coordinate 1: lower bound "1" is above`}},
		{one(is + `"boxes": [[[0,null]]]`), []string{"expected a number, found null"}},
		{one(is + `"boxes": [[[0,"1"]]]`), []string{"expected a number"}},
		{one(is + `"boxes": [[[0,true]]]`), []string{"a boolean"}},
		{one(is + `"boxes": [[[0,NaN]]]`), []string{"not JSON"}},
		{one(is + `"boxes": [[[0,1e999]]]`), []string{"box 0: coordinate 0", "exponent"}},
		{one(is + `"boxes": [[[-1e309,0]]]`), []string{"beyond the range"}},
		{one(is + box + `, "gamma": 0`), []string{"gamma"}},
		{one(is + box + `, "gamma": -1`), []string{"gamma"}},
		{one(is + box + `, "gamma": "2"`), []string{"gamma: expected a number"}},
		{one(is + box + `, "samples_per_box": 0`), []string{"samples_per_box"}},
		{one(is + box + `, "samples_per_box": 1.5`), []string{"samples_per_box"}},
		{one(is + box + `, "samples_per_box": 99999999999`), []string{"samples_per_box"}},
		{one(is + box + `, "samples_per_box": "5"`), []string{"samples_per_box", `the text "5"`}},
		{one(`"kind": "output_box", "output": [[0,1]], ` + box), []string{"output: 1 pairs of bounds for 2 outputs"}},
		{one(`"kind": "output_box", "output": 1, ` + box), []string{"expected a list"}},
		{one(`"kind": "output_box", "output": [[0,1],[1,0]], ` + box), []string{"output: output 1: lower bound"}},
		{one(`"kind": "rows", "safe": [], ` + box), []string{`"and", "or" or "row"`}},
		{one(`"kind": "rows", "safe": {}, ` + box), []string{"this one has none"}},
		{one(`"kind": "rows", "safe": {"and": [{"row": [1,1]}], "or": [{"row": [1,1]}]}, ` + box), []string{`has "and", "or"`}},
		{one(`"kind": "rows", "safe": {"xor": []}, ` + box), []string{`has "xor"`}},
		{one(`"kind": "rows", "safe": {"or": []}, ` + box), []string{"at least one", "a list of 0"}},
		{one(`"kind": "rows", "safe": {"and": 1}, ` + box), []string{"at least one"}},
		{one(`"kind": "rows", "safe": {"row": [1]}, ` + box), []string{"list of 2 coefficients", "a list of 1"}},
		{one(`"kind": "rows", "safe": {"row": 1}, ` + box), []string{"list of 2 coefficients"}},
		{one(`"kind": "rows", "safe": {"row": [1, null]}, ` + box), []string{"coefficient 1", "null"}},
		{one(`"kind": "rows", "safe": {"row": [1, 1], "offset": "1"}, ` + box), []string{"offset"}},
		{one(`"kind": "rows", "safe": {"row": [1, 1], "ofset": 1}, ` + box), []string{`unknown key "ofset"`}},
	} {
		path := write(t, "bad.json", c.text)
		tasks, err := ReadFile(path, 2)
		if tasks != nil {
			t.Errorf("%s: tasks beside an error", c.text)
		}
		wantError(t, err, append(c.want, path+": line ")...)
	}
	_, err := ReadFile("no/such/file", 2)
	wantError(t, err, "no/such/file: cannot open")
	_, err = ReadFile(write(t, "x", one(is+box)), 1)
	wantError(t, err, "at least 2 outputs")
	wantPanic(t, func() { _, _ = ReadFile("x", 0) }, "0 outputs")
}

func TestCheck(t *testing.T) {
	good := func() Task {
		return Task{Index: 3, Name: "n", Label: 1, S: ArgmaxIs(1, 3), T: []Box{{Lo: []float64{0, 0}, Hi: []float64{1, 1}}}}
	}
	nan := []float64{0, math.NaN()}
	for _, inner := range [][]Box{nil, {{}}, {{Lo: []float64{0, 0.5}, Hi: []float64{1, 0.25}}}} {
		task := good()
		task.Inner = inner
		if err := task.Check(2, 3); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		spoil func(k *Task)
		want  string
	}{
		{func(k *Task) { k.T = nil }, "no input box"},
		{func(k *Task) { k.T[0].Lo = nil }, "box 0 has 0 coordinates, the network has 2 inputs"},
		{func(k *Task) { k.T[0].Hi = []float64{1, -1} }, "box 0: coordinate 1"},
		{func(k *Task) { k.T[0].Lo, k.T[0].Hi = nan, nan }, "box 0: coordinate 1"},
		{func(k *Task) { k.T[0].Hi = []float64{1, math.Inf(1)} }, "box 0: coordinate 1"},
		{func(k *Task) { k.Inner = make([]Box, 2) }, "2 inner boxes for 1 boxes"},
		{func(k *Task) { k.Inner = []Box{{Lo: []float64{1}}} }, "inner box 0 has 1 coordinates, the network has 2 inputs"},
		{func(k *Task) { k.Inner = []Box{{Lo: []float64{0, 0}, Hi: []float64{1, up(1)}}} }, "inner box 0: coordinate 1: from 0 to"},
		{func(k *Task) { k.Inner = []Box{{Lo: []float64{down(0), 0}, Hi: []float64{1, 1}}} }, "inner box 0: coordinate 0"},
		{func(k *Task) { k.Inner = []Box{{Lo: []float64{0, 0}, Hi: nan}} }, "inner box 0: coordinate 1: from 0 to NaN"},
		{func(k *Task) { k.Inner = []Box{{Lo: []float64{math.Inf(1), 0}, Hi: []float64{1, 1}}} }, "inner box 0: coordinate 0: from +Inf"},
		{func(k *Task) { k.S = ArgmaxIs(1, 4) }, "row 0 has 4 coefficients, the network has 3 outputs"},
		{func(k *Task) { k.S.Rows[1].CLo = []float64{0, 1, 9} }, "row 1: coefficient 2"},
		{func(k *Task) { k.S.Rows[1].D = nan[1] }, "row 1: offset from NaN"},
		{func(k *Task) { k.S.Rows[1].D = 1 }, "row 1: offset from 1 to 0"},
		{func(k *Task) { k.S.Rows[1].DHi = math.Inf(1) }, "row 1: offset from 0 to +Inf"},
		{func(k *Task) { k.S.Any[0][0] = 2 }, "alternative 0 refers to row 2 of 2"},
		{func(k *Task) { k.S.Any[0][0] = -1 }, "gate 0 of 0"},
		{func(k *Task) { k.Label = 3 }, "class 3"},
		{func(k *Task) { k.Label = -2 }, "class -2"},
	} {
		task := good()
		c.spoil(&task)
		wantError(t, task.Check(2, 3), c.want, `task 3 ("n")`)
	}
	task := good()
	task.Name = ""
	wantError(t, task.Check(5, 3), "task 3: box 0")
	wantPanic(t, func() { _ = task.Check(0, 3) }, "0 inputs")
	wantPanic(t, func() { _ = task.Check(2, 0) }, "0 outputs")
}

// FuzzReadFile looks for panics, for errors of more than one line, and for
// accepted tasks that are not well-formed.
func FuzzReadFile(f *testing.F) {
	f.Add(one(`"kind": "argmax_is", "class": 1, "boxes": [[[0.1,1]],[[0,0]]], "gamma": 2, "samples_per_box": 5, "paper_x": 1`))
	f.Add(one(`"kind": "output_box", "output": [[0,null],[null,1e-3]], "boxes": [[[0,1],[1,2]]]`))
	f.Add(one(`"kind": "rows", "safe": {"and": [{"or": [{"row": [1,0]}, {"row": [0,1], "offset": -0.1}]}, {"row": [1,1]}]}, "boxes": [[[0,1]]]`))
	f.Fuzz(func(t *testing.T, text string) {
		tasks, err := parseTasks([]byte(text), 2)
		if err != nil {
			wantError(t, lineFirst(err), "line ")
			return
		}
		for _, k := range tasks {
			if err := k.Check(len(k.T[0].Lo), 2); err != nil {
				t.Fatal(err)
			}
		}
	})
}
