package vector

import (
	"strings"
	"testing"
)

// TestVectors: PSAFE_VECTOR takes away what the processor has, and adds nothing to it.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		word string
		want Set
		err  string
	}{
		{"", Here(), ""},
		{"none", None, ""},
		{"avx2", AVX2, "asks for vector loops that there are not"},
		{"avx512", AVX512, "asks for vector loops that there are not"},
		{"AVX2", 0, "is none of none, avx2 and avx512"},
		{"sse", 0, "is none of none, avx2 and avx512"},
	} {
		t.Setenv(variable, c.word)
		got, err := InUse()
		words := InWords()
		if there := c.want <= Here() && !strings.HasPrefix(c.err, "is"); there {
			if err != nil || got != c.want || !strings.HasPrefix(words, got.String()) {
				t.Errorf("%s=%q gives %v (%q), %v", variable, c.word, got, words, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(words, c.err) && Built {
			t.Errorf("%s=%q: error %v, words %q, want %q", variable, c.word, err, words, c.err)
		}
	}
}
