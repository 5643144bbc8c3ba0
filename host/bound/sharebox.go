package bound

// ShareBox replaces a weight box of shared weights, for each row, by one matrix and a constant
// (docs/convolution.md; conv.md (29)). With m and d the centre and the half-width of weight (k,o) in
// its interval, and g(k,o) in [gL, gU] = G[p][k][o][r] widened by Slack a(o) most as in SharedVar,
//
//	|g| <= alpha g + beta on [gL, gU],   -1 <= alpha <= 1
//	weight g >= (m - d alpha) g - d beta     for every weight of the interval
//
//	W[p][k][o][r] = an interval of m - d alpha, inside the weight's own
//	C[p][r]       = down( CIn[p][r] - sum_(k,o) d beta + sum_o least of B[b][o] a0(o) )
//
// b = p/PerBox. Where g is unknown, W is the weight's interval's ends' hull and C is -Inf.
type ShareBox struct {
	W            Interval // out [P x K x Channels x R]
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

// Outputs implements Operation.
func (a ShareBox) Outputs() []Output {
	dims, c := []Dim{{"item", a.P}, {"tap", a.K}, {"channel", a.Channels}, {"row", a.R}}, []Dim{{"item", a.P}, {"row", a.R}}
	return []Output{{"w.lo", a.W.Lo, dims}, {"w.hi", a.W.Hi, dims}, {"c", a.C, c}}
}
