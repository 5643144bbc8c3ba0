package bound

import (
	"context"
	"math"

	"psafe/host/arith"
	"psafe/internal/fault"
)

// Rows over balls (docs/theory.md, section 3.7). For all x that the box and the ball have in common
//
//	row(x) >= Lo + sum_j (a_j x_j - least of a_j x_j over the box) + noise
//
// Lo being what the device says of the box (docs/theory.md, Concretize: all costs are paid for all x
// at once). Of the sum and the noise of the two lowest layers together the least value is bounded in the
// mean, by the norms of coefficients.

// beginRows begins to keep rows of layer k.
func (p *clbpPass) beginRows(k, rows int) {
	d := &ballDown{top: k, rows: rows}
	p.ball.down = d
	switch {
	case k != 1 || !p.layers[k].noisy:
	case p.apart:
		d.second = p.ball.own
	default:
		d.second = p.ownThrough()
	}
}

// ownThrough is the noise of the second layer in its own units, of both signs. Their rows begin with no
// mean of it (startUnits), as it is added in the end.
func (p *clbpPass) ownThrough() *ballThrough {
	plain, err := p.read(p.own.mean)
	if err != nil {
		return nil
	}
	still, err := p.stills(p.hidden[0].z)
	if err != nil {
		return nil
	}
	l := &p.ball.post.Layers[1]
	in, out := l.Inputs(), l.Outputs()
	t := newBallThrough(len(p.ball.items) * 2 * out)
	for i := range p.ball.items {
		u := &p.ball.units[i]
		for o := range out {
			sq, moved := 0.0, 0.0
			for j := range in {
				if sd := l.Weight.SdHi[j*out+o]; !still[i*in+j] {
					sq += float64(float64(sd*sd) * u.sizeSq[j])
					moved = max(moved, float64(sd*u.steep[j]))
				}
			}
			for _, at := range []int{i*2*out + o, i*2*out + out + o} {
				t.plain[at], t.sq[at], t.moved[at] = plain[i*out+o], p.ball.up(sq), p.ball.up(moved)
			}
		}
	}
	return t
}

func newBallThrough(n int) *ballThrough {
	return &ballThrough{make([]float64, n), make([]float64, n), make([]float64, n)}
}

// through reads the spreads s of the second layer, [Items x in x rows], and keeps its noise in rows.
func (p *clbpPass) through(s Array, rows int, round NoiseRounding) {
	spread, err := p.read(s)
	if err != nil {
		return
	}
	radius, err := p.read(p.joinRadius(1))
	if err != nil {
		return
	}
	still, err := p.stills(p.hidden[0].z)
	if err != nil {
		return
	}
	in := p.layers[1].in
	t := newBallThrough(len(p.ball.items) * rows)
	for i := range p.ball.items {
		u := &p.ball.units[i]
		for j := range in {
			for r, v := range spread[(i*in+j)*rows : (i*in+j+1)*rows] {
				v, at := p.ball.spread(v, round), i*rows+r
				root := p.ball.rootUp(v)
				t.plain[at] += float64(root * radius[i*in+j])
				if !still[i*in+j] {
					t.sq[at] += float64(v * u.sizeSq[j])
					t.moved[at] = max(t.moved[at], float64(root*u.steep[j]))
				}
			}
		}
	}
	for at := range t.plain {
		t.plain[at] = p.ball.up(float64(p.ball.up(t.plain[at]) * arith.Sqrt2OverPiUp))
		t.sq[at], t.moved[at] = p.ball.up(t.sq[at]), p.ball.up(t.moved[at])
	}
	if p.ball.down == nil {
		p.ball.own = t
	} else {
		p.ball.down.second = t
	}
}

// spread bounds what a device has rounded to nearest.
func (b *ballPass) spread(s float64, round NoiseRounding) float64 {
	return b.up(float64((s + round.Delta) * round.VarRel))
}

// firstNoise keeps the noise of the first layer in rows: s and c are what NoiseRows takes.
func (p *clbpPass) firstNoise(s, c Array, rows int, round NoiseRounding) {
	spread, bias, err := p.readPair(s, c)
	if err != nil {
		return
	}
	d, in := p.ball.down, p.layers[0].in
	d.spread, d.variance = spread, make([]float64, len(bias))
	fault.OnCores(context.Background(), len(p.ball.items), func(i int) {
		t, steep, centreSq, boxSq := p.ball.items[i], make([]float64, rows), make([]float64, rows), make([]float64, rows)
		for j := range in {
			r, cc := t.radius[j], float64(t.centre[j]*t.centre[j])
			of := spread[(i*in+j)*rows : (i*in+j+1)*rows]
			for n, v := range of {
				v = p.ball.spread(v, round)
				of[n] = v
				centreSq[n] += float64(v * cc)
				boxSq[n] += float64(v * t.mostSq[j])
				if r > 0 {
					steep[n] = max(steep[n], float64(v*float64(r*r)))
				}
			}
		}
		for n := range rows {
			at := i*rows + n
			own := float64(bias[at]*round.VarRel) + round.Abs
			d.variance[at] = p.ball.up(p.ball.mostVariance(centreSq[n], p.ball.rootUp(steep[n]), boxSq[n]) + p.ball.up(own))
		}
	})
	if !p.apart {
		p.met[p.layers[0].depth] = true
	}
}

// keepBallInputs keeps the coefficients of the inputs.
func (p *clbpPass) keepBallInputs(s Interval) {
	d := p.ball.down
	if d == nil {
		return
	}
	d.lo, d.hi, _ = p.readEnds(s) // an error is the pass's
}

// coefficient is one at or below whose line the row is, in input j, of an item: the least magnitude that
// it may have where the input has both signs.
func (d *ballDown) coefficient(t *ballItem, j, at int) float64 {
	lo := d.lo[at]
	switch {
	case d.hi == nil || t.lo[j] >= 0:
		return lo
	case t.hi[j] <= 0:
		return d.hi[at]
	case lo > 0:
		return lo
	case d.hi[at] < 0:
		return d.hi[at]
	}
	return 0
}

// ballEnds hold what the ball says of rows of an item: the rows are at least gain more than the bound
// of the box, less noise with this mean for the second layer and this variance for the first.
type ballEnds struct{ gain, second, first []float64 }

// ends takes, of the noise of the second layer, whichever bound makes less of it, with what it adds to
// the deviation of the first.
func (b *ballPass) ends(d *ballDown, item int) ballEnds {
	t, n := b.items[item], d.rows
	e := ballEnds{make([]float64, n), make([]float64, n), make([]float64, n)}
	sq, far, steep := make([]float64, n), make([]float64, n), make([]float64, n)
	if d.lo != nil {
		b.alongInputs(d, item, e.gain, sq, far, steep)
	}
	most := maximumUp(len(t.radius))
	for r := range n {
		at, alone, moved := item*n+r, b.rootUp(sq[r]), 0.0
		if t.norm == 1 {
			alone = min(alone, b.up(far[r]+float64(most*b.rootUp(steep[r]))))
		}
		fall := alone
		if d.lo == nil {
			fall = 0
		}
		if s := d.second; s != nil {
			e.second[r] = s.plain[at]
			if both := b.rootUp(sq[r] + s.sq[at]); d.lo != nil && both+s.moved[at] < alone+s.plain[at] {
				fall, moved, e.second[r] = both, s.moved[at], 0
			}
		}
		e.gain[r] = math.Nextafter(b.least(e.gain[r])-fall, math.Inf(-1))
		if d.lo == nil {
			e.gain[r] = 0
		}
		if d.variance != nil {
			e.first[r] = d.variance[at]
		}
		if moved > 0 {
			root := b.rootUp(e.first[r]) + moved
			e.first[r] = b.up(float64(root * root))
		}
	}
	return e
}

// alongInputs sums, for each row, what the box's bound is below the value at the centre, and the squares
// of the coefficients with their noise, and finds the greatest of both.
func (b *ballPass) alongInputs(d *ballDown, item int, gain, sq, far, steep []float64) {
	t, n := b.items[item], d.rows
	for j, r := range t.radius {
		if r == 0 {
			continue
		}
		below, above := arith.SumDown(t.centre[j], -t.lo[j]), arith.SumDown(t.hi[j], -t.centre[j])
		rr, base, moves := float64(r*r), (item*len(t.radius)+j)*n, !(t.shutLo[j] && t.shutHi[j])
		for row := range n {
			a, v := d.coefficient(t, j, base+row), 0.0
			room, shut := below, t.shutLo[j]
			if a < 0 {
				room, shut = above, t.shutHi[j]
			}
			gain[row] += float64(math.Abs(a) * room)
			if !moves {
				continue
			}
			if d.spread != nil {
				v = d.spread[base+row]
				steep[row] = max(steep[row], float64(rr*v))
			}
			sq[row] += float64(rr * reachSq(a, v, shut))
			if !shut {
				far[row] = max(far[row], float64(r*math.Abs(a)))
			}
		}
	}
}

// endsOf returns what the ball says of all items.
func (p *clbpPass) endsOf(d *ballDown) []ballEnds {
	ends := make([]ballEnds, len(p.ball.items))
	fault.OnCores(context.Background(), len(ends), func(i int) { ends[i] = p.ball.ends(d, i) })
	return ends
}

// raise adds to the lower bounds of rows what the ball says more.
func (p *clbpPass) raise(bound Array, ends []ballEnds) {
	lo, err := p.read(bound)
	if err != nil {
		return
	}
	at := 0
	for _, e := range ends {
		for _, gain := range e.gain {
			if gain != 0 {
				lo[at] = math.Nextafter(lo[at]+gain, math.Inf(-1))
			}
			lo[at] = p.dev.Precision().RoundLo(lo[at])
			at++
		}
	}
	p.write(bound, lo)
}

// raiseUnits takes from the ball what it says of rows of a hidden layer: of the bounds and of their noise.
func (p *clbpPass) raiseUnits(bound Array, rows int) {
	d := p.ball.down
	if p.ball.down = nil; d == nil || p.err != nil {
		return
	}
	ends, n := p.endsOf(d), len(p.ball.items)*rows
	p.raise(bound, ends)
	if d.second == nil && d.variance == nil {
		return
	}
	mean, variance := make([]float64, n), make([]float64, n)
	if p.total.mean != nil {
		m, v, err := p.readPair(p.total.mean, p.total.variance)
		if err != nil {
			return
		}
		mean, variance = repeated(m, p.total.cols, rows), repeated(v, p.total.cols, rows)
	}
	precision := p.dev.Precision()
	for i, e := range ends {
		for r := range rows {
			at := i*rows + r
			mean[at] = precision.RoundHi(math.Nextafter(mean[at]+e.second[r], math.Inf(1)))
			variance[at] = precision.RoundHi(math.Nextafter(variance[at]+e.first[r], math.Inf(1)))
		}
	}
	p.dropTotal()
	p.total = noiseArrays{mean: p.holding(mean), variance: p.holding(variance), cols: rows}
}

// raiseProperty takes from the ball what it says of rows of the property: of the bounds, and of the noise
// of the two lowest layers by level.
func (p *clbpPass) raiseProperty(bound Array) {
	d := p.ball.down
	if p.ball.down = nil; d == nil || p.err != nil {
		return
	}
	ends := p.endsOf(d)
	p.raise(bound, ends)
	if d.second != nil {
		n := p.byLevel[p.layers[1].depth]
		n.mean, n.kept = p.written(flat(ends, func(e *ballEnds) []float64 { return e.second })), true
		p.byLevel[p.layers[1].depth] = n
	}
	if d.variance != nil {
		first := flat(ends, func(e *ballEnds) []float64 { return e.first })
		p.byLevel[p.layers[0].depth] = noiseArrays{mean: p.holding(make([]float64, len(first))), variance: p.written(first), cols: d.rows, kept: true}
	}
}
