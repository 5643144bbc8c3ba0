package bound

// ShareBox replaces a weight box of shared weights, for each row, by one matrix and a constant
// (docs/theory.md (29)). With [l,h] the interval of weight (k,o), and its factor
// g(k,o) in [gL, gU] = G[p][k][o][r] widened by Slack a(o) most + Under as in SharedVar, for every
// weight of the interval
//
//	weight g >= w g - cost,   cost = max((w - l) gU, (h - w) (-gL))
//
// for any w in [l,h]. The cost is least, and 0 where g has one sign, at w = l + (h - l) (-gL) / (gU -
// gL), cut to [l,h], which is about what is taken:
//
//	W[p][k][o][r] = w, in [l,h]
//	C[p][r]       = down( CIn[p][r] - sum_(k,o) cost + sum_o least of B[b][o] a0(o) )
//
// b = p/PerBox, x = p % Inputs. Weight boxes are finite. Where g is unknown, w is an end of the
// weight's interval and C is -Inf.
type ShareBox struct {
	W            Array    // out [P x K x Channels x R]
	C, CIn       Array    // out, in [P x R]
	G            Interval // [P x K x Channels x R]
	A            Array    // [P x Positions x Channels x R]
	Weight, Bias Interval // [Boxes x K x Channels], [Boxes x Channels]
	MaxSq        Array    // [Inputs x In], of magnitudes of the layer's inputs
	P, PerBox, R int
	In, Inputs   int
	Positions    int
	K, Channels  int
	Round        SharedRounding
}

// Arrays implements Operation.
func (a ShareBox) Arrays(l *Arrays) {
	item, row, tap, channel := Dim{"item", a.P}, Dim{"row", a.R}, Dim{"tap", a.K}, Dim{"channel", a.Channels}
	box := Dim{"box", boxesOf(a.P, a.PerBox)}
	l.Out("w", a.W, item, tap, channel, row)
	l.Out("c", a.C, item, row)
	l.In("cIn", a.CIn, item, row)
	l.Ins("gLo", "gHi", a.G, item, tap, channel, row)
	l.In("a", a.A, item, Dim{"position", a.Positions}, channel, row)
	l.Ins("weightLo", "weightHi", a.Weight, box, tap, channel)
	l.Ins("biasLo", "biasHi", a.Bias, box, channel)
	l.In("maxSq", a.MaxSq, Dim{"input box", a.Inputs}, Dim{"input", a.In})
}
