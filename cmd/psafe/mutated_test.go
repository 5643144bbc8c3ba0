package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// mutatedRun is a command of which one file is mutated: what "FILE" stands for. Where it makes
// records (OUT), psafe check must not refuse them.
type mutatedRun struct {
	file string
	args string
}

// mutatedRuns are cheap commands that read every kind of file there is.
func mutatedRuns(t *testing.T, dir string) []mutatedRun {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, write := range []func(string) error{copyTestdata, writeReferenced, writeInputFiles, writeONNX} {
		if err := write(dir); err != nil {
			t.Fatal(err)
		}
	}
	writeTest(t, at("points.csv"), "x,y,class\n0.1,0.9,1\n-0.5,0.25,0\n")
	writeTest(t, at("nine.csv"), "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9\n")
	writeTest(t, at("half.npy"), "\x93NUMPY\x01\x00\x36\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2)}\n\x00\x3c\x00\x38")
	writeTest(t, at("query.vnnlib"), "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n(assert (>= X_0 -0.1))\n(assert (<= X_0 0.1))\n"+
		"(assert (>= X_1 -0.1))\n(assert (<= X_1 0.1))\n(assert (>= Y_0 Y_1))\n")
	tiny := "certify --device cpu --posterior " + at("tiny-2-3-2-tanh.npz") + " --inputs " + at("points.csv") + " --label-column class --eps 0.05 "
	psafe(t, exitDone, append(strings.Fields(tiny), "--draws", "20", "--out", at("records.jsonl"))...)
	conv, err := os.ReadFile(testFile("glyphs-conv-8-10.npz"))
	if err != nil {
		t.Fatal(err)
	}
	writeTest(t, at("conv.npz"), string(conv))
	images := " --inputs " + at("glyphs-test-images-idx3-ubyte.gz") + " --index 0:1 --eps 0.001 --clip 0,1 "
	return []mutatedRun{
		{"tiny-2-3-2-tanh.npz", "certify --device cpu --posterior FILE --inputs " + at("points.csv") + " --label-column class --eps 0.05 --out OUT"},
		{"one-weight.npz", "certify --device cpu --posterior FILE --inputs " + at("one.csv") + " --property output_box:-1,1 --eps 0.05 --method clbp --out OUT"},
		{"samples-2-8-3.npz", "certify --device cpu --posterior FILE --inputs " + at("points.csv") + " --label-column class --eps 0.01 --out OUT"},
		{"swag-2-8-3.npz", "certify --device cpu --posterior FILE --inputs " + at("points.csv") + " --label-column class --eps 0.01 --method statistical --draws 20 --out OUT"},
		{"dropout-2-8-3.npz", "certify --device cpu --posterior FILE --inputs " + at("points.csv") + " --label-column class --eps 0.01 --method statistical --draws 20 --out OUT"},
		{"correlated-2-8-3.npz", "certify --device cpu --posterior FILE --inputs " + at("points.csv") + " --label-column class --eps 0.01 --method clbp --out OUT"},
		{"referenced.npz", "certify --device cpu --posterior FILE --inputs " + at("four.csv") + " --eps 0.01 --method clbp --out OUT"},
		{"conv.npz", "inspect FILE"},
		{"exported.onnx", "certify --device cpu --posterior FILE --sd 0.05 --inputs " + at("nine.csv") + " --eps 0.01 --out OUT"},
		{"exported.onnx", "predict --posterior FILE --sd 0 --inputs " + at("nine.csv")},
		{"half.npy", "predict --posterior " + at("tiny-2-3-2-tanh.npz") + " --inputs FILE"},
		{"points.csv", tiny[:strings.Index(tiny, "--inputs")] + "--inputs FILE --label-column class --eps 0.05 --out OUT"},
		{"glyphs-test-images-idx3-ubyte.gz", "predict --posterior " + at("glyphs-64-32-10.npz") + " --inputs FILE --index 0:3"},
		{"glyphs-test-labels-idx1-ubyte.gz", "certify --device cpu --posterior " + at("glyphs-64-32-10.npz") + images + "--label FILE --method clbp --out OUT"},
		{"cubic-property.json", "certify --device cpu --posterior " + at("cubic-128.npz") + " --property FILE --method clbp --out OUT"},
		{"campaign.yaml", "plan FILE --list"},
		{"records.jsonl", "check FILE"},
		{"records.jsonl", "summary FILE"},
		{"records.jsonl", "report FILE --out OUT"},
		{"query.vnnlib", "verify FILE --network f=" + at("tiny-2-3-2-tanh.npz") + " --device cpu"},
	}
}

// TestMutatedInputs: of every kind of file that psafe reads, with anything changed in it, a command
// ends with a status that is documented, in time, with whole lines; and what it claims then psafe
// check does not refuse. PSAFE_TEST_SEED draws other files.
func TestMutatedInputs(t *testing.T) {
	if testing.Short() {
		t.Skip("one process: nothing for the race detector")
	}
	dir := t.TempDir()
	writeTest(t, filepath.Join(dir, "one.csv"), "0.5\n")
	writeTest(t, filepath.Join(dir, "four.csv"), "0.5,0.1,-0.2,0.3\n")
	runs := mutatedRuns(t, dir)
	t.Chdir(dir) // as plan does, for good
	seed := uint64(20261123)
	if text := os.Getenv("PSAFE_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	statuses, cases := map[int]int{}, testscale.Cases(t, 20000)
	if !testscale.Deep(t) {
		cases /= 10
	}
	for i := range cases {
		r := runs[i%len(runs)]
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		original, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil {
			t.Fatal(err)
		}
		file, out := filepath.Join(dir, "mutant-"+r.file), filepath.Join(dir, fmt.Sprintf("out%d.jsonl", i))
		if err := os.WriteFile(file, mutated(rng, original), 0o666); err != nil {
			t.Fatal(err)
		}
		statuses[mutatedCase(t, fmt.Sprintf("seed %d case %d: %s", seed, i, r.args), strings.Fields(strings.NewReplacer("FILE", file, "OUT", out).Replace(r.args)), out)]++
		os.Remove(out)
	}
	t.Logf("%d cases by status: %v", cases, statuses)
	if statuses[exitDone] == 0 || statuses[exitUsage] == 0 {
		t.Errorf("statuses %v: some files are to pass, and some not", statuses)
	}
}

// mutatedCase runs a command and returns its status.
func mutatedCase(t *testing.T, what string, args []string, out string) int {
	t.Helper()
	if args[0] == "certify" {
		args = append(args, "--time-limit", "5s", "--options", "memory=64MiB", "--quiet")
	}
	var stdout, stderr bytes.Buffer
	start := time.Now()
	status := program(args, &stdout, &stderr)
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("%s: took %v", what, took)
	}
	said := stderr.String()
	switch {
	case status != exitDone && status != exitUsage && !(status == exitDifference && args[0] == "check"):
		t.Errorf("%s: status %d: %s", what, status, said)
	case status == exitUsage && args[0] != "check" && (!strings.HasPrefix(said, "psafe: ") || strings.Count(said, "\n") > 2):
		t.Errorf("%s: %q is not a line", what, said)
	case status == exitDone && args[0] == "certify":
		var told bytes.Buffer
		if got := program([]string{"check", out}, &told, &told); got != exitDone {
			t.Errorf("%s: check has status %d: %.2000s", what, got, told.String())
		}
	}
	return status
}

// mutated changes a file in one or a few places, within what it packs if it packs anything.
func mutated(rng *rand.Rand, file []byte) []byte {
	if rng.IntN(4) > 0 {
		if members, err := zip.NewReader(bytes.NewReader(file), int64(len(file))); err == nil && len(members.File) > 0 {
			return mutatedZip(rng, members)
		}
		if r, err := gzip.NewReader(bytes.NewReader(file)); err == nil {
			if plain, err := io.ReadAll(r); err == nil {
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				_, _ = w.Write(mutatedBytes(rng, plain))
				_ = w.Close()
				return b.Bytes()
			}
		}
	}
	return mutatedBytes(rng, file)
}

func mutatedZip(rng *rand.Rand, from *zip.Reader) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	which := rng.IntN(len(from.File))
	for i, f := range from.File {
		r, err := f.Open()
		if err != nil {
			continue
		}
		content, _ := io.ReadAll(r)
		name := f.Name
		if i == which {
			switch rng.IntN(12) {
			case 0:
				continue // a member is missing
			case 1:
				name = string(mutatedBytes(rng, []byte(name)))
			default:
				content = mutatedBytes(rng, content)
			}
		}
		if to, err := w.Create(name); err == nil {
			_, _ = to.Write(content)
		}
	}
	_ = w.Close()
	return b.Bytes()
}

var (
	someNumber = regexp.MustCompile(`-?\d+(\.\d+)?(e-?\d+)?`)
	badNumbers = []string{"nan", "inf", "-inf", "1e999", "-0", "1e-400", "0", "-1", "4294967296", "9223372036854775808", "0.1e", "1_0", "0x1p-3", "1e308", "1", "0.25", "0.999999", "2", "3", "null", `""`, "[]"}
)

func mutatedBytes(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.IntN(3) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		end := min(len(b), at+1+rng.IntN(16))
		switch rng.IntN(8) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = []byte("\x00\xff\x7f\x80\n\",:{}[]()- ")[rng.IntN(16)]
		case 2:
			b = b[:at]
		case 3:
			b = append(b[:at:at], b[end:]...)
		case 4:
			b = append(append(b[:end:end], b[at:end]...), b[end:]...)
		case 5:
			for i := at; i < end; i++ {
				b[i] = byte(rng.IntN(256))
			}
		default: // another number, in text
			if all := someNumber.FindAllIndex(b[:min(len(b), 1<<14)], -1); len(all) > 0 {
				one := all[rng.IntN(len(all))]
				b = append(append(b[:one[0]:one[0]], badNumbers[rng.IntN(len(badNumbers))]...), b[one[1]:]...)
			}
		}
	}
	return b
}
