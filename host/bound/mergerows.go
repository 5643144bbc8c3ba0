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

// Arrays implements Operation.
func (a MergeRows) Arrays(l *Arrays) {
	item, input, row := Dim{"item", a.Items}, Dim{"input", a.In}, Dim{"row", a.Rows}
	box, inputs, output := Dim{"box", a.Boxes()}, Dim{"input box", a.Inputs}, Dim{"output", a.Out}
	l.Outs("wLo", "wHi", a.W, item, input, row)
	l.Outs("bLo", "bHi", a.B, item, row)
	l.Ins("weightLo", "weightHi", a.Weight, box, input, output)
	l.Ins("biasLo", "biasHi", a.Bias, box, output)
	l.Ins("cLo", "cHi", a.C, inputs, row, output)
	l.Ins("dLo", "dHi", a.D, inputs, row)
	l.In("round", a.Round, inputs, row)
}
