package bound

// ShareRows takes rows over the pre-activations of a layer with shared weights to rows over
// what lies under its taps, as BackSubstitute does, with a matrix for each row that ShareBox made:
//
//	S[p][position][k][r] = sum_o A[p][position][o][r] W[p][k][o][r]
//
// rounded to nearest, sums over o in blocks: what it is wrong by has been charged through
// Relax.Err, as for BackSubstitute. W is finite.
type ShareRows struct {
	S           Array // out [P x Positions x K x R]
	A           Array // [P x Positions x Channels x R]
	W           Array // [P x K x Channels x R]
	P, R        int
	Positions   int
	K, Channels int
}

// Outputs implements Operation.
func (a ShareRows) Outputs() []Output {
	dims := []Dim{{"item", a.P}, {"position", a.Positions}, {"tap", a.K}, {"row", a.R}}
	return []Output{{"s", a.S, dims}}
}
