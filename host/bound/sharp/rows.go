package sharp

import (
	"math"
	"slices"

	"psafe/host/arith"
)

// part are some rows of an item while their noise is computed: arrays are [places x lanes], so
// that what is beside each other in them are lanes of vectors. A lane without a row has zeros.
type part struct {
	*Network
	r     *Reach
	item  int
	top   int
	units bool
	lanes int
	runs  []run
	// varies are the inputs of each layer that vary.
	varies [][]int
}

// run are n rows beside each other, from first on, and from lane on in a part; to is where their noise
// belongs.
type run struct {
	d              *Rows
	to             *Noise
	first, n, lane int
}

// spread are the s_j^2 of (11) for each input j of a layer, [in x rows]; of a layer's own units only
// those of half of the lanes, as the other half has the same.
type spread struct {
	s    []float64
	rows int
}

func (c *spread) of(j int) []float64 { return c.s[j*c.rows : (j+1)*c.rows] }

// noise writes to its runs what Network.Noise says. The error is that of ended.
func (t *part) noise() error {
	moved := make([]float64, t.lanes) // what the layer above adds to the deviation
	var below *spread                 // of layer 0, where layer 1 has asked for it
	for l := t.top; l >= t.first; l-- {
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
		e := make([]float64, t.lanes)
		switch {
		case l == 0: // its mean is in that of layer 1
		case l == 1:
			if t.first == 0 {
				below = t.spreads(0, t.squared(0))
			}
			var alone []float64
			alone, e, moved = t.overInputs(c, below)
			less(e, moved, t.plain(l, c), alone)
		default:
			e, moved = t.through(l, c)
			less(e, moved, t.plain(l, c), nil)
		}
		if err := t.ended(); err != nil { // and what the loops above left is no bound
			return err
		}
		for _, r := range t.runs {
			copy(r.to.Mean[t.top-l][r.first:r.first+r.n], e[r.lane:])
			copy(r.to.Variance[t.top-l][r.first:r.first+r.n], v[r.lane:])
		}
	}
	return nil
}

// less puts, for each row, plain + alone in the place of the mean, which then adds nothing to the
// deviation of the layer below, where that is not more: which depends on no weight.
func less(mean, moved, plain, alone []float64) {
	for i, e := range plain {
		if alone != nil {
			e = math.Nextafter(e+alone[i], math.Inf(1))
		}
		if !(mean[i]+moved[i] < e) {
			mean[i], moved[i] = e, 0
		}
	}
}

// squared are the squares of the rows' coefficients over layer l, [out x lanes]; nil for units.
func (t *part) squared(l int) []float64 {
	out := t.post.Layers[l].Outputs()
	if l == t.top && t.units {
		return nil
	}
	square := make([]float64, out*t.lanes)
	for o := range out {
		for _, r := range t.runs {
			to, from := square[o*t.lanes+r.lane:][:r.n], ((t.item-r.d.First)*out+o)*r.d.Rows+r.first
			if l == t.top {
				copy(to, r.d.Squares[from:])
				continue
			}
			for i, a := range r.d.A[l][from : from+r.n] {
				to[i] = float64(a * a)
			}
		}
	}
	return square
}

// ofItem is the item's part of what the reach says of the inputs of layer l.
func (t *part) ofItem(list []float64, l int) []float64 {
	in := t.post.Layers[l].Inputs()
	return list[(t.item-t.r.First)*in:][:in]
}

// looks is after how many inputs of a layer it is asked whether to go on.
const looks = 32

// spreads returns the spreads of layer l, of rows whose squares are given.
func (t *part) spreads(l int, square []float64) *spread {
	lay := &t.post.Layers[l]
	in, out := lay.Inputs(), lay.Outputs()
	if square == nil {
		r := t.runs[0]
		c := &spread{make([]float64, in*t.lanes/2), t.lanes / 2}
		for j := range in {
			to := c.of(j)
			for i, x := range lay.Weight.SdHi[j*out+r.first:][:r.n] {
				to[i] = t.more(float64(x * x))
			}
		}
		return c
	}
	c := &spread{make([]float64, in*t.lanes), t.lanes}
	var met []int // the outputs that some row meets: zeros change no sum
	for o := range out {
		if slices.ContainsFunc(square[o*t.lanes:(o+1)*t.lanes], notZero) {
			met = append(met, o)
		}
	}
	sd := t.squares[l]().sd
	for j := 0; j < in && t.ended() == nil; j += looks {
		end := min(j+looks, in)
		weighRows(c.s[j*t.lanes:end*t.lanes], sd[j*out:end*out], met, square, t.lanes, t.vectors)
	}
	for i, x := range c.s {
		c.s[i] = bounded1(t.more(x))
	}
	return c
}

func notZero(x float64) bool { return x != 0 }

// variance is (12).
func (t *part) variance(l int, c *spread, square []float64) []float64 {
	lay, v := &t.post.Layers[l], make([]float64, t.lanes)
	in := lay.Inputs()
	weighRows(v[:c.rows], t.ofItem(t.r.MaxSq[l], l), t.places[:in], c.s, c.rows, t.vectors)
	repeat(v, c.rows)
	if square == nil {
		for _, r := range t.runs {
			for i := range r.n {
				x := lay.Bias.SdHi[(r.first+i)%lay.Outputs()]
				v[r.lane+i] += float64(x * x)
			}
		}
	}
	for o, a := range square {
		x := lay.Bias.SdHi[o/t.lanes]
		v[o%t.lanes] += float64(float64(x*x) * a)
	}
	return t.grown(v)
}

// plain is (11).
func (t *part) plain(l int, c *spread) []float64 {
	e := make([]float64, t.lanes)
	for j, radius := range t.ofItem(t.r.Radius[l], l) {
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
}

func newLinear(rows int) *linear {
	return &linear{make([]float64, rows), make([]float64, rows), make([]float64, rows), rows}
}

func (t *part) linear(n *linear, l, k int, c *spread) {
	q, out := t.squares[l-1](), t.post.Layers[l-1].Outputs()
	weighTwice(n, q.mean[k*out:(k+1)*out], q.sd[k*out:(k+1)*out], t.varies[l], c.s, t.vectors)
}

// through is (34) for layer l > 1: the mean, over the weights of layer l-1, of the mean that the
// linear process has, and how much it moves with them.
func (t *part) through(l int, c *spread) (mean, moved []float64) {
	mean, moved = make([]float64, t.lanes), make([]float64, t.lanes)
	n := newLinear(c.rows)
	for k, radius := range t.ofItem(t.r.Radius[l-1], l-1) {
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
// inputs, of layer 0 alone and of both. above are the spreads of layer 1, below those of layer 0, nil
// if it has no noise.
func (t *part) overInputs(above, below *spread) (alone, mean, moved []float64) {
	alone, mean, moved = make([]float64, t.lanes), make([]float64, t.lanes), make([]float64, t.lanes)
	a, hi, own := make([]float64, t.lanes), make([]float64, t.lanes), make([]float64, t.lanes)
	none, n := newLinear(t.lanes), newLinear(above.rows)
	for k, radius := range t.ofItem(t.r.Radius[0], 0) {
		if radius == 0 {
			continue
		}
		if t.ended() != nil {
			break
		}
		t.linear(n, 1, k, above)
		if below != nil {
			own = below.of(k)
		}
		t.least(a, hi, k)
		t.addRanges(alone, a, own, none, radius)
		t.addRanges(mean, a, own, n, radius)
		for i, x := range n.largest {
			moved[i] += float64(x * float64(radius*radius))
		}
	}
	repeat(moved, n.rows)
	for i := range moved {
		moved[i] = math.Sqrt(t.more(moved[i])) * arith.Sqrt2OverPiUp * (1 + 0x1p-49)
	}
	return t.grown(alone), t.grown(mean), t.grown(moved)
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

// least sets a to the least magnitudes of the rows' coefficients of input k; hi is for its use.
func (t *part) least(a, hi []float64, k int) {
	for _, r := range t.runs {
		from := ((t.item-r.d.First)*t.post.Layers[0].Inputs()+k)*r.d.Rows + r.first
		a, hi := a[r.lane:][:r.n], hi[r.lane:][:r.n]
		copy(a, r.d.Lo[from:])
		if r.d.Hi == nil || r.d.NonNeg[t.item] {
			for i, x := range a {
				a[i] = math.Abs(x)
			}
			continue
		}
		copy(hi, r.d.Hi[from:])
		for i, x := range hi {
			a[i] = max(a[i], -x, 0)
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
