package bound

// SquareRows squares coefficients, rounded up:
//
//	Square[i] >= A[i]^2,   0 where A[i] is 0
type SquareRows struct {
	Square, A Array // out, in [N]
	N         int
}

// Outputs implements Operation.
func (a SquareRows) Outputs() []Output {
	return []Output{{"square", a.Square, []Dim{{"coefficient of all items", a.N}}}}
}
