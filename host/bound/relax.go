package bound

// Relax gives two lines for each activation on its pre-activation interval
// (docs/theory.md, sections 2.2 and 10.3):
//
//	ALo t + BLo <= sigma(t) <= AHi t + BHi   for all t in [Pre.Lo, Pre.Hi]
//
// or, with Upper, the line above for all t in [Upper.Lo, Upper.Hi] instead (PoolLines.Above),
// exactly, for the stored numbers, and Err, by which RelaxRows and the
// BackSubstitute after it charge their own rounding: for a coefficient A of z,
// all of it costs at most |A| Err. With g = Charge.G1, k = Charge.G2:
//
//	Err = up( g max(|BLo|,|BHi|) + (u + k) max(|ALo|,|AHi|) Mag )
//
// Slopes below 2^-30 in magnitude are made 0, so that a product with a slope
// does not underflow unless the other factor is tiny.
type Relax struct {
	Lo, Hi Line  // out [N] each
	Err    Array // out [N]
	Pre    Interval
	Upper  Interval // both ends nil: Pre
	Mag    Array    // [N] from Affine
	N      int
	Activation
	Charge Charge
}

// Arrays implements Operation.
func (a Relax) Arrays(l *Arrays) {
	n := Dim{"neuron of all items", a.N}
	l.Out("aLo", a.Lo.A, n)
	l.Out("bLo", a.Lo.B, n)
	l.Out("aHi", a.Hi.A, n)
	l.Out("bHi", a.Hi.B, n)
	l.Out("err", a.Err, n)
	l.Ins("lo", "hi", a.Pre, n)
	l.InIf(a.Upper.Lo != nil, "upLo", a.Upper.Lo, n)
	l.InIf(a.Upper.Lo != nil, "upHi", a.Upper.Hi, n)
	l.In("mag", a.Mag, n)
}

// Line is the line A t + B for each of a list of neurons.
type Line struct{ A, B Array }

// Charge holds the constants of Relax: G1 bounds the relative rounding of the
// intercepts' sum, G2 that of a slope and of the next BackSubstitute.
type Charge struct{ G1, G2 float64 }
