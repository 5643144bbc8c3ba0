package bound

// ShareRows takes rows over the pre-activations of a layer with shared weights to rows over
// what lies under its taps, as BackSubstitute does, with a matrix for each row that ShareBox made:
//
//	S.Lo[p][position][k][r] = sum_o (A[p][position][o][r] >= 0 ? A W.Lo[p][k][o][r] : A W.Hi[p][k][o][r])
//	S.Hi                    = the same with W.Lo and W.Hi exchanged; nil: not computed
//
// rounded to nearest, sums over o in blocks: what it is wrong by has been charged through
// Relax.Err, as for BackSubstitute.
type ShareRows struct {
	S           Interval // out [P x Positions x K x R]
	A           Array    // [P x Positions x Channels x R]
	W           Interval // [P x K x Channels x R]
	P, R        int
	Positions   int
	K, Channels int
}

// Outputs implements Operation.
func (a ShareRows) Outputs() []Output {
	dims := []Dim{{"item", a.P}, {"position", a.Positions}, {"tap", a.K}, {"row", a.R}}
	return []Output{{"s.lo", a.S.Lo, dims}, {"s.hi", a.S.Hi, dims}}
}
