package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// versionVariable tells psafe, where a test starts it, its own version: to read all of the
// test binary for a digest takes longer than most commands.
const versionVariable = "PSAFE_TEST_VERSION"

// slowVariable is how long a slow driver takes.
const slowVariable = "PSAFE_TEST_SLOW"

// peakFile names the file that a run of the program leaves its peak of memory in.
const peakFile = "PSAFE_TEST_PEAK"

// TestMain is psafe where this binary is started by that name, and otherwise runs the tests, with
// that name in PATH.
func TestMain(m *testing.M) {
	if v := os.Getenv(versionVariable); v != "" {
		version = func() string { return v }
	}
	slowDriver, _ = time.ParseDuration(os.Getenv(slowVariable))
	// What runs commands in the process of a test starts this binary as their child.
	if len(os.Args) > 1 && (os.Args[1] == probeWord || os.Args[1] == workerWord) {
		startFault()
		status := guarded(os.Args[1:], os.Stdout, os.Stderr)
		tellPeak()
		os.Exit(status)
	}
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "psafe" {
		status := guarded(os.Args[1:], startFault(), os.Stderr)
		tellPeak()
		os.Exit(status)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	os.Setenv(cacheVariable, "off") // tests write nothing into a user's folders
	dir, err := os.MkdirTemp("", "psafe-test")
	if err == nil {
		defer os.RemoveAll(dir)
		err = installTest(dir)
	}
	if err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	os.Setenv(versionVariable, version())
	return m.Run()
}

// installTest puts this binary into a folder as psafe.
func installTest(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "psafe")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if os.Link(exe, path) == nil {
		return nil
	}
	from, err := os.Open(exe)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o777)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Close()
}

// tellPeak writes what the kernel knows of this process to peakFile, if there is one.
func tellPeak() {
	if path := os.Getenv(peakFile); path != "" {
		status, _ := os.ReadFile("/proc/self/status")
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil { // a child is the first to
			_, _ = f.Write(status)
			f.Close()
		}
	}
}

// TestVersionOfProgram: a psafe that nobody tells its version reads the same from itself.
func TestVersionOfProgram(t *testing.T) {
	t.Setenv(versionVariable, "")
	out, err := exec.Command("psafe", "--version").Output()
	if want := thisBuild().version(programDigest); err != nil || string(out) != want+"\n" {
		t.Errorf("psafe --version: %q, %v, want %s", out, err, want)
	}
}
