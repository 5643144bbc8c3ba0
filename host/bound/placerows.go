package bound

// PlaceRows writes rows over the inputs of a lowered linear map (network.Lowered): row r is
// pre-activation u = Unit[r] of it, or with Each Unit[p][r], or the difference of u and v =
// Other[p][r]. Pre-activation u is channel o = u % Channels at position u / Channels.
//
//	S[p][j][r] = sum over k with Taps[pos u][k] = j of W[b][k][o]
//	           - sum over k with Taps[pos v][k] = j of W[b][k][o of v]
//	C[p][r]    = B[b][o] - B[b][o of v],   exactly 0 where u and v have one channel
//
// b = p/PerBox, as intervals: lower ends rounded down, upper ends up, wherever two places
// meet; the first is not rounded. (So S is an interval of the coefficients, and nothing has to
// be charged for.) S.Hi may be nil. Where u and v have one channel, a weight that meets one
// input in both sums (Taps[pos u][k] = Taps[pos v][k]) cancels and is in neither; so S is
// exactly 0 where u = v. Places under no tap are 0.
//
// With Squares, which is for variances, both sums add up, of W.Hi and B.Hi, and
// are rounded up, into S.Lo and C.Lo (S.Hi and C.Hi are nil).
type PlaceRows struct {
	S           Interval // out [P x In x R]
	C           Interval // out [P x R]; C.Hi may be nil
	W, B        Interval // [Boxes x K x Channels], [Boxes x Channels]
	Taps        Array    // [Positions x K], integers below 2^24, -1 for none
	Unit        Array    // [R], or with Each [P x R], integers
	Other       Array    // [P x R], integers; nil: no second place
	Each        bool
	Squares     bool
	P, PerBox   int
	R, In       int
	Positions   int
	K, Channels int
}

// Arrays implements Operation.
func (a PlaceRows) Arrays(l *Arrays) {
	item, input, row := Dim{"item", a.P}, Dim{"input", a.In}, Dim{"row", a.R}
	box, tap, channel := Dim{"box", boxesOf(a.P, a.PerBox)}, Dim{"tap", a.K}, Dim{"channel", a.Channels}
	l.Out("sLo", a.S.Lo, item, input, row)
	l.OutIf(a.S.Hi != nil, "sHi", a.S.Hi, item, input, row)
	l.Out("cLo", a.C.Lo, item, row)
	l.OutIf(a.C.Hi != nil, "cHi", a.C.Hi, item, row)
	l.Ins("wLo", "wHi", a.W, box, tap, channel)
	l.Ins("bLo", "bHi", a.B, box, channel)
	l.In("tap", a.Taps, Dim{"position", a.Positions}, tap)
	if a.Each {
		l.In("unit", a.Unit, item, row)
	} else {
		l.In("unit", a.Unit, row)
	}
	l.InIf(a.Other != nil, "other", a.Other, item, row)
	if a.Squares && (a.S.Hi != nil || a.C.Hi != nil) {
		panic("bound: PlaceRows: Squares have no S.Hi and no C.Hi")
	}
}
