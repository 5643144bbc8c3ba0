package bound

// Vary bounds how far activated neurons vary over T, and how large they are:
//
//	Radius[i]   >= min( Lipschitz (Mean[i] + q sqrt(Var[i])), Z.Hi[i] - Z.Lo[i] )
//	RadiusSq[i] >= Radius[i]^2,   MaxSq[i] >= max(|Z.Lo[i]|, |Z.Hi[i]|)^2
//
// and 0 where those are: inputs of which nothing comes cost nothing (NoiseRows).
// Mean and Var bound the mean and the variance of the pre-activation's variation. q is Quantile or
// one of Quantiles, as in Widen.
type Vary struct {
	Radius, RadiusSq, MaxSq Array // out [N]
	Z                       Interval
	Mean, Var               Array // [N]
	Quantile, Lipschitz     float64
	Quantiles               Array // [N / Each, rounded up] or nil
	N, Each                 int
}

// Arrays implements Operation.
func (a Vary) Arrays(l *Arrays) {
	n := Dim{"neuron of all items", a.N}
	l.Out("radius", a.Radius, n)
	l.Out("radiusSq", a.RadiusSq, n)
	l.Out("maxSq", a.MaxSq, n)
	l.Ins("zLo", "zHi", a.Z, n)
	l.In("mean", a.Mean, n)
	l.In("var", a.Var, n)
	quantiles(l, a.Quantiles, a.N, a.Each)
}
