package bound

// RelaxRows takes rows of coefficients over the activated neurons z of a layer to
// rows over its pre-activations zeta, as lower bounds (docs/theory.md, section 10.4).
//
// The coefficient of row r at z_j is any number between S.Lo and S.Hi, whichever
// is worse. For z_j >= 0 that is S.Lo, for z_j <= 0 it is S.Hi; for an interval of
// both signs the lower bound of min(S.Lo z, S.Hi z), which is concave in z, is its
// chord over [Z.Lo, Z.Hi]: it lies above both McCormick planes of docs/theory.md (4)
// after their minimum over the weight. Then
//
//	A[p][j][r] = coefficient * slope,   slope and intercept of Lo if coefficient >= 0, else of Hi
//	C[p][r]    = down( CIn + sum_j (coefficient * intercept + chord's intercept) - charges )
//
// Source of S: with Cols == R it is [Boxes' x N x R], item p at p/PerBox. With
// Mirrored, R = 2 Cols, and rows Cols.. are the rows 0..Cols-1 negated: their S is
// [-S.Hi, -S.Lo] and their constant -CIn.Hi, as is needed when S is a weight box
// and both bounds of every neuron are wanted. Otherwise the constant is CIn.Lo.
//
// NonNeg promises Z.Lo >= 0; then S.Hi is not read and may be nil, unless rows are mirrored. Where
// S.Lo and S.Hi are one array the coefficients are numbers, and there are no chords (Sure).
type RelaxRows struct {
	A, C     Array    // out [P x N x R], [P x R]
	S, CIn   Interval // [(P/PerBox) x N x Cols], [(P/PerBox) x Cols]
	PerBox   int
	Cols     int
	Mirrored bool
	NonNeg   bool
	Z        Interval // [P x N]
	Lo, Hi   Line     // [P x N]
	Err, Mag Array    // [P x N]
	P, N     int
	Round    RowsRounding
}

// Arrays implements Operation.
func (a RelaxRows) Arrays(l *Arrays) {
	item, box, neuron := Dim{"item", a.P}, Dim{"box", boxesOf(a.P, a.PerBox)}, Dim{"neuron", a.N}
	row, column := Dim{"row", a.Rows()}, Dim{"row of S", a.Cols}
	l.Out("outA", a.A, item, neuron, row)
	l.Out("outC", a.C, item, row)
	l.In("sLo", a.S.Lo, box, neuron, column)
	l.InIf(!a.NonNeg || a.Mirrored, "sHi", a.S.Hi, box, neuron, column)
	l.In("cLo", a.CIn.Lo, box, column)
	l.InIf(a.Mirrored, "cHi", a.CIn.Hi, box, column)
	l.Ins("zLo", "zHi", a.Z, item, neuron)
	l.In("aLo", a.Lo.A, item, neuron)
	l.In("bLo", a.Lo.B, item, neuron)
	l.In("aHi", a.Hi.A, item, neuron)
	l.In("bHi", a.Hi.B, item, neuron)
	l.In("err", a.Err, item, neuron)
	l.In("mag", a.Mag, item, neuron)
}

// Sure reports whether it is known which end of S is a coefficient, whatever the signs of z: that no
// chord is taken.
func (a RelaxRows) Sure() bool { return a.NonNeg || a.S.Lo == a.S.Hi }

// Rows is the number of rows R.
func (a RelaxRows) Rows() int {
	if a.Mirrored {
		return 2 * a.Cols
	}
	return a.Cols
}

// RowsRounding holds the constants of RelaxRows and Concretize.
type RowsRounding struct {
	// Rel multiplies the computed sum of charges: in RelaxRows (charges are
	// |A| Err) it makes it an upper bound, in Concretize (charges are magnitudes)
	// it is also the relative rounding of the sum itself.
	Rel float64
	// Chord is the relative rounding of the sum of chord intercepts.
	Chord float64
	// Under times the sum of max|z| (and Mag) covers products that underflow.
	Under float64
	// Abs covers what is left of underflow.
	Abs float64
}
