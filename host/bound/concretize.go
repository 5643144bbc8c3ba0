package bound

// Concretize minimises rows over the input box:
//
//	Bound[p][r] = down( C[p][r] + sum_j min of the products S[p][j][r] X[x][j] - charges )
//
// NonNeg promises X.Lo >= 0; then S.Hi is not read and may be nil.
type Concretize struct {
	Bound    Array    // out [P x R]
	S        Interval // [P x In x R]
	C        Array    // [P x R]
	X        Interval // [Inputs x In]
	NonNeg   bool
	P, R, In int
	Inputs   int
	Round    RowsRounding
}

// Arrays implements Operation.
func (a Concretize) Arrays(l *Arrays) {
	item, input, row := Dim{"item", a.P}, Dim{"input", a.In}, Dim{"row", a.R}
	l.Out("bound", a.Bound, item, row)
	l.In("sLo", a.S.Lo, item, input, row)
	l.InIf(!a.NonNeg, "sHi", a.S.Hi, item, input, row)
	l.In("c", a.C, item, row)
	l.Ins("xLo", "xHi", a.X, Dim{"input box", a.Inputs}, input)
}
