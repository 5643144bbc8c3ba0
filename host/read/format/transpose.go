package format

import "psafe/host/read/npy"

// transposeEach turns every array of a stack, or the one that there is, into one whose axis k
// is its axis axes[k]; nil leaves it as it is.
func transposeEach(a *npy.Array, axes []int) *npy.Array {
	if axes == nil {
		return a
	}
	first := len(a.Shape) - len(axes) // the axis of the stack
	var all, shape []int
	for k := range a.Shape {
		from := k
		if k >= first {
			from = first + axes[k-first]
		}
		all, shape = append(all, from), append(shape, a.Shape[from])
	}
	return &npy.Array{Shape: shape, Data: npy.Transposed(a.Shape, all, a.Data), DType: a.DType}
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
