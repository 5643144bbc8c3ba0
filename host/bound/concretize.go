package bound

// Concretize minimises rows over the input box:
//
//	Bound[p][r] = down( C[p][r] + sum_j min of the products S[p][j][r] X[x][j] - charges )
//
// NonNeg promises X.Lo >= 0; then S.Hi is not read and may be nil.
type Concretize struct {
	Bound    Array    // out [P x R]
	S        Interval // [P x In x R]
	C        Array    // [P x R]
	X        Interval // [Inputs x In]
	NonNeg   bool
	P, R, In int
	Inputs   int
	Round    RowsRounding
}

// Outputs implements Operation.
func (a Concretize) Outputs() []Output {
	return []Output{{"bound", a.Bound, []Dim{{"item", a.P}, {"row", a.R}}}}
}
