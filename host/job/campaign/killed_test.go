package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"psafe/internal/testscale"
)

// shardProcess is set to a folder and a shard where the test's own program runs it.
const shardProcess = "PSAFE_TEST_SHARD"

func TestMain(m *testing.M) {
	dir, word, is := strings.Cut(os.Getenv(shardProcess), "|")
	if !is {
		os.Exit(m.Run())
	}
	f, err := Open(dir)
	var s Shard
	if err == nil {
		s, err = ParseShard(word)
	}
	if err == nil {
		// A pause as long as a record takes to write, so that deaths fall everywhere.
		_, err = fakeRun(f, s, func(f *fake) { f.pause = 8 * time.Millisecond }).lookAndCertify(background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(0)
}

// shardRun starts a shard in a process of its own and kills it after a time, if that is not 0.
func shardRun(t testing.TB, f *Folder, s Shard, kill time.Duration) (done bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), shardProcess+"="+f.Dir+"|"+s.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return false
	}
	if kill > 0 {
		late := time.AfterFunc(kill, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
	}
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() >= 0) {
		t.Errorf("shard %v: %v, %s", s, err, stderr.String())
	}
	return err == nil
}

// TestKilled: shards of 4, then of 7, are killed at random moments again and again, two at once
// at every one, until all are done: the merged file is that of one undisturbed run, and so it
// is in the middle, as far as it goes.
func TestKilled(t *testing.T) {
	want := single(t, fakeJobs)
	rounds := 1 // of 60 deaths and more
	if testscale.Deep(t) {
		rounds = 40
	}
	for range rounds {
		f := fakeCampaign(t, fakeJobs)
		rng := rand.New(rand.NewPCG(rand.Uint64(), 13))
		var deaths sync.Map
		for _, n := range []int{4, 7} {
			var all sync.WaitGroup
			for i := range n {
				for twin := range 2 {
					delays := make([]time.Duration, 3)
					for k := range delays {
						delays[k] = time.Duration(1 + rng.Int64N(int64(60*time.Millisecond)))
					}
					all.Go(func() {
						for try, delay := range delays {
							if !shardRun(t, f, Shard{i, n}, delay) {
								deaths.Store([3]int{i, twin, try}, true)
							}
						}
						if n == 7 { // the last ones are let alone
							for try := 0; !shardRun(t, f, Shard{i, n}, 0) && try < 3; try++ {
							}
						}
					})
				}
			}
			all.Wait()
			text, err := merged(t, f)
			if _, holes := errors.AsType[*Holes](err); err != nil && !(holes && n == 4) {
				t.Fatalf("after %d shards: %v", n, err)
			}
			if err == nil && text != want {
				t.Fatalf("after %d shards:\n%s\nof a single run:\n%s", n, text, want)
			}
		}
		count := 0
		deaths.Range(func(any, any) bool { count++; return true })
		if s, err := f.Status(t.Context(), 0, time.Now()); err != nil || s.Done != s.Tasks || s.States[Done] != len(s.Shards) {
			t.Errorf("status: %+v, %v", s, err)
		}
		if tmp, err := filepath.Glob(filepath.Join(f.Results(), ".psafe-*")); err != nil || len(tmp) > 0 {
			t.Errorf("temporary files: %q, %v", tmp, err)
		}
		t.Logf("%d deaths, %d files", count, len(left(t, f)["jsonl"])+len(left(t, f)["jsonl.partial"]))
	}
}
