package bound

// Widen moves bounds outward by what the noise adds but for a small probability:
//
//	d = up( Mean[i] + up( q sqrt(Var[i]) ) )
//	Lower[i] = down(Lower[i] - d),   Upper[i] = up(Upper[i] + d),   Mag[i] = up(Mag[i] + d)
//
// in place. q is Quantile or, if Quantiles is not nil, Quantiles[i / Each], that of the item whose
// number i is; one that is not at least 0 counts as infinite. Upper and Mag may be nil. What is
// not finite becomes infinite.
type Widen struct {
	Lower, Upper, Mag Array // in and out [N]
	Mean, Var         Array // [N]
	Quantile          float64
	Quantiles         Array // [N / Each, rounded up] or nil
	N, Each           int
}

// Arrays implements Operation.
func (a Widen) Arrays(l *Arrays) {
	n := Dim{"neuron of all items", a.N}
	l.Out("lo", a.Lower, n)
	l.OutIf(a.Upper != nil, "hi", a.Upper, n)
	l.OutIf(a.Mag != nil, "mag", a.Mag, n)
	l.In("mean", a.Mean, n)
	l.In("var", a.Var, n)
	quantiles(l, a.Quantiles, a.N, a.Each)
}

// quantiles lists an array of quantiles, one for each item of which n numbers have each.
func quantiles(l *Arrays, a Array, n, each int) {
	item := Dim{Name: "item"}
	if a != nil {
		item.N = (n + each - 1) / each
	}
	l.InIf(a != nil, "quantiles", a, item)
}
