package bound

// Affine bounds the pre-activations of a layer, docs/theory.md (2), rounded outward:
//
//	Lo[p][i]  = down( sum_j min of the products W[b][j][i] Z[x][j] + Bias.Lo[b][i] )
//	Hi[p][i]  = up( the same with max and Bias.Hi )
//	Mag[p][i] >= sum_j max|W| max|Z| + max|Bias|
//
// In a block of inputs the magnitude is taken as (sum of max|W|) (max of max|Z|):
// one multiplication a block.
//
// NonNeg promises Z.Lo >= 0: then two of the four products suffice.
type Affine struct {
	Pre            Interval // out [P x Out]
	Mag            Array    // out [P x Out]
	W              Interval // [Boxes x In x Out]
	B              Interval // [Boxes x Out]
	Z              Interval // [Inputs x In]
	NonNeg         bool
	Push, MagRound Rounding
	Batch
	In, Out int
}

// Outputs implements Operation.
func (a Affine) Outputs() []Output {
	dims := []Dim{{"item", a.Items}, {"neuron", a.Out}}
	return []Output{{"pre.lo", a.Pre.Lo, dims}, {"pre.hi", a.Pre.Hi, dims}, {"mag", a.Mag, dims}}
}
