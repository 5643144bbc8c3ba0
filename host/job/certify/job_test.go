package certify

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/host/read/property"
)

func testFile(name string) string { return filepath.Join("..", "..", "..", "testdata", name) }

// onCPU opens the fallback.
func onCPU(p bound.Precision) (*Devices, error) {
	return &Devices{List: []bound.Device{fallback.New(p)}}, nil
}

// digits is a small job of two records.
func digits() *Job {
	return &Job{
		Posterior: Posterior{Path: testFile("glyphs-64-32-10.npz")},
		Tasks: Tasks{Points: Points{Inputs: testFile("glyphs-test-images-idx3-ubyte.gz"), Index: new("0:2"), Eps: "0.01", Clip: []string{"0", "1"},
			Property: property.KeepsClass}},
		Method: Method{By: new(prove.CLBP)}, Open: onCPU, Out: Output{OmitTiming: true},
	}
}

// lines does a job and returns what it wrote.
func lines(t *testing.T, j *Job) string {
	t.Helper()
	var b strings.Builder
	j.Stdout = &b
	records, err := j.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(records) || n == 0 {
		t.Fatalf("%d records returned, %d written", len(records), n)
	}
	return b.String()
}

// TestNotes: what a run has to tell comes as values, and progress ends at the whole.
func TestNotes(t *testing.T) {
	j := digits()
	text := lines(t, j)
	first, _, _ := strings.Cut(text, "\n")
	out := filepath.Join(t.TempDir(), "r.jsonl")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	overwrite := false
	run := func(want Note, toDo int) {
		t.Helper()
		j := digits()
		j.Out.Path, j.Out.Resume, j.Out.Overwrite = out, true, overwrite
		var told []Note
		done := 0
		j.Note = func(n Note) { told = append(told, n) }
		j.Progress = func(d, total int) {
			if done = d; total != toDo {
				t.Errorf("%d records to do, want %d", total, toDo)
			}
		}
		records, err := j.Run(t.Context())
		if err != nil || len(records) != 2 || done != toDo || len(told) != 1 {
			t.Fatalf("%d records, %v; %d done, %d notes", len(records), err, done, len(told))
		}
		if anew, is := told[0].(*Anew); is {
			anew.Why = nil
		}
		if !reflect.DeepEqual(told[0], want) {
			t.Errorf("note %#v, want %#v", told[0], want)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != text {
			t.Errorf("%v: %s", err, got)
		}
	}
	put(out+PartialSuffix, first+"\n"+first[:20])
	run(&GoingOn{File: out + PartialSuffix, Done: 1, Total: 2}, 1)
	run(&Complete{File: out, Total: 2}, 0)
	put(out, first+"\n")
	overwrite = true
	run(&Anew{}, 2)
}

// TestErrors: what ended a run is told by type.
func TestErrors(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a signal"))
	_, err := digits().Run(ctx)
	if e, is := errors.AsType[*Interrupted](err); !is || e.Error() != "interrupted" || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ended: %v", err)
	}
	j := digits()
	j.Open = func(bound.Precision) (*Devices, error) { return nil, &DeviceError{errors.New("absent")} }
	_, err = j.Run(t.Context())
	if _, is := errors.AsType[*DeviceError](err); !is {
		t.Errorf("a device that cannot be had: %v", err)
	}
	for want, change := range map[string]func(*Job){
		"--eps and a property file cannot be combined: the file x.json has its own": func(j *Job) { j.Tasks.File, j.Tasks.Points = "x.json", Points{Eps: "0"} },
		"--posterior is missing": func(j *Job) { j.Posterior.Path = "" },
		"--require 2 is no":      func(j *Job) { j.Require = "2" },
		"--gamma is for weight":  func(j *Job) { j.Method = Method{By: new(prove.CLBP), Gamma: new(1.0)} },
		`--method "method(99)" is none of auto, ibp, lbp, clbp, neuronsum, phases, chernoff, finite, statistical`: func(j *Job) { j.Method.By = new(prove.Method(99)) },
		"--method lbp needs --draws N": func(j *Job) { j.Method = Method{Gamma: new(1.0)} },
		"--method ibp needs --gamma G": func(j *Job) { j.Method = Method{By: new(prove.IBP), Draws: new(3)} },
		"is not a property":            func(j *Job) { j.Tasks.Points.Property = "" },
	} {
		j := digits()
		change(j)
		if _, err := j.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCommand: a job as words, in the order of psafe help certify.
func TestCommand(t *testing.T) {
	j := digits()
	j.Posterior.Options = format.Options{Scale: posterior.ScaleSD, Activations: []network.Activation{{Kind: network.LeakyReLU, Slope: 0.1}}}
	j.Tasks.Points.Property = "output_box:[0,]"
	j.Method = Method{Gamma: new(1e-5), Seed: new(uint64(1<<64 - 1))}
	j.Precision, j.Require, j.Out = new(bound.Float64), "0.5", Output{Path: "r.jsonl", Resume: true}
	want := "psafe certify --posterior " + testFile("glyphs-64-32-10.npz") + " --scale sd --activation leaky_relu:0.1 --inputs " + testFile("glyphs-test-images-idx3-ubyte.gz") +
		" --index 0:2 --eps 0.01 --clip 0,1 --property 'output_box:[0,]' --gamma 1e-05 --options seed=18446744073709551615 --precision float64 --require 0.5 --out r.jsonl --resume"
	if got := Shell(j.Command()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestShell: a real sh gives a program the words, byte for byte.
func TestShell(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	words := []string{"", "plain", "two words", "it's", `"`, "$HOME", "$(id)", "`id`", `a\b`, "~", "~root", "#", "!", "{a,b}", "[a]*?", "a=b", "--x=y", "--x=y z", "=ls", "^", "a;b|c&d<e>f", "a\nb\t\r", "\x1b\x7f\u0085", "\u200c\u202e\u2028", "\xff\xfe", "é"}
	for c := range 255 {
		words = append(words, "x"+string([]byte{byte(c + 1)})+"y")
	}
	got, err := exec.Command("sh", "-c", "printf '%s\\0' "+Shell(words)).Output()
	if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(got) != want {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
}
