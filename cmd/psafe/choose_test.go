package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/host/bound"
	"psafe/host/job/campaign"
	"psafe/internal/vector"
)

// TestGain: nothing is gained on a short job; on a long one, more where loops are slower.
func TestGain(t *testing.T) {
	for _, set := range []vector.Set{vector.None, vector.AVX2, vector.AVX512} {
		if gain, seconds := gainApprox(0, set, 2); gain != 0 || seconds != 0 {
			t.Errorf("%v: %v of %v s of nothing", set, gain, seconds)
		}
		one, alone := gainApprox(1e12, set, 1)
		if gain, seconds := gainApprox(1e12, set, 4); !(gain > 0 && gain < seconds && 4*seconds == alone && 4*gain == one) {
			t.Errorf("%v: %v of %v s on four cores, %v of %v on one", set, gain, seconds, one, alone)
		}
	}
	plain, _ := gainApprox(1e11, vector.None, 2)
	vector, _ := gainApprox(1e11, vector.AVX512, 2)
	if plain <= vector {
		t.Errorf("plain loops lose %v s, vector loops %v", plain, vector)
	}
}

// TestChooseCPU: auto takes an OpenCL CPU for a long job alone, and says what it took.
func TestChooseCPU(t *testing.T) {
	needOpenCL(t)
	t.Setenv("PSAFE_DEVICE", "")
	for _, c := range []struct {
		work         float64
		device, said string
	}{
		{0, "cpu", "computing on the CPU by loops (vectors: "}, {1e15, "0:0", "computing on the CPU by OpenCL, "},
	} {
		var stderr bytes.Buffer
		s := &supervised{stderr: &stderr, work: func() float64 { return c.work }, explain: true}
		device, err := s.chooseDevice(t.Context(), bound.Float32)
		if device != c.device || err != nil || stderr.Len() > 0 {
			t.Errorf("%v multiplications: %q, %v, %q", c.work, device, err, stderr.String())
		}
		if s.showNotes(); !strings.HasPrefix(stderr.String(), "psafe: note: "+c.said) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v multiplications: %q", c.work, stderr.String())
		}
	}
	// A device that is listed, and is not there, is passed over with a line.
	var stderr bytes.Buffer
	s := &supervised{stderr: &stderr, work: func() float64 { return 1e15 }}
	rows := []deviceRow{{ID: "0:99", Name: "absent", Type: "CPU", FP64: true}, {ID: "0:98", Type: "Accelerator"}}
	if device, err := s.chooseCPU(t.Context(), bound.Float32, rows); device != "cpu" || err != nil || stderr.Len() > 0 || len(s.notes) != 1 || !strings.Contains(s.notes[0], "absent (0:99) is left out") {
		t.Errorf("%q, %v, %q", device, err, s.notes)
	}
}

// TestNotesOfDevices: what auto means is said when something is computed: before it, and neither
// beside an error of the arguments nor where all records are there.
func TestNotesOfDevices(t *testing.T) {
	needOpenCL(t)
	t.Setenv("PSAFE_DEVICE", "")
	out := filepath.Join(t.TempDir(), "r.jsonl")
	args := []string{"certify", "--posterior", testFile("tiny-2-3-2-tanh.npz"), "--inputs", pointsOf(t, "0,1\n"), "--eps", "0.05", "--method", "clbp", "--out", out}
	const chosen = "psafe: note: computing on the CPU by loops"
	if status, _, errs := endOf(args...); status != exitDone || !strings.HasPrefix(errs, chosen) {
		t.Errorf("status %d, %q", status, errs)
	}
	status, _, errs := endOf(append(args, "--resume")...)
	if status != exitDone || strings.Count(errs, "note: ") != 1 || !strings.Contains(errs, "has all 1 records already, nothing is computed") {
		t.Errorf("complete: status %d, %q", status, errs)
	}
	for _, wrong := range [][]string{{"--precision", "float16"}, {"--label", "7"}, {"--gamma", "-1"}, {"--channels", "first"}} {
		status, _, errs := endOf(append(append(args, "--overwrite"), wrong...)...)
		if status != exitUsage {
			t.Errorf("%q: status %d", wrong, status)
		}
		wantLine(t, strings.Join(wrong, " "), errs, wrong[0])
		if strings.Contains(errs, "note: ") {
			t.Errorf("%q: %q", wrong, errs)
		}
	}
}

// TestWorkOfJobs: what is asked for decides, and what cannot be read is no work.
func TestWorkOfJobs(t *testing.T) {
	work := func(args ...string) float64 {
		t.Helper()
		_, job, err := parseCertify(overridden(append([]string{"--posterior", "../../testdata/glyphs-64-32-10.npz", "--inputs", "../../testdata/glyphs-test-images-idx3-ubyte.gz", "--eps", "0.01"}, args...)), false)
		if err != nil {
			t.Fatal(err)
		}
		return workApprox(job)
	}
	one := work("--index", "0")
	for _, c := range []struct {
		args        []string
		least, most float64
	}{
		{[]string{"--index", "0:50"}, 50, 50}, {[]string{"--index", "0", "--method", "ibp", "--draws", "2000", "--gamma", "1"}, 1, 98}, {[]string{"--index", "0", "--draws", "100000"}, 100, 1e6},
		{[]string{"--index", "0", "--method", "lbp", "--draws", "2000", "--gamma", "1"}, 99, 101}, {[]string{"--index", "0:1000"}, 0, 0},
	} {
		if got := work(c.args...) / one; got < c.least || got > c.most {
			t.Errorf("%v: %v times the work of one input, want %v to %v", c.args, got, c.least, c.most)
		}
	}
}

// TestWorkOfPipes: what comes by a pipe is left for the job to read.
func TestWorkOfPipes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(name); err != nil {
		t.Skip(err)
	}
	if _, err := w.WriteString("0,1\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_, job, err := parseCertify(overridden([]string{"--posterior", "../../testdata/tiny-2-3-2-tanh.npz", "--inputs", name, "--eps", "0.01"}), false)
	if err != nil {
		t.Fatal(err)
	}
	work := workApprox(job)
	rest, err := io.ReadAll(r)
	if work != 0 || err != nil || string(rest) != "0,1\n" {
		t.Errorf("%v multiplications; %q is left, %v", work, rest, err)
	}
}

// TestWorkOfCampaigns: not the first job alone says how long a shard takes.
func TestWorkOfCampaigns(t *testing.T) {
	base := t.TempDir()
	for i, name := range []string{"tiny-2-3-2-tanh.npz", "swag-2-8-3.npz"} {
		writeTest(t, filepath.Join(base, fmt.Sprintf("%d.npz", i)), readTest(t, testFile(name)))
	}
	writeTest(t, filepath.Join(base, "points.csv"), "0,1\n1,0\n")
	t.Chdir(base) // as plan does, for good
	work := func(posteriors string) float64 {
		spec, dir := filepath.Join(base, "c.yaml"), filepath.Join(t.TempDir(), "out")
		writeTest(t, spec, "posteriors: ["+posteriors+"]\ninputs: points.csv\neps: 0.1\nmethods: clbp\n")
		psafe(t, exitDone, "plan", spec, "--out", dir)
		folder, err := campaign.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		run := &campaign.Run{Folder: folder, Shard: campaign.Shard{I: 0, N: 1}}
		found, err := run.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return campaignWorkApprox(run, found)
	}
	small, large := work("0.npz"), work("1.npz")
	if both := work("0.npz, 1.npz"); !(small > 0 && large > 2*small) || both != small+large {
		t.Errorf("%v, %v, together %v", small, large, both)
	}
	known := false // in the campaign's folder, so before any child begins
	(&supervised{work: func() float64 { time.Sleep(time.Millisecond); known = true; return 1 }}).estimate(t.Context())
	if !known {
		t.Error("a campaign is estimated while children begin")
	}
}
