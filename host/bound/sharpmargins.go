package bound

import (
	"math"
)

// Rows that a device computes, as the sharper takes them.

// CLBPKept is how many coefficients PropagateCLBP keeps on the host for each item with as many
// rows, of a chain, with CLBPJob.Sharp and CLBPJob.Slopes.
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

// keepRows begins to keep rows on their way down, unless there is nothing to be gained of them.
func (p *clbpPass) keepRows(d *rowsDown) {
	p.down = nil
	if p.sharper == nil || p.job.Inputs.point || d.top < max(1, p.sharper.first) {
		return
	}
	d.a = make([][]float64, d.top)
	if d.top == len(p.layers)-1 {
		d.squares = p.read(p.job.Rows.square)
	}
	for l := len(p.reached.radius); l <= d.top; l++ {
		r := p.radiusOf(l - 1)
		p.reached.radius, p.reached.maxSq = append(p.reached.radius, p.read(r.radius)), append(p.reached.maxSq, p.read(r.maxSq))
		z := p.value(l - 1)
		lo, hi := p.read(z.Lo), p.read(z.Hi)
		if p.err != nil {
			return
		}
		still := make([]bool, len(lo))
		for j := range still {
			still[j] = lo[j] == hi[j]
		}
		p.reached.still = append(p.reached.still, still)
	}
	p.down = d
}

// keepInputs keeps the coefficients of the inputs.
func (p *clbpPass) keepInputs(s Interval) {
	if p.down == nil {
		return
	}
	p.down.lo = p.read(s.Lo)
	if s.Hi != nil {
		p.down.hi, p.down.nonNeg = p.read(s.Hi), p.job.Inputs.nonNegs
	}
}

// sharpenUnits replaces the noise that rows of layer k have met by less, where it is less.
func (p *clbpPass) sharpenUnits(k int) {
	d := p.down
	if p.down = nil; d == nil || d.top != k || p.err != nil {
		return
	}
	precision, quantile := p.dev.Precision(), p.job.Quantiles.Many[len(p.met)-1]
	mean, variance := p.read(p.total.mean), p.read(p.total.variance)
	if p.err != nil {
		return
	}
	for i := range p.pass.job.Batch.Items {
		if p.err != nil || p.job.Inputs.points[i] {
			continue
		}
		means, variances := p.sharper.noise(d, &p.reached, i)
		for r := range d.rows {
			m, v, at := totalUp(means, r), totalUp(variances, r), i*d.rows+r
			if m+float64(quantile*math.Sqrt(v)) < mean[at]+float64(quantile*math.Sqrt(variance[at])) {
				mean[at], variance[at] = precision.RoundHi(m), precision.RoundHi(v)
			}
		}
	}
	next := noiseArrays{mean: p.array(len(mean)), variance: p.array(len(mean)), cols: d.rows}
	p.do(func() error { return p.dev.Write(next.mean, mean) })
	p.do(func() error { return p.dev.Write(next.variance, variance) })
	p.dropTotal()
	p.total = next
}

// totalUp adds up what the layers have for row r.
func totalUp(layers [][]float64, r int) float64 {
	sum := 0.0
	for _, l := range layers {
		sum = math.Nextafter(sum+l[r], math.Inf(1))
	}
	return sum
}

// sharpMargins are the property's rows, as the sharper takes them; items[p] is what it said.
type sharpMargins struct {
	sharper *sharper
	down    *rowsDown
	reached reaches
	points  []bool
	items   []*sharpItem
}

type sharpItem struct{ mean, variance [][]float64 }

func (p *clbpPass) sharpMargins() *sharpMargins {
	d := p.down
	if p.down = nil; d == nil || p.err != nil {
		return nil
	}
	return &sharpMargins{sharper: p.sharper, down: d, reached: p.reached, points: p.job.Inputs.points, items: make([]*sharpItem, len(p.job.Inputs.points))}
}

// Sharpen computes what Sharp returns of item p, if there is anything: on the host.
func (n *CLBPMargins) Sharpen(p int) {
	if s := n.sharp; s != nil && !s.points[p] && s.items[p] == nil {
		mean, variance := s.sharper.noise(s.down, &s.reached, p)
		s.items[p] = &sharpItem{mean, variance}
	}
}

// SharpLevels is how many layers Sharp tells the noise of for item p, 0 if it never says anything.
func (n *CLBPMargins) SharpLevels(p int) int {
	if n.sharp == nil || n.sharp.points[p] {
		return 0
	}
	return n.sharp.down.top - n.sharp.sharper.first + 1
}

// Sharp is what ByLines.At says of row r of item p, with less noise (docs/concentration.md (34),
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
