package covary

import (
	"encoding/binary"
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// mostFormed is up to how many inputs the covariance of a row of a layer is made: for more, its factors
// serve.
const mostFormed = 128

// Layer is a dense layer with a covariance, as concentration LBP needs it (bound.Dependent): what its
// noise does to rows (docs/theory.md, section 5.5).
type Layer struct {
	layer *posterior.Layer
	c     *posterior.Covariance
	in    int
	out   int
	// marginal are upper bounds of the standard deviations of the entries of [W b].
	marginal []float64
	formed   bool
	// units are the rows of single outputs, factors those where rows are not formed: nil until they are
	// asked for. norm is that of QA.
	units   []*Row
	factors []*factored
	norm    float64

	boxes keptBoxes
}

// NewDependent prepares a dense layer or a convolution without groups with its covariance. It is an error if numbers
// are so large that products could overflow, or that of ended.
func NewDependent(l *posterior.Layer, c *posterior.Covariance, ended Ended) (bound.Dependent, error) {
	switch m := l.Map.(type) {
	case network.Dense:
		return newLayer(l, c, mostFormed, ended)
	case network.Conv:
		return NewConv(l, m, c, ended)
	}
	return nil, bound.Unfitf("a covariance of a %T has no bounds", l.Map)
}

// newLayer prepares a dense layer with covariances of rows that are made up to so many inputs. Errors are those of
// NewDependent.
func newLayer(l *posterior.Layer, c *posterior.Covariance, most int, ended Ended) (*Layer, error) {
	for _, list := range [][]float64{c.Factor, c.QA, c.QG, c.Sd} {
		if !InRange(list) {
			return nil, bound.Unfitf("a covariance has numbers above %v", Most)
		}
	}
	t := &Layer{layer: l, c: c, in: l.Inputs(), out: l.Outputs()}
	var err error
	if t.marginal, err = c.MarginalsUp(t.in, t.out, ended); err != nil {
		return nil, err
	}
	t.units, t.factors = make([]*Row, t.out), make([]*factored, t.out)
	if t.formed = t.in <= most; !t.formed {
		t.norm = math.Inf(1)
		if !c.Full() {
			if t.norm, err = normUp(c.QA, t.in+1, t.in+1, ended); err != nil {
				return nil, err
			}
		}
	}
	for o := range t.out {
		unit := make([]float64, t.out)
		if err := ended(); err != nil {
			return nil, err
		}
		if unit[o] = 1; t.formed {
			if t.units[o], err = New(unit, unit, l, c, ended); err != nil {
				return nil, err
			}
		} else {
			t.factors[o] = t.factor(unit, unit)
			t.factors[o].marginal = t.marginal[o*(t.in+1) : (o+1)*(t.in+1)]
		}
	}
	return t, nil
}

// factor is the form of a row with coefficients in [lo, hi].
func (t *Layer) factor(lo, hi []float64) *factored {
	n := t.in + 1
	mid, off := make([]float64, t.out), make([]float64, t.out)
	exact := true
	for o := range mid {
		of := arith.Of(lo[o], hi[o])
		mid[o] = of.Middle()
		if of.Lo != 0 || of.Hi != 0 {
			off[o] = arith.Up(of.Radius() + float64(Unit(t.out)*of.Size()))
		}
		exact = exact && of.Lo == of.Hi && (of.Lo == 0 || of.Lo == 1)
	}
	if !t.c.Full() {
		f := &factored{n: n, m: n, b: t.c.QA, w: make([]float64, n), delta: make([]float64, n), norm: t.norm}
		g := Grow(t.out)
		for i := range t.out {
			u, err := 0.0, 0.0
			for o := range t.out {
				q := t.c.QG[o*t.out+i]
				u += float64(mid[o] * q)
				err += float64(off[o] * math.Abs(q))
			}
			most := math.Abs(u) + float64(err*g) + Tiny
			for k, sd := range t.c.Sd[i*n : (i+1)*n] {
				x := float64(most * sd)
				f.w[k] += float64(x * x)
			}
		}
		for k := range f.w {
			f.w[k] = float64(f.w[k]*g) + Tiny
		}
		return f
	}
	b, e, m := times(t.c, n, mid, off)
	f := &factored{n: n, m: m, b: b, w: make([]float64, m), delta: make([]float64, n), norm: math.Inf(1)}
	for k := range f.w {
		f.w[k] = 1
	}
	if !exact {
		f.charge(e, Grow(t.out))
	}
	return f
}

// charge adds to delta what entries of B that are off by e g make of B B': the sums of the rows.
func (f *factored) charge(e []float64, g float64) {
	sums, errs := make([]float64, f.m), make([]float64, f.m)
	for at := range e {
		e[at] *= g
		sums[at%f.m] += math.Abs(f.b[at])
		errs[at%f.m] += e[at]
	}
	for j := range f.n {
		sum := 0.0
		for k, v := range f.b[j*f.m : (j+1)*f.m] {
			sum += float64(e[j*f.m+k]*(sums[k]+errs[k])) + float64(math.Abs(v)*errs[k])
		}
		f.delta[j] = float64(sum*Grow(f.n+f.m)) + Tiny
	}
}

// over is the layer over a box of its inputs.
type over struct {
	*Layer
	mutex        sync.Mutex
	c, h, radius []float64
	// at and vary are where factors are, of the box and of what varies, around 0.
	at, vary *turned
	once     []sync.Once
	variance []float64
	varies   []float64
}

// mostBoxes is how many boxes are kept: those of a network's inputs come again with every tau. Fewer are kept where
// they have more numbers than mostNumbers, 128 MiB, in all.
const (
	mostBoxes   = 64
	mostNumbers = 1 << 24
)

// Over prepares what feeds the layer.
func (t *Layer) Over(z bound.Fed) bound.NoiseOver {
	return t.boxes.of(z, func() bound.NoiseOver { return t.newOver(z) })
}

// keptBoxes are layers over boxes that are kept, each of about so many numbers.
type keptBoxes struct {
	numbers int

	mutex sync.Mutex
	boxes map[string]bound.NoiseOver
}

// of returns what is kept of the box, or made now.
func (k *keptBoxes) of(z bound.Fed, made func() bound.NoiseOver) bound.NoiseOver {
	key := make([]byte, 0, 24*len(z.Lo))
	for _, list := range [][]float64{z.Lo, z.Hi, z.Radius} {
		for _, v := range list {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if o := k.boxes[string(key)]; o != nil {
		return o
	}
	if k.boxes == nil || len(k.boxes) >= k.most() {
		k.boxes = map[string]bound.NoiseOver{}
	}
	o := made()
	k.boxes[string(key)] = o
	return o
}

// most returns how many are kept.
func (k *keptBoxes) most() int { return max(1, min(mostBoxes, mostNumbers/max(1, k.numbers))) }

func (t *Layer) newOver(z bound.Fed) *over {
	o := &over{Layer: t, radius: z.Radius, once: make([]sync.Once, t.out), variance: make([]float64, t.out), varies: make([]float64, t.out)}
	o.c, o.h = boxOf(z)
	return o
}

// known reports whether the numbers of a box are in range.
func (o *over) known() bool { return InRange(o.c) && InRange(o.h) && InRange(o.radius) }

// turn prepares the box for rows by factors: of a Kronecker covariance once.
func (o *over) turn(f *factored) (at, vary *turned) {
	if o.Layer.c.Full() {
		return f.turn(o.c, o.h), f.turn(make([]float64, o.in), o.radius)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.at == nil {
		o.at, o.vary = f.turn(o.c, o.h), f.turn(make([]float64, o.in), o.radius)
	}
	return o.at, o.vary
}

// Unit bounds the variance of the noise of output i, and of sum_j |W_ij| radius_j: +Inf where nothing is
// known.
func (o *over) Unit(i int) (variance, varies float64) {
	o.once[i].Do(func() {
		if o.variance[i], o.varies[i] = math.Inf(1), math.Inf(1); !o.known() {
			return
		}
		if o.formed {
			if r := o.units[i]; r != nil {
				o.variance[i], o.varies[i] = r.varianceUp(o.c, o.h), r.OverBoxUp(o.radius)
			}
			return
		}
		f := o.factors[i]
		at, vary := o.turn(f)
		o.variance[i], o.varies[i] = f.varianceUp(at), f.overBoxUp(vary)
	})
	return o.variance[i], o.varies[i]
}

// Row bounds what the layer does to a row with coefficients in [lo, hi] of its outputs: mean (11) by the
// marginals of the row's coefficients, and variance (92).
func (o *over) Row(lo, hi []float64) (mean, variance float64) {
	if mean, variance = math.Inf(1), math.Inf(1); !o.known() || !InRange(lo) || !InRange(hi) {
		return mean, variance
	}
	var marginal []float64
	if o.formed {
		r, _ := New(lo, hi, o.layer, o.Layer.c, never) // of few inputs
		if r == nil {
			return mean, variance
		}
		marginal, variance = r.Marginal, r.varianceUp(o.c, o.h)
	} else {
		f := o.factor(lo, hi)
		f.marginal = f.marginals()
		at, _ := o.turn(f)
		marginal, variance = f.marginal, f.varianceUp(at)
	}
	var sum arith.Sum
	for j, radius := range o.radius {
		if radius != 0 {
			sum.Add(marginal[j], radius)
		}
	}
	return arith.Up(arith.Sqrt2OverPiUp * max(0, sum.Hi())), variance
}
