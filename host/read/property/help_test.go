package property

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataFile is a file of the shared data, or skips the test.
func dataFile(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("PSAFE_DATA")
	if root == "" {
		root = "../../../../shared/data"
	}
	path := filepath.Join(root, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("real data file %s is absent (set PSAFE_DATA to the data directory): %v", name, err)
	}
	return path
}

// write makes a file in a fresh directory and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantError checks that err is one line with all the parts in it.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("error is more than one line: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

// wantPanic checks that f panics with a message that has all the parts.
func wantPanic(t *testing.T, f func(), parts ...string) {
	t.Helper()
	defer func() {
		t.Helper()
		text, _ := recover().(string)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("panic %q lacks %q", text, part)
			}
		}
	}()
	f()
}

// exact is v as a rational; v must be finite.
func exact(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// tight checks that lo is the largest float64 <= r and hi the smallest >= r,
// where both are finite.
func tight(t *testing.T, what string, lo, hi float64, r *big.Rat) {
	t.Helper()
	if exact(lo).Cmp(r) > 0 || exact(hi).Cmp(r) < 0 {
		t.Errorf("%s: [%g, %g] does not contain the number", what, lo, hi)
	}
	if lo != hi && up(lo) != hi {
		t.Errorf("%s: %g and %g are no neighbours", what, lo, hi)
	}
	if lo != hi && (exact(lo).Cmp(r) == 0 || exact(hi).Cmp(r) == 0) {
		t.Errorf("%s: [%g, %g] is not one float64, the number is", what, lo, hi)
	}
}

// textSource is a file with that content.
func textSource(t testing.TB, content string) *source {
	t.Helper()
	s, err := newSource(strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
