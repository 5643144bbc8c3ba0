package certify

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/npy"
	"psafe/internal/testkit/checktest"
)

// TestRelationRefused: what has no bounds at two inputs says so in one line.
func TestRelationRefused(t *testing.T) {
	job := func(change func(j *Job)) *Job {
		j := &Job{Posterior: Posterior{Path: testFile("tiny-2-3-2-tanh.npz")}, Precision: new(bound.Float64), Tasks: around(file(t, "x.csv", "0.25,0.5\n"), "0.05"), Open: onCPU}
		j.Tasks.Points.Relation = "same_class:0.1"
		change(j)
		return j
	}
	for words, change := range map[string]func(j *Job){
		"--norm 1 or 2":                   func(j *Job) { j.Tasks.Points.Norm = "2" },
		"independent normal weights":      func(j *Job) { j.Posterior.Path = testFile("correlated-2-8-3.npz") },
		"not for --method neuronsum: use": func(j *Job) { j.Method.By = new(prove.NeuronSum) },
		"--input-noise and --relation":    func(j *Job) { j.Tasks.Points.InputNoise = "0.1" },
		"--target safe and each":          func(j *Job) { j.Method.Decision = true },
		"leave --property out":            func(j *Job) { j.Tasks.Points.Property = "argmax_is:1" },
		"--label cannot":                  func(j *Job) { j.Tasks.Points.Label = "1" },
		"says nothing of the outputs":     func(j *Job) { j.Tasks.Points.Relation = "near:0.1" },
		"argmax_is:1 is about one input, --relation near:0.1 about two": func(j *Job) {
			j.Tasks.Points.Relation, j.Tasks.Points.Property = "near:0.1", "argmax_is:1"
		},
		"4 outputs": func(j *Job) {
			j.Tasks.Points.Relation, j.Tasks.Points.Property = "near:0.1", "output_box:[0,1]"
		},
		"is none; write": func(j *Job) { j.Tasks.Points.Relation = "robust:0.1" },
	} {
		if _, err := job(change).Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	j := job(func(*Job) {})
	refused(t, j.Tasks, tiny(t), "--other are for psafe certify")
	records, err := j.Run(t.Context())
	if err != nil || len(records) != 1 || records[0].Relation != "same_class:0.1" || records[0].Property != "same_class:0.1" || len(records[0].Activations) != 1 || records[0].Label != nil {
		t.Errorf("%v: a record says of the file what it says without: %+v", err, records)
	}
}

// TestRelationExplained: what is said of unknown pairs is of pairs, with less of the spread too.
func TestRelationExplained(t *testing.T) {
	j := &Job{Posterior: Posterior{Path: testFile("tiny-2-3-2-tanh.npz"), Factor: "40"}, Precision: new(bound.Float64), Tasks: around(file(t, "x.csv", "0.25,0.5\n"), "0.05"), Open: onCPU}
	j.Tasks.Points.Relation, j.Method.By = "same_class:0.1", new(prove.CLBP)
	var note *Unproved
	j.Explain = func(n *Unproved) { note = n }
	if _, err := j.Run(t.Context()); err != nil || note == nil || !strings.Contains(note.Next, "--relation same_class:0.1") || strings.Contains(note.Why, "another class") {
		t.Errorf("%v: %+v", err, note)
	}
}

// TestOtherRefused: what cannot be compared says so in one line, and records of another network's file are not gone on
// with.
func TestOtherRefused(t *testing.T) {
	dir := t.TempDir()
	mean := func(name, of string) string {
		post, err := format.Read(testFile(of), format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := format.WriteNPZ(&text, post.AtMean()); err != nil {
			t.Fatal(err)
		}
		return file(t, name, text.String())
	}
	g := mean("g.npz", "tiny-2-3-2-tanh.npz")
	job := func(change func(j *Job)) *Job {
		j := &Job{Posterior: Posterior{Path: testFile("tiny-2-3-2-tanh.npz")}, Precision: new(bound.Float64), Tasks: around(file(t, "x.csv", "0.25,0.5\n"), "0.05"), Open: onCPU}
		j.Tasks.Points.Relation, j.Tasks.Points.Other = "within:0.5", g
		change(j)
		return j
	}
	for words, change := range map[string]func(j *Job){
		"--other is for boxes":            func(j *Job) { j.Tasks.Points.Norm = "2" },
		"--other is for --target safe":    func(j *Job) { j.Method.Decision = true },
		"for sets of networks":            func(j *Job) { j.Posterior.Path = testFile("correlated-2-8-3.npz") },
		"a file of one network":           func(j *Job) { j.Tasks.Points.Other = j.Posterior.Path },
		"--other " + dir:                  func(j *Job) { j.Tasks.Points.Other = filepath.Join(dir, "none") },
		"12 samples: the mean network":    func(j *Job) { j.Posterior.Path, j.Tasks.Points.Other = testFile("samples-2-8-3.npz"), OtherMean },
		"leave it or --property out":      func(j *Job) { j.Tasks.Points.Property = "argmax_is:1" },
		"--other says nothing":            func(j *Job) { j.Tasks.Points.Relation = "" },
		"beside --other write within":     func(j *Job) { j.Tasks.Points.Relation = "same_class:0.1" },
		"add --other FILE":                func(j *Job) { j.Tasks.Points.Other = "" },
		"--input-noise and --relation or": func(j *Job) { j.Tasks.Points.InputNoise = "0.1" },
		"--label cannot":                  func(j *Job) { j.Tasks.Points.Label = "1" },
		"below 0":                         func(j *Job) { j.Tasks.Points.Relation = "within:-1" },
	} {
		if _, err := job(change).Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	if _, err := job(func(j *Job) { j.Out = Output{Path: g, Overwrite: true} }).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "g.npz") {
		t.Errorf("the other network is replaced: %v", err)
	}
	noise := file(t, "noise.npy", "")
	if !slices.Contains(job(func(j *Job) { j.Tasks.Points.InputNoise = noise }).inputs(), noise) {
		t.Error("the noise of inputs may be replaced")
	}
	j := job(func(*Job) {})
	refused(t, j.Tasks, tiny(t), "--other are for psafe certify")
	j.Out.Path = filepath.Join(dir, "out.jsonl")
	records, err := j.Run(t.Context())
	if err != nil || len(records) != 1 || records[0].Other != g || len(records[0].OtherSHA256) != 64 || records[0].Property != "within:0.5" || records[0].Relation != "within:0.5" {
		t.Fatalf("%v: %+v", err, records)
	}
	for words, change := range map[string]func(j *Job){
		"(--other)":  func(j *Job) { j.Tasks.Points.Other = OtherMean },
		"within:0.4": func(j *Job) { j.Tasks.Points.Relation = "within:0.4" },
	} {
		again := job(change)
		again.Out.Path, again.Out.Resume = j.Out.Path, true
		if _, err := again.Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	j.Out.Resume = true
	if _, err := j.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOtherImages: images that the other network's file takes in another order are refused; --channels says the order of
// a posterior that knows none.
func TestOtherImages(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 14))
	network := func(name string, post *posterior.Posterior) string {
		var text bytes.Buffer
		if err := format.WriteNPZ(&text, post); err != nil {
			t.Fatal(err)
		}
		return file(t, name, text.String())
	}
	f, g := checktest.RandomAbout(rng, 0, 0.01, 108, 2), checktest.RandomAbout(rng, 0, 0, 108, 2)
	g.Input.Shape = []int{3, 6, 6}
	data, err := npy.Encode(&npy.Array{Shape: []int{1, 6, 6, 3}, Data: make([]float64, 108), DType: "<f8"})
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Posterior: Posterior{Path: network("f.npz", f)}, Tasks: around(file(t, "x.npy", string(data)), "0"), Open: onCPU}
	j.Tasks.Points.Relation, j.Tasks.Points.Other = "within:1", network("g.npz", g)
	for channels, words := range map[string]string{"": "--channels", "last": "--channels", "first": ""} {
		j.Tasks.Points.Channels = channels
		if _, err := j.Run(t.Context()); (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("channels %q: %v", channels, err)
		}
	}
}
