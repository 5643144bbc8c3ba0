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

// Arrays implements Operation.
func (a Affine) Arrays(l *Arrays) {
	item, box, input, neuron := Dim{"item", a.Items}, Dim{"box", a.Boxes()}, Dim{"input", a.In}, Dim{"neuron", a.Out}
	l.Outs("preLo", "preHi", a.Pre, item, neuron)
	l.Out("mag", a.Mag, item, neuron)
	l.Ins("wLo", "wHi", a.W, box, input, neuron)
	l.Ins("bLo", "bHi", a.B, box, neuron)
	l.Ins("zLo", "zHi", a.Z, Dim{"input box", a.Inputs}, input)
}
