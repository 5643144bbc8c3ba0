package bound

// Intersect tightens pre-activation intervals in place by the bounds of mirrored
// rows:
//
//	Lo[p][i] = max(Lo[p][i], Bound[p][i]),   Hi[p][i] = min(Hi[p][i], -Bound[p][N+i])
//
// Both intervals contain the true values, so an empty intersection means that
// one of them was wrong: it becomes everything.
type Intersect struct {
	Pre   Interval // in and out [P x N]
	Bound Array    // [P x 2N]
	P, N  int
}

// Arrays implements Operation.
func (a Intersect) Arrays(l *Arrays) {
	item, neuron := Dim{"item", a.P}, Dim{"neuron", a.N}
	l.Outs("lo", "hi", a.Pre, item, neuron)
	l.In("bound", a.Bound, item, Dim{"end", 2}, neuron)
}
