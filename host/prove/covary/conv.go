package covary

import (
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// Conv is a convolution with a Kronecker covariance, as concentration LBP needs it (bound.Dependent): all
// positions have the same weights [W b] = mean + QG (E o Sd) QA', and W z~_p is what position p gives, z~_p
// being what lies under its taps, and 1 (docs/theory.md, section 5.6).
type Conv struct {
	// filter is the layer that every position is, by itself.
	filter             *Layer
	in, taps, channels int
	positions          int
	// tap[p taps + t] is the input under tap t at position p, -1 in the padding.
	tap []int32
	// under[q] are the places p taps + t that see input q.
	under [][]int32
	// sd2 are the squares of Sd, [channels x (taps+1)], rounded up; sdOfRow[i] and sdOfColumn[j] are the
	// largest Sd of row i and of column j.
	sd2, sdOfRow, sdOfColumn []float64
	norm                     float64
	// marginal[t channels + i] bounds the root of sum_j (QA_tj Sd_ij)^2, and pairs has sum_j QA_tj Sd_ij^2 QA_sj
	// of taps t and s of one of depth channels: see pair.
	depth, places   int
	marginal, pairs []float64
	grow            float64
	boxes           keptBoxes
}

// NewConv prepares a convolution. Errors are those of NewDependent.
func NewConv(l *posterior.Layer, m network.Conv, c *posterior.Covariance, ended Ended) (*Conv, error) {
	low := m.Lowered()
	v := &Conv{in: m.Inputs(), taps: low.Taps, channels: low.Channels, positions: low.Positions, tap: low.Tap, under: make([][]int32, m.Inputs())}
	one := posterior.Layer{Layer: network.DenseLayer(v.taps, v.channels, network.Activation{}), Weight: l.Weight, Bias: l.Bias}
	var err error
	if v.filter, err = newLayer(&one, c, 0, ended); err != nil {
		return nil, err
	}
	for at, q := range v.tap {
		if q >= 0 {
			v.under[q] = append(v.under[q], int32(at))
		}
	}
	n := v.taps + 1
	v.boxes.numbers = 16 * v.positions * n // turned boxes of all positions
	v.sdOfRow, v.sdOfColumn = make([]float64, v.channels), make([]float64, n)
	for e, sd := range c.Sd {
		v.sd2 = append(v.sd2, upSquare(sd))
		v.sdOfRow[e/n], v.sdOfColumn[e%n] = max(v.sdOfRow[e/n], sd), max(v.sdOfColumn[e%n], sd)
	}
	v.norm = v.filter.norm
	v.grow = Grow(4*(v.channels*n+v.positions+v.in) + 64)
	v.depth, v.places = m.In.Channels, v.taps/m.In.Channels
	v.pairs, v.marginal = make([]float64, v.taps*v.places*v.channels), make([]float64, v.taps*v.channels)
	for t := range v.taps {
		for s := t % v.depth; s < v.taps; s += v.depth {
			if err := ended(); err != nil {
				return nil, err
			}
			pair := v.pair(t, s)
			for i := range pair {
				for j := range n {
					pair[i] += float64(float64(c.QA[t*n+j]*v.sd2[i*n+j]) * c.QA[s*n+j])
				}
			}
		}
		for i, x := range v.pair(t, t) {
			v.marginal[t*v.channels+i] = arith.Up(math.Sqrt(float64(x*v.grow) + Tiny))
		}
	}
	return v, nil
}

// pair is, for each row i of Sd, what two taps of one channel have in common. Taps are (place, channel).
func (v *Conv) pair(t, s int) []float64 {
	at := (t*v.places + s/v.depth) * v.channels
	return v.pairs[at : at+v.channels]
}

// upSquare is at least x^2, and 0 for 0.
func upSquare(x float64) float64 {
	if x == 0 {
		return 0
	}
	return arith.Up(x*x) + Tiny
}

// overConv is the layer over a box of its inputs.
type overConv struct {
	*Conv
	c, h, radius []float64
	// at are the layer of each position over what it sees; their turned boxes are QA'z~_p.
	at    []*over
	known bool
	// size[p] bounds the deviation of a row of one position for coefficients of length 1, and move[p]
	// that of the sum over taps of what they see of radius, with sqrt(2/pi): for what u is off by.
	size, move []float64
	// off is the relative error of what is made of u.
	off   float64
	point bool
}

// Over prepares what feeds the layer.
func (v *Conv) Over(z bound.Fed) bound.NoiseOver {
	return v.boxes.of(z, func() bound.NoiseOver { return v.newOver(z) })
}

func (v *Conv) newOver(z bound.Fed) *overConv {
	o := &overConv{Conv: v, radius: z.Radius, off: Unit(v.positions + v.in + 2*v.taps + v.channels), point: true}
	o.c, o.h = boxOf(z)
	if o.known = InRange(o.c) && InRange(o.h) && InRange(o.radius); !o.known {
		return o
	}
	n := v.taps + 1
	marginal := make([]float64, v.taps) // of a row of one position, for coefficients of length 1
	for t := range marginal {
		for j, q := range v.filter.c.QA[t*n : (t+1)*n] {
			x := float64(q * v.sdOfColumn[j])
			marginal[t] += float64(x * x)
		}
		marginal[t] = arith.Up(math.Sqrt(float64(marginal[t]*v.grow) + Tiny))
	}
	for q := range o.c {
		o.point = o.point && o.h[q] == 0 && o.radius[q] == 0
	}
	for p := range v.positions {
		see := bound.Fed{Lo: make([]float64, v.taps), Hi: make([]float64, v.taps), Radius: make([]float64, v.taps)}
		move := 0.0
		for t, q := range v.tap[p*v.taps : (p+1)*v.taps] {
			if q >= 0 {
				see.Lo[t], see.Hi[t], see.Radius[t] = z.Lo[q], z.Hi[q], z.Radius[q]
				move += float64(marginal[t] * z.Radius[q])
			}
		}
		at := v.filter.newOver(see)
		at.turn(v.filter.factors[0])
		size := 0.0
		for j := range n {
			x := 0.0 // at least what QA'z~ is made of, in magnitude
			for t, c := range at.c {
				x += float64(math.Abs(v.filter.c.QA[t*n+j]) * (math.Abs(c) + at.h[t]))
			}
			x = float64((x + math.Abs(v.filter.c.QA[v.taps*n+j])) * v.sdOfColumn[j])
			size += float64(x * x)
		}
		o.at = append(o.at, at)
		o.size = append(o.size, arith.Up(math.Sqrt(float64(size*v.grow)+Tiny)))
		o.move = append(o.move, float64(move*v.grow)+Tiny)
	}
	return o
}

// Unit is Layer's, of the position of output i: each weight is there once.
func (o *overConv) Unit(i int) (variance, varies float64) {
	if !o.known {
		return math.Inf(1), math.Inf(1)
	}
	return o.at[i/o.channels].Unit(i % o.channels)
}

// convRow is a row A on its way: of the positions where it is not 0, U = A_p QG.
type convRow struct {
	at []int
	u  []float64 // [len(at) x channels]
	// off is at least the deviation of the noise of what U is off by, and of all roundings, everywhere in the
	// box; move is what that does to the mean.
	off, move float64
}

// row is that with coefficients in [lo, hi] of the outputs.
func (o *overConv) row(lo, hi []float64) *convRow {
	r, wrong := &convRow{off: Tiny, move: Tiny}, make([]float64, o.channels)
	for p := range o.positions {
		lo, hi := lo[p*o.channels:(p+1)*o.channels], hi[p*o.channels:(p+1)*o.channels]
		if zeros(lo) && zeros(hi) {
			continue
		}
		r.at, r.u = append(r.at, p), append(r.u, wrong...)
		u := r.u[len(r.u)-o.channels:]
		clear(u)
		clear(wrong)
		for k := range o.channels {
			of := arith.Of(lo[k], hi[k])
			mid := of.Middle()
			off := arith.Up(of.Radius() + float64(o.off*of.Size()))
			for i, q := range o.filter.c.QG[k*o.channels : (k+1)*o.channels] {
				u[i] += float64(mid * q)
				wrong[i] += float64(off * math.Abs(q))
			}
		}
		length := 0.0
		for i, e := range wrong {
			e += float64(o.off * math.Abs(u[i]))
			length += float64(e * e)
		}
		length = math.Sqrt(float64(length*o.grow) + Tiny)
		r.off += float64(length * o.size[p])
		r.move += float64(length * o.move[p])
	}
	r.off, r.move = float64(r.off*o.grow), float64(r.move*o.grow)
	return r
}

// Row bounds what the layer does to a row with coefficients in [lo, hi] of its outputs: the mean (18) with
// the deviation of each input's whole coefficient, and the variance (17), the sum over positions being
// inside of the square.
func (o *overConv) Row(lo, hi []float64) (mean, variance float64) {
	if !o.known || !InRange(lo) || !InRange(hi) {
		return math.Inf(1), math.Inf(1)
	}
	r := o.row(lo, hi)
	g, centre := o.atCentre(r)
	form, sum := centre, 0.0
	if !o.point {
		var first, second float64
		sum, first, second = o.overInputs(r, g, math.Sqrt(centre))
		form = LargestUp(centre, first, second)
	}
	sd := arith.Up(arith.Up(math.Sqrt(form)) + r.off)
	mean, variance = 0, arith.Up(sd*sd)
	if !o.point {
		mean = arith.Up(arith.Sqrt2OverPiUp * arith.Up(sum+r.move))
	}
	if math.IsNaN(mean) || math.IsNaN(variance) {
		return math.Inf(1), math.Inf(1)
	}
	return mean, variance
}

// atCentre is g_ij = sum_p U_pi (QA'c~_p)_j, times the square of Sd_ij, and sum_ij Sd_ij^2 g_ij^2.
func (o *overConv) atCentre(r *convRow) (g []float64, centre float64) {
	n := o.taps + 1
	g = make([]float64, o.channels*n)
	for a, p := range r.at {
		for i, u := range r.u[a*o.channels : (a+1)*o.channels] {
			AddTimes(g[i*n:(i+1)*n], u, o.at[p].at.u)
		}
	}
	for e, x := range g {
		centre += float64(float64(x*x) * o.sd2[e])
		g[e] = float64(x * o.sd2[e])
	}
	return g, float64(centre*o.grow) + Tiny
}

// overInputs goes over the coefficients that the row gives each input, G_ij = sum over the places (p, t) that
// see it of U_pi QA_tj: weights of several taps meet one input, and depend on each other. It sums up the mean
// without sqrt(2/pi), what the form changes by in first order, and its largest value over the half-widths.
// root is the deviation at the centre.
func (o *overConv) overInputs(r *convRow, g []float64, root float64) (sum, first, second float64) {
	m := o.alongTaps(g)
	where, met, size := make([]int, o.positions), []convPlace(nil), make([]float64, o.channels)
	for a, p := range r.at {
		where[p] = a + 1
	}
	row := 0.0
	for q, places := range o.under {
		h, radius := o.h[q], o.radius[q]
		if h == 0 && radius == 0 {
			continue
		}
		met = met[:0]
		for _, place := range places {
			if a := where[int(place)/o.taps] - 1; a >= 0 {
				met = append(met, convPlace{int(place) % o.taps, r.u[a*o.channels : (a+1)*o.channels]})
			}
		}
		if len(met) == 0 {
			continue
		}
		clear(size)
		square, dot, sizes, squares := 0.0, 0.0, 0.0, 0.0
		for x, one := range met {
			for i, u := range one.u {
				size[i] += float64(math.Abs(u) * o.marginal[one.tap*o.channels+i])
				dot += float64(u * m[one.tap*o.channels+i])
			}
			for y, other := range met[:x+1] {
				product := 0.0
				for i, c := range o.pair(one.tap, other.tap) {
					product += float64(float64(one.u[i]*other.u[i]) * c)
				}
				if square += product; y < x {
					square += product
				}
			}
		}
		for _, x := range size {
			sizes += x
			squares += float64(x * x)
		}
		// Roundings are of sums of magnitudes, which by Cauchy and Schwarz are at most these.
		unit := float64(Unit(2*len(met)*len(met)+o.channels+4*(o.taps+1)) * o.grow)
		sd := arith.Up(math.Sqrt(arith.Up(max(0, square)+float64(unit*squares)) + Tiny))
		sum += float64(sd * radius)
		row += float64(sd * h)
		first += float64((math.Abs(dot) + float64(unit*float64(sizes*root)) + Tiny) * h)
	}
	row = float64(row*o.grow) + Tiny
	return float64(sum*o.grow) + Tiny, float64(first*o.grow) + Tiny, min(arith.Up(row*row), o.byRows(r))
}

// convPlace is a place that sees an input: the tap, and U of its position.
type convPlace struct {
	tap int
	u   []float64
}

// alongTaps is sum_j g_ij QA_tj, [taps x channels].
func (o *overConv) alongTaps(g []float64) []float64 {
	n, m := o.taps+1, make([]float64, o.taps*o.channels)
	for t := range o.taps {
		turned := o.filter.c.QA[t*n : (t+1)*n]
		for i := range o.channels {
			s := 0.0
			for j, x := range g[i*n : (i+1)*n] {
				s += float64(x * turned[j])
			}
			m[t*o.channels+i] = s
		}
	}
	return m
}

// byRows bounds the form over the half-widths by the largest Sd of each row i: sum_i Sd_i^2 lambda
// |sum_p U_pi d_p|^2, lambda being at least the largest eigenvalue of QA QA'.
func (o *overConv) byRows(r *convRow) float64 {
	all, reach := 0.0, make([]float64, o.taps)
	for i := range o.channels {
		clear(reach)
		for a, p := range r.at {
			AddTimes(reach, math.Abs(r.u[a*o.channels+i]), o.at[p].h)
		}
		sum := 0.0
		for _, x := range reach {
			x += Tiny
			sum += float64(x * x)
		}
		all += float64(sum * upSquare(o.sdOfRow[i]))
	}
	root := arith.Up(math.Sqrt(arith.Up(float64(all*o.grow)*o.norm)+Tiny)) + r.off
	return arith.Up(arith.Up(root) * arith.Up(root))
}

func zeros(list []float64) bool {
	for _, v := range list {
		if v != 0 {
			return false
		}
	}
	return true
}
