package bound

import (
	"context"
	"math"

	"psafe/host/bound/sharp"
	"psafe/internal/fault"
)

// Rows that a device computes, as the sharper takes them.

// mostSharp bounds the products of one item that Sharp is worth.
const mostSharp = 2e8

// Sharpens reports whether CLBPQuery.Sharp makes bounds of hidden layers better, in a time that is worth it.
func (m *Model) Sharpens() bool {
	if !m.chain || len(m.layers) < 3 {
		return false
	}
	work := 0.0
	for k := 1; k < len(m.layers)-1; k++ {
		for l := range k + 1 {
			work += 2 * float64(m.layers[k].out) * float64(m.layers[l].in) * float64(m.layers[l].out)
		}
	}
	return work <= mostSharp
}

// CLBPKept returns how many coefficients PropagateCLBP keeps on the host for each item with as many
// rows, of a chain, with CLBPQuery.Sharp and CLBPQuery.Slopes.
func (m *Model) CLBPKept(rows int, sharp, slopes bool) int64 {
	n := int64(0)
	if slopes {
		rows *= 1 + len(slopeRules)
	}
	for k := range m.layers {
		n += int64(m.layers[k].in)
		if sharp && k < len(m.layers)-1 {
			rows = max(rows, 2*m.layers[k].out)
		}
	}
	return n * int64(max(1, rows))
}

// keepRows begins to keep rows on their way down, unless there is nothing to be gained of them or
// something has failed.
func (p *clbpPass) keepRows(d *sharp.Rows) {
	p.down = nil
	if p.ball != nil {
		if d.Top == len(p.layers)-1 {
			p.beginRows(d.Top, d.Rows)
		}
		return
	}
	if p.sharper == nil || p.query.Inputs.point || d.Top < max(1, p.sharper.First()) {
		return
	}
	d.A = make([][]float64, d.Top)
	if d.Top == len(p.layers)-1 {
		var err error
		if d.Squares, err = p.read(p.query.Rows.square); err != nil {
			return
		}
	}
	for l := len(p.reached.Radius); l <= d.Top; l++ {
		r, z := p.radiusOf(l-1), p.value(l-1)
		radius, maxSq, err := p.readPair(r.radius, r.maxSq)
		if err != nil {
			return
		}
		still, err := p.stills(z)
		if err != nil {
			return
		}
		p.reached.Radius, p.reached.MaxSq, p.reached.Still = append(p.reached.Radius, radius), append(p.reached.MaxSq, maxSq), append(p.reached.Still, still)
	}
	p.down = d
}

// stills returns which numbers of z do not vary.
func (p *clbpPass) stills(z Interval) ([]bool, error) {
	lo, hi, err := p.readPair(z.Lo, z.Hi)
	if err != nil {
		return nil, err
	}
	still := make([]bool, len(lo))
	for j := range still {
		still[j] = lo[j] == hi[j]
	}
	return still, nil
}

// keepInputs keeps the coefficients of the inputs.
func (p *clbpPass) keepInputs(l int, s Interval) {
	if l < 0 && p.ball != nil {
		p.keepBallInputs(s)
	}
	if l >= 0 || p.down == nil {
		return
	}
	p.down.NonNeg = p.query.Inputs.nonNegs
	p.down.Lo, p.down.Hi, _ = p.readEnds(s) // an error is the pass's
}

// sharpenUnits replaces the noise that rows of layer k have met by less, where it is less.
func (p *clbpPass) sharpenUnits(k int) {
	d := p.down
	if p.down = nil; d == nil || d.Top != k || p.err != nil {
		return
	}
	precision, which := p.dev.Precision(), ofMany+len(p.met)-1
	mean, variance, err := p.readPair(p.total.mean, p.total.variance)
	if err != nil {
		return
	}
	errs := make([]error, p.pass.query.Batch.Items)
	fault.OnCores(context.Background(), len(errs), func(i int) {
		if p.query.Inputs.points[i] {
			return
		}
		means, variances, err := p.sharper.Noise(d, &p.reached, i)
		if err != nil {
			errs[i] = err
			return
		}
		quantile := p.quantileOf(which, i)
		for r := range d.Rows {
			m, v, at := totalUp(means, r), totalUp(variances, r), i*d.Rows+r
			if m+float64(quantile*math.Sqrt(v)) < mean[at]+float64(quantile*math.Sqrt(variance[at])) {
				mean[at], variance[at] = precision.RoundHi(m), precision.RoundHi(v)
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			p.err = err
			return
		}
	}
	p.dropTotal()
	p.total = noiseArrays{mean: p.holding(mean), variance: p.holding(variance), cols: d.Rows}
}

// totalUp adds up what the layers have for row r.
func totalUp(layers [][]float64, r int) float64 {
	sum := 0.0
	for _, l := range layers {
		sum = math.Nextafter(sum+l[r], math.Inf(1))
	}
	return sum
}

func (p *clbpPass) sharpMargins() *sharpMargins {
	d := p.down
	if p.down = nil; d == nil || p.err != nil {
		return nil
	}
	return &sharpMargins{sharper: p.sharper, down: d, reached: p.reached, points: p.query.Inputs.points, items: make([]*sharpItem, len(p.query.Inputs.points))}
}

// Sharpen computes what Sharp returns of item p, if there is anything: on the host. The error is
// that of Ended.
func (n *CLBPMargins) Sharpen(p int) error {
	s := n.sharp
	if s == nil || s.points[p] || s.items[p] != nil {
		return nil
	}
	mean, variance, err := s.sharper.Noise(s.down, &s.reached, p)
	if err == nil {
		s.items[p] = &sharpItem{mean, variance}
	}
	return err
}

// SharpLevels returns how many layers Sharp tells the noise of for item p, 0 if it never says anything.
func (n *CLBPMargins) SharpLevels(p int) int {
	if n.sharp == nil || n.sharp.points[p] {
		return 0
	}
	return n.sharp.down.Top - n.sharp.sharper.First() + 1
}

// Sharp returns what ByLines.At says of row r of item p, with less noise (docs/theory.md (34),
// (38)); mean is nil where Sharpen has not been asked or had nothing to say.
func (n *CLBPMargins) Sharp(p, r int) (lo float64, mean, variance []float64) {
	s := n.sharp
	if s == nil || s.items[p] == nil {
		return 0, nil, nil
	}
	for l, m := range s.items[p].mean {
		mean, variance = append(mean, m[r]), append(variance, s.items[p].variance[l][r])
	}
	return n.ByLines.Lo[p*n.Rows+r], mean, variance
}
