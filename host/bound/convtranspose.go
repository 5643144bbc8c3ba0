package bound

// ConvTranspose takes rows over the pre-activations of a layer with one matrix at several positions
// to rows over its inputs, docs/theory.md (3):
//
//	S[p][q K + k][r] = sum_o (A[p][q][o][r] >= 0 ? A W.Lo[b][k][o] : A W.Hi[b][k][o])
//	Out[p][j][r]     = sum over e in [Start[j], Start[j+1]) of S[p][Entry[e]][r]
//
// but nothing where Needed[p][j] is 0: that says that input j is 0, whatever its coefficient.
// b = p/PerBox; Add adds the sum to what Out holds. S is what coefficients are under tap k at position
// q, and the list of j are the places where input j is. All is rounded to nearest, both sums in
// blocks: the numbers are those of a BackSubstitute at every position and a GatherSum, and so is what
// Relax.Err has charged for them; but S, which has each input as often as it is used, is nowhere kept.
// W is finite. With the ends of W exchanged Out is the upper end.
//
// Start and Entry hold integers, as those of GatherSum.
type ConvTranspose struct {
	Out          Array    // out, with Add in and out [P x J x R]
	A            Array    // [P x Positions x Channels x R]
	W            Interval // [Boxes x K x Channels]
	Start, Entry Array    // [J+1], [E]
	Needed       Array    // [P x J], nil where all are
	Add          bool
	PerBox       int
	P, R, J, E   int
	Positions    int
	K, Channels  int
}

// Arrays implements Operation.
func (a ConvTranspose) Arrays(l *Arrays) {
	item, row, entry := Dim{"item", a.P}, Dim{"row", a.R}, Dim{"entry", a.E}
	box, tap, channel := Dim{"box", boxesOf(a.P, a.PerBox)}, Dim{"tap", a.K}, Dim{"channel", a.Channels}
	l.Out("out", a.Out, item, Dim{"place", a.J}, row)
	l.In("a", a.A, item, Dim{"position", a.Positions}, channel, row)
	l.Ins("wLo", "wHi", a.W, box, tap, channel)
	l.In("start", a.Start, Dim{"place", a.J + 1})
	l.In("entry", a.Entry, entry)
	l.InIf(a.Needed != nil, "needed", a.Needed, item, Dim{"place", a.J})
}
