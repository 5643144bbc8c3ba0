// Package testscale says how much tests do. Only tests and test suites import it.
//
// Plain go test, and make test, do a small share of the random cases of each test
// and skip what is named with DeepOnly. make deep has a sample of the tests, drawn by the
// date, do all their cases; make night has all of them.
//
// Environment:
//
//	PSAFE_DEEP=1       all cases of all tests: hours
//	PSAFE_DEEP=DATE    one test in six, drawn by that text, as is each of its subtests
//	PSAFE_TEST_FACTOR  the share of random cases, in place of 0.1, or of 1 in deep
//
// Flag -short divides the share by five.
package testscale

import (
	"hash/fnv"
	"io"
	"math"
	"os"
	"strconv"
	"testing"
	"time"
)

// small is the share of random cases that every run of the tests affords.
const small = 0.1

// Deep reports whether a test shall do all its cases, but for what only Night affords.
func Deep(t testing.TB) bool {
	day := os.Getenv("PSAFE_DEEP")
	if day == "" || day == "0" {
		return false
	}
	h := fnv.New32a()
	io.WriteString(h, day+"\x00"+t.Name())
	return Night() || h.Sum32()%6 == 0
}

// Night reports whether everything shall be tested, whatever it costs.
func Night() bool { return os.Getenv("PSAFE_DEEP") == "1" }

// Factor is the share of random cases to do.
func Factor(t testing.TB) float64 {
	t.Helper()
	f := small
	if Deep(t) {
		f = 1
	}
	if text := os.Getenv("PSAFE_TEST_FACTOR"); text != "" {
		var err error
		if f, err = strconv.ParseFloat(text, 64); err != nil || !(f > 0) || math.IsInf(f, 0) {
			t.Fatalf("PSAFE_TEST_FACTOR=%q is no positive number", text)
		}
	}
	if testing.Short() {
		f /= 5
	}
	return f
}

// Cases returns how many random cases of n to do: at least one.
func Cases(t testing.TB, n int) int {
	t.Helper()
	return max(1, int(math.Ceil(Factor(t)*float64(n))))
}

// Costly is Cases for tests of which a case takes long: unless Deep, a third of them.
func Costly(t testing.TB, n int) int {
	t.Helper()
	if Deep(t) {
		return Cases(t, n)
	}
	return Cases(t, (n+2)/3)
}

// By is 1 in deep and otherwise n: by what to divide what a test does of something.
func By(t testing.TB, n int) int {
	t.Helper()
	if Deep(t) {
		return 1
	}
	return n
}

// Few is the list in deep, and otherwise n of its entries, evenly apart, the first
// among them: for cases that were chosen by hand.
func Few[T any](t testing.TB, list []T, n int) []T {
	t.Helper()
	if Deep(t) || len(list) <= n {
		return list
	}
	var some []T
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// Ratio returns how many times as long f takes as reference on this machine now, the fastest runs
// of both compared. It tries again while that is above enough: other work on the machine makes runs
// slower and never faster. enough must be far above the truth, and far below what the mistake would
// cost that the test is about.
func Ratio(f, reference func(), enough float64) float64 {
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	ratio := math.Inf(1)
	for try := 0; try < 3 || try < 50 && ratio > enough; try++ {
		for i, g := range []func(){f, reference} {
			start := time.Now()
			g()
			best[i] = max(1, min(best[i], time.Since(start)))
		}
		ratio = float64(best[0]) / float64(best[1])
	}
	return ratio
}

// DeepOnly skips a test that make test cannot afford: the Makefile names them.
func DeepOnly(t testing.TB) {
	t.Helper()
	if !Deep(t) {
		t.Skip("takes long: only with PSAFE_DEEP=1 (make night, and make deep where it is drawn)")
	}
}
