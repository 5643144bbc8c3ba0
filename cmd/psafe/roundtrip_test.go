package main

import (
	"reflect"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	"psafe/host/lab/paper"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

// roundTrip demands that the command that a job is shown as is the job.
func roundTrip(t *testing.T, what string, job certify.Job) {
	t.Helper()
	words := job.Command()
	_, again, err := parseCertify(words[2:], false)
	if err != nil {
		t.Errorf("%s: %s: %v", what, certify.Shell(words), err)
		return
	}
	if !reflect.DeepEqual(*again, job) {
		t.Errorf("%s: %s is\n%+v, was\n%+v", what, certify.Shell(words), *again, job)
	}
}

// TestPaperCommands: what paper.md shows as the command of a run is that run, for every
// run of all experiments.
func TestPaperCommands(t *testing.T) {
	given := certify.Posterior{Path: testFile("cubic-128.npz"), Options: format.Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.ReLU}}}}
	runs := 0
	for _, c := range []struct {
		names []string
		paper.Config
	}{
		{paper.Names, paper.Config{Quick: true}},
		{[]string{"regression", "vcas", "mnist"}, paper.Config{Posterior: given}},
	} {
		c.Out = t.TempDir()
		for _, name := range c.names {
			e, err := paper.New(t.Context(), name, &c.Config)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range e.Runs {
				roundTrip(t, r.Name, r.Job)
				r.Job.Out = certify.Output{Path: "runs/" + r.Name + ".jsonl", Resume: true, OmitTiming: true}
				r.Job.Precision = new(bound.Float64)
				roundTrip(t, r.Name, r.Job)
				runs++
			}
		}
	}
	if runs < 70 {
		t.Errorf("%d runs in all experiments", runs)
	}
}

// TestCommands: flags that decide something are in the job, and none is lost on the way
// to a command and back.
func TestCommands(t *testing.T) {
	for _, line := range []string{
		"--posterior a.npz",
		"--posterior a.npz --scale softplus --activation relu,leaky_relu:0.05,tanh --scale-factor 1.50 --predictive linearised",
		"--posterior a.npz --inputs x.csv --input-scale 1/255 --label-column first --index : --eps 0.10 --clip=-1,1 --label column",
		"--posterior a.npz --inputs x.npz:a --eps 1e-3 --property output_box:[-3,1],[,2]",
		"--posterior a.npz --property p.json --method auto --draws 7 --options cells=1,confidence=0.999999999,seed=18446744073709551615",
		"--posterior a.npz --property p.json --method ibp --gamma 2.50 --draws 3",
		"--posterior a.npz --property p.json --method clbp --options depth=2,cells=3",
		"--posterior a.npz --inputs x.csv --eps 0.1 --options no-upper,reject=0.9,action=label --target decision",
		"--posterior a.onnx --sd relative:0.01 --inputs x.csv --eps 0.1 --target decision --options costs=0,1;10,0,action=label",
		"--posterior a.onnx --sd s.npz --scale sd --inputs x.csv --eps 0.1",
		"--posterior a.npz --inputs x.csv --eps 0.1 --property output_box:[0,] --target mean",
		"--posterior a.npz --property p.json --options no-upper,derived",
		"--posterior a.npz --property p.json --precision float32 --require 0.5 --out r.jsonl --resume --omit-timing",
	} {
		_, job, err := parseCertify(strings.Fields(line), false)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		roundTrip(t, line, *job)
		if given, shown := strings.Count(line, "--"), strings.Count(strings.Join(job.Command(), " "), "--"); given != shown {
			t.Errorf("%s: %d flags, of which %q has %d", line, given, job.Command(), shown)
		}
	}
}
