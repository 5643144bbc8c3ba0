package bound

// BackSubstitute takes rows over the pre-activations of a layer to rows over its
// inputs, docs/theory.md (3):
//
//	S.Lo[p][j][r] = sum_i (A[i][r] >= 0 ? A[i][r] W.Lo[b][j][i] : A[i][r] W.Hi[b][j][i])
//	S.Hi[p][j][r] = the same with W.Lo and W.Hi exchanged
//	C[p][r]       = down( CIn[p][r] + sum_i (A[i][r] >= 0 ? A B.Lo : A B.Hi) )
//
// S is rounded to nearest: what it is wrong by has been charged through
// Relax.Err. Sums over i in blocks. S.Hi is not computed if it is nil.
type BackSubstitute struct {
	S       Interval // out [P x In x R]
	C       Array    // out [P x R]
	A, CIn  Array    // [P x Out x R], [P x R]
	W, B    Interval // [Boxes x In x Out], [Boxes x Out]
	PerBox  int
	P, R    int
	In, Out int
}

// Arrays implements Operation.
func (a BackSubstitute) Arrays(l *Arrays) {
	item, box, input, neuron, row := Dim{"item", a.P}, Dim{"box", boxesOf(a.P, a.PerBox)}, Dim{"input", a.In}, Dim{"neuron", a.Out}, Dim{"row", a.R}
	l.Out("sLo", a.S.Lo, item, input, row)
	l.OutIf(a.S.Hi != nil, "sHi", a.S.Hi, item, input, row)
	l.Out("c", a.C, item, row)
	l.In("a", a.A, item, neuron, row)
	l.In("cIn", a.CIn, item, row)
	l.Ins("wLo", "wHi", a.W, box, input, neuron)
	l.Ins("bLo", "bHi", a.B, box, neuron)
}
