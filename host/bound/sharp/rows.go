package sharp

import (
	"math"

	"psafe/host/arith"
	"psafe/internal/vector"
)

// part are some rows of an item while their noise is computed: arrays are [places x rows], so
// that what is beside each other in them are lanes of vectors.
type part struct {
	*Network
	d    *Rows
	r    *Reach
	item int
	// varies are the inputs of each layer that vary, row is which of the rows a place has or noRow.
	varies [][]int
	row    []int
}

// spread are the s_j^2 of (11) for each input j of a layer, [in x rows]; of a layer's own units only
// those of half of the rows, as the other half has the same.
type spread struct {
	s    []float64
	rows int
}

func (c *spread) of(j int) []float64 { return c.s[j*c.rows : (j+1)*c.rows] }

// noise writes to the rows of mean and variance what Network.noise says. The error is that of ended.
func (t *part) noise(mean, variance [][]float64) error {
	moved := make([]float64, len(t.row)) // what the layer above adds to the deviation
	var below *spread                    // of layer 0, where layer 1 has asked for it
	for l := t.d.Top; l >= t.first; l-- {
		c, square := below, t.squared(l)
		if c == nil {
			c = t.spreads(l, square)
		}
		v := t.variance(l, c, square)
		for i, m := range moved {
			if m > 0 {
				root := float64(math.Sqrt(v[i])*(1+0x1p-50)) + m
				v[i] = root * root * (1 + 0x1p-50)
			}
		}
		var e []float64
		switch {
		case l == 0 && below != nil: // its mean is in that of layer 1
			e = make([]float64, len(t.row))
		case l == 0:
			e, moved = t.overInputs(nil, c)
		case l == 1:
			if t.first == 0 {
				below = t.spreads(0, t.squared(0))
			}
			alone, _ := t.overInputs(nil, below)
			e, moved = less(t.plain(l, c), alone, func() ([]float64, []float64) { return t.overInputs(c, below) })
		default:
			e, moved = less(t.plain(l, c), nil, func() ([]float64, []float64) { return t.through(l, c) })
		}
		if err := t.ended(); err != nil { // and what the loops above left is no bound
			return err
		}
		for i, row := range t.row {
			if row != noRow {
				mean[t.d.Top-l][row], variance[t.d.Top-l][row] = e[i], v[i]
			}
		}
	}
	return nil
}

// less takes, for each row, plain + alone or the other mean, with what that adds to the
// deviation of the layer below: whichever is less, which depends on no weight.
func less(plain, alone []float64, other func() (mean, moved []float64)) (mean, moved []float64) {
	mean, moved = other()
	for i, e := range plain {
		if alone != nil {
			e = math.Nextafter(e+alone[i], math.Inf(1))
		}
		if !(mean[i]+moved[i] < e) {
			mean[i], moved[i] = e, 0
		}
	}
	return mean, moved
}

// squared are the squares of the rows' coefficients over layer l, [out x rows]; nil for units.
func (t *part) squared(l int) []float64 {
	d, out := t.d, t.post.Layers[l].Outputs()
	if l == d.Top && d.units() {
		return nil
	}
	square := make([]float64, out*len(t.row))
	for o := range out {
		to, from := square[o*len(t.row):(o+1)*len(t.row)], (t.item*out+o)*d.Rows
		for i, row := range t.row {
			switch {
			case row == noRow:
			case l == d.Top:
				to[i] = d.Squares[from+row]
			default:
				a := d.A[l][from+row]
				to[i] = float64(a * a)
			}
		}
	}
	return square
}

// spreads returns the spreads of layer l, of rows whose squares are given.
func (t *part) spreads(l int, square []float64) *spread {
	lay := &t.post.Layers[l]
	in, out, sd := lay.Inputs(), lay.Outputs(), lay.Weight.SdHi
	if square == nil {
		c := &spread{rows: len(t.row) / 2}
		c.s = make([]float64, in*c.rows)
		for j := range in {
			for i, unit := range t.row[:c.rows] {
				if unit != noRow {
					x := sd[j*out+unit]
					c.s[j*c.rows+i] = t.more(float64(x * x))
				}
			}
		}
		return c
	}
	c := &spread{make([]float64, in*len(t.row)), len(t.row)}
	q, some, places, every := t.squares[l](), make([]float64, 0, out), make([]int, 0, out), make([]int, out)
	for o := range every {
		every[o] = o * c.rows
	}
	for j := range in {
		if t.ended() != nil {
			break
		}
		v, at := q.sd[j*out:(j+1)*out], every
		if !q.all[j] {
			some, places = some[:0], places[:0]
			for o, x := range sd[j*out : (j+1)*out] {
				if x != 0 {
					some, places = append(some, v[o]), append(places, o*c.rows)
				}
			}
			v, at = some, places
		}
		to := c.s[j*c.rows : (j+1)*c.rows]
		weighRows(to, v, at, square, t.vectors)
		for i := range to {
			to[i] = bounded1(t.more(to[i]))
		}
	}
	return c
}

// variance is (12).
func (t *part) variance(l int, c *spread, square []float64) []float64 {
	lay, rows := &t.post.Layers[l], len(t.row)
	in := lay.Inputs()
	v := make([]float64, rows)
	for j, most := range t.r.MaxSq[l][t.item*in : (t.item+1)*in] {
		for i, x := range c.of(j) {
			v[i] += float64(x * most)
		}
	}
	repeat(v, c.rows)
	for i, row := range t.row {
		if square == nil && row != noRow {
			x := lay.Bias.SdHi[row%lay.Outputs()]
			v[i] += float64(x * x)
		}
	}
	for o, a := range square {
		x := lay.Bias.SdHi[o/rows]
		v[o%rows] += float64(float64(x*x) * a)
	}
	return t.grown(v)
}

// plain is (11).
func (t *part) plain(l int, c *spread) []float64 {
	in := t.post.Layers[l].Inputs()
	e := make([]float64, len(t.row))
	for j, radius := range t.r.Radius[l][t.item*in : (t.item+1)*in] {
		for i, x := range c.of(j) {
			e[i] += float64(math.Sqrt(x) * radius)
		}
	}
	repeat(e, c.rows)
	for i := range e {
		e[i] *= arith.Sqrt2OverPiUp * (1 + 0x1p-50)
	}
	return t.grown(e)
}

// linear are, for one input k of layer l-1, the variances of its coefficient in the process that
// the noise of layer l is compared with, from the means of the weights and from their deviations;
// and the largest part of the latter. They are of as many rows as spreads of layer l have.
type linear struct {
	means, deviations, largest []float64
	rows                       int
	// varies are the inputs of layer l that vary, at where their spreads are; w and v are squares of
	// the weights from k to them and of their deviations.
	varies, at []int
	w, v       []float64
}

func (t *part) newLinear(l int, c *spread) *linear {
	n := &linear{make([]float64, c.rows), make([]float64, c.rows), make([]float64, c.rows), c.rows, t.varies[l], nil, nil, nil}
	for _, j := range n.varies {
		n.at = append(n.at, j*c.rows)
	}
	n.w, n.v = make([]float64, len(n.at)), make([]float64, len(n.at))
	return n
}

func (t *part) linear(n *linear, l, k int, c *spread) {
	q, out := t.squares[l-1](), t.post.Layers[l-1].Outputs()
	w, v := q.mean[k*out:(k+1)*out], q.sd[k*out:(k+1)*out]
	if len(n.varies) < out {
		for i, j := range n.varies {
			n.w[i], n.v[i] = w[j], v[j]
		}
		w, v = n.w, n.v
	}
	weighRows(n.means, w, n.at, c.s, t.vectors)
	weighRowsMost(n.deviations, n.largest, v, n.at, c.s, t.vectors)
}

// weighRows sums, for each row, weights times what is at these places of x, in their order.
func weighRows(to, weights []float64, at []int, x []float64, v vector.Set) {
	if weighLanes(to, nil, weights, at, x, v) {
		return
	}
	clear(to)
	for ; len(weights) >= 4; weights, at = weights[4:], at[4:] {
		w0, w1, w2, w3 := weights[0], weights[1], weights[2], weights[3]
		x0, x1, x2, x3 := x[at[0]:][:len(to)], x[at[1]:][:len(to)], x[at[2]:][:len(to)], x[at[3]:][:len(to)]
		for i, sum := range to {
			sum += float64(w0 * x0[i])
			sum += float64(w1 * x1[i])
			sum += float64(w2 * x2[i])
			to[i] = sum + float64(w3*x3[i])
		}
	}
	for n, w := range weights {
		for i, q := range x[at[n]:][:len(to)] {
			to[i] += float64(w * q)
		}
	}
}

// weighRowsMost is weighRows, and the largest terms. Where a term is no number nor is the sum.
func weighRowsMost(to, most, weights []float64, at []int, x []float64, v vector.Set) {
	if weighLanes(to, most, weights, at, x, v) {
		return
	}
	clear(to)
	clear(most)
	for n, w := range weights {
		for i, q := range x[at[n]:][:len(to)] {
			term := float64(w * q)
			to[i] += term
			most[i] = max(most[i], term)
		}
	}
}

// through is (34) for layer l > 1: the mean, over the weights of layer l-1, of the mean that the
// linear process has, and how much it moves with them.
func (t *part) through(l int, c *spread) (mean, moved []float64) {
	in, rows := t.post.Layers[l-1].Inputs(), len(t.row)
	mean, moved = make([]float64, rows), make([]float64, rows)
	n := t.newLinear(l, c)
	for k, radius := range t.r.Radius[l-1][t.item*in : (t.item+1)*in] {
		if radius == 0 {
			continue
		}
		if t.ended() != nil {
			break
		}
		t.linear(n, l, k, c)
		for i, v := range n.means {
			mean[i] += float64(math.Sqrt(t.more(v+n.deviations[i])) * radius)
			moved[i] += float64(n.largest[i] * float64(radius*radius))
		}
	}
	repeat(mean, n.rows)
	repeat(moved, n.rows)
	for i := range mean {
		mean[i] *= arith.Sqrt2OverPiUp * (1 + 0x1p-49)
		moved[i] = math.Sqrt(t.more(moved[i])) * arith.Sqrt2OverPiUp * (1 + 0x1p-49)
	}
	return t.grown(mean), t.grown(moved)
}

// repeat copies the first rows to those after them.
func repeat(list []float64, rows int) {
	for at := rows; at < len(list); at += rows {
		copy(list[at:], list[:rows])
	}
}

// overInputs is (38): the mean of what noise adds to the range of the rows over the box of
// inputs. above are the spreads of layer 1, nil to leave its noise out, below those of layer 0,
// nil if it has none.
func (t *part) overInputs(above, below *spread) (mean, moved []float64) {
	in, rows := t.post.Layers[0].Inputs(), len(t.row)
	mean, moved = make([]float64, rows), make([]float64, rows)
	zeros, a := make([]float64, rows), make([]float64, rows)
	n, own := &linear{means: zeros, deviations: zeros, largest: zeros, rows: rows}, zeros
	if above != nil {
		n = t.newLinear(1, above)
	}
	for k, radius := range t.r.Radius[0][t.item*in : (t.item+1)*in] {
		if radius == 0 {
			continue
		}
		if t.ended() != nil {
			break
		}
		if above != nil {
			t.linear(n, 1, k, above)
		}
		if below != nil {
			own = below.of(k)
		}
		t.least(a, k)
		t.addRanges(mean, a, own, n, radius)
		for i, x := range n.largest {
			moved[i] += float64(x * float64(radius*radius))
		}
	}
	repeat(moved, n.rows)
	for i := range mean {
		moved[i] = math.Sqrt(t.more(moved[i])) * arith.Sqrt2OverPiUp * (1 + 0x1p-49)
	}
	return t.grown(mean), t.grown(moved)
}

// addRanges adds one input's term of (38) to each row: a is the least magnitude of its coefficient,
// own the spread of that by layer 0, and n that by layer 1.
func (t *part) addRanges(mean, a, own []float64, n *linear, radius float64) {
	if rangeLanes(mean, a, own, n, radius, t.grow, t.vectors) {
		return
	}
	for i, a := range a {
		own, p := own[i], n.means[i%n.rows]
		x := float64(a*a) + float64(twoOverPi*(own+p+n.deviations[i%n.rows])) + float64(restOverPi*min(own, p))
		x = float64(math.Sqrt(t.more(x))*(1+0x1p-50)) - a
		mean[i] += float64(math.Nextafter(x, math.Inf(1)) * radius)
	}
}

// least sets a to the least magnitudes of the rows' coefficients of input k.
func (t *part) least(a []float64, k int) {
	d := t.d
	from := (t.item*t.post.Layers[0].Inputs() + k) * d.Rows
	oneEnd := d.Hi == nil || d.NonNeg[t.item]
	for i, row := range t.row {
		switch {
		case row == noRow:
		case oneEnd:
			a[i] = math.Abs(d.Lo[from+row])
		default:
			a[i] = max(d.Lo[from+row], -d.Hi[from+row], 0)
		}
	}
}

// more covers the roundings of a sum, and what has underflowed in it.
func (s *Network) more(x float64) float64 { return float64(x*s.grow) + Tiny }

// grown covers those of several; what is no number becomes +Inf.
func (s *Network) grown(sums []float64) []float64 {
	for i, x := range sums {
		if sums[i] = s.more(x); !(sums[i] <= math.MaxFloat64) {
			sums[i] = math.Inf(1)
		}
	}
	return sums
}

// bounded1 is +Inf for what is too large to be sure that nothing underflows.
func bounded1(x float64) float64 {
	if !(x <= Most) {
		return math.Inf(1)
	}
	return x
}
