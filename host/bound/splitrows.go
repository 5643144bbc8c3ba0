package bound

// SplitRows takes rows of coefficients over z = max(zeta, 0) of a layer to rows over its
// pre-activations zeta, as RelaxRows does, but each row has for each neuron a lower slope, a phase
// and a multiplier of its own (docs/theory.md, SplitRows). With s = S[p][j][r]:
//
//	Phase = 0, s >= 0:  A = s Slope + Beta         Slope zeta <= z for any Slope in [0, 1]
//	Phase = 0, s < 0:   A = s Hi.A + Beta          z <= Hi.A zeta + Hi.B; s Hi.B to C
//	Phase > 0:          A = s - Beta               zeta >= 0, so z = zeta and 0 >= -Beta zeta
//	Phase < 0:          A = Beta                   zeta <= 0, so z = 0 and 0 >= Beta zeta
//
//	C[p][r] = down( CIn + sum_j s * intercept - charges )
//
// so that, wherever every zeta is where Hi bounds z and has the sign of its phase,
//
//	sum_j A zeta + C <= sum_j s z + CIn + sum over Phase = 0 of Beta zeta
//
// Where there is no phase, Beta is thus added to the row, of either sign. Whatever Slope, Phase and
// Beta are, this holds: a Slope that is not in [0, 1] counts as 0, and so does a Beta that is not
// >= 0 where there is a phase.
type SplitRows struct {
	A, C               Array    // out [P x N x R], [P x R]
	S, CIn             Array    // [P x N x R], [P x R]
	Slope, Phase, Beta Array    // [P x N x R]
	Z                  Interval // [P x N]
	Hi                 Line     // [P x N] from Relax
	Mag                Array    // [P x N] from Affine
	P, N, R            int
	// Charge holds the charge of Relax.
	Charge Charge
	Round  RowsRounding
}

// Arrays implements Operation.
func (a SplitRows) Arrays(l *Arrays) {
	item, neuron, row := Dim{"item", a.P}, Dim{"neuron", a.N}, Dim{"row", a.R}
	l.Out("outA", a.A, item, neuron, row)
	l.Out("outC", a.C, item, row)
	l.In("s", a.S, item, neuron, row)
	l.In("cIn", a.CIn, item, row)
	l.In("slope", a.Slope, item, neuron, row)
	l.In("phase", a.Phase, item, neuron, row)
	l.In("beta", a.Beta, item, neuron, row)
	l.Ins("zLo", "zHi", a.Z, item, neuron)
	l.In("aHi", a.Hi.A, item, neuron)
	l.In("bHi", a.Hi.B, item, neuron)
	l.In("mag", a.Mag, item, neuron)
}
