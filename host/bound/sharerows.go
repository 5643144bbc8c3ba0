package bound

// ShareRows takes rows over the pre-activations of a layer with shared weights to rows over
// what lies under its taps, as BackSubstitute does, with a matrix for each row that ShareBox made:
//
//	S[p][position][k][r] = sum_o A[p][position][o][r] W[p][k][o][r]
//
// rounded to nearest, sums over o in blocks: what it is wrong by has been charged through
// Relax.Err, as for BackSubstitute. W is finite.
type ShareRows struct {
	S           Array // out [P x Positions x K x R]
	A           Array // [P x Positions x Channels x R]
	W           Array // [P x K x Channels x R]
	P, R        int
	Positions   int
	K, Channels int
}

// Arrays implements Operation.
func (a ShareRows) Arrays(l *Arrays) {
	item, position, row := Dim{"item", a.P}, Dim{"position", a.Positions}, Dim{"row", a.R}
	tap, channel := Dim{"tap", a.K}, Dim{"channel", a.Channels}
	l.Out("s", a.S, item, position, tap, row)
	l.In("a", a.A, item, position, channel, row)
	l.In("w", a.W, item, tap, channel, row)
}
