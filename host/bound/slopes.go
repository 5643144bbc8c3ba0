package bound

// Other lower slopes for rows of the property (docs/concentration.md, section 9). A line below
// max(t, 0) may have any slope in [0, 1]. The usual one makes the least area, and is one of the two
// ends; but a slope of 1 passes noise on, and a slope of 0 does not.

// slopeRule says what lower slope a neuron gets whose usual one is usual and whose upper line has
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

// Bends says whether CLBPQuery.Slopes makes any difference: in a chain of dense layers some of which
// have ReLU.
func (m *Model) Bends() bool {
	for k := range m.layers[:len(m.layers)-1] {
		if m.chain && cutsAtZero(m.layers[k].facts) {
			return true
		}
	}
	return false
}

// otherSlopes bounds the property's rows by lines with the slopes of each rule.
func (p *clbpPass) otherSlopes(k int, m mergedLayer, own noiseArrays) (err error) {
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
				h.lo.A = p.array(len(usual[l]))
				p.do(func() error { return p.dev.Write(h.lo.A, rule.slopes(usual[l], upper[l])) })
			}
		}
		other, err := p.byLines(k, m, own)
		if err != nil {
			return err
		}
		p.result.Others = append(p.result.Others, other)
		for l := range k {
			if h := &p.hidden[l]; usual[l] != nil {
				p.release(h.lo.A)
				h.lo = lines[l]
			}
		}
	}
	return nil
}

// slopes are those of some neurons: what is not in [0, 1], or above both usual slopes, is the usual
// lower one.
func (rule slopeRule) slopes(usual, upper []float64) []float64 {
	s := make([]float64, len(usual))
	for i := range s {
		if s[i] = rule(usual[i], upper[i]); !(s[i] >= 0 && s[i] <= min(1, max(usual[i], upper[i]))) {
			s[i] = usual[i]
		}
	}
	return s
}
