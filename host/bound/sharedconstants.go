package bound

// The rounding constants of the operations of shared weights, for the shapes they are used with.

// SharedRounding holds the constants of SharedVar and ShareBox.
type SharedRounding struct {
	// Slack bounds the error of a factor g as a share of a(o) most, and of a0 as a share of a(o);
	// Under is what products that underflow add to that of g.
	Slack, Under float64
	// Rel inflates sums, Abs covers underflow in them.
	Rel, Abs float64
}

// SharedRounding returns the constants of SharedVar and ShareBox of a layer of k taps and channels
// outputs at each of positions places.
//
// A term of G meets roundings(positions) roundings, so G is wrong by at most g_k sum|A| max|z| +
// positions eta/2 (1 + g_k) (docs/theory.md (5)); this is absolute, as terms cancel. a0 is
// wrong by less, without products. sum|A| is computed beside them and meets no more roundings:
// Slack and Under are those of pushFor.
//
// What is then summed is not negative: a term meets a sum that enters squared (or a difference),
// roundings(k), the sum with the bias's term, and roundings(channels).
func (p Precision) SharedRounding(positions, k, channels int) SharedRounding {
	push := p.pushFor(roundings(positions), positions)
	inflate := p.inflateFor(roundings(k)+roundings(channels)+4, (k+1)*channels)
	return SharedRounding{Slack: push.Rel, Under: push.Abs, Rel: inflate.Rel, Abs: inflate.Abs}
}

// PairRounding returns the constants of PairNoise of a layer of k taps: a term meets a difference
// that enters squared, and roundings(k).
func (p Precision) PairRounding(k int) Rounding { return p.inflateFor(roundings(k)+4, k) }
