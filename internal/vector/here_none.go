//go:build !(goexperiment.simd && amd64)

package vector

// Built reports whether this program has vector loops: the plain loops do everything.
const Built = false

// Here is the best set of vector instructions that the processor has.
func Here() Set { return None }
