package certify

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
	"psafe/host/read/npy"
	"psafe/host/read/property"
)

// tiny is a network of two inputs and two classes.
func tiny(t *testing.T) *posterior.Posterior {
	t.Helper()
	post, err := format.Read(testFile("tiny-2-3-2-tanh.npz"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return post
}

// file makes a file with that content.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// loaded are the tasks, and what is beside them.
type loaded struct {
	*taskList
	tasks []property.Task
}

func load(t *testing.T, tasks Tasks, post *posterior.Posterior) *loaded {
	t.Helper()
	list, err := tasks.load(post)
	if err != nil {
		t.Fatal(err)
	}
	all, err := list.all()
	if err != nil {
		t.Fatal(err)
	}
	return &loaded{list, all}
}

// refused demands an error of one line with these words.
func refused(t *testing.T, tasks Tasks, post *posterior.Posterior, words string) {
	t.Helper()
	if _, err := tasks.Load(post); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want %q", err, words)
	}
}

func around(inputs, eps string) Tasks {
	return Tasks{Points: Points{Inputs: inputs, Eps: eps, Property: property.KeepsClass}}
}

// TestRadii: of a list, each radius has the tasks that it has alone.
func TestRadii(t *testing.T) {
	post, x := tiny(t), file(t, "x.csv", "0.9,0.1\n0.25,0.5\n")
	all := load(t, around(x, "8/255,[0.1, 0],0"), post)
	var want []property.Task
	for _, eps := range []string{"8/255", "[0.1, 0]", "0"} {
		want = append(want, load(t, around(x, eps), post).tasks...)
	}
	if len(all.tasks) != 6 || !reflect.DeepEqual(all.tasks, want) {
		t.Errorf("%+v, want %+v", all.tasks, want)
	}
	if k := all.tasks[3]; k.Eps != "[0.1, 0]" || k.Index != 1 || k.T[0].Lo[1] != 0.5 || k.T[0].Hi[0] < 0.35 {
		t.Errorf("%+v", k)
	}
	for eps, words := range map[string]string{"0.5,1/2": "0.5 and 1/2 are the same radius", "0.1,": "a radius of the list is empty", "[0.1,0],[1/10,0]": "the same radius",
		"0.1,-1": "--eps -1 is negative", "": "--eps is missing", "0,05": "--eps 0,05: write 0.05 with a point", "1/255,0, 1,00": "write 1.00 with a point"} {
		refused(t, around(x, eps), post, words)
	}
}

// TestNormalised: what a posterior's file says of its inputs is applied, told of files of
// boxes, and the same as
// if it were typed; boxes and classes are those of raw data.
func TestNormalised(t *testing.T) {
	plain, says := tiny(t), tiny(t)
	says.Input = posterior.Input{Mean: []float64{0.5, -1.25}, Std: []float64{0.25}}
	x := file(t, "x.csv", "0.9,0.1\n0.25,0.5\n0.5,-3\n")
	typed := around(x, "1/255")
	typed.Points.Mean, typed.Points.Std = "0.5,-1.25", "1/4"
	of, want := load(t, around(x, "1/255"), says), load(t, typed, plain)
	if !reflect.DeepEqual(of.tasks, want.tasks) {
		t.Errorf("%+v, want %+v", of.tasks, want.tasks)
	}
	if of.norm.words != [2]string{"posterior", "posterior"} || want.norm.words != [2]string{"0.5,-1.25", "1/4"} {
		t.Errorf("words %q and %q", of.norm.words, want.norm.words)
	}
	if len(of.notes) != 0 || len(want.notes) != 0 {
		t.Errorf("notes %v and %v", of.notes, want.notes)
	}
	if both := load(t, typed, says); !reflect.DeepEqual(both.tasks, want.tasks) || both.norm.words != of.norm.words {
		t.Errorf("said twice: %+v", both)
	}
	for i, k := range of.tasks {
		raw := [][]float64{{0.9, 0.1}, {0.25, 0.5}, {0.5, -3}}[i]
		seen := []float64{(raw[0] - 0.5) / 0.25, (raw[1] + 1.25) / 0.25}
		if c := argmax(plain.LogitsApprox(seen)); k.Label != c {
			t.Errorf("point %d has class %d, the network says %d", i, k.Label, c)
		}
		for j := range seen {
			if w := 1.0 / 255 / 0.25; k.T[0].Lo[j] > seen[j]-w || k.T[0].Hi[j] < seen[j]+w || k.T[0].Hi[j]-k.T[0].Lo[j] > 2*w+1e-12 {
				t.Errorf("point %d, input %d is seen in %v", i, j, k.T[0])
			}
		}
	}
	boxes := Tasks{File: file(t, "p.json", `{"properties": [{"kind": "argmax_is", "class": 0, "boxes": [[[0.5, 0.75], [-1.25, -1]]]}]}`)}
	list := load(t, boxes, says)
	if n, is := list.notes[0].(*Normalised); !is || len(list.notes) != 1 || n.File != says.Source.Path || n.Property != boxes.File {
		t.Errorf("notes %v of a property file", list.notes)
	}
	k := list.tasks[0]
	if want := (property.Box{Lo: []float64{0, 0}, Hi: []float64{1, 1}}); !reflect.DeepEqual(k.T[0], want) || !reflect.DeepEqual(k.Inner[0], want) {
		t.Errorf("the box of a file is seen in %v and %v", k.T[0], k.Inner[0])
	}
	boxes.Points.Mean, boxes.Points.Std = "0.5", "0.25"
	refused(t, boxes, says, "--mean: it is 0.5 for input 1, the posterior's file says -1.25; leave --mean and --std out")
	if k := load(t, boxes, plain).tasks[0]; k.T[0].Lo[1] != -7 {
		t.Errorf("the box of a file is seen in %v", k.T[0])
	}
	says.Input.Std = []float64{0}
	refused(t, around(x, "0"), says, "the file's std of input 0 is 0")
	says.Input = posterior.Input{Mean: []float64{0, 0, 0}}
	refused(t, around(x, "0"), says, "the file has 3 numbers for the mean of 2 inputs")
	says.Input = posterior.Input{Mean: []float64{0.5}} // no std is one of 1
	typed.Points.Mean, typed.Points.Std = "0.5", "1"
	if of, want := load(t, around(x, "0.1"), says), load(t, func() Tasks { t := typed; t.Points.Eps = "0.1"; return t }(), plain); !reflect.DeepEqual(of.tasks, want.tasks) {
		t.Errorf("%+v, want %+v", of.tasks, want.tasks)
	}
	typed.Points.Std = ""
	refused(t, typed, plain, "--mean and --std go together")
}

// colours is a network of 75 inputs with random means, and images for it, channels first and
// channels last.
func colours(t *testing.T) (post *posterior.Posterior, first, last string) {
	t.Helper()
	weights := make([]float64, 75*2)
	for i := range weights {
		weights[i] = float64(i%7) - 3
	}
	post = &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{
		Layer:  network.DenseLayer(75, 2, network.Activation{}),
		Weight: posterior.NewParams(weights, make([]float64, 150), posterior.ScaleSD), Bias: posterior.NewParams(make([]float64, 2), make([]float64, 2), posterior.ScaleSD),
	}}}
	var c, h []float64
	for k := range 3 {
		for pixel := range 25 {
			c = append(c, float64(100*k+pixel))
		}
	}
	for pixel := range 25 {
		for k := range 3 {
			h = append(h, float64(100*k+pixel))
		}
	}
	for name, a := range map[*string]*npy.Array{&first: {Shape: []int{1, 3, 5, 5}, Data: c, DType: "<f8"}, &last: {Shape: []int{1, 5, 5, 3}, Data: h, DType: "<f8"}} {
		b, err := npy.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		*name = file(t, "x.npy", string(b))
	}
	return post, first, last
}

// TestChannels: images are reordered for the network, as asked or as the posterior's file
// says, and means of channels go where the channels are.
func TestChannels(t *testing.T) {
	post, first, last := colours(t)
	as := func(inputs, channels string) Tasks {
		tasks := around(inputs, "0.5")
		tasks.Points.Channels, tasks.Points.Mean, tasks.Points.Std = channels, "0,100,200", "1"
		return tasks
	}
	want := load(t, as(first, ""), post)
	for j, lo := range want.tasks[0].T[0].Lo {
		if lo != float64(j%25)-0.5 {
			t.Fatalf("input %d begins at %v", j, lo)
		}
	}
	if got := load(t, as(last, "first"), post); !reflect.DeepEqual(got.tasks, want.tasks) || got.channels != "first" || got.notes != nil {
		t.Errorf("%+v", got)
	}
	if got := load(t, as(first, "first"), post); !reflect.DeepEqual(got.tasks, want.tasks) {
		t.Errorf("%+v", got)
	}
	post.Input.Shape = []int{3, 5, 5}
	got := load(t, as(last, ""), post)
	if !reflect.DeepEqual(got.tasks, want.tasks) || got.channels != "first" || len(got.notes) != 1 || !strings.Contains(got.notes[0].String(), "--channels first") {
		t.Errorf("%+v", got)
	}
	five := as(last, "")
	five.Points.Mean = "0,1,2,3,4" // of as many as the last axis: the record says that channels are the first
	refused(t, five, post, "--mean: 5 numbers for 75 inputs of shape [3 5 5]")
	refused(t, as(last, "last"), post, "--channels last: the posterior's file says that an input has shape [3 5 5]")
	refused(t, as(last, "middle"), post, `--channels: "middle" is neither first nor last`)
	post.Input.Shape = []int{5, 15}
	refused(t, as(last, ""), post, "points of "+last+" have shape [5 5 3], the posterior's file says [5 15]")
}

// TestTemplatesAndPoints: a task for each property and each point, classes by --label or the
// mean network.
func TestTemplatesAndPoints(t *testing.T) {
	post, x := tiny(t), file(t, "x.csv", "0.9,0.1\n0.25,0.5\n")
	tasks := Tasks{Points: Points{Inputs: x}, File: file(t, "t.json", `{"properties": [
		{"name": "a", "kind": "argmax_is", "class": "label", "relative": [[-0.5, 0.25], [0, 0]], "gamma": 1, "samples_per_box": 3},
		{"kind": "argmax_is_never", "class": 1, "relative": {"eps": [0, 0.5]}}]}`)}
	list := load(t, tasks, post)
	var got []string
	for _, k := range list.tasks {
		got = append(got, fmt.Sprint(k.Index, k.Template, k.Label, list.property(&k), k.Gamma, k.Samples, k.Eps))
	}
	if want := []string{"0 0 0a1 3", "1 0 1a1 3", "0 1 1number 1 of the property file0 0", "1 1 1number 1 of the property file0 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if k := list.tasks[1]; k.T[0].Lo[0] != -0.25 || k.T[0].Hi[0] != 0.5 || k.T[0].Lo[1] != 0.5 || len(k.TemplateSHA256) != 64 || list.source != x || list.template != tasks.File {
		t.Errorf("%+v", k)
	}
	tasks.Points.Label = "0"
	if k := load(t, tasks, post).tasks[1]; k.Label != 0 {
		t.Errorf("label %d", k.Label)
	}
	tasks.Points.Label = "7"
	refused(t, tasks, post, "--label 7: point 0 has class 7, the network has 2 outputs")
	tasks.Points.Label, tasks.Points.Eps = "", "0.1"
	refused(t, tasks, post, "--eps and a property file cannot be combined: the boxes of "+tasks.File+" say how far points move")
	tasks.Points.Eps, tasks.Points.Label = "", "0"
	tasks.File = file(t, "u.json", `{"properties": [{"kind": "argmax_is", "class": 0, "relative": {"eps": 1}}]}`)
	refused(t, tasks, post, `--label and a property file cannot be combined: no property of `+tasks.File+` has "class": "label"`)
	tasks.File = file(t, "v.json", `{"properties": [{"kind": "argmax_is", "class": 0, "boxes": [[[0, 1], [0, 1]]]}]}`)
	refused(t, tasks, post, "--inputs and a property file cannot be combined: the file "+tasks.File+" has its own input boxes")
	tasks = Tasks{File: tasks.File, Points: Points{Fix: "0"}}
	refused(t, tasks, post, "--fix and a property file cannot be combined")
	tasks.Points = Points{Index: new("1")}
	refused(t, tasks, post, "--index: "+tasks.File+`: index "1": property 1 is not among the 1, numbered from 0`)
	box := `{"kind": "argmax_is", "class": 0, "boxes": [[[0, 1], [0, 1]]]}`
	tasks.File = file(t, "w.json", `{"properties": [`+box+`, `+box+`, `+box+`]}`)
	tasks.Points.Index = new("2,0")
	if list := load(t, tasks, post); list.tasks[0].Index != 2 || list.tasks[1].Index != 0 || len(list.tasks) != 2 {
		t.Errorf("%+v", list.tasks)
	}
}

// Properties that leave the class open take that of the mean network or of --label, and
// records have it; points of one class share their safe set.
func TestOpenClasses(t *testing.T) {
	post, err := digits().Posterior.Read()
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		property.KeepsClass: "argmax_is:3", "top_k:2": "top_k:2:3", "margin:0.5": "margin:0.5:3", "class_change_only:5,8": "class_change_only:5,8:3",
	} {
		for _, label := range []string{"", "3"} {
			points := digits().Tasks.Points
			points.Property, points.Label, points.Index = words, label, new("3,13")
			list := load(t, Tasks{Points: points}, post)
			a, b := &list.tasks[0], &list.tasks[1]
			if got := list.property(a); got != want || a.Label != 3 {
				t.Errorf("%s, label %q: %s, %d", words, label, got, a.Label)
			}
			if a.Label != b.Label || &a.S.Rows[0] != &b.S.Rows[0] {
				t.Errorf("%s: classes %d and %d do not share their rows", words, a.Label, b.Label)
			}
			again, class, err := property.ParseSpec(list.property(a), post.Outputs())
			if err != nil || class != a.Label || len(again.Rows) != len(a.S.Rows) || len(again.Any) != len(a.S.Any) {
				t.Errorf("%s: read again: %v", words, err)
			}
		}
	}
	for words, want := range map[string]string{
		"argmax_is:3": "--label cannot be combined with --property argmax_is:3", "argmax_in:1,2": "leaves no class open",
		"top_k:10": `property "top_k:10:3"`, "margin:x": "not a decimal", "class_change_only:0,1,2,4,5,6,7,8,9": "holds always",
	} {
		points := digits().Tasks.Points
		points.Property, points.Label = words, "3"
		if _, err := (&Tasks{Points: points}).Load(post); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}
