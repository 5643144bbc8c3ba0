package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/read/format"
)

// trainFast are flags of a network that trains in a moment.
var trainFast = []string{"--data", "cubic", "--samples", "40", "--hidden", "4", "--epochs", "2"}

// runTrainIn runs psafe train in folder dir.
func runTrainIn(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	err = execute(t.Context(), append([]string{"train"}, args...), &out, &errs)
	return out.String(), errs.String(), err
}

func trainWrite(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTrain wants the same file wherever it is written, a report of one line,
// and no progress where nobody watches.
func TestTrain(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a.npz", "b.npz"} {
		stdout, stderr, err := runTrainIn(t, dir, append(slices.Clone(trainFast), "--out", name)...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(stdout, name+": 13 weights; training loss ") || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "RMSE") {
			t.Errorf("stdout %q", stdout)
		}
		if stderr != "" {
			t.Errorf("stderr %q, want nothing in a pipe", stderr)
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(content))
	}
	if files[0] != files[1] {
		t.Error("two runs give different files")
	}
	p, err := format.Read(filepath.Join(dir, "a.npz"), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "psafe train --data cubic --samples 40 --task regression --hidden 4 --activation relu --epochs 2 --batch 50"
	if !strings.HasPrefix(p.Source.Note, want) {
		t.Errorf("note %q, want one that begins with %q", p.Source.Note, want)
	}
	// The note is a command: it must make the same file.
	args := append(strings.Fields(p.Source.Note)[2:], "--out", "c.npz")
	if _, _, err := runTrainIn(t, dir, args...); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(filepath.Join(dir, "c.npz")); string(again) != files[0] {
		t.Error("the command in the note gives a different file")
	}
}

func TestTrainClassification(t *testing.T) {
	dir := t.TempDir()
	trainWrite(t, dir, "points.csv", "a,b,class\n"+strings.Repeat("1,0,0\n0,1,1\n0,0,2\n", 20))
	stdout, _, err := runTrainIn(t, dir, "--data", "points.csv", "--task", "classification", "--hidden", "8,6", "--epochs", "40",
		"--activation", "leaky_relu:0.1", "--learning-rate", "0.05", "--kl-weight", "0.1", "--out", "p.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, "accuracy 100.00%") {
		t.Errorf("stdout %q", stdout)
	}
	p, err := format.Read("p.safetensors", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Inputs() != 2 || p.Outputs() != 3 || len(p.Layers) != 3 || !strings.Contains(p.Source.Note, "; sha256 of points.csv is ") {
		t.Errorf("%d inputs, %d outputs, %d layers, note %q", p.Inputs(), p.Outputs(), len(p.Layers), p.Source.Note)
	}
}

func TestTrainHelp(t *testing.T) {
	stdout, _, err := runTrainIn(t, t.TempDir(), "--help")
	if err != nil || !strings.Contains(stdout, "--kl-weight") {
		t.Errorf("error %v, stdout %q", err, stdout)
	}
}

// TestTrainErrors wants every mistake to be one line that names its flag, and
// nothing written.
func TestTrainErrors(t *testing.T) {
	csv := []string{"--data", "points.csv", "--out", "p.npz"}
	tests := []struct {
		want string
		args []string
	}{
		{"--data is missing", []string{"--out", "p.npz"}},
		{"--out is missing", []string{"--data", "cubic"}},
		{"--task is missing", csv},
		{`--task: task "ranking" is neither`, append(slices.Clone(csv), "--task", "ranking")},
		{"--task: cubic is a regression", trainCubicWith("--task", "classification")},
		{"--epochs is -3", trainCubicWith("--epochs", "-3")},
		{`--epochs "many" is no whole number`, trainCubicWith("--epochs", "many")},
		{"--batch is 0", trainCubicWith("--batch", "0")},
		{"--learning-rate is NaN", trainCubicWith("--learning-rate", "NaN")},
		{"--kl-weight is -1", trainCubicWith("--kl-weight", "-1")},
		{"--prior-sd is 0", trainCubicWith("--prior-sd", "0")},
		{"--init-sd is 0", trainCubicWith("--init-sd", "0")},
		{"--noise is -2", trainCubicWith("--noise", "-2")},
		{"--samples is 0", trainCubicWith("--samples", "0")},
		{"--samples is 100000000;", trainCubicWith("--samples", "100000000")},
		{`--hidden: "x" is not`, trainCubicWith("--hidden", "4,x")},
		{"--hidden has a layer of width 0", trainCubicWith("--hidden", "0")},
		{"--hidden makes a network of more than", trainCubicWith("--hidden", "99999999999")},
		{`--activation: activation "gelu"`, trainCubicWith("--activation", "gelu")},
		{"--activation identity", trainCubicWith("--activation", "identity")},
		{"train has no flag --nosuch", trainCubicWith("--nosuch", "1")},
		{`"file.csv" belongs to no flag`, trainCubicWith("file.csv")},
		{"--labels are for --task classification", trainCubicWith("--labels", "points.csv")},
		{"--samples is for --data cubic", append(slices.Clone(csv), "--task", "regression", "--samples", "3")},
		{"--noise is for a regression", append(slices.Clone(csv), "--task", "classification", "--noise", "3")},
		{"--data absent.csv: cannot open: no such file", []string{"--data", "absent.csv", "--task", "regression", "--out", "p.npz"}},
		{"--labels absent: cannot open: no such file", append(slices.Clone(csv), "--task", "classification", "--labels", "absent")},
		{"--data points.csv: line 2: column 2", append(slices.Clone(csv), "--task", "classification")},
		{"--out p.txt: name the file", trainCubicWith("--out", "p.txt")},
		{"--out absent/p.npz: cannot be written: no such", trainCubicWith("--out", "absent/p.npz")},
		{"--out folder.npz: exists and is no regular file", trainCubicWith("--out", "folder.npz")},
		{"--out ./points.npz: is also an input", []string{"--data", "points.npz", "--task", "regression", "--out", "./points.npz"}},
		{"--out points.npz: is also an input", []string{"--data", "points.csv", "--task", "classification", "--labels", "points.npz:y", "--out", "points.npz"}},
	}
	dir := t.TempDir()
	trainWrite(t, dir, "points.csv", "1,0\n2,0.5\n")
	trainWrite(t, dir, "points.npz", "not looked at")
	if err := os.Mkdir(filepath.Join(dir, "folder.npz"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := trainList(t, dir)
	for _, test := range tests {
		stdout, _, err := runTrainIn(t, dir, test.args...)
		if err == nil {
			t.Errorf("%q: no error", test.args)
			continue
		}
		if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, "\n") {
			t.Errorf("%q: error %q, want one line with %q", test.args, text, test.want)
		}
		if stdout != "" {
			t.Errorf("%q: stdout %q", test.args, stdout)
		}
	}
	if after := trainList(t, dir); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
}

// trainCubicWith are flags that train, but for the ones given.
func trainCubicWith(args ...string) []string {
	return overridden(append(append(slices.Clone(trainFast), "--out", "p.npz"), args...))
}

func trainList(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
