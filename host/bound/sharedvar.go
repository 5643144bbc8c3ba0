package bound

// SharedVar adds the variance of the noise of one layer with shared weights to rows
// (docs/theory.md (17)):
//
//	g(k,o)      in G[p][k][o][r], up to Slack a(o) most + Under: the factor of weight (k,o) in row r
//	a(o)      = sum over positions of |A[p][position][o][r]|,   a0(o) the same without |.|
//	most^2    = the greatest MaxSq[x][j]
//	Var[p][r] = up( VarIn[p][r % Cols] + sum_(k,o) V[k][o] max|g(k,o)|^2 + sum_o VB[o] a0(o)^2 )
//
// x = p % Inputs. G is what BackSubstitute makes of A [P x Positions x (Channels R)] and, as a
// weight box, of the intervals of the inputs under each tap [P x K x Positions] (30). It
// is rounded to nearest, and terms cancel: so what it may be wrong by is absolute, at most
// Slack a(o) most + Under (docs/theory.md, section 10.6, has the proof). V, VB and MaxSq are >= 0. All is
// rounded up; what is not finite becomes +Inf.
type SharedVar struct {
	Var, VarIn  Array    // out [P x R]; in [P x Cols], nil for 0
	G           Interval // [P x K x Channels x R]
	A           Array    // [P x Positions x Channels x R]
	V, VB       Array    // [K x Channels], [Channels]
	MaxSq       Array    // [Inputs x In]
	P, R, Cols  int
	In, Inputs  int
	Positions   int
	K, Channels int
	Round       SharedRounding
}

// Arrays implements Operation.
func (a SharedVar) Arrays(l *Arrays) {
	item, row, tap, channel := Dim{"item", a.P}, Dim{"row", a.R}, Dim{"tap", a.K}, Dim{"channel", a.Channels}
	l.Out("var", a.Var, item, row)
	l.InIf(a.VarIn != nil, "varIn", a.VarIn, item, Dim{"row before", a.Cols})
	l.Ins("gLo", "gHi", a.G, item, tap, channel, row)
	l.In("a", a.A, item, Dim{"position", a.Positions}, channel, row)
	l.In("v", a.V, tap, channel)
	l.In("vb", a.VB, channel)
	l.In("maxSq", a.MaxSq, Dim{"input box", a.Inputs}, Dim{"input", a.In})
}
