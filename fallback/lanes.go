//go:build goexperiment.simd && amd64

package fallback

import "simd/archsimd"

// hasLanes says whether the processor has the vector instructions that the files
// lanes_*.go use.
func hasLanes() bool { return archsimd.X86.AVX512() }
