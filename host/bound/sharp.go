package bound

import (
	"math"
	"slices"

	"psafe/host/model/posterior"
)

// The mean of noise over a box, sharper than (11) (docs/concentration.md, section 8): it is taken
// together with what the row does over the box, and the noise of layers above the first by
// comparing it with a process that is linear in what is below (34). All of it is computed on the
// host, in float64 rounded up, from the coefficients of rows that a device has computed: a few
// products of matrices for rows that decide something.

// twoOverPi is 2/pi = 0.63661977236758134308, rounded up, and restOverPi is 1 - 2/pi.
const (
	twoOverPi  = 0.6366197723675815
	restOverPi = 0.36338022763241870
)

// sharpTiny covers products that underflow, if weights and deviations are at most sharpWeight and
// no spread is above sharpMost.
const (
	sharpTiny   = 0x1p-400
	sharpWeight = 0x1p50
	sharpMost   = 0x1p100
)

// sharper knows the weights of a chain of dense layers; first is the lowest layer with noise.
type sharper struct {
	post  *posterior.Posterior
	first int
	// grow covers n + 16 roundings, twice.
	grow float64
	// ended says why the work has to stop. What it is told in the middle, noise is told at its end.
	ended func() error
}

// newSharper returns nil for what it cannot serve: networks that are no chains, those of one
// layer, activations that steepen, and weights that are out of range.
func newSharper(post *posterior.Posterior, layers []layer, chain bool, ended func() error) *sharper {
	s := &sharper{post: post, ended: ended}
	n := 0
	if !chain || len(layers) < 2 {
		return nil
	}
	for k := range layers {
		if k < len(layers)-1 && !(layers[k].facts.Lipschitz() <= 1) {
			return nil
		}
		for _, list := range [][]float64{post.Layers[k].Weight.Mean, post.Layers[k].Weight.SdHi, post.Layers[k].Bias.SdHi} {
			if slices.ContainsFunc(list, func(x float64) bool { return !(math.Abs(x) <= sharpWeight) }) {
				return nil
			}
		}
		if !layers[k].noisy {
			s.first = k + 1
		}
		n = max(n, layers[k].in, layers[k].out)
	}
	s.grow = 1 + float64(n+16)*0x1p-50
	return s
}

// mostSharp bounds the products of one item that Sharp is worth.
const mostSharp = 2e8

// Sharpens says whether CLBPQuery.Sharp makes bounds of hidden layers better, in a time that is worth it.
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

// rowsDown are rows of layer top, on their way down: what was met.
type rowsDown struct {
	top, rows int
	// a[l] are the coefficients of the pre-activations of layer l, [Items x out x rows]; of the top,
	// squares are those of the property's rows squared, and nil stands for units, again and again.
	a       [][]float64
	squares []float64
	// lo and hi are the coefficients of the network's inputs, [Items x in x rows]; hi is nil where
	// no input is negative. Of an item without negative inputs lo is the coefficients, so that what is
	// bounded beside it changes nothing.
	lo, hi []float64
	nonNeg []bool // of each item
}

// reaches bound, for what feeds each layer, how far it varies over the box and its squares:
// [layer][Items x in]. still says what does not vary at all, as dead neurons.
type reaches struct {
	radius, maxSq [][]float64
	still         [][]bool
}

// noise bounds mean and variance of the noise of rows of an item, for each layer from the top
// down to the first with noise, [rows] each. A row is then at least as far above m0 - sum of
// means as docs/concentration.md (13a) says with these variances. The error is that of ended, and
// there are no bounds then.
func (s *sharper) noise(d *rowsDown, r *reaches, item int) (mean, variance [][]float64, err error) {
	moved := make([]float64, d.rows) // what the layer above adds to the deviation
	var below []float64              // of layer 0, where layer 1 has asked for it
	for l := d.top; l >= s.first; l-- {
		c := below
		if c == nil {
			c = s.spreads(d, item, l)
		}
		v := s.variance(d, r, item, l, c)
		for i, m := range moved {
			if m > 0 {
				root := float64(math.Sqrt(v[i])*(1+0x1p-50)) + m
				v[i] = root * root * (1 + 0x1p-50)
			}
		}
		var e []float64
		switch {
		case l == 0 && below != nil: // its mean is in that of layer 1
			e = make([]float64, d.rows)
		case l == 0:
			e, moved = s.overInputs(d, r, item, nil, c)
		case l == 1:
			if s.first == 0 {
				below = s.spreads(d, item, 0)
			}
			alone, _ := s.overInputs(d, r, item, nil, below)
			e, moved = s.less(s.plain(r, item, l, c), alone, func() ([]float64, []float64) { return s.overInputs(d, r, item, c, below) })
		default:
			e, moved = s.less(s.plain(r, item, l, c), nil, func() ([]float64, []float64) { return s.through(r, item, l, c, d.rows) })
		}
		if err := s.ended(); err != nil { // and what the loops above left is no bound
			return nil, nil, err
		}
		mean, variance = append(mean, e), append(variance, v)
	}
	return mean, variance, nil
}

// less takes, for each row, plain + alone or the other mean, with what that adds to the
// deviation of the layer below: whichever is less, which depends on no weight.
func (s *sharper) less(plain, alone []float64, other func() (mean, moved []float64)) (mean, moved []float64) {
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

// spreads are the s_j^2 of (11) for each input j of layer l, [in x rows].
func (s *sharper) spreads(d *rowsDown, item, l int) []float64 {
	lay := &s.post.Layers[l]
	in, out, sd, rows := lay.Inputs(), lay.Outputs(), lay.Weight.SdHi, d.rows
	c := make([]float64, in*rows)
	if l == d.top && d.squares == nil {
		for j := range in {
			for i := range rows {
				x := sd[j*out+i%out]
				c[j*rows+i] = s.more(float64(x * x))
			}
		}
		return c
	}
	square := s.squared(d, item, l, out)
	for j := range in {
		if s.ended() != nil {
			break
		}
		to := c[j*rows : (j+1)*rows]
		weighSquares(to, sd[j*out:(j+1)*out], square)
		for k := range to {
			to[k] = bounded1(s.more(to[k]))
		}
	}
	return c
}

// weighSquares adds, for each row, the squares of its coefficients times those of deviations, in their
// order; four at a time where none is 0, which does not change the order.
func weighSquares(to, sd, square []float64) {
	rows := len(to)
	for len(sd) > 0 {
		if len(sd) < 4 || sd[0] == 0 || sd[1] == 0 || sd[2] == 0 || sd[3] == 0 {
			if x := sd[0]; x != 0 {
				v := float64(x * x)
				for k, a := range square[:rows] {
					to[k] += float64(v * a)
				}
			}
			sd, square = sd[1:], square[rows:]
			continue
		}
		v0, v1, v2, v3 := float64(sd[0]*sd[0]), float64(sd[1]*sd[1]), float64(sd[2]*sd[2]), float64(sd[3]*sd[3])
		a0, a1, a2, a3 := square[:rows], square[rows:][:rows], square[2*rows:][:rows], square[3*rows:][:rows]
		for k, sum := range to {
			sum += float64(v0 * a0[k])
			sum += float64(v1 * a1[k])
			sum += float64(v2 * a2[k])
			to[k] = sum + float64(v3*a3[k])
		}
		sd, square = sd[4:], square[4*rows:]
	}
}

// bounded1 is +Inf for what is too large to be sure that nothing underflows.
func bounded1(x float64) float64 {
	if !(x <= sharpMost) {
		return math.Inf(1)
	}
	return x
}

// squared are the squares of the rows' coefficients over layer l, [out x rows].
func (s *sharper) squared(d *rowsDown, item, l, out int) []float64 {
	n := out * d.rows
	if l == d.top {
		return d.squares[item*n : (item+1)*n]
	}
	square := make([]float64, n)
	for i, a := range d.a[l][item*n : (item+1)*n] {
		square[i] = float64(a * a)
	}
	return square
}

// variance is (12).
func (s *sharper) variance(d *rowsDown, r *reaches, item, l int, c []float64) []float64 {
	lay, rows := &s.post.Layers[l], d.rows
	in, out := lay.Inputs(), lay.Outputs()
	v := make([]float64, rows)
	for j, most := range r.maxSq[l][item*in : (item+1)*in] {
		for i, x := range c[j*rows : (j+1)*rows] {
			v[i] += float64(x * most)
		}
	}
	if l == d.top && d.squares == nil {
		for i := range v {
			x := lay.Bias.SdHi[i%out]
			v[i] += float64(x * x)
		}
	} else {
		for o, a := range s.squared(d, item, l, out) {
			x := lay.Bias.SdHi[o/rows]
			v[o%rows] += float64(float64(x*x) * a)
		}
	}
	return s.grown(v)
}

// plain is (11).
func (s *sharper) plain(r *reaches, item, l int, c []float64) []float64 {
	in := s.post.Layers[l].Inputs()
	rows := len(c) / in
	e := make([]float64, rows)
	for j, radius := range r.radius[l][item*in : (item+1)*in] {
		for i, x := range c[j*rows : (j+1)*rows] {
			e[i] += float64(math.Sqrt(x) * radius)
		}
	}
	for i := range e {
		e[i] *= sqrt2OverPi * (1 + 0x1p-50)
	}
	return s.grown(e)
}

// more covers the roundings of a sum, and what has underflowed in it.
func (s *sharper) more(x float64) float64 { return float64(x*s.grow) + sharpTiny }

// grown covers those of several; what is no number becomes +Inf.
func (s *sharper) grown(sums []float64) []float64 {
	for i, x := range sums {
		if sums[i] = s.more(x); !(sums[i] <= math.MaxFloat64) {
			sums[i] = math.Inf(1)
		}
	}
	return sums
}

// linear are, for one input k of layer l-1, the variances of its coefficient in the process that
// the noise of layer l is compared with, from the means of the weights and from their deviations;
// and the largest part of the latter.
type linear struct{ means, deviations, largest []float64 }

func (s *sharper) linear(t *linear, l, k int, still []bool, c []float64) {
	lay := &s.post.Layers[l-1]
	out, rows := lay.Outputs(), len(t.means)
	clear(t.means)
	clear(t.deviations)
	clear(t.largest)
	for j, w := range lay.Weight.Mean[k*out : (k+1)*out] {
		if still[j] {
			continue
		}
		sd := lay.Weight.SdHi[k*out+j]
		w2, v2 := float64(w*w), float64(sd*sd)
		for i, x := range c[j*rows : (j+1)*rows] {
			v := float64(v2 * x)
			t.means[i] += float64(w2 * x)
			t.deviations[i] += v
			t.largest[i] = max(t.largest[i], v)
		}
	}
}

func newLinear(rows int) *linear {
	return &linear{make([]float64, rows), make([]float64, rows), make([]float64, rows)}
}

// through is (34) for layer l > 1: the mean, over the weights of layer l-1, of the mean that the
// linear process has, and how much it moves with them.
func (s *sharper) through(r *reaches, item, l int, c []float64, rows int) (mean, moved []float64) {
	in, out := s.post.Layers[l-1].Inputs(), s.post.Layers[l].Inputs()
	mean, moved = make([]float64, rows), make([]float64, rows)
	t, still := newLinear(rows), r.still[l][item*out:(item+1)*out]
	for k, radius := range r.radius[l-1][item*in : (item+1)*in] {
		if radius == 0 {
			continue
		}
		if s.ended() != nil {
			break
		}
		s.linear(t, l, k, still, c)
		for i, v := range t.means {
			mean[i] += float64(math.Sqrt(s.more(v+t.deviations[i])) * radius)
			moved[i] += float64(t.largest[i] * float64(radius*radius))
		}
	}
	for i := range mean {
		mean[i] *= sqrt2OverPi * (1 + 0x1p-49)
		moved[i] = math.Sqrt(s.more(moved[i])) * sqrt2OverPi * (1 + 0x1p-49)
	}
	return s.grown(mean), s.grown(moved)
}

// overInputs is (38): the mean of what noise adds to the range of the rows over the box of
// inputs. above are the spreads of layer 1, nil to leave its noise out, below those of layer 0,
// nil if it has none.
func (s *sharper) overInputs(d *rowsDown, r *reaches, item int, above, below []float64) (mean, moved []float64) {
	in, rows := s.post.Layers[0].Inputs(), d.rows
	mean, moved = make([]float64, rows), make([]float64, rows)
	t := newLinear(rows)
	var still []bool
	if above != nil {
		out := s.post.Layers[1].Inputs()
		still = r.still[1][item*out : (item+1)*out]
	}
	for k, radius := range r.radius[0][item*in : (item+1)*in] {
		if radius == 0 {
			continue
		}
		if s.ended() != nil {
			break
		}
		if above != nil {
			s.linear(t, 1, k, still, above)
		}
		for i := range mean {
			own := 0.0
			if below != nil {
				own = below[k*rows+i]
			}
			a := d.least(item, (item*in+k)*rows+i)
			p := t.means[i]
			x := float64(a*a) + float64(twoOverPi*(own+p+t.deviations[i])) + float64(restOverPi*min(own, p))
			x = float64(math.Sqrt(s.more(x))*(1+0x1p-50)) - a
			mean[i] += float64(math.Nextafter(x, math.Inf(1)) * radius)
			moved[i] += float64(t.largest[i] * float64(radius*radius))
		}
	}
	for i := range mean {
		moved[i] = math.Sqrt(s.more(moved[i])) * sqrt2OverPi * (1 + 0x1p-49)
	}
	return s.grown(mean), s.grown(moved)
}

// least is the least magnitude of a coefficient of the inputs.
func (d *rowsDown) least(item, at int) float64 {
	lo := d.lo[at]
	if d.hi == nil || d.nonNeg[item] {
		return math.Abs(lo)
	}
	if hi := d.hi[at]; hi < 0 {
		return -hi
	}
	return max(lo, 0)
}
