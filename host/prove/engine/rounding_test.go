//go:build amd64 || arm64

package engine

import (
	"cmp"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"psafe/host/prove/claim"
	"psafe/internal/fpcontrol"
)

// TestChangedRounding: no result leaves once a thread was found that rounds otherwise. The
// process in which that is remembers it, so it is one of its own.
func TestChangedRounding(t *testing.T) {
	const variable = "PSAFE_CERTIFY_TEST_CHILD"
	if os.Getenv(variable) == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	emitted := 0
	o := order{results: make([]*claim.Result, 2), emit: func(*claim.Result) error { emitted++; return nil }}
	if err := cmp.Or(o.put([]int{0}, []*claim.Result{{}}), o.wait()); err != nil || emitted != 1 {
		t.Fatalf("%d emitted: %v", emitted, err)
	}
	runtime.LockOSThread()
	fpcontrol.Set(3<<13 | 1<<24) // other than Default on amd64 and on arm64
	fpcontrol.Check()
	fpcontrol.Set(fpcontrol.Default)
	if err := o.put([]int{1}, []*claim.Result{{}}); err == nil || o.wait() == nil || emitted != 1 {
		t.Errorf("%d emitted: %v", emitted, err)
	}
}
