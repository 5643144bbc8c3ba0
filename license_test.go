package psafe_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLicense: the licence is Apache-2.0, word for word, and names its holders. The
// licences of the modules in the program are internal/release's to check.
func TestLicense(t *testing.T) {
	text, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const holders, blank = "Copyright 2026 The psafe authors", "Copyright [yyyy] [name of copyright owner]"
	if strings.Count(string(text), holders) != 1 {
		t.Errorf("LICENSE does not say %q once", holders)
	}
	published := strings.Replace(string(text), holders, blank, 1)
	const want = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(published))); got != want {
		t.Errorf("LICENSE is not Apache-2.0 as published: SHA-256 %s, want %s", got, want)
	}
}
