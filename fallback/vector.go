package fallback

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// VectorSet is a set of vector instructions that loops may use. They change no bit of any
// result.
type VectorSet int

// The sets, each with those before it.
const (
	NoVectors VectorSet = iota
	AVX2
	AVX512
)

// widest is the most lanes of any vector.
const widest = 16

// vectorVariable is the environment variable that keeps psafe from using a set that the
// processor has: for tests, and for whoever wants to compare.
const vectorVariable = "PSAFE_VECTOR"

// String returns none, avx2 or avx512.
func (v VectorSet) String() string { return [...]string{"none", "avx2", "avx512"}[v] }

// Vectors is the set that new devices use: the best that the program was built with and the
// processor has, or less if PSAFE_VECTOR says so. Errors: PSAFE_VECTOR is no such word, or asks
// for what there is not.
func Vectors() (VectorSet, error) {
	word := os.Getenv(vectorVariable)
	if word == "" {
		return vectorsHere(), nil
	}
	for v := NoVectors; v <= AVX512; v++ {
		switch {
		case word == v.String() && v <= vectorsHere():
			return v, nil
		case word == v.String():
			return vectorsHere(), fmt.Errorf("%s=%s asks for vector loops that there are not; there are: %s; unset it", vectorVariable, word, vectorsThere())
		}
	}
	return vectorsHere(), fmt.Errorf("%s=%q is none of none, avx2 and avx512", vectorVariable, word)
}

// VectorsInWords is the set in use and what it was chosen of, such as "avx2 (of none, avx2)".
func VectorsInWords() string {
	v, err := Vectors()
	if err != nil {
		return err.Error()
	}
	if !built {
		return vectorsThere()
	}
	return fmt.Sprintf("%v (of %s)", v, vectorsThere())
}

// vectorsThere lists what this program can use on this processor.
func vectorsThere() string {
	if !built && runtime.GOARCH == "amd64" {
		return "none: built without GOEXPERIMENT=simd"
	}
	if !built {
		return "none: there are no vector loops for " + runtime.GOARCH
	}
	var words []string
	for v := NoVectors; v <= vectorsHere(); v++ {
		words = append(words, v.String())
	}
	return strings.Join(words, ", ")
}
