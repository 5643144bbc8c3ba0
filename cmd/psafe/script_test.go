package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/format"
)

// TestScripts runs psafe as users do: testdata/script/*.txtar. Each script starts with the
// files of this project's testdata and the bad ones that writeBadFiles makes. A line "psafe ..."
// is run in this process (inProcess), "exec psafe ..." starts the program.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Abs(filepath.Join("testdata", "script")) // this process goes to other folders
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PSAFE_DEVICE", "cpu")
			if err := copyTestdata(env.WorkDir); err != nil {
				return err
			}
			if err := writeInputFiles(env.WorkDir); err != nil {
				return err
			}
			if err := writeReferenced(env.WorkDir); err != nil {
				return err
			}
			if err := writeONNX(env.WorkDir); err != nil {
				return err
			}
			if err := writeNetworks(env.WorkDir); err != nil {
				return err
			}
			return writeBadFiles(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"psafe": inProcess, "oneline": oneLine, "lines": countLines, "first": firstLines, "changed": changeFile},
	})
}

// scriptVariables are the variables of the environment that scripts set and psafe reads.
var scriptVariables = []string{"PSAFE_DEVICE", "PSAFE_SUBMISSION", "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
	"SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT", "TMPDIR"}

// inside is held by the script whose command has the folder and the environment of this process.
var inside sync.Mutex

// inProcess runs a command in this process: most of them take less time than the start of one.
func inProcess(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 && strings.HasPrefix(args[len(args)-1], "&") {
		ts.Fatalf("psafe in the background is exec psafe")
	}
	inside.Lock()
	defer inside.Unlock()
	for _, name := range scriptVariables {
		defer os.Setenv(name, os.Getenv(name))
		ts.Check(os.Setenv(name, ts.Getenv(name)))
	}
	here, err := os.Getwd()
	ts.Check(err)
	defer os.Chdir(here)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	if got := program(args, ts.Stdout(), ts.Stderr()); (got == exitDone) == neg {
		ts.Fatalf("exit status %d", got)
	}
}

// firstLines writes the first lines of a file to another.
func firstLines(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	lines := strings.SplitAfterN(ts.ReadFile(args[1]), "\n", n+1)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Join(lines[:n], "")), 0o666))
}

// changeFile writes a file to another with what matches an expression replaced, which
// must be there.
func changeFile(ts *testscript.TestScript, neg bool, args []string) {
	text, found := ts.ReadFile(args[0]), regexp.MustCompile(args[2])
	if !found.MatchString(text) {
		ts.Fatalf("%s has no %s", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(found.ReplaceAllString(text, args[3])), 0o666))
}

// oneLine demands that standard error was one line that starts with "psafe: " and
// contains each argument.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stderr")
	if !strings.HasPrefix(text, "psafe: ") || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("standard error is not one line of psafe's: %q", text)
	}
	for _, a := range args {
		if !strings.Contains(text, a) {
			ts.Fatalf("standard error %q does not say %q", text, a)
		}
	}
}

// countLines demands that a file has that many lines.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if n := strings.Count(ts.ReadFile(args[0]), "\n"); strings.Repeat("x", n) != strings.Repeat("x", len(args[1])) {
		ts.Fatalf("%s has %d lines, want %d", args[0], n, len(args[1]))
	}
}

// sources is the folder of testdata, wherever this process is.
var sources, _ = filepath.Abs(testFile(""))

func copyTestdata(dir string) error {
	for _, name := range []string{"cubic-128.npz", "cubic-property.json", "one-weight.npz", "glyphs-64-32-10.npz", "tiny-2-3-2-tanh.npz",
		"samples-2-8-3.npz", "swag-2-8-3.npz", "dropout-2-8-3.npz", "correlated-2-8-3.npz",
		"glyphs-64-24-24-10.npz", "campaign.yaml", "loop-2-16-1.npz", "glyphs-test-images-idx3-ubyte.gz", "glyphs-test-labels-idx1-ubyte.gz"} {
		b, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeReferenced makes referenced.npz, a network with reference logits of its own, and
// transposed.npz, the same with one of its layers the other way round; bare.npz is that
// without references, droppedtwice.npz, with dropout below a join, and swagjoined.npz, SWAG of such a
// network, of which nothing is proved.
func writeReferenced(dir string) error {
	r := rand.New(rand.NewPCG(1, 2))
	p := &posterior.Posterior{Scale: posterior.ScaleSD, Reference: &posterior.Reference{}}
	for k, width := range []int{6, 6, 3} {
		var lists [4][]float64
		for j := range lists {
			lists[j] = make([]float64, []int{[]int{4, 6, 6}[k] * width, width}[j%2])
			for e := range lists[j] {
				lists[j][e] = []float64{r.NormFloat64(), 0.05}[j/2]
			}
		}
		p.Layers = append(p.Layers, posterior.Layer{
			Layer:  network.DenseLayer([]int{4, 6, 6}[k], width, network.Activation{Kind: network.Tanh}),
			Weight: posterior.NewParams(lists[0], lists[2], p.Scale), Bias: posterior.NewParams(lists[1], lists[3], p.Scale),
		})
	}
	p.Layers[2].Activation = network.Activation{}
	p.Input = posterior.Input{Mean: []float64{0.5}, Std: []float64{2}}
	for range 4 {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		p.Reference.Inputs = append(p.Reference.Inputs, x...)
		p.Reference.Logits = append(p.Reference.Logits, p.LogitsApprox(p.Input.NormaliseApprox(x))...)
	}
	p.Reference.Spread = []float64{0.05, 0.05, 0.05, 0.05, 0.05, 0.05}
	write := func(name string) error {
		var b bytes.Buffer
		if err := format.WriteNPZ(&b, p); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644)
	}
	if err := write("referenced.npz"); err != nil {
		return err
	}
	w := p.Layers[1].Weight.Mean
	for i := range 6 {
		for j := range i {
			w[6*i+j], w[6*j+i] = w[6*j+i], w[6*i+j]
		}
	}
	if err := write("transposed.npz"); err != nil {
		return err
	}
	p.Reference = nil
	if err := write("bare.npz"); err != nil {
		return err
	}
	var err error
	join := &p.Layers[2]
	join.Layer, join.Weight = network.DenseLayer(12, 3, network.Activation{}), posterior.Params{Mean: slices.Repeat(join.Weight.Mean, 2)}
	join.Sources = []int{0, 1}
	layers := p.Layers
	if p, err = posterior.FromDropout(layers, []float64{0, 0.1, 0.2}); err != nil {
		return err
	}
	if err := write("droppedtwice.npz"); err != nil {
		return err
	}
	var spread, deviations [][]float64
	for _, g := range p.Params() {
		spread = append(spread, slices.Repeat([]float64{0.1}, len(g.Mean)))
		deviations = append(deviations, slices.Repeat([]float64{0.1}, 2*len(g.Mean)))
	}
	if p, err = posterior.FromSWAG(layers, posterior.ScaleSD, spread, 2, deviations); err != nil {
		return err
	}
	return write("swagjoined.npz")
}

// writeBadFiles makes the files that a program like this is given sooner or
// later.
func writeBadFiles(dir string) error {
	good, err := os.ReadFile(filepath.Join(dir, "cubic-128.npz"))
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"truncated.npz": good[:len(good)*2/3],
		"empty.npz":     nil,
		// BINBYTES8 with a length of 17 GB, in 12 bytes.
		"hostile.net": {0x80, 4, 0x8e, 0, 0, 0, 0, 4, 0, 0, 0, '.'},
		// os.system, which no posterior needs.
		"system.net": []byte("\x80\x02cos\nsystem\nU\x04true\x85R."),
	}
	// The writer refuses bad numbers, so a mark is written and then replaced.
	const mark = 123.25
	for name, bad := range map[string]struct {
		spoil func(*posterior.Posterior) *float64
		value float32
	}{
		"nan-sigma.npz":      {func(p *posterior.Posterior) *float64 { return markSpread(&p.Layers[0].Weight, mark) }, float32(math.NaN())},
		"inf-sigma.npz":      {func(p *posterior.Posterior) *float64 { return markSpread(&p.Layers[0].Weight, mark) }, float32(math.Inf(1))},
		"negative-sigma.npz": {func(p *posterior.Posterior) *float64 { return markSpread(&p.Layers[1].Bias, mark) }, -0.5},
		"nan-mean.npz":       {func(p *posterior.Posterior) *float64 { return &p.Layers[0].Bias.Mean[0] }, float32(math.NaN())},
	} {
		p, err := format.Read(filepath.Join(dir, "cubic-128.npz"), format.Options{})
		if err != nil {
			return err
		}
		*bad.spoil(p) = mark
		var b bytes.Buffer
		if err := format.WriteNPZ(&b, p); err != nil {
			return err
		}
		if files[name], err = patchZip(b.Bytes(), float32Bytes(mark), float32Bytes(bad.value)); err != nil {
			return err
		}
	}
	chain, err := patchZip(good, `"in":1,"out":128`, `"in":1,"out":127`)
	if err != nil {
		return err
	}
	files["chain.npz"] = chain
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// markSpread makes the first standard deviation v and returns its stored spread.
func markSpread(g *posterior.Params, v float64) *float64 {
	g.SdLo[0], g.SdHi[0] = v, v
	return &g.Spread[0]
}

func float32Bytes(x float32) string {
	return string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
}

// patchZip replaces bytes in every member of a zip.
func patchZip(file []byte, old, replacement string) ([]byte, error) {
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		var content bytes.Buffer
		if _, err := content.ReadFrom(in); err != nil {
			return nil, err
		}
		out, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(bytes.ReplaceAll(content.Bytes(), []byte(old), []byte(replacement))); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}
