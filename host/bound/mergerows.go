package bound

// MergeRows multiplies property rows into the last affine layer (docs/theory.md,
// MergeRows), giving a layer whose outputs are the margins:
//
//	W[p][j][r] = [down, up] of sum_i C[x][r][i] Weight[b][j][i]
//	B[p][r]    = [down, up] of sum_i C[x][r][i] Bias[b][i] + D[x][r]
//
// with intervals multiplied exactly (the least and the largest of the four
// products) and b, x the item's weight box and input box. Sums over i in blocks.
// The push is the sum of magnitudes times Round[x][r] plus Abs: Round is smaller
// the fewer coefficients of a row are not zero (MergeRounding).
type MergeRows struct {
	W, B         Interval // out [P x In x R], [P x R]
	Weight, Bias Interval // [Boxes x In x Out], [Boxes x Out]
	C, D         Interval // [Inputs x R x Out], [Inputs x R]
	Round        Array    // [Inputs x R]
	Abs          float64
	Batch
	In, Out, Rows int
}

// Outputs implements Operation.
func (a MergeRows) Outputs() []Output {
	w, b := []Dim{{"item", a.Items}, {"input", a.In}, {"row", a.Rows}}, []Dim{{"item", a.Items}, {"row", a.Rows}}
	return []Output{{"w.lo", a.W.Lo, w}, {"w.hi", a.W.Hi, w}, {"b.lo", a.B.Lo, b}, {"b.hi", a.B.Hi, b}}
}
