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
		if p.squares == nil {
			var err error
			if p.squares, err = p.read(p.query.Rows.square); err != nil {
				return
			}
		}
		d.Squares = p.squares
	}
	for l := len(p.reached.Radius); l <= d.Top; l++ {
		r, z := p.radiusOf(l-1), p.value(l-1)
		all, err := p.readEach(r.radius, r.maxSq, z.Lo, z.Hi)
		if err != nil {
			return
		}
		p.reached.Radius, p.reached.MaxSq = append(p.reached.Radius, all[0]), append(p.reached.MaxSq, all[1])
		p.reached.Still = append(p.reached.Still, equals(all[2], all[3]))
	}
	p.down = d
}

// stills returns which numbers of z do not vary.
func (p *clbpPass) stills(z Interval) ([]bool, error) {
	lo, hi, err := p.readPair(z.Lo, z.Hi)
	if err != nil {
		return nil, err
	}
	return equals(lo, hi), nil
}

// equals says which numbers of two lists are equal.
func equals(lo, hi []float64) []bool {
	list := make([]bool, len(lo))
	for j := range list {
		list[j] = lo[j] == hi[j]
	}
	return list
}

// keepInputs keeps the coefficients of the inputs, from the next read on.
func (p *clbpPass) keepInputs(l int, s Interval) {
	if l < 0 && p.ball != nil {
		p.keepBallInputs(s)
	}
	if l >= 0 || p.down == nil {
		return
	}
	p.down.NonNeg = p.query.Inputs.nonNegs
	p.readLater(s.Lo, &p.down.Lo)
	if s.Hi != nil && s.Hi != s.Lo {
		p.readLater(s.Hi, &p.down.Hi)
	}
}

// sharpenUnits replaces the noise that rows of layer k have met by less, where it is less.
func (p *clbpPass) sharpenUnits(k int) {
	d := p.down
	if p.down = nil; d == nil || d.Top != k || p.err != nil {
		return
	}
	precision, quantile := p.dev.Precision(), p.query.Quantiles.Many[len(p.met)-1]
	mean, variance, err := p.readPair(p.total.mean, p.total.variance)
	if err != nil {
		return
	}
	errs := make([]error, p.pass.query.Batch.Items)
	fault.OnCores(context.Background(), len(errs), func(i int) {
		if p.query.Inputs.points[i] {
			return
		}
		all, err := p.sharper.Noise([]*sharp.Rows{d}, &p.reached, i)
		if err != nil {
			errs[i] = err
			return
		}
		for r := range d.Rows {
			m, v, at := totalUp(all[0].Mean, r), totalUp(all[0].Variance, r), i*d.Rows+r
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
	return &sharpMargins{sharper: p.sharper, down: d, reached: p.reached, points: p.query.Inputs.points, items: make([]*sharp.Noise, len(p.query.Inputs.points))}
}

// Sharpen computes what Sharp returns of item p, of these margins and of Others, if there is anything: on
// the host. The error is that of Ended.
func (n *CLBPMargins) Sharpen(p int) error {
	var of []*sharpMargins
	var rows []*sharp.Rows
	for _, n := range append([]*CLBPMargins{n}, n.Others...) {
		if s := n.sharp; s != nil && !s.points[p] && s.items[p] == nil {
			of, rows = append(of, s), append(rows, s.down)
		}
	}
	if len(of) == 0 {
		return nil
	}
	all, err := of[0].sharper.Noise(rows, &of[0].reached, p)
	for i := range all {
		of[i].items[p] = &all[i]
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
	for l, m := range s.items[p].Mean {
		mean, variance = append(mean, m[r]), append(variance, s.items[p].Variance[l][r])
	}
	return n.ByLines.Lo[p*n.Rows+r], mean, variance
}
