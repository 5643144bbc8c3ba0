package certify

import (
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/prove"
)

// TestInputNoiseRefused: what has no bounds with noise of the inputs says so in one line, and names what has.
func TestInputNoiseRefused(t *testing.T) {
	job := func(change func(j *Job)) *Job {
		j := &Job{Posterior: Posterior{Path: testFile("advisory-4-32-9.npz")}, Precision: new(bound.Float64), Tasks: around(file(t, "x.csv", "0.25,0.5,0.5,0.5\n"), "0.05"), Open: onCPU}
		j.Tasks.Points.InputNoise = "0.1"
		change(j)
		return j
	}
	for words, change := range map[string]func(j *Job){
		"--norm 1 or 2": func(j *Job) { j.Tasks.Points.Norm = "2" },
		"independent normal weights": func(j *Job) {
			j.Posterior.Path, j.Tasks.Points.Inputs = testFile("samples-2-8-3.npz"), file(t, "y.csv", "0.25,0.5\n")
		},
		"not for --method chernoff: use":  func(j *Job) { j.Method.By = new(prove.Chernoff) },
		"not for --method neuronsum: use": func(j *Job) { j.Method.By = new(prove.NeuronSum) },
		"0 or above":                      func(j *Job) { j.Tasks.Points.InputNoise = "[0.1,-1,0,0]" },
	} {
		if _, err := job(change).Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	j := job(func(*Job) {})
	refused(t, j.Tasks, tiny(t), "--input-noise, --relation and --other are for psafe certify")
	records, err := j.Run(t.Context())
	if err != nil || len(records) != 1 || records[0].InputNoise != "0.1" || len(records[0].Activations) != 1 {
		t.Errorf("%v: a record says of the file what it says without noise: %+v", err, records)
	}
}
