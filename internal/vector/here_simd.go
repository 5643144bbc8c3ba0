//go:build goexperiment.simd && amd64

package vector

import "simd/archsimd"

// Here is the best set of vector instructions that the processor has.
func Here() Set {
	switch x := archsimd.X86; {
	case x.AVX512():
		return AVX512
	case x.AVX2() && x.FMA():
		return AVX2
	}
	return None
}

// Built reports whether this program has vector loops.
const Built = true
