package bound

// SquareRows squares coefficients, rounded up:
//
//	Square[i] >= A[i]^2,   0 where A[i] is 0
type SquareRows struct {
	Square, A Array // out, in [N]
	N         int
}

// Arrays implements Operation.
func (a SquareRows) Arrays(l *Arrays) {
	n := Dim{"coefficient of all items", a.N}
	l.Out("square", a.Square, n)
	l.In("a", a.A, n)
}
