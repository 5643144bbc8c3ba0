package phases

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// descent takes rows, each in a leaf of its own, down to the inputs of the mean network: a row of each
// matrix [rows x units] is one of them. Nothing of it is a bound.
type descent struct {
	net *meanNet
	row []*meanRow
	// alpha are lower slopes, phase and beta phases and multipliers, by hidden layer.
	alpha, phase, beta []blas64.General
	// s and a are the coefficients of a layer's outputs and of its pre-activations, own the variances of
	// those of the inputs by the first layer, and through[l] of those of the inputs of layer l-1 by layer l
	// above it; inputs are the coefficients of the inputs.
	s, a, through []blas64.General
	own, inputs   blas64.General
	// score is how many standard deviations a row is above 0, and variance that of all of its noise.
	score, variance []float64
	// gradient are the derivatives of the score, but for a factor for each row, by a.
	gradient []blas64.General
	// parts are what times adds up, picked the terms of one of them.
	parts  [gonumSums][]float64
	picked []int
	// rooms are the matrices of the last time down and up, which the next has in the same order, and
	// taken is how many of them are in use.
	rooms []blas64.General
	taken int
}

// matrix is a matrix until the next time down, of any numbers.
func (d *descent) matrix(rows, columns int) blas64.General {
	if d.taken == len(d.rooms) {
		d.rooms = append(d.rooms, matrix(rows, columns))
	}
	m := d.rooms[d.taken]
	if d.taken++; m.Rows != rows || m.Cols != columns {
		panic("phases: descent: a time down is unlike the one before")
	}
	return m
}

// zeros is matrix of zeros.
func (d *descent) zeros(rows, columns int) blas64.General {
	m := d.matrix(rows, columns)
	clear(m.Data)
	return m
}

// squares returns the squares of all entries.
func (d *descent) squares(a blas64.General) blas64.General {
	b := d.matrix(a.Rows, a.Cols)
	for at, v := range a.Data {
		b.Data[at] = v * v
	}
	return b
}

// newDescent begins with the usual slopes.
func (n *meanNet) newDescent(rows []int) *descent {
	d := &descent{net: n}
	for _, r := range rows {
		d.row = append(d.row, &n.rows[r])
	}
	d.score, d.variance = make([]float64, len(rows)), make([]float64, len(rows))
	for k := range n.layers {
		l := &n.layers[k]
		alpha := matrix(len(rows), l.out)
		for r := range rows {
			copy(alpha.Data[r*l.out:], l.usual)
		}
		d.alpha, d.phase, d.beta = append(d.alpha, alpha), append(d.phase, matrix(len(rows), l.out)), append(d.beta, matrix(len(rows), l.out))
	}
	d.s, d.a = make([]blas64.General, len(n.layers)), make([]blas64.General, len(n.layers))
	d.through, d.gradient = make([]blas64.General, len(n.layers)), make([]blas64.General, len(n.layers))
	return d
}

// restOverPi is the factor of the minimum in (38).
const restOverPi = 1 - 2/math.Pi

// down finds the scores.
func (d *descent) down() {
	top := len(d.net.layers) - 1
	d.taken = 0
	t := make([]float64, len(d.row))
	s := d.matrix(len(d.row), d.net.layers[top].out)
	for r, row := range d.row {
		copy(s.Data[r*s.Cols:], row.start)
		t[r], d.variance[r] = row.constant-row.mean, row.variance
	}
	for k := top; k >= 0; k-- {
		l := &d.net.layers[k]
		d.s[k] = s
		d.a[k] = d.relaxed(k, s, t)
		for at, a := range d.a[k].Data {
			i, r := at%l.out, at/l.out
			t[r] += a * l.bias[i]
			d.variance[r] += a * a * l.noise[i]
		}
		s = d.times(d.a[k], true, l.mean)
		if k == 0 {
			d.own = d.times(d.squares(d.a[0]), true, l.variance)
			break
		}
		d.through[k] = d.throughBelow(k, t)
	}
	d.inputs = s
	d.arrive(t)
	for r := range t {
		d.score[r] = t[r] / math.Sqrt(d.variance[r])
	}
}

// relaxed are the coefficients of the pre-activations of layer k; what lines add goes to t.
func (d *descent) relaxed(k int, s blas64.General, t []float64) blas64.General {
	l := &d.net.layers[k]
	a := d.zeros(s.Rows, s.Cols)
	for at, v := range s.Data {
		i := at % l.out
		switch f := d.phase[k].Data[at]; {
		case f > 0:
			a.Data[at] = v - d.beta[k].Data[at]
		case f < 0:
			a.Data[at] = d.beta[k].Data[at]
		case l.lo[i] >= 0:
			a.Data[at] = v
		case l.hi[i] <= 0:
		case v >= 0:
			a.Data[at] = d.alpha[k].Data[at] * v
		default:
			slope, intercept := l.upper(i)
			a.Data[at] = slope * v
			t[at/l.out] += intercept * v
		}
	}
	return a
}

// throughBelow are the variances that the coefficients of the inputs of layer k-1 have by the noise of
// layer k > 0; if that is above the second, the mean of its noise (34) goes to t.
func (d *descent) throughBelow(k int, t []float64) blas64.General {
	below := &d.net.layers[k-1]
	spread := d.times(d.squares(d.a[k]), true, d.net.layers[k].variance)
	for at := range spread.Data {
		if below.still[at%below.out] {
			spread.Data[at] = 0
		}
	}
	through := d.times(spread, true, below.all)
	if k > 1 {
		for at, v := range through.Data {
			t[at/below.in] -= math.Sqrt(2/math.Pi) * below.radius[at%below.in] * math.Sqrt(v)
		}
	}
	return through
}

// above are the variances that coefficients of the inputs of row r have by the noise of the second layer.
func (d *descent) above(r int) []float64 {
	if len(d.net.layers) == 1 {
		return d.row[r].through
	}
	in := d.inputs.Cols
	return d.through[1].Data[r*in : (r+1)*in]
}

// arrive adds to t what rows are at least over the box, noise included (38).
func (d *descent) arrive(t []float64) {
	in := d.inputs.Cols
	for r := range t {
		above := d.above(r)
		for j, half := range d.net.half {
			s, own := d.inputs.Data[r*in+j], d.own.Data[r*in+j]
			t[r] += s*d.net.centre[j] - half*math.Sqrt(s*s+2/math.Pi*(own+above[j])+restOverPi*min(own, above[j]))
		}
	}
}

// up finds the gradient after down.
func (d *descent) up() {
	g, own, above := d.leave()
	for k := range d.net.layers {
		l := &d.net.layers[k]
		up := d.times(g, false, l.mean)
		var spread blas64.General
		switch {
		case k == 0:
			spread = d.times(own, false, l.variance)
		default:
			below := &d.net.layers[k-1]
			back := d.times(above, false, below.all)
			for at := range back.Data {
				if below.still[at%below.out] {
					back.Data[at] = 0
				}
			}
			spread = d.times(back, false, l.variance)
		}
		for at, a := range d.a[k].Data {
			i, r := at%l.out, at/l.out
			up.Data[at] += l.bias[i] - 2*a*spread.Data[at] - max(d.score[r], 1)*a*l.noise[i]/math.Sqrt(d.variance[r])
		}
		d.gradient[k] = up
		if k+1 < len(d.net.layers) {
			g = d.upThrough(k)
			if k > 0 {
				above = d.slopesOfThrough(k + 1)
			}
		}
	}
}

// leave are the derivatives at the inputs: by the coefficients, and of the mean of the noise by both
// variances.
func (d *descent) leave() (g, own, above blas64.General) {
	in := d.inputs.Cols
	g, own, above = d.matrix(len(d.row), in), d.zeros(len(d.row), in), d.zeros(len(d.row), in)
	for r := range d.row {
		of := d.above(r)
		for j, half := range d.net.half {
			at := r*in + j
			s, x, y := d.inputs.Data[at], d.own.Data[at], of[j]
			if g.Data[at] = d.net.centre[j]; half == 0 {
				continue
			}
			root := math.Sqrt(s*s+2/math.Pi*(x+y)+restOverPi*min(x, y)) + 1e-300
			g.Data[at] -= half * s / root
			w := half / (2 * root)
			own.Data[at], above.Data[at] = w*2/math.Pi, w*2/math.Pi
			if x < y {
				own.Data[at] = w
			} else {
				above.Data[at] = w
			}
		}
	}
	return g, own, above
}

// slopesOfThrough are the derivatives of the mean (34) of layer k by what is in through.
func (d *descent) slopesOfThrough(k int) blas64.General {
	below := &d.net.layers[k-1]
	w := d.matrix(len(d.row), below.in)
	for at, v := range d.through[k].Data {
		w.Data[at] = math.Sqrt(2/math.Pi) * below.radius[at%below.in] / (2*math.Sqrt(v) + 1e-300)
	}
	return w
}

// upThrough takes the gradient of layer k to the coefficients of its outputs.
func (d *descent) upThrough(k int) blas64.General {
	l := &d.net.layers[k]
	g := d.zeros(len(d.row), l.out)
	for at, v := range d.gradient[k].Data {
		i := at % l.out
		switch f := d.phase[k].Data[at]; {
		case f > 0 || f == 0 && l.lo[i] >= 0:
			g.Data[at] = v
		case f < 0 || l.hi[i] <= 0:
		case d.s[k].Data[at] >= 0:
			g.Data[at] = d.alpha[k].Data[at] * v
		default:
			slope, intercept := l.upper(i)
			g.Data[at] = slope*v + intercept
		}
	}
	return g
}
