package bound

import "fmt"

// Gather copies numbers by a list of places:
//
//	Out[p][At+t][r] = In[p][Index[t]][r],   0 where Index[t] is -1
//
// for t < T and all r < R; other places of Out stay as they are. It is im2col (and its
// transpose, for the ranges of (30) of docs/theory.md), the matrix of a convolution with
// groups, and, called once for each source, what joins the outputs of several layers: in the
// order of At, up to Total, as what is written is compared after the last.
// Index holds integers, below 2^24, as numbers of the device. Nothing is rounded.
type Gather struct {
	Out   Array // out [P x Total x R]
	In    Array // [P x N x R]
	Index Array // [T]
	// At is the first place that is written, of Total.
	P, N, T, At, Total, R int
}

// Arrays implements Operation.
func (a Gather) Arrays(l *Arrays) {
	if a.At < 0 || a.At+a.T > a.Total {
		panic(fmt.Sprintf("bound: Gather: %d places from %d on do not fit %d", a.T, a.At, a.Total))
	}
	item, row := Dim{"item", a.P}, Dim{"row", a.R}
	l.Out("out", a.Out, item, Dim{"place", a.Total}, row)
	l.In("in", a.In, item, Dim{"number", a.N}, row)
	l.In("index", a.Index, Dim{"place", a.T})
}
