package bound

// BackSubstitute takes rows over the pre-activations of a layer to rows over its
// inputs, docs/theory.md (3):
//
//	S.Lo[p][j][r] = sum_i (A[i][r] >= 0 ? A[i][r] W.Lo[b][j][i] : A[i][r] W.Hi[b][j][i])
//	S.Hi[p][j][r] = the same with W.Lo and W.Hi exchanged
//	C[p][r]       = down( CIn[p][r] + sum_i (A[i][r] >= 0 ? A B.Lo : A B.Hi) )
//
// S is rounded to nearest: what it is wrong by has been charged through
// Relax.Err. Sums over i in blocks. S.Hi is not computed if it is nil.
type BackSubstitute struct {
	S       Interval // out [P x In x R]
	C       Array    // out [P x R]
	A, CIn  Array    // [P x Out x R], [P x R]
	W, B    Interval // [Boxes x In x Out], [Boxes x Out]
	PerBox  int
	P, R    int
	In, Out int
}

// Outputs implements Operation.
func (a BackSubstitute) Outputs() []Output {
	dims := []Dim{{"item", a.P}, {"input", a.In}, {"row", a.R}}
	return []Output{{"s.lo", a.S.Lo, dims}, {"s.hi", a.S.Hi, dims}, {"c", a.C, []Dim{{"item", a.P}, {"row", a.R}}}}
}
