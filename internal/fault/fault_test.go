package fault

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMain is the program that panics, too.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "__panic" {
		os.Exit(m.Run())
	}
	how := os.Args[2]
	if how != "go" {
		Ends(func(what any, trace []byte) {
			fmt.Println(what, strings.Contains(string(trace), "fault.wrong("))
			time.Sleep(50 * time.Millisecond) // for others to panic, or to go on
			os.Exit(9)
		})
	}
	defer Catch()
	var group sync.WaitGroup
	switch how {
	case "go", "group":
		for range 4 {
			Go(&group, wrong)
		}
		group.Wait()
	case "alone":
		Go(nil, wrong)
		time.Sleep(time.Minute)
	case "later":
		time.AfterFunc(time.Millisecond, Caught(wrong))
		time.Sleep(time.Minute)
	case "here":
		wrong()
	case "none":
		Go(&group, func() {})
		group.Wait()
	}
	fmt.Println("went on")
}

//go:noinline
func wrong() { panic("wrong") }

// TestPanics: a panic in whatever goroutine ends the program as it wants to, once, and nobody goes
// on without what that goroutine was to do; without Ends Go does as ever.
func TestPanics(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]struct {
		status int
		said   string
	}{
		"go": {2, "panic: wrong"}, "group": {9, "wrong true\n"}, "alone": {9, "wrong true\n"}, "later": {9, "wrong true\n"}, "here": {9, "wrong true\n"},
		"none": {0, "went on\n"},
	} {
		cmd := exec.Command(exe, "__panic", how)
		said, _ := cmd.CombinedOutput()
		text := string(said)
		if how == "go" {
			text = text[:min(len(text), len(want.said))]
		}
		if got := cmd.ProcessState.ExitCode(); got != want.status || text != want.said {
			t.Errorf("%s: status %d, %s", how, got, said)
		}
	}
}

// TestOnCores: every number gets its call, and none begins once the context has ended.
func TestOnCores(t *testing.T) {
	var calls [100]atomic.Int32
	if err := OnCores(t.Context(), len(calls), func(i int) { calls[i].Add(1) }); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("%d was called %d times", i, n)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if err := OnCores(ctx, 1, func(int) { t.Error("called after the end") }); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// TestGather: what searches ask is answered when all that have not ended ask, those of the least rank first, in the order
// of searches; one search is answered at once.
func TestGather(t *testing.T) {
	type question struct{ from, rank, answer int }
	for _, n := range []int{0, 1, 2, 7} {
		var at atomic.Int32 // how many are at work
		asked := make([]int, n)
		rounds := 0
		Gather(n, func(i int, ask func(*question)) {
			at.Add(1)
			for k := range i { // search i asks i times
				q := &question{i, (i + k) % 2, -1}
				at.Add(-1)
				if ask(q); q.answer != 100*k+i {
					t.Errorf("%d searches: question %d of search %d has answer %d", n, k, i, q.answer)
				}
			}
			at.Add(-1)
		}, func(q *question) int { return q.rank }, func(list []*question) {
			if rounds++; at.Load() != 0 {
				t.Errorf("%d searches: an answer while %d are at work", n, at.Load())
			}
			for k, q := range list {
				if k > 0 && list[k-1].from >= q.from || q.rank != list[0].rank {
					t.Errorf("%d searches: %v after %v", n, *q, *list[k-1])
				}
				q.answer = 100*asked[q.from] + q.from
				asked[q.from]++
			}
			at.Add(int32(len(list)))
		})
		if rounds < n-1 || rounds > 2*n {
			t.Errorf("%d searches: %d answers", n, rounds)
		}
	}
}

// TestParallel: the time counts while several things go on, but none in which searches wait for an answer.
func TestParallel(t *testing.T) {
	grows := func() bool {
		before := Parallel()
		time.Sleep(2 * time.Millisecond)
		return Parallel() > before
	}
	if grows() {
		t.Error("nothing goes on, and it counts")
	}
	over := Beside()
	if !grows() {
		t.Error("Beside does not count")
	}
	if over(); grows() {
		t.Error("it goes on counting after Beside")
	}
	Gather(2, func(i int, ask func(int)) {
		if i == 0 && !grows() {
			t.Error("searches do not count")
		}
		ask(i)
	}, func(int) int { return 0 }, func([]int) {
		if grows() {
			t.Error("answers count")
		}
	})
	if grows() {
		t.Error("it goes on counting after Gather")
	}
}
