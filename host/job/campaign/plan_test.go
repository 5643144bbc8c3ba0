package campaign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/job/certify"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

// parseTest makes a job of the flags that these tests use.
func parseTest(args []string) (*certify.Job, error) {
	job := &certify.Job{Version: "test"}
	p := &job.Tasks.Points
	p.Property = property.KeepsClass
	for i := 0; i < len(args); i += 2 {
		value := args[i+1]
		switch args[i] {
		case "--posterior":
			job.Posterior.Path = value
		case "--inputs":
			p.Inputs = value
		case "--eps":
			p.Eps = value
		case "--index":
			p.Index = &value
		case "--label":
			p.Label = value
		case "--method":
			method, err := prove.ParseMethod(value)
			if err != nil {
				return nil, fmt.Errorf("--method %w", err)
			}
			job.Method.By = &method
		case "--property":
			if p.Property = value; strings.HasSuffix(value, ".json") {
				p.Property, job.Tasks.File = "", value
			}
		default:
			return nil, fmt.Errorf("%s is no flag", args[i])
		}
	}
	return job, nil
}

// testPosterior is a 2-3-2 network, as safetensors; change moves one of its weights.
func testPosterior(t testing.TB, change float64) []byte {
	t.Helper()
	p := &posterior.Posterior{Scale: posterior.ScaleSD}
	for _, size := range [][2]int{{2, 3}, {3, 2}} {
		n := size[0] * size[1]
		mean, sd := make([]float64, n), make([]float64, n)
		for i := range mean {
			mean[i], sd[i] = float64(i%5-2)/4, 1.0/32
		}
		mean[0] += change
		p.Layers = append(p.Layers, posterior.Layer{
			Layer:  network.DenseLayer(size[0], size[1], network.Activation{Kind: network.ReLU}),
			Weight: posterior.NewParams(mean, sd, p.Scale), Bias: posterior.NewParams(make([]float64, size[1]), make([]float64, size[1]), p.Scale),
		})
	}
	p.Layers[1].Activation = network.Activation{}
	var b bytes.Buffer
	if err := format.WriteSafetensors(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// boxes is a property file with its own input boxes.
const boxes = `{"properties": [{"name": "low", "kind": "output_box", "output": [[-9, 9], [-9, 9]], "boxes": [[[0, 1], [0, 1]]]}]}`

// testFiles are the files of a campaign by their names.
func testFiles(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"a.safetensors": testPosterior(t, 0), "b.safetensors": testPosterior(t, 1), "x.csv": []byte("0.5,0.25\n0.75,1\n0,1\n"), "labels.idx": []byte("\x00\x00\x08\x01\x00\x00\x00\x03\x00\x01\x01"),
		"campaign.yaml": []byte("posteriors: [a.safetensors, b.safetensors]\ninputs: [{path: x.csv, label: labels.idx}]\neps: [0.1, 0.2]\nmethods: [clbp, auto]\n"),
	}
}

// write writes files into a new folder, in an order of their own, and goes there.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// planned plans campaign.yaml of the working directory into a folder.
func planned(dir string) (*Folder, bool, error) {
	spec, err := ReadSpec("campaign.yaml", testFlags)
	if err != nil {
		return nil, false, err
	}
	p := Planner{Parse: parseTest, Version: "test"}
	return p.Plan(context.Background(), spec, dir)
}

// all are the tasks of a campaign, from a task on.
func all(f *Folder, first int) ([]Task, error) {
	r, err := f.TasksFrom(first)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var list []Task
	for {
		t, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, *t)
	}
}

// ids are the ids of a campaign's tasks.
func ids(t *testing.T, f *Folder) []string {
	t.Helper()
	list, err := all(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, task := range list {
		ids = append(ids, task.ID)
	}
	return ids
}

// TestPlan: the folder says what the campaign is, wherever one looks, and a second plan changes
// nothing.
func TestPlan(t *testing.T) {
	dir := write(t, testFiles(t))
	out := filepath.Join(dir, "deep", "campaign")
	f, isNew, err := planned(out)
	if err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	if f.Manifest.Tasks != 24 || len(f.Jobs) != 4 || f.Base != "../.." || f.BaseDir() != resolved(t, dir) || f.Version != "test" {
		t.Errorf("%+v", f.Manifest)
	}
	list, err := all(f, 0)
	if err != nil || len(list) != 24 {
		t.Fatalf("%d tasks, %v", len(list), err)
	}
	for i, j := range f.Jobs {
		job, err := parseTest(j.Args)
		if err != nil {
			t.Fatal(err)
		}
		prepared, err := job.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		for k := range j.Tasks {
			rec, err := prepared.Known(k)
			if err != nil {
				t.Fatal(err)
			}
			if got := list[j.First+k]; got.ID != rec.ID || got.Job != i || got.Task != j.First+k || got.Index != rec.Index || got.Eps != rec.Eps || got.Property != rec.Property {
				t.Errorf("job %d, task %d: %+v, the record is %+v", i, k, got, rec)
			}
		}
		if len(j.Files) != 3 || j.Files[2].Path != "labels.idx" || j.Files[0].Field != "posterior_sha256" || j.Files[1].Path != "x.csv" {
			t.Errorf("files of job %d: %+v", i, j.Files)
		}
	}
	for first := range 25 {
		if part, err := all(f, first); err != nil || !slices.Equal(part, list[first:]) {
			t.Errorf("from task %d: %d tasks, %v", first, len(part), err)
		}
	}

	before := folderText(t, out)
	again, isNew, err := planned(out)
	if err != nil || isNew || again.Campaign != f.Campaign {
		t.Errorf("the same again: %v, %v", isNew, err)
	}
	if after := folderText(t, out); after != before {
		t.Errorf("the same again made %s of %s", after, before)
	}
	replace(t, "campaign.yaml", "0.2", "0.3")
	if _, _, err := planned(out); err == nil || !strings.Contains(err.Error(), "holds another campaign, "+f.Campaign+" of 24 tasks") {
		t.Errorf("another: %v", err)
	}
	replace(t, "campaign.yaml", "0.3", "0.2")
	replace(t, "campaign.yaml", "path: x.csv", "path: ./x.csv")
	if _, _, err := planned(out); err == nil || !strings.Contains(err.Error(), "holds this campaign with other words in job 0, ") {
		t.Errorf("other words: %v", err)
	}
	if after := folderText(t, out); after != before {
		t.Errorf("a plan that was refused made %s of %s", after, before)
	}
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replace changes a text in a file.
func replace(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(with), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folderText is all that is in a folder.
func folderText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		fmt.Fprintln(&b, path)
		if err == nil && !d.IsDir() {
			text, e := os.ReadFile(path)
			b.Write(text)
			err = e
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestIdentity: ids depend on what files hold, each byte of it, and on nothing else: not on
// names, folders, the order of keys, or which other tasks there are.
func TestIdentity(t *testing.T) {
	files := testFiles(t)
	files["p.json"] = []byte(boxes)
	plan := func(change func(files map[string][]byte)) []string {
		t.Helper()
		changed := map[string][]byte{}
		for name, content := range files {
			changed[name] = bytes.Clone(content)
		}
		change(changed)
		dir := write(t, changed)
		f, _, err := planned(filepath.Join(dir, "c"))
		if err != nil {
			t.Fatal(err)
		}
		return ids(t, f)
	}
	text := func(text string) func(map[string][]byte) {
		return func(files map[string][]byte) { files["campaign.yaml"] = []byte(text) }
	}
	want := plan(func(map[string][]byte) {})
	if n := len(slices.Compact(slices.Sorted(slices.Values(want)))); n != 24 {
		t.Fatalf("%d ids of 24 tasks", n)
	}
	same := map[string]func(files map[string][]byte){
		"again":        func(map[string][]byte) {},
		"order":        text("methods: [clbp, auto]\neps: ['0.1', '0.2']\ninputs:\n- label: labels.idx\n  path: x.csv\nposteriors: [a.safetensors, b.safetensors]\n"),
		"spelled":      text("posteriors: [./a.safetensors, sub/../b.safetensors]\ninputs: [{path: .//x.csv, label: labels.idx}]\neps: 0.1,0.2\nmethods: [clbp, auto]\n"),
		"file of file": func(files map[string][]byte) { files["sub/other.txt"] = nil },
		"renamed": func(files map[string][]byte) {
			files["sub/c.safetensors"], files["y.csv"] = files["a.safetensors"], files["x.csv"]
			text("posteriors: [sub/c.safetensors, b.safetensors]\ninputs: [{path: y.csv, label: labels.idx}]\neps: [0.1, 0.2]\nmethods: [clbp, auto]\n")(files)
		},
	}
	files["sub/x"] = nil // so that sub is there
	for name, change := range same {
		if got := plan(change); !slices.Equal(got, want) {
			t.Errorf("%s: other ids", name)
		}
	}
	// A part of the campaign has these ids too.
	if got := plan(text("posteriors: b.safetensors\ninputs: [{path: x.csv, label: labels.idx, index: '1'}]\neps: [0.2]\nmethods: [auto]\n")); !slices.Equal(got, []string{want[22]}) {
		t.Errorf("a part has the ids %q, all are %q", got, want)
	}
	// Every byte counts, and is of the tasks that read its file alone.
	for _, c := range []struct {
		name    string
		change  func(map[string][]byte)
		changes func(task int) bool
	}{
		{"posterior", func(files map[string][]byte) { files["b.safetensors"] = testPosterior(t, 1.0/1024) }, func(k int) bool { return k >= 12 }},
		{"points", func(files map[string][]byte) { files["x.csv"][0] = '1' }, func(int) bool { return true }},
		{"end of points", func(files map[string][]byte) { files["x.csv"] = append(files["x.csv"], '\n') }, func(int) bool { return true }},
		{"label", func(files map[string][]byte) { files["labels.idx"][9] = 0 }, func(k int) bool { return k%3 == 1 }},
		{"radius", text("posteriors: [a.safetensors, b.safetensors]\ninputs: [{path: x.csv, label: labels.idx}]\neps: [0.1, 0.20]\nmethods: [clbp, auto]\n"), func(k int) bool { return k/3%2 == 1 }},
	} {
		got := plan(c.change)
		for k := range want {
			if (got[k] != want[k]) != c.changes(k) {
				t.Errorf("%s: the id of task %d: was %s, is %s", c.name, k, want[k], got[k])
			}
		}
	}
	file := text("posteriors: a.safetensors\nproperty: p.json\n")
	one, other := plan(file), plan(func(files map[string][]byte) { file(files); files["p.json"] = append(files["p.json"], ' ') })
	if len(one) != 1 || one[0] == other[0] {
		t.Errorf("a property file with another byte: %q and %q", one, other)
	}
}
