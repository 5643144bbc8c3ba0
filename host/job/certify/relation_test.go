package certify

import (
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
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
	refused(t, j.Tasks, tiny(t), "--relation are for psafe certify")
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
