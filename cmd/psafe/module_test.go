package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"psafe/python"
)

// TestModule runs testdata/module_cases.py of package python: the module psafe of the wheels, laid out
// as they have it, with this program. scripts/release-check.sh runs it with a wheel that pip installed.
func TestModule(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "psafe"), os.DirFS(filepath.Join(root, "python", "psafe"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "psafe", "psafe_export.py"), python.Exporter, 0o666); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("psafe")
	if err != nil {
		t.Fatal(err)
	}
	for _, interpreter := range []string{os.Getenv("PSAFE_PYTHON"), "/usr/bin/python3", "python3"} {
		if interpreter == "" || exec.Command(interpreter, "-c", "import numpy").Run() != nil {
			continue
		}
		cmd := exec.Command(interpreter, filepath.Join(root, "python", "testdata", "module_cases.py"), dir, filepath.Join(root, "testdata"), program)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	t.Skip("no Python with NumPy: apt install python3-numpy, or PSAFE_PYTHON names one")
}
