package bound

// PairNoise bounds what the parameters of a lowered linear map do to differences of two of its
// pre-activations of one channel, u = Unit[r] and v = Other[p][r] (docs/theory.md
// (24)): with z(k) the input under tap k at the position of u minus that at the position of v,
// whose range over the intervals of Z (0 under no tap, and where both are one input) has the
// greatest magnitude m_k,
//
//	Squared:   Sum[p][r] = up( SumIn[p][r] + sum_k V[b][k][o] m_k^2 )     a variance
//	otherwise: Sum[p][r] = up( SumIn[p][r] + sum_k V[b][k][o] m_k )       a charge of a box
//
// V >= 0; b = p/PerBox, x = p % Inputs; biases cancel. u is channel o = u % Channels at position
// u / Channels. All is rounded up; what is not finite becomes +Inf. Taps, Unit and Other hold
// integers, below 2^24, as numbers of the device.
type PairNoise struct {
	Sum, SumIn  Array    // out [P x R]; in [P x R], nil for 0
	V           Array    // [Boxes x K x Channels]
	Z           Interval // [Inputs x In]
	Taps        Array    // [Positions x K], -1 for none
	Unit, Other Array    // [R], [P x R]
	Squared     bool
	P, PerBox   int
	Inputs      int
	R, In       int
	Positions   int
	K, Channels int
	Round       Rounding
}

// Arrays implements Operation.
func (a PairNoise) Arrays(l *Arrays) {
	item, row, tap := Dim{"item", a.P}, Dim{"row", a.R}, Dim{"tap", a.K}
	l.Out("sum", a.Sum, item, row)
	l.InIf(a.SumIn != nil, "sumIn", a.SumIn, item, row)
	l.In("v", a.V, Dim{"box", boxesOf(a.P, a.PerBox)}, tap, Dim{"channel", a.Channels})
	l.Ins("zLo", "zHi", a.Z, Dim{"input box", a.Inputs}, Dim{"input", a.In})
	l.In("taps", a.Taps, Dim{"position", a.Positions}, tap)
	l.In("unit", a.Unit, row)
	l.In("other", a.Other, item, row)
}
