package outfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAbandon: a program that ends at once leaves old files, no temporary ones, and says
// what those who write by steps have to say; whoever goes on writing changes nothing more.
func TestAbandon(t *testing.T) {
	dir := os.Getenv("PSAFE_TEST_ABANDON")
	if dir == "" {
		dir = t.TempDir()
		put(t, filepath.Join(dir, "old"), "old")
		cmd := exec.Command(os.Args[0], "-test.run", "^TestAbandon$")
		cmd.Env = append(os.Environ(), "PSAFE_TEST_ABANDON="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "[3 records]\n") {
			t.Errorf("%v, %q", err, out)
		}
		if list := names(t, dir); len(list) != 1 || list[0] != "old" {
			t.Errorf("left: %q", list)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "old")); err != nil || string(text) != "old" {
			t.Errorf("%q, %v", text, err)
		}
		return
	}
	f, err := Create(filepath.Join(dir, "old"), Replace)
	if err != nil {
		t.Fatal(err)
	}
	finished, err := Create(filepath.Join(dir, "finished"), Replace)
	if err != nil {
		t.Fatal(err)
	}
	finished.Discard()
	u := Begin(func(error) string { return "3 records" })
	ended := Begin(func(error) string { return "this has ended" })
	ended.End()
	println := func(text string) { os.Stdout.WriteString(text + "\n") }
	println("[" + strings.Join(Abandon(errors.New("ended")), ", ") + "]")
	for _, goOn := range []func(){func() { f.Commit() }, func() { Create(filepath.Join(dir, "new"), Replace) }, u.Lock, u.End} {
		went := make(chan struct{})
		go func() { goOn(); close(went) }()
		select {
		case <-went:
			println("something went on")
			os.Exit(1)
		case <-time.After(50 * time.Millisecond):
		}
	}
	os.Exit(0)
}
