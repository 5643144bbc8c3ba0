package lower

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"psafe/host/read/onnx"
)

// Numbers that no float64 is: the reciprocal in Div, AveragePool and BatchNormalization.

// rounding holds what was rounded for the nodes of one operator.
type rounding struct {
	nodes int
	worst float64 // the largest relative change of a factor
}

// precision of factors before they are rounded, in bits.
const precision = 256

// leastBits is to how many bits a factor is rounded at least; where the coefficients that it
// meets leave fewer, they become a layer first.
const leastBits = 24

// affine maps element i to factor[group(i)] t_i + shift[group(i)]; shift may be nil.
type affine struct {
	factor, shift []*big.Float
	group         func(i int) int
}

// scale applies a to v. A factor is rounded to as many bits as keep its products with the
// coefficients of v exact (29 where these are float32, 53 where they are 1), and constants
// to the nearest float64.
func (l *lowering) scale(v *value, a affine) (*value, error) {
	if l.views && !v.isConst() {
		return l.scaled(v, a)
	}
	if err := l.current(v); err != nil {
		return nil, err
	}
	bits := bitsLeft(v)
	if v.isRandom() || bits < leastBits {
		if v.isConst() {
			return nil, l.sharedError(l.nameOf(v), "it is scaled")
		}
		if err := l.flush(v); err != nil {
			return nil, err
		}
		bits = 53
	}
	if err := l.spend(int64(len(v.c) + len(v.terms))); err != nil {
		return nil, err
	}
	factors, worst, err := roundAll(a.factor, bits)
	if err != nil {
		return nil, err
	}
	r := &value{shape: v.shape, base: v.base}
	r.grow(len(v.c), len(v.terms))
	exact := true
	for i := range v.c {
		g := a.group(i)
		for _, t := range v.row(i) {
			p, ok := timesOne(t.v, factors[g])
			if !ok {
				return nil, fmt.Errorf("the coefficient %v times %v overflows or underflows", t.v, factors[g])
			}
			if p != 0 {
				r.terms = append(r.terms, term{j: t.j, v: p})
			}
		}
		if v.start != nil {
			r.start = append(r.start, len(r.terms))
		}
		c := new(big.Float).SetPrec(precision).SetFloat64(v.c[i])
		c.Mul(c, a.factor[g])
		if a.shift != nil {
			c.Add(c, a.shift[g])
		}
		nearest, accuracy := c.Float64()
		if math.IsInf(nearest, 0) {
			return nil, fmt.Errorf("a constant overflows")
		}
		r.c, exact = append(r.c, nearest), exact && accuracy == big.Exact
	}
	if worst > 0 || !exact {
		l.roundedBy(worst)
	}
	return r, nil
}

// roundedBy counts a node whose factors were changed relatively by at most worst.
func (l *lowering) roundedBy(worst float64) {
	op := l.rounded[l.node.Op]
	if op == nil {
		op = &rounding{}
		l.rounded[l.node.Op] = op
	}
	op.nodes++
	op.worst = max(op.worst, worst)
}

// timesOne is timesExact, but for factors of 1 and 0, of which the products are always exact.
func timesOne(a, b float64) (float64, bool) {
	switch {
	case a == 0 || b == 0:
		return 0, true
	case a == 1:
		return b, true
	case b == 1:
		return a, true
	}
	return timesExact(a, b)
}

// bitsLeft returns how many bits a factor may have whose products with all coefficients of v fit
// into the 53 of a float64.
func bitsLeft(v *value) uint {
	most := uint(1)
	for _, t := range v.terms {
		most = max(most, bitsOf(t.v))
	}
	if most == 1 {
		return 53 // powers of two
	}
	return 53 - most
}

// bitsOf returns how many bits the significand of x needs.
func bitsOf(x float64) uint {
	fraction, _ := math.Frexp(x)
	whole := uint64(math.Abs(fraction) * (1 << 53))
	n := uint(53)
	for whole != 0 && whole&1 == 0 {
		whole >>= 1
		n--
	}
	return max(n, 1)
}

// roundAll rounds factors to the nearest numbers of so many bits, and says by how much one
// was changed at most, relatively.
func roundAll(factors []*big.Float, bits uint) (list []float64, worst float64, err error) {
	for _, f := range factors {
		nearest, _ := new(big.Float).SetPrec(bits).Set(f).Float64()
		if math.IsInf(nearest, 0) || math.Abs(nearest) < tiny && f.Sign() != 0 {
			return nil, 0, fmt.Errorf("a factor of %.3g is beyond the range of float64", f)
		}
		list = append(list, nearest)
		if f.Sign() == 0 {
			continue
		}
		change := new(big.Float).SetPrec(precision).SetFloat64(nearest)
		change.Sub(change, f).Quo(change, f)
		relative, _ := change.Float64()
		worst = max(worst, math.Abs(relative))
	}
	return list, worst, nil
}

// exactly is x with the precision of factors.
func exactly(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// note writes the notes.
func (l *lowering) note() {
	for _, op := range slices.Sorted(maps.Keys(l.rounded)) {
		r := l.rounded[op]
		l.result.Notes = append(l.result.Notes, fmt.Sprintf("the factors of %s (in %d nodes) are rounded, relatively by at most %.1e, and their constants to float64", op, r.nodes, r.worst))
	}
	l.result.Rounded = slices.Clone(l.result.Notes)
	var kept []string
	for name := range l.kept {
		kept = append(kept, fmt.Sprintf("%.60q", name))
	}
	slices.Sort(kept)
	if len(kept) > 0 {
		by := slices.Sorted(maps.Keys(l.keptBy))
		l.result.Notes = append(l.result.Notes, "constants of "+strings.Join(by, ", ")+" keep the standard deviation 0: "+strings.Join(kept, ", "))
	}
}

// div is t/c by a constant c.
func (l *lowering) div(in []*value) (_ *value, err error) {
	a, b := in[0], in[1]
	if !b.isConst() {
		return nil, fmt.Errorf("it divides by a tensor that depends on the input, which is not affine: psafe lowers division by constants")
	}
	if b, err = l.fixed(b); err != nil {
		return nil, err
	}
	at, err := broadcast(a.shape, b.shape)
	if err != nil {
		return nil, err
	}
	if a, err = l.spread(a, at.shape, at.a); err != nil {
		return nil, err
	}
	factors := make([]*big.Float, len(b.c))
	for i, c := range b.c {
		if c == 0 {
			return nil, fmt.Errorf("it divides by 0 (number %d of the divisor)", i)
		}
		factors[i] = exactly(1)
		factors[i].Quo(factors[i], exactly(c))
	}
	return l.scale(a, affine{factor: factors, group: at.b})
}

// batchNormalization is (t - mean) scale/sqrt(variance + epsilon) + B by channels, as in
// inference.
func (l *lowering) batchNormalization(n *onnx.Node) error {
	a := attributesOf(n)
	epsilon := a.float("epsilon", float64(float32(1e-5)))
	a.float("momentum", 0) // says how the mean was made
	training, spatial := a.int("training_mode", 0), a.int("spatial", 1)
	in, err := l.operandsOf(a, 5, 5)
	if err != nil {
		return err
	}
	if training != 0 || spatial != 1 {
		return fmt.Errorf("training_mode %d, spatial %d: only inference by channels is lowered; export the network in evaluation mode", training, spatial)
	}
	x := in[0]
	if len(x.shape) < 2 {
		return fmt.Errorf("its input of shape %v has no channels", x.shape)
	}
	channels := x.shape[1]
	for i, p := range in[1:] {
		if !p.isConst() || len(p.c) != channels {
			return fmt.Errorf("its input %d must be %d constants, one for each channel", i+1, channels)
		}
	}
	own := l.views && !l.random.Every && (in[1].id != nil || in[2].id != nil)
	for i, p := range in[1:] {
		if own && i < 2 {
			continue
		}
		if in[i+1], err = l.fixed(p); err != nil {
			return err
		}
	}
	gain, bias, mean, variance := in[1].c, in[2].c, in[3].c, in[4].c
	if own { // gain and bias as they are, behind a layer with mean and variance
		gain, bias = slices.Repeat([]float64{1}, channels), make([]float64, channels)
	}
	inner := product(x.shape[2:])
	s := affine{group: func(i int) int { return i / inner % channels }}
	for c := range channels {
		root := exactly(variance[c])
		if root.Add(root, exactly(epsilon)); root.Sign() <= 0 {
			return fmt.Errorf("variance + epsilon of channel %d is not above 0", c)
		}
		root.Sqrt(root)
		f := exactly(gain[c])
		f.Quo(f, root)
		h := exactly(mean[c])
		h.Neg(h.Mul(h, f)).Add(h, exactly(bias[c]))
		s.factor, s.shift = append(s.factor, f), append(s.shift, h)
	}
	out, err := l.scale(x, s)
	if err == nil && own {
		of := func(p *value) func(int) (float64, int32) {
			return func(i int) (float64, int32) { return p.c[s.group(i)], p.idOf(s.group(i)) }
		}
		out, err = l.gained(out, of(in[1]), of(in[2]))
	}
	return l.give(n, out, err)
}
