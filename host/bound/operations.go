package bound

// operations are all operations: those of bounds, those of concentration LBP
// (docs/theory.md, section 3), which runs the ones before with the means as weight box and carries
// the two numbers that stand for the weights' deviations, a mean (e of (11), how far the least
// value over T lies below on average) and a variance (v of (12)); those of max pools; those of
// shared weights, pools and sources, and of weights that are used in several places
// (docs/theory.md, section 4); that of sub-problems of one network.
var operations = []Operation{
	DrawBox{}, MergeRows{}, Affine{}, Activate{}, Relax{}, RelaxRows{}, BackSubstitute{}, Concretize{}, Intersect{},
	SquareRows{}, NoiseRows{}, Widen{}, Vary{},
	PoolStar{}, PoolLines{},
	Gather{}, GatherSum{}, ConvTranspose{}, PlaceRows{},
	PairNoise{}, SharedVar{}, ShareBox{}, ShareRows{},
	SplitRows{},
}

// Operations lists the names of all operations, in the order of the list above.
func Operations() []string {
	var names []string
	for _, op := range operations {
		names = append(names, NameOf(op))
	}
	return names
}

// Outputs lists the arrays that the operation writes, once all of their numbers are written.
func Outputs(op Operation) []Output {
	var list []Output
	op.Arrays(&Arrays{operation: op, list: &list})
	if g, is := op.(Gather); is && g.At+g.T < g.Total {
		return nil
	}
	return list
}
