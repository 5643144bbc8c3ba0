package bound

// GatherSum adds numbers by lists of places, rounded to nearest, in blocks of Block as every
// sum:
//
//	Out[p][j][r] = sum over e in [Start[j], Start[j+1]) of In[p][Entry[e]][r]
//
// of those e with Select[p][Entry[e]] = Slot[e], where Select is not nil; Add adds the sum to
// what Out holds. It takes rows from taps to inputs (col2im), from pools to their stars, and
// adds them at a fork (docs/theory.md (28)). What it is wrong by has been charged
// through Relax.Err, for the longest list and Add (SumRoundings).
//
// Start, Entry and Slot hold integers, below 2^24 (Start: 2^24 entries at most), as numbers of
// the device.
type GatherSum struct {
	Out          Array // out, with Add in and out [P x J x R]
	In           Array // [P x N x R]
	Start, Entry Array // [J+1], [E]
	Slot         Array // [E], nil without Select
	Select       Array // [P x N], nil
	Add          bool
	P, N, J, E   int
	R            int
}

// Arrays implements Operation.
func (a GatherSum) Arrays(l *Arrays) {
	item, number, entry, row := Dim{"item", a.P}, Dim{"number", a.N}, Dim{"entry", a.E}, Dim{"row", a.R}
	l.Out("out", a.Out, item, Dim{"place", a.J}, row)
	l.In("in", a.In, item, number, row)
	l.In("start", a.Start, Dim{"place", a.J + 1})
	l.In("entry", a.Entry, entry)
	l.InIf(a.Select != nil, "slot", a.Slot, entry)
	l.InIf(a.Select != nil, "selected", a.Select, item, number)
}

// SumRoundings is the largest number of roundings that a term meets in a GatherSum whose
// longest list has n entries; with Add what Out held meets one, and the terms one more.
// Adding to 0 is exact, and sums of floating-point numbers do not underflow.
func SumRoundings(n int, add bool) int {
	k := max(min(n, Block)-1, 0) + max((n+Block-1)/Block-1, 0)
	if add {
		k++
	}
	return k
}
