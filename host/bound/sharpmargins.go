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
// rows, of a chain, with CLBPQuery.Slopes; on balls also those of rows of units.
func (m *Model) CLBPKept(rows int, balls, slopes bool) int64 {
	n := int64(0)
	if slopes {
		rows *= 1 + len(slopeRules)
	}
	for k := range m.layers {
		n += int64(m.layers[k].in)
		if balls && k < len(m.layers)-1 {
			rows = max(rows, 2*m.layers[k].out)
		}
	}
	return n * int64(max(1, rows))
}

// keepRows begins to keep rows on their way down, unless there is nothing to be gained of them or
// something has failed.
func (p *clbpPass) keepRows(d *sharp.Rows) {
	p.down, p.kept = nil, keptUnits{}
	p.dropHeld()
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
	if p.down = d; d.Squares == nil {
		p.kept.layers = make([]Array, d.Top)
	}
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

// keepCoefficients keeps rows over the pre-activations of layer l: the property's from the next read on,
// those of units, of which there are many, on the device.
func (p *clbpPass) keepCoefficients(l int, a Array) {
	switch {
	case p.down == nil:
	case p.down.Squares == nil:
		p.kept.layers[l] = a
		p.hold(a)
	default:
		p.readLater(a, &p.down.A[l])
	}
}

// keepInputs does the same of the coefficients of the inputs.
func (p *clbpPass) keepInputs(l int, s Interval) {
	if l < 0 && p.ball != nil {
		p.keepBallInputs(s)
	}
	if l >= 0 || p.down == nil {
		return
	}
	p.down.NonNeg = p.query.Inputs.nonNegs
	if s.Hi == s.Lo { // numbers
		s.Hi = nil
	}
	if p.down.Squares == nil {
		p.kept.inputs = s
		p.hold(s.Lo, s.Hi)
		return
	}
	p.readLater(s.Lo, &p.down.Lo)
	if s.Hi != nil {
		p.readLater(s.Hi, &p.down.Hi)
	}
}

// sharpenUnits replaces the noise that rows of layer k have met by less, where it is less: of so many
// items at a time as mostUnits says.
func (p *clbpPass) sharpenUnits(k int) {
	d := p.down
	if p.down = nil; d == nil || d.Top != k || p.err != nil {
		return
	}
	mean, variance, err := p.readPair(p.total.mean, p.total.variance)
	if err != nil {
		return
	}
	items := p.pass.query.Batch.Items
	for from, each := 0, p.unitsAtATime(d); from < items; from += each {
		n := min(each, items-from)
		part, err := p.readUnits(d, from, n)
		if err != nil {
			return
		}
		if p.err = p.sharpenPart(part, n, mean, variance); p.err != nil {
			return
		}
	}
	p.dropHeld()
	p.dropTotal()
	p.total = noiseArrays{mean: p.holding(mean), variance: p.holding(variance), cols: d.Rows}
}

// mostUnits is how many coefficients of rows of units are read at a time: 32 MiB.
var mostUnits = 1 << 22

// unitsAtATime is how many items have as many in rows like these.
func (p *clbpPass) unitsAtATime(d *sharp.Rows) int {
	n := 0
	for l := range d.Top {
		n += p.layers[l].in + p.layers[l].out
	}
	return max(1, mostUnits/(n*d.Rows))
}

// readUnits reads the rows of units of n items, from one on.
func (p *clbpPass) readUnits(d *sharp.Rows, from, n int) (*sharp.Rows, error) {
	part := &sharp.Rows{Top: d.Top, Rows: d.Rows, First: from, A: make([][]float64, d.Top), NonNeg: d.NonNeg}
	items := p.pass.query.Batch.Items
	var index Array
	if n < items {
		index = p.span(from, n)
	}
	read := func(a Array, to *[]float64) {
		switch {
		case a == nil: // of a layer without noise, or numbers
		case n == items:
			p.readLater(a, to)
		default:
			some := p.gathered(a, index, 1, items, n, a.Len()/items)
			p.readLater(some, to)
			p.release(some)
		}
	}
	for l, a := range p.kept.layers {
		read(a, &part.A[l])
	}
	read(p.kept.inputs.Lo, &part.Lo)
	read(p.kept.inputs.Hi, &part.Hi)
	_, err := p.readEach()
	p.release(index)
	return part, err
}

// sharpenPart puts less noise in the place of means and variances, where it is less, for the n items of
// these rows. The error is that of Ended.
func (p *clbpPass) sharpenPart(d *sharp.Rows, n int, mean, variance []float64) error {
	precision, quantile := p.dev.Precision(), p.query.Quantiles.Many[len(p.met)-1]
	errs := make([]error, n)
	fault.OnCores(context.Background(), n, func(i int) {
		if i += d.First; p.query.Inputs.points[i] {
			return
		}
		all, err := p.sharper.Noise([]*sharp.Rows{d}, &p.reached, i)
		if err != nil {
			errs[i-d.First] = err
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
			return err
		}
	}
	return nil
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
