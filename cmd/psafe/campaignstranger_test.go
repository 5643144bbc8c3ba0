//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// TestCampaignStranger: a driver that ends the process in the middle of a shard leaves a line,
// status 3 and word in the folder, from the process that looked after it; the shard goes on,
// on the CPU, to the file that the CPU alone gives. A device is opened once for all jobs.
func TestCampaignStranger(t *testing.T) {
	testscale.DeepOnly(t)
	needOpenCL(t)
	wrap(t)
	whole, dir := testCampaign(t, 20, "[{method: clbp, cells: 1}, {method: clbp, cells: 1, depth: 1}]"), testCampaign(t, 20, "[{method: clbp, cells: 1}, {method: clbp, cells: 1, depth: 1}]")
	psafe(t, exitDone, runShard(whole, 0, 1)...)
	args := []string{"run", dir, "--device", "0:0", "--omit-timing", "--quiet"}
	set(t, "PSAFE_WRAP=segv clEnqueueNDRangeKernel 20", "PSAFE_WRAP_WHEN="+filepath.Join(dir, "now"))
	ended := make(chan struct{})
	go func() {
		for { // until records are there
			partial, _ := filepath.Glob(filepath.Join(dir, "results", "*.partial"))
			if len(partial) > 0 {
				if info, err := os.Stat(partial[0]); err == nil && info.Size() > 0 {
					_ = os.WriteFile(filepath.Join(dir, "now"), []byte("now"), 0o666)
					return
				}
			}
			select {
			case <-time.After(time.Millisecond):
			case <-ended:
				return
			}
		}
	}()
	status, _, errs := endOf(args...)
	close(ended)
	if status == exitDone {
		t.Log("it was done before the driver broke")
	} else {
		wantLine(t, "segv", errs, "SIGSEGV", "in the middle of the run", "what is finished is in ", "run it again to go on from there")
		failed, _ := filepath.Glob(filepath.Join(dir, "results", "*.failed"))
		if status != exitDevice || len(failed) != 1 || !strings.Contains(readTest(t, failed[0]), `"status":3,"error":"--device 0:0: `) {
			t.Errorf("status %d, %q", status, failed)
		}
		if _, out, _ := endOf("status", dir); !strings.Contains(out, "failed") {
			t.Errorf("%s", out)
		}
	}
	set(t)
	if status, _, errs := endOf("run", dir, "--device", "0:0", "--omit-timing", "--options", "profile"); status != exitDone || strings.Count(errs, " affine  ") != 1 {
		t.Errorf("again: status %d, %s", status, errs)
	}
	if got, want := mergedTest(t, dir, exitDone), mergedTest(t, whole, exitDone); numbers(t, got) != numbers(t, want) {
		t.Errorf("%s\non the CPU:\n%s", got, want)
	}
}
