package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"psafe/internal/testscale"
)

// TestPage: every script of docs/start.md is Python; those that need no more than NumPy
// run, and with make deep those that need torch.
func TestPage(t *testing.T) {
	python := pythonWith(t, "numpy")
	page, err := os.ReadFile(filepath.Join("..", "docs", "start.md"))
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for i, block := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		code := block[1]
		whole := strings.HasPrefix(code, "import numpy as np, psafe_export\n")
		interpreter := python
		if strings.HasPrefix(code, "import torch, psafe_export\n") && strings.Contains(code, "torch.rand(") && testscale.Deep(t) {
			interpreter, whole = pythonWith(t, "torch"), true
		}
		if !whole {
			code = fmt.Sprintf("compile(%q, 'script', 'exec')", code)
		} else {
			run++
		}
		if dir := runs(t, interpreter, code); whole {
			if _, err := os.Stat(filepath.Join(dir, "net.npz")); err != nil {
				t.Errorf("script %d of docs/start.md: %v", i, err)
			}
		}
	}
	if want := map[bool]int{false: 3, true: 5}[testscale.Deep(t)]; run != want {
		t.Errorf("%d scripts of docs/start.md ran, want %d", run, want)
	}
}

// TestExamples: the scripts of examples that say how to certify what they save are Python; with make
// deep they run, and most of their inputs get a verdict.
func TestExamples(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("examples", "*.py"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		command := regexp.MustCompile(`\n    psafe (certify .*)\n`).FindStringSubmatch(string(code))
		if command == nil {
			continue // TestResNet has that one
		}
		n++
		if !testscale.Deep(t) {
			runs(t, pythonWith(t, "numpy"), fmt.Sprintf("compile(%q, 'script', 'exec')", code))
			continue
		}
		certifies(t, runs(t, pythonWith(t, "torch"), string(code)), strings.Fields(command[1]))
	}
	if n != 6 {
		t.Errorf("%d examples", n)
	}
}

// runs runs code in a folder of its own, and returns it.
func runs(t *testing.T, interpreter, code string) string {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(interpreter, "-c", code)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, code, out)
	}
	return dir
}

// certifies runs the line behind a script, which must give verdicts for more than half of the
// inputs, proved or as intervals.
func certifies(t *testing.T, dir string, args []string) {
	t.Helper()
	run := exec.Command(theProgram(t), append(args, "--device", "cpu")...)
	run.Dir = dir
	out, err := run.CombinedOutput()
	counts := regexp.MustCompile(`psafe: ([0-9]+) of ([0-9]+) safe|([0-9]+) of ([0-9]+) intervals from`).FindAllStringSubmatch(string(out), -1)
	most := 0.0
	for _, c := range counts {
		var k, n float64
		if _, err := fmt.Sscan(c[1]+c[3]+" "+c[2]+c[4], &k, &n); err == nil && n > 0 {
			most = max(most, k/n)
		}
	}
	if err != nil || most <= 0.5 {
		t.Errorf("psafe %s: %v, %g of all with a verdict:\n%s", strings.Join(args, " "), err, most, out)
	}
}

var built struct {
	sync.Once
	path string
	err  error
}

// theProgram builds psafe, once.
func theProgram(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		var dir string
		if dir, built.err = os.MkdirTemp("", "psafe-export"); built.err != nil {
			return
		}
		built.path = filepath.Join(dir, "psafe.exe")
		if out, err := exec.Command("go", "build", "-o", built.path, "../cmd/psafe").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// TestMain removes the program.
func TestMain(m *testing.M) {
	status := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(status)
}

// TestResNet runs examples/resnet.py on a few drawn images, and certifies one.
func TestResNet(t *testing.T) {
	testscale.DeepOnly(t)
	python, dir := pythonWith(t, "torch"), t.TempDir()
	images, labels := []byte("\x00\x00\x08\x03\x00\x00\x01\x2c\x00\x00\x00\x10\x00\x00\x00\x10"), []byte("\x00\x00\x08\x01\x00\x00\x01\x2c")
	for i := range 300 { // a bright row or a bright column of 16 x 16
		image := make([]byte, 256)
		for k := range 32 {
			at, along := 3+i/2%8+k/16, k%16
			image[map[int]int{0: 16*at + along, 1: 16*along + at}[i%2]] = 255
		}
		images, labels = append(images, image...), append(labels, byte(i%2))
	}
	for name, content := range map[string][]byte{"images": images, "labels": labels} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs(filepath.Join("examples", "resnet.py"))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(python, script, "images", "labels", ".", "3")
	run.Dir, run.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	certifies(t, dir, strings.Fields("certify --posterior net.npz --inputs test-images.npy --input-scale 1/255 --label test-labels.npy --index 0 --eps 1/2550 --method clbp --options no-upper"))
}
