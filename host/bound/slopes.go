package bound

// Other lower slopes for rows of the property (docs/theory.md, section 3.6). A line below
// max(t, 0) may have any slope in [0, 1]. The usual one makes the least area, and is one of the two
// ends; but a slope of 1 passes noise on, and a slope of 0 does not.

// slopeRule returns the lower slope of a neuron whose usual one is usual and whose upper line has
// the slope upper, both in [0, 1].
type slopeRule func(usual, upper float64) float64

// slopeRules are tried for every row, beside the usual slopes. None is above both slopes that a
// neuron has anyway, so that RelaxRows.Err pays for what it rounds.
var slopeRules = []slopeRule{
	flatBelow(0.6),
	flatBelow(0.75),
	flatBelow(1),
	func(usual, upper float64) float64 {
		if s := 2*upper - 1; s >= leastSlope {
			return s
		}
		return 0
	},
}

// leastSlope is the least slope that Relax makes, but for 0.
const leastSlope = 0x1p-30

// flatBelow keeps the usual slope where the neuron is active for a share of its interval, which is
// the slope of the upper line, and makes it 0 elsewhere.
func flatBelow(share float64) slopeRule {
	return func(usual, upper float64) float64 {
		if upper < share {
			return 0
		}
		return usual
	}
}

// Bends reports whether CLBPQuery.Slopes makes any difference: in a chain of dense layers some of
// which have ReLU.
func (m *Model) Bends() bool {
	for k := range m.layers[:len(m.layers)-1] {
		if m.chain && cutsAtZero(m.layers[k].facts) {
			return true
		}
	}
	return false
}

// BendsHidden reports the same of CLBPQuery.HiddenSlopes: some of those layers feed another hidden one.
func (m *Model) BendsHidden() bool {
	for k := range m.layers[:max(0, len(m.layers)-2)] {
		if m.chain && cutsAtZero(m.layers[k].facts) {
			return true
		}
	}
	return false
}

// otherTightens bounds the units of hidden layer k by lines with the slopes of each rule, too. Which
// bound of a unit is the best depends on no weight.
func (p *clbpPass) otherTightens(k int) {
	if p.chain && p.err == nil {
		_ = p.eachRule(k, func() error { // an error is the pass's
			p.tighten(k)
			return p.err
		})
	}
}

// eachRule has the lines of all layers below layer k be those of each rule, while f runs.
func (p *clbpPass) eachRule(k int, f func() error) (err error) {
	usual, upper := make([][]float64, k), make([][]float64, k)
	for l := range k {
		if cutsAtZero(p.layers[l].facts) {
			h := &p.hidden[l]
			if usual[l], upper[l], err = p.readPair(h.lo.A, h.hi.A); err != nil {
				return err
			}
		}
	}
	for _, rule := range slopeRules {
		lines := make([]Line, k)
		for l := range k {
			h := &p.hidden[l]
			if lines[l] = h.lo; usual[l] != nil {
				h.lo.A = p.holding(rule.slopes(usual[l], upper[l]))
			}
		}
		if err := f(); err != nil {
			return err
		}
		for l := range k {
			if h := &p.hidden[l]; usual[l] != nil {
				p.release(h.lo.A)
				h.lo = lines[l]
			}
		}
	}
	return nil
}

// slopes returns the slopes of some neurons: what is not in [0, 1], or above both usual slopes, is
// the usual lower one.
func (rule slopeRule) slopes(usual, upper []float64) []float64 {
	s := make([]float64, len(usual))
	for i := range s {
		if s[i] = rule(usual[i], upper[i]); !(s[i] >= 0 && s[i] <= min(1, max(usual[i], upper[i]))) {
			s[i] = usual[i]
		}
	}
	return s
}
