//go:build goexperiment.simd && amd64

package fallback

import "simd/archsimd"

// hasLanes says whether the processor has the vector instructions that the files
// lanes_*.go use.
//
// Their results are the bits of the plain loops. A lane is one output or one row, so
// that each sum has its terms in the plain order, and nothing is fused. Min and Max
// may return another zero, which no sum notices that starts at +0, and may lose a NaN
// (the instructions return their second operand, and the compiler exchanges operands),
// but finite numbers have no NaN among their products: where a number is not finite,
// the plain loop does the work again.
func hasLanes() bool { return archsimd.X86.AVX512() }
