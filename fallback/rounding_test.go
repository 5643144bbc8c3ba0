//go:build amd64 || arm64

package fallback

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/internal/fpcontrol"
)

// TestChangedRounding: what an operation computes in a thread that rounds otherwise is never
// read, also where the thread was found so at the end of its work, or only by the reader. A
// process that has found such a thread reads nothing any more, so each case has its own.
func TestChangedRounding(t *testing.T) {
	const variable = "PSAFE_FALLBACK_TEST_CASE"
	cases := []string{"none", "before", "after", "reader"}
	if which := os.Getenv(variable); which != "" {
		changedRounding(t, which)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"="+c)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c, err, out)
		}
	}
}

func changedRounding(t *testing.T, which string) {
	runtime.LockOSThread()
	d := New(bound.Float64).(*Device[float64])
	a, err := d.NewArray(1)
	if err != nil {
		t.Fatal(err)
	}
	// A word that is other than Default on amd64 and on arm64: toward zero, and FZ.
	const other fpcontrol.Word = 3<<13 | 1<<24
	set := func(when string) {
		if when == which {
			fpcontrol.Set(other)
		}
	}
	set("before")
	d.parallel(1, 1, func(int, int) {
		fpcontrol.Set(fpcontrol.Default)
		set("after")
	})
	fpcontrol.Set(fpcontrol.Default)
	set("reader")
	err = d.Read(make([]float64, 1), a)
	fpcontrol.Set(fpcontrol.Default)
	if (err == nil) != (which == "none") || err != nil && !strings.Contains(err.Error(), "control word") {
		t.Errorf("%v", err)
	}
}
