package bound

// Widen moves bounds outward by what the noise adds but for a small probability:
//
//	d = up( Mean[i] + up( Quantile sqrt(Var[i]) ) )
//	Lower[i] = down(Lower[i] - d),   Upper[i] = up(Upper[i] + d),   Mag[i] = up(Mag[i] + d)
//
// in place. Upper and Mag may be nil. What is not finite becomes infinite.
type Widen struct {
	Lower, Upper, Mag Array // in and out [N]
	Mean, Var         Array // [N]
	Quantile          float64
	N                 int
}

// Arrays implements Operation.
func (a Widen) Arrays(l *Arrays) {
	n := Dim{"neuron of all items", a.N}
	l.Out("lo", a.Lower, n)
	l.OutIf(a.Upper != nil, "hi", a.Upper, n)
	l.OutIf(a.Mag != nil, "mag", a.Mag, n)
	l.In("mean", a.Mean, n)
	l.In("var", a.Var, n)
}
