package bound

// The rounding constants of the operations, for the shapes they are used with.
// Propagate and the tests of devices take them from here.

// AffineRounding returns the constants of an Affine of in inputs: a term is a
// product, is summed, and has the bias added.
func (p Precision) AffineRounding(in int) (push, mag Rounding) {
	k := roundings(in) + 1
	return p.pushFor(k, in), p.inflateFor(k, in)
}

// MergeRounding returns what a row of nonZero coefficients that are not 0, of out
// in all, enters into MergeRows.Round (Rel) and MergeRows.Abs (Abs, which depends
// on out only). Adding a product that is exactly 0 does not round, so a term
// meets one rounding of its product, nonZero-1 of sums, and one of the offset.
func (p Precision) MergeRounding(nonZero, out int) Rounding { return p.pushFor(nonZero+2, out) }

// RelaxCharge returns the constants of the Relax of a layer of out neurons, every one of which
// meets every input: a row
// that arrives at its z is charged for the rounding of RelaxRows (terms: a
// product, a pair, the sum over out neurons) and of the BackSubstitute through
// its weights.
func (p Precision) RelaxCharge(out int) Charge { return p.rowsCharge(out, roundings(out), 0) }

// rowsCharge is RelaxCharge where each term of a coefficient meets at most below roundings on
// its way to the inputs, in a BackSubstitute over channels, in a GatherSum, at forks; and where
// what arrives is the sum of joins more than one.
func (p Precision) rowsCharge(out, below, joins int) Charge {
	return Charge{G1: p.RoundHi(p.gamma(roundings(out) + joins + 4)), G2: p.RoundHi(p.gamma(below + joins + 4))}
}

// RowsRounding returns the constants of RelaxRows at a layer of out neurons, for
// rows whose coefficients are sums of before products (over the neurons of the layer above),
// or weights.
func (p Precision) RowsRounding(out, before int) RowsRounding {
	return p.rowsRounding(out, before, 0)
}

// rowsRounding is RowsRounding for coefficients to which more were added, joins times.
func (p Precision) rowsRounding(out, before, joins int) RowsRounding {
	terms := roundings(out) + 4
	return RowsRounding{
		Rel:   p.inflateFor(terms, 2*out).Rel,
		Chord: p.RoundHi(p.gamma(terms + joins)),
		Under: p.RoundHi(float64(2*before+8) * p.Eta() * (1 + p.gamma(roundings(out)+4))),
		Abs:   p.inflateFor(terms, 4*out+before).Abs,
	}
}

// ConcretizeRounding returns the constants of Concretize: a sum over in inputs,
// of coefficients that are sums of out products.
func (p Precision) ConcretizeRounding(in, out int) RowsRounding {
	return p.concretizeRounding(in, out, 0)
}

// concretizeRounding is ConcretizeRounding for coefficients to which more were added, joins times.
func (p Precision) concretizeRounding(in, out, joins int) RowsRounding {
	push := p.pushFor(roundings(in)+2+joins, in+out)
	return RowsRounding{
		Rel: push.Rel, Under: p.RoundHi(float64(2*out+8) * p.Eta() * (1 + p.gamma(roundings(in)+4))), Abs: push.Abs,
	}
}
