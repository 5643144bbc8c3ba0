package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"psafe/host/job/certify"
)

// TestOptions: what is wrong with --options, or was a flag before, is one line that says how to write
// it.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"certify --cells 5", "certify has no flag --cells any more: write --options cells=N"},
		{"certify --no-upper", "certify has no flag --no-upper any more: write --options no-upper"},
		{"radius --depth=2", "radius has no flag --depth any more: write --options depth=N"},
		{"run c --recheck 1", "run has no flag --recheck any more: write --options recheck=NUMBER"},
		{"bench --profile", "bench has no flag --profile any more: write --options profile"},
		{"certify --fail-under 0.5", `certify has no flag --fail-under any more: write --fail-unless "p_lower>=NUMBER"`},
		{"inspect a.onnx --sd-relative 0.1", "inspect has no flag --sd-relative any more: write --sd relative:NUMBER"},
		{"certify --cels 5", "certify has no flag --cels: psafe certify --help-all lists the flags; did you mean --options cells=N?"},
		{"certify --options dept=3", `there is no option "dept": they are no-upper, derived, cells`},
		{"certify --options dept=3", `did you mean "depth"?`},
		{"certify --options x", "depth (by lbp, clbp), confidence (by statistical, finite, --draws)"},
		{"certify --options eps=3", "--options eps is a flag of its own: write --eps"},
		{"certify --options cells", "--options cells has no value: write cells=VALUE"},
		{"certify --options cells=x", `--options cells: "x" is no whole number: give one such as 10`},
		{"certify --options cells=1 --options depth=2,cells=2", "--options cells is given twice: give it once"},
		{"certify --options ,", `there is no option ""`},
		{"certify --options no-upper=perhaps", `--options no-upper: "perhaps" is neither true nor false`},
		{"verify q.vnnlib --options depth=3", `there is no option "depth": they are memory, profile`},
		{"certify --method neuronsum --options depth=2", "--options depth is for rows of --method lbp and clbp, not of neuronsum"},
	} {
		args := strings.Fields(c.line)
		if strings.HasPrefix(c.line, "certify --method") {
			args = append(args, "--posterior", testFile("cubic-128.npz"), "--property", testFile("cubic-property.json"))
		}
		var stdout, stderr strings.Builder
		if got := program(args, &stdout, &stderr); got != exitUsage || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: status %d, %q, want %q", c.line, got, stderr.String(), c.want)
		}
	}
}

// TestInOptions: the flags of a job of a campaign, as plan --list prints them, are the same job.
func TestInOptions(t *testing.T) {
	ofDevices := []string{"recheck", "memory", "profile"} // which no job has
	for _, key := range flagNames(optionsOf(certifyCommand().Flags())) {
		if got := certify.InOptions([]string{"--" + key + "=1"}); !slices.Contains(ofDevices, key) && !slices.Equal(got, []string{"--options", key + "=1"}) {
			t.Errorf("the option %s of a job is written %q", key, got)
		}
	}
	for _, line := range []string{
		"--posterior a.npz --inputs x.csv --eps 0.1 --cells 5 --no-upper=true --derived=false --confidence 0.9 --draws 7 --seed 3",
		"--posterior a.npz --inputs x.csv --eps 0.1 --target decision --costs 0,1;10,0 --action label --depth 2 --method clbp",
		"--posterior a.onnx --sd-relative 0.01 --inputs x.csv --eps 0.1 --target mean --noise 0.5",
		"--posterior a.onnx --sd-file s.npz --scale sd --inputs x.csv --eps 0.1 --reject 0.9 --link=average",
	} {
		_, job, err := parseCertify(strings.Fields(line), true)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		words := certify.InOptions(strings.Fields(line))
		if _, again, err := parseCertify(words, false); err != nil || !reflect.DeepEqual(again, job) {
			t.Errorf("%s: %q is %+v, %v, want %+v", line, words, again, err, job)
		}
	}
}
