// Package vector says which vector instructions loops may use.
package vector

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Set is a set of vector instructions that loops may use. They change no bit of any
// result.
type Set int

// The sets, each with those before it.
const (
	None Set = iota
	AVX2
	AVX512
)

// variable is the environment variable that keeps psafe from using a set that the
// processor has: for tests, and for whoever wants to compare.
const variable = "PSAFE_VECTOR"

// String returns none, avx2 or avx512.
func (v Set) String() string { return [...]string{"none", "avx2", "avx512"}[v] }

// InUse is the set in use: the best that the program was built with and the
// processor has, or less if PSAFE_VECTOR says so. Errors: PSAFE_VECTOR is no such word, or asks
// for what there is not.
func InUse() (Set, error) {
	word := os.Getenv(variable)
	if word == "" {
		return Here(), nil
	}
	for v := None; v <= AVX512; v++ {
		switch {
		case word == v.String() && v <= Here():
			return v, nil
		case word == v.String():
			return Here(), fmt.Errorf("%s=%s asks for vector loops that there are not; there are: %s; unset it", variable, word, There())
		}
	}
	return Here(), fmt.Errorf("%s=%q is none of none, avx2 and avx512", variable, word)
}

// InWords is the set in use and what it was chosen of, such as "avx2 (of none, avx2)".
func InWords() string {
	v, err := InUse()
	if err != nil {
		return err.Error()
	}
	if !Built {
		return There()
	}
	return fmt.Sprintf("%v (of %s)", v, There())
}

// There lists what this program can use on this processor.
func There() string {
	if !Built && runtime.GOARCH == "amd64" {
		return "none: built without GOEXPERIMENT=simd"
	}
	if !Built {
		return "none: there are no vector loops for " + runtime.GOARCH
	}
	var words []string
	for v := None; v <= Here(); v++ {
		words = append(words, v.String())
	}
	return strings.Join(words, ", ")
}
