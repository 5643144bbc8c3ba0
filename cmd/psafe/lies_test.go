//go:build linux && !noopencl && (amd64 || arm64)

package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/internal/testscale"
	"psafe/kernels"
)

// lieJobs are runs that have between them all kinds of arrays and most kernels, for CPUs and for GPUs.
func lieJobs(t *testing.T) (jobs []*driverJob) {
	for _, env := range [][]string{nil, {"PSAFE_WRAP_GPU=1"}} {
		opened := map[bool]map[string]int{}
		for _, words := range testscale.Few(t, []string{
			"glyphs-64-24-24-10.npz --method clbp --index :2", "tiny-2-3-2-tanh.npz --method lbp --gamma 1 --draws 5 --precision float64",
			"swag-2-8-3.npz --method clbp --options cells=2", "glyphs-conv-8-10.npz --method clbp --index :1",
			"glyphs-64-24-24-10.npz --method phases --index :1 --options no-upper", "correlated-2-8-3.npz --method auto",
		}, 1) {
			chain := !strings.Contains(words, "-conv-")
			if opened[chain] == nil {
				opened[chain] = openingCalls(t, env, chain)
			}
			jobs = append(jobs, newDriverJob(t, env, opened[chain], words, "--options", "recheck=0"))
		}
	}
	return jobs
}

// driverLie is what a driver lies about once, its self-test past: a transfer or a launch.
type driverLie struct {
	driverFault
	// seen says that the lie has to be noticed: by digests and receipts alone, as nothing is
	// computed again where transfers lie. What a kernel leaves is compared with what the CPU computes.
	seen bool
}

// drawLie draws one for a run: of every kind in turn, and of the kernels of the run.
func drawLie(r *rand.Rand, j *driverJob, turn int) driverLie {
	of, ways, argument := []string{"write", "read", "receipts", ""}[turn%4], []string{"put", "bit", "signs", "half", "kept"}, 0
	if of == "write" {
		ways = append(ways, "late", "late")
	}
	if of == "" {
		var late []kernels.Kernel
		for _, k := range kernels.All {
			if j.all[k.Name] > j.opened[k.Name] {
				late = append(late, k)
			}
		}
		k := late[turn/4%len(late)]
		var outputs []int
		for i, a := range k.Args {
			if a.Type == kernels.Out {
				outputs = append(outputs, i)
			}
		}
		if of, ways = k.Name, append(ways, "lost"); len(outputs) > 0 {
			argument = outputs[r.IntN(len(outputs))]
		} else {
			argument = len(k.Args) + 1 // the ring of receipts, and the digests behind it
		}
	}
	way := ways[r.IntN(len(ways))]
	recheck := "recheck=1"
	if of == "write" || of == "read" || way == "lost" {
		recheck = "recheck=0"
	}
	n := j.opened[of] + 1 + r.IntN(max(1, j.all[of]-j.opened[of]))
	l := driverLie{seen: recheck == "recheck=0" && way != "late"} // a late write may still come before whoever takes it
	l.crashes = true                                              // a list of places that is wrong may lead a kernel out of its memory before anybody looks
	l.env = []string{fmt.Sprintf("PSAFE_WRAP_SPOIL=%s %d %s %d %d", of, n, way, r.Uint32(), argument)}
	l.args = []string{"--options", recheck}
	return l
}

// TestLies: whatever a driver changes once, its self-test past, in what a write carries, what a kernel
// leaves or what a read carries, the numbers are those of the CPU. A transfer that carries others, and
// a launch that does not take place, is noticed. PSAFE_TEST_SEED draws other runs.
func TestLies(t *testing.T) {
	needOpenCL(t)
	wrap(t)
	seed := drawnSeed(t, 45)
	jobs := lieJobs(t)
	for i := range testscale.Costly(t, 300) {
		t.Run(fmt.Sprintf("%d-%d", seed, i), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			j := jobs[r.IntN(len(jobs))]
			l, counts := drawLie(r, j, i), filepath.Join(t.TempDir(), "counts")
			l.env = append(l.env, "PSAFE_WRAP_COUNTS="+counts)
			outcome := j.under(t, l.driverFault)
			n := readCounts(t, counts)["spoiled"]
			if t.Logf("%v %v, %v: spoiled %d, %s", j.env, l.env[0], slices.Concat(j.args[2:3], l.args), n, outcome); l.seen && n > 0 && outcome == "done" {
				t.Error("not noticed")
			}
		})
	}
}
