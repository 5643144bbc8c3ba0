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

// Outputs implements Operation.
func (a Widen) Outputs() []Output {
	dims := []Dim{{"neuron of all items", a.N}}
	return []Output{{"lower", a.Lower, dims}, {"upper", a.Upper, dims}, {"mag", a.Mag, dims}}
}
