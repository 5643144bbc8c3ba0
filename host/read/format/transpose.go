package format

import (
	"slices"

	"psafe/host/read/npy"
)

// transposeEach turns every array of a stack, or the one that there is, into one whose axis k
// is its axis axes[k]; nil leaves it as it is.
func transposeEach(a *npy.Array, axes []int) *npy.Array {
	if axes == nil {
		return a
	}
	first := len(a.Shape) - len(axes) // the axis of the stack
	t := &npy.Array{Shape: slices.Clone(a.Shape), Data: make([]float64, len(a.Data)), DType: a.DType}
	strides := make([]int, len(axes)) // in a, of the axes of t
	each := 1
	for k := len(axes) - 1; k >= 0; k-- {
		strides[slices.Index(axes, k)] = each
		each *= a.Shape[first+k]
	}
	for k, axis := range axes {
		t.Shape[first+k] = a.Shape[first+axis]
	}
	at := make([]int, len(axes))
	for to, base := 0, 0; to < len(t.Data); to++ {
		if to > 0 && to%each == 0 {
			base += each
		}
		from := base
		for k, i := range at {
			from += i * strides[k]
		}
		t.Data[to] = a.Data[from]
		for k := len(at) - 1; k >= 0; k-- { // count on; after the last it is 0 again
			if at[k]++; at[k] < t.Shape[first+k] {
				break
			}
			at[k] = 0
		}
	}
	return t
}

// toFile undoes transposeEach.
func toFile(a *npy.Array, axes []int) *npy.Array {
	if axes == nil {
		return a
	}
	inverse := make([]int, len(axes))
	for k, axis := range axes {
		inverse[axis] = k
	}
	return transposeEach(a, inverse)
}

// inRows puts row i of every matrix (in, out) of a stack to row rows[i]; nil leaves it.
func inRows(a *npy.Array, rows []int32) *npy.Array {
	if rows == nil {
		return a
	}
	out := a.Shape[len(a.Shape)-1]
	t := &npy.Array{Shape: a.Shape, Data: make([]float64, len(a.Data)), DType: a.DType}
	for from := 0; from < len(a.Data); from += len(rows) * out {
		for i, to := range rows {
			copy(t.Data[from+int(to)*out:from+(int(to)+1)*out], a.Data[from+i*out:from+(i+1)*out])
		}
	}
	return t
}
