package bound

// DrawBox writes the end-points of weight boxes, for one array of weights:
//
//	n  = Sampled ? Normal(Seed, First+b, Stream, w) : 0
//	Lo[b][w], Hi[b][w] = BoxEnds(CentreLo[w], CentreHi[w], Unit[w], Gamma[b], n)
//
// A box is what is written; no rounding is proved because none is needed.
type DrawBox struct {
	Box Interval // out [Boxes x N]
	// CentreLo, CentreHi [N] and Unit [N] as in BoxEnds; Gamma [Boxes].
	Centre      Interval
	Unit, Gamma Array
	Boxes, N    int
	Sampled     bool
	Seed, First uint64
	Stream      uint32
}

// Arrays implements Operation.
func (a DrawBox) Arrays(l *Arrays) {
	box, weight := Dim{"box", a.Boxes}, Dim{"weight", a.N}
	l.Outs("lo", "hi", a.Box, box, weight)
	l.Ins("cLo", "cHi", a.Centre, weight)
	l.In("unit", a.Unit, weight)
	l.In("gamma", a.Gamma, box)
}

// BoxEnds is the definition of the end-points of one weight's interval:
//
//	c = centre + unit * n,  h = gamma * unit,  [centreLo + unit n - h, centreHi + unit n + h]
//
// each operation rounded to nearest in T. centreLo and centreHi are the mean,
// rounded down and up where it is no number of the format and unit is 0, both to
// nearest otherwise. What is returned IS the weight box: the same numbers are
// propagated and integrated.
func BoxEnds[T Real](centreLo, centreHi, unit, gamma, n T) (lo, hi T) {
	shift := T(unit * n)
	h := T(gamma * unit)
	return T(centreLo+shift) - h, T(centreHi+shift) + h
}
