package bound

// SplitRows takes rows of coefficients over z = max(zeta, 0) of a layer to rows over its
// pre-activations zeta, as RelaxRows does, but each row has for each neuron a lower slope, a phase
// and a multiplier of its own (docs/soundness.md, SplitRows). With s = S[p][j][r]:
//
//	Phase = 0, s >= 0:  A = s Slope                        Slope zeta <= z for any Slope in [0, 1]
//	Phase = 0, s < 0:   A = s Hi.A, and s Hi.B to C        z <= Hi.A zeta + Hi.B
//	Phase > 0:          A = s - Beta                       for zeta >= 0, where z = zeta
//	Phase < 0:          A = Beta                           for zeta <= 0, where z = 0
//
//	C[p][r] = down( CIn + sum_j s * intercept - charges )
//
// so that sum_j A zeta + C <= sum_j s z + CIn wherever every zeta is on the line Hi or below it and
// has the sign of its phases. A Slope that is not in [0, 1] counts as 0, and so does a Beta that is
// not >= 0: whatever is in Slope and Beta, and however Phase divides the inputs, the rows are
// bounds there.
type SplitRows struct {
	A, C               Array    // out [P x N x R], [P x R]
	S, CIn             Array    // [P x N x R], [P x R]
	Slope, Phase, Beta Array    // [P x N x R]
	Z                  Interval // [P x N]
	Hi                 Line     // [P x N] from Relax
	Mag                Array    // [P x N] from Affine
	P, N, R            int
	// Charge is that of Relax.
	Charge Charge
	Round  RowsRounding
}

// Outputs implements Operation.
func (a SplitRows) Outputs() []Output {
	return []Output{
		{"a", a.A, []Dim{{"item", a.P}, {"neuron", a.N}, {"row", a.R}}}, {"c", a.C, []Dim{{"item", a.P}, {"row", a.R}}},
	}
}
