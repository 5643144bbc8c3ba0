package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
)

// factored is a form that is too large to be made: K = B Diag(w) B' + Diag(delta), B [n x m], in which
// w >= 0 and delta are rounded up. It is claimed of these numbers as they are.
type factored struct {
	n, m     int
	b        []float64
	w, delta []float64
	// norm is at least the largest eigenvalue of B B', +Inf where that is not known.
	norm float64
	// marginal are upper bounds of the roots of K_jj.
	marginal []float64
}

// turned is B'c and |B'|h of a box c +- h, the last coordinate of which is 1 +- 0: u is off by at most
// err, and wide and far are rounded up, far being sum h_j^2; point says that h is 0.
type turned struct {
	c, h         []float64
	u, err, wide []float64
	far          float64
	point        bool
}

func (f *factored) turn(c, h []float64) *turned {
	return f.turnAll(append(append([]float64(nil), c...), 1), append(append([]float64(nil), h...), 0))
}

// turnAll is turn of all coordinates.
func (f *factored) turnAll(c, h []float64) *turned {
	t := &turned{c: c, h: slices.Clone(h),
		u: make([]float64, f.m), err: make([]float64, f.m), wide: make([]float64, f.m), point: true}
	for j, x := range t.c {
		if h := t.h[j]; h != 0 {
			h += Tiny // whose square does not underflow
			t.far, t.point = t.far+float64(h*h), false
		}
		if x == 0 && t.h[j] == 0 {
			continue
		}
		size := math.Abs(x)
		for k, v := range f.b[j*f.m : (j+1)*f.m] {
			t.u[k] += float64(v * x)
			v = math.Abs(v)
			t.err[k] += float64(v * size)
			t.wide[k] += float64(v * t.h[j])
		}
	}
	g := Grow(f.n)
	t.far = float64(t.far * g)
	for k := range t.u {
		t.err[k] = float64(float64(Unit(f.n)*t.err[k])*g) + Tiny
		t.wide[k] = float64(t.wide[k]*g) + Tiny
	}
	return t
}

// marginals bounds the roots of the diagonal of K.
func (f *factored) marginals() []float64 {
	list := make([]float64, f.n)
	g := Grow(f.m)
	for j := range list {
		sum := 0.0
		for k, v := range f.b[j*f.m : (j+1)*f.m] {
			sum += float64(float64(v*f.w[k]) * v)
		}
		list[j] = arith.Up(math.Sqrt(arith.Up(float64(sum*g)+f.delta[j]) + Tiny))
	}
	return list
}

// varianceUp bounds the form over the box that t is of, from above: (92).
func (f *factored) varianceUp(t *turned) float64 {
	centre, kc, off := f.atCentre(t)
	first := 0.0
	for j, h := range t.h {
		if h != 0 {
			first += float64((math.Abs(kc[j]) + off[j]) * h)
		}
	}
	return LargestUp(centre, float64(first*Grow(f.n+f.m))+Tiny, f.overBoxUp(t))
}

// atCentre bounds c'Kc from above, and Kc, which is within off of kc: both where h is not 0.
func (f *factored) atCentre(t *turned) (centre float64, kc, off []float64) {
	kc, off = make([]float64, f.n), make([]float64, f.n)
	p, e := make([]float64, f.m), make([]float64, f.m)
	for k, u := range t.u {
		most := math.Abs(u) + t.err[k]
		centre += float64(float64(most*most) * f.w[k])
		p[k] = float64(f.w[k] * u)
		e[k] = float64(f.w[k]*t.err[k]) + float64(Unit(f.m)*math.Abs(p[k])) + Tiny
	}
	for j, h := range t.h {
		size := math.Abs(t.c[j])
		centre += float64(float64(size*size) * f.delta[j])
		if h == 0 {
			continue
		}
		sum, wrong := 0.0, 0.0
		for k, v := range f.b[j*f.m : (j+1)*f.m] {
			sum += float64(v * p[k])
			wrong += float64(math.Abs(v) * e[k])
		}
		kc[j], off[j] = sum, float64(wrong*Grow(f.m))+float64(f.delta[j]*size)
	}
	return float64(centre*Grow(f.n+f.m)) + Tiny, kc, off
}

// overBoxUp bounds d'Kd over |d_j| <= h_j by the least of three: by the largest w, by the range of
// each coordinate of B'd, and by the range of the row itself, sum_j |Y_j| h_j <= root of the last.
func (f *factored) overBoxUp(t *turned) float64 {
	if t.point {
		return 0
	}
	largest, turned, row, more := 0.0, 0.0, 0.0, 0.0
	for k, w := range f.w {
		largest = max(largest, w)
		turned += float64(float64(t.wide[k]*t.wide[k]) * w)
	}
	for j, h := range t.h {
		row += float64(f.marginal[j] * h)
		more += float64(float64(f.delta[j]*h) * h)
	}
	g := Grow(f.n + f.m)
	row = float64(row*g) + Tiny
	by := min(arith.Up(arith.Up(largest*f.norm)*t.far), float64(turned*g))
	return min(arith.Up(by+float64(more*g))+Tiny, arith.Up(row*row))
}

// normUp bounds the largest eigenvalue of B B' for B [n x m] by the sums of the magnitudes of its rows. The error is
// that of ended.
func normUp(b []float64, n, m int, ended Ended) (float64, error) {
	if n > mostNorm {
		return math.Inf(1), nil
	}
	products := make([]float64, n*n)
	if err := gram(products, b, n, m, nil, ended); err != nil {
		return 0, err
	}
	sums, sizes := make([]float64, m), make([]float64, n)
	for e, v := range b {
		sums[e%m] += math.Abs(v)
	}
	for i := range n {
		row := b[i*m : (i+1)*m]
		for k, v := range row { // what rounding adds to a row of products
			sizes[i] += float64(float64(Unit(m)*math.Abs(v)) * sums[k])
		}
	}
	for i := range n {
		for j, dot := range products[i*n : i*n+i+1] {
			sizes[i] += math.Abs(dot)
			if j < i {
				sizes[j] += math.Abs(dot)
			}
		}
	}
	norm := 0.0
	for _, s := range sizes {
		norm = max(norm, s)
	}
	return float64(norm*Grow(n+m)) + Tiny, nil
}

// mostNorm is up to how many inputs a layer's eigenvectors are multiplied with each other.
const mostNorm = 2049
