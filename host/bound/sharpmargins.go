package bound

import (
	"context"
	"math"
	"slices"

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

// sharpens reports whether less noise may be found for rows of layer k.
func (p *clbpPass) sharpens(k int) bool {
	return p.sharper != nil && !p.query.Inputs.point && k >= max(1, p.sharper.First())
}

// keepRows begins to keep rows of layer k on their way down, unless there is nothing to be gained of them.
func (p *clbpPass) keepRows(k, rows int) {
	p.dropRows()
	switch {
	case p.ball != nil && k == len(p.layers)-1:
		p.beginRows(k, rows)
	case p.ball == nil && p.sharpens(k):
		p.down = &keptRows{top: k, rows: rows, layers: make([]Array, k)}
	}
}

// dropRows lets go of rows that are kept.
func (p *clbpPass) dropRows() {
	if d := p.down; d != nil {
		p.letGo(append(d.layers, d.inputs.Lo, d.inputs.Hi)...)
	}
	p.down = nil
}

// keepInputs keeps the coefficients of the inputs.
func (p *clbpPass) keepInputs(l int, s Interval) {
	if l < 0 && p.ball != nil {
		p.keepBallInputs(s)
	}
	if l >= 0 || p.down == nil {
		return
	}
	if s.Hi == s.Lo { // numbers
		s.Hi = nil
	}
	p.down.inputs = s
	p.hold(s.Lo, s.Hi)
}

// readKept reads, of these items, several rows of one layer that are kept: [item][rows].
func (p *clbpPass) readKept(items []int, all ...*keptRows) ([][]sharpRows, error) {
	top := all[0].top
	var arrays []Array
	for l := range top + 1 {
		r, z := p.radiusOf(l-1), p.value(l-1)
		arrays = append(arrays, r.radius, r.maxSq, z.Lo, z.Hi)
	}
	if top == len(p.layers)-1 {
		arrays = append(arrays, p.query.Rows.square)
	}
	for _, d := range all {
		arrays = append(append(arrays, d.layers...), d.inputs.Lo, d.inputs.Hi)
	}
	of, err := p.readItems(items, arrays)
	if err != nil {
		return nil, err
	}
	list := make([][]sharpRows, len(items))
	for i, item := range items {
		next := 0
		take := func() []float64 {
			next++
			return of(i, next-1)
		}
		reach := &sharp.Reach{First: item}
		for range top + 1 {
			reach.Radius, reach.MaxSq = append(reach.Radius, take()), append(reach.MaxSq, take())
			reach.Still = append(reach.Still, equals(take(), take()))
		}
		var squares []float64
		if top == len(p.layers)-1 {
			squares = take()
		}
		for _, d := range all {
			rows := &sharp.Rows{Top: top, Rows: d.rows, First: item, Squares: squares, NonNeg: p.query.Inputs.nonNegs}
			for range d.layers {
				rows.A = append(rows.A, take())
			}
			rows.Lo, rows.Hi = take(), take()
			list[i] = append(list[i], sharpRows{rows, reach})
		}
	}
	return list, nil
}

// readItems reads what arrays have of some items, in order: of(i, k) is what array k has of the i-th of them. Of few
// items nothing else is read.
func (p *clbpPass) readItems(items []int, arrays []Array) (of func(i, k int) []float64, err error) {
	all, n := p.pass.query.Batch.Items, len(items)
	numbers := make([][]float64, len(arrays))
	place, index := func(i int) int { return items[i] }, Array(nil)
	if some := n; 2*some < all {
		place, all = func(i int) int { return i }, n
		index = p.listed(n, func(i int) int { return items[i] })
	}
	for k, a := range arrays {
		switch {
		case a == nil: // of a layer without noise, or the other ends of numbers
		case index == nil:
			p.readLater(a, &numbers[k])
		default:
			batch := p.pass.query.Batch.Items
			some := p.gathered(a, index, 1, batch, n, a.Len()/batch)
			p.readLater(some, &numbers[k])
			p.release(some)
		}
	}
	if _, err = p.readEach(); err != nil {
		return nil, err
	}
	p.release(index)
	return func(i, k int) []float64 {
		each := len(numbers[k]) / all
		return numbers[k][place(i)*each:][:each:each]
	}, nil
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

// sharpenUnits replaces the noise that rows of layer k have met by less, where it is less: of so many
// items at a time as mostUnits says.
func (p *clbpPass) sharpenUnits(k int) {
	defer p.dropRows()
	d := p.down
	if d == nil || d.top != k || p.err != nil {
		return
	}
	mean, variance, err := p.readPair(p.total.mean, p.total.variance)
	if err != nil {
		return
	}
	for items := range slices.Chunk(p.boxItems(), p.unitsAtATime(d)) {
		rows, err := p.readKept(items, d)
		if err != nil {
			return
		}
		if p.err = p.sharpenItems(items, rows, mean, variance); p.err != nil {
			return
		}
	}
	p.dropTotal()
	p.total = noiseArrays{mean: p.holding(mean), variance: p.holding(variance), cols: d.rows}
}

// boxItems are the items that are no points.
func (p *clbpPass) boxItems() (list []int) {
	for i, point := range p.query.Inputs.points {
		if !point {
			list = append(list, i)
		}
	}
	return list
}

// mostUnits is how many coefficients of rows of units are read at a time: 32 MiB.
var mostUnits = 1 << 22

// unitsAtATime is how many items have as many in rows like these.
func (p *clbpPass) unitsAtATime(d *keptRows) int {
	return max(1, mostUnits/(p.keptBelow(d.top)*d.rows))
}

// keptBelow is how many coefficients of a row of layer top, of a chain, are kept at most.
func (m *Model) keptBelow(top int) int {
	n := 2 * m.layers[0].in
	for l := range top {
		n += m.layers[l].out
	}
	return n
}

// sharpenItems puts less noise in the place of means and variances, where it is less, for some items. The
// error is that of Ended.
func (p *clbpPass) sharpenItems(items []int, rows [][]sharpRows, mean, variance []float64) error {
	precision, which := p.dev.Precision(), ofMany+len(p.met)-1
	errs := make([]error, len(items))
	fault.OnCores(context.Background(), len(items), func(i int) {
		d := rows[i][0]
		all, err := p.sharper.Noise([]*sharp.Rows{d.Rows}, d.reach, items[i])
		if err != nil {
			errs[i] = err
			return
		}
		quantile := p.quantileOf(which, items[i])
		for r := range d.Rows.Rows {
			m, v, at := totalUp(all[0].Mean, r), totalUp(all[0].Variance, r), items[i]*d.Rows.Rows+r
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

// sharpMargins are the property's rows that have been kept, until readSharp reads them.
func (p *clbpPass) sharpMargins() *sharpMargins {
	d, items := p.down, len(p.query.Inputs.points)
	if p.down = nil; d == nil || p.err != nil {
		return nil
	}
	return &sharpMargins{sharper: p.sharper, kept: d, points: p.query.Inputs.points, read: make([]*sharpRows, items), items: make([]*sharp.Noise, items)}
}

// readSharp reads the property's rows, of the items that are wanted.
func (p *clbpPass) readSharp() error {
	var of []*sharpMargins
	var kept []*keptRows
	for _, n := range append([]*CLBPMargins{&p.result}, p.result.Others...) {
		if n.sharp != nil {
			of, kept = append(of, n.sharp), append(kept, n.sharp.kept)
		}
	}
	if len(of) == 0 {
		return nil
	}
	items := p.boxItems()
	if p.query.Wanted != nil {
		items = slices.DeleteFunc(p.query.Wanted(&p.result), func(i int) bool { return p.query.Inputs.points[i] })
	}
	if len(items) == 0 {
		return nil
	}
	rows, err := p.readKept(items, kept...)
	for i := range rows {
		for k, s := range of {
			s.read[items[i]] = &rows[i][k]
		}
	}
	return err
}

// Sharpen computes what Sharp returns of item p, of these margins and of Others, if there is anything: on
// the host. The error is that of Ended.
func (n *CLBPMargins) Sharpen(p int) error {
	var of []*sharpMargins
	var rows []*sharp.Rows
	for _, n := range append([]*CLBPMargins{n}, n.Others...) {
		if s := n.sharp; s != nil && s.read[p] != nil && s.items[p] == nil {
			of, rows = append(of, s), append(rows, s.read[p].Rows)
		}
	}
	if len(of) == 0 {
		return nil
	}
	all, err := of[0].sharper.Noise(rows, of[0].read[p].reach, p)
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
	return n.sharp.kept.top - n.sharp.sharper.First() + 1
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
