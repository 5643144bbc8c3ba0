package bound

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

// Outputs implements Operation. An Out of which places are still missing is none.
func (a Gather) Outputs() []Output {
	if a.At+a.T < a.Total {
		return nil
	}
	return []Output{{"out", a.Out, []Dim{{"item", a.P}, {"place", a.Total}, {"row", a.R}}}}
}
