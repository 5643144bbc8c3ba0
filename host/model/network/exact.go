package network

import (
	"fmt"
	"math"
	"math/big"
)

// Enclosure is a real number known to lie between two dyadic ones; where it is known
// exactly, both are the same.
type Enclosure struct{ Lo, Hi *big.Float }

// exactBits is the precision of exact sums: more than any network of float64 needs, since
// a big.Float holds no more bits than a number has. Sums that need more are rounded outward.
const exactBits = 1 << 18

// MakeEnclosure is the number x itself.
func MakeEnclosure(x float64) Enclosure {
	v := new(big.Float).SetPrec(exactBits).SetFloat64(x)
	return Enclosure{v, v}
}

// Enclose evaluates the network of these weights, weights[2k] and weights[2k+1] being the
// weights and the biases of layer k, in exact arithmetic: each output is enclosed for every
// input in x. Where x is known exactly, activations have one kink and the divisors of average
// pools are powers of two, so are the outputs; values of others are enclosed in two neighbouring
// float64 or a few (ValueDown, ValueUp). It panics unless there are as many inputs and weights as
// the network has.
func (n Network) Enclose(weights [][]float64, x []Enclosure) []Enclosure {
	if len(x) != n.Inputs() || len(weights) != 2*len(n) {
		panic(fmt.Sprintf("network: Enclose: %d inputs and %d lists of weights for a network of %d and %d", len(x), len(weights), n.Inputs(), 2*len(n)))
	}
	out := make([][]Enclosure, len(n))
	for k, l := range n {
		z := Join(n, k, x, out)
		out[k] = make([]Enclosure, l.Outputs())
		if pool, is := l.Map.(MaxPool); is {
			members := pool.Members()
			size := len(members) / len(out[k])
			for i := range out[k] {
				out[k][i] = l.Activation.enclose(maxOf(z, members[i*size:(i+1)*size]))
			}
			continue
		}
		terms := l.terms(weights[2*k], weights[2*k+1])
		for i := range out[k] {
			out[k][i] = l.Activation.enclose(affineOf(terms(i), z))
		}
	}
	return out[len(n)-1]
}

// maxOf encloses the greatest of some numbers.
func maxOf(z []Enclosure, members []int32) Enclosure {
	most, found := Enclosure{}, false
	for _, j := range members {
		switch {
		case j < 0:
		case !found:
			most, found = z[j], true
		default:
			if most.Lo == most.Hi && z[j].Lo == z[j].Hi {
				if z[j].Lo.Cmp(most.Lo) > 0 {
					most = z[j] // still known exactly
				}
				continue
			}
			lo, hi := most.Lo, most.Hi
			if z[j].Lo.Cmp(lo) > 0 {
				lo = z[j].Lo
			}
			if z[j].Hi.Cmp(hi) > 0 {
				hi = z[j].Hi
			}
			most = Enclosure{lo, hi}
		}
	}
	if !found {
		panic("network: Enclose: the greatest of no numbers")
	}
	return most
}

// combination is bias + sum of coefficients times inputs: those of one output of a linear map.
// Coefficients are numbers from lo to hi, which are equal or not negative.
type combination struct {
	of     []int
	lo, hi []float64
	bias   float64
}

// terms gives the combination of output i of a map that is linear. What it returned is
// overwritten by the next.
func (l *Layer) terms(weight, bias []float64) func(i int) *combination {
	c := &combination{}
	switch m := l.Map.(type) {
	case Linear:
		return func(i int) *combination {
			c.of, c.lo = c.of[:0], c.lo[:0]
			for j, at := range m.Into(i) {
				c.of, c.lo = append(c.of, j), append(c.lo, weight[at])
			}
			c.hi, c.bias = c.lo, bias[m.BiasOf(i)]
			return c
		}
	case Fixed:
		low := m.Lowered()
		return func(i int) *combination {
			c.of, c.lo, c.hi = c.of[:0], c.lo[:0], c.hi[:0]
			for k := range low.Taps {
				if j := low.Input(i, k); j >= 0 {
					c.of, c.lo, c.hi = append(c.of, j), append(c.lo, low.CoefficientLo[k]), append(c.hi, low.CoefficientHi[k])
				}
			}
			return c
		}
	}
	panic(fmt.Sprintf("network: a %T is no linear map", l.Map))
}

// affineOf encloses a combination.
func affineOf(c *combination, z []Enclosure) Enclosure {
	known := true
	for k, j := range c.of {
		known = known && z[j].Lo == z[j].Hi && c.lo[k] == c.hi[k]
	}
	sum := func(mode big.RoundingMode) (*big.Float, bool) {
		total, exact := directed(mode).SetFloat64(c.bias), true
		product, w := directed(mode), directed(mode)
		for k, j := range c.of {
			v, factor := z[j].Lo, c.lo[k]
			if (factor < 0) != (mode == big.ToPositiveInf) {
				v = z[j].Hi
			}
			// The least product of a number v < 0 is that with the largest coefficient.
			if (v.Sign() < 0) != (mode == big.ToPositiveInf) {
				factor = c.hi[k]
			}
			if factor == 0 || v.Sign() == 0 {
				continue
			}
			product.Mul(w.SetFloat64(factor), v)
			exact = exact && product.Acc() == big.Exact
			total.Add(total, product)
			exact = exact && total.Acc() == big.Exact
		}
		return total, exact
	}
	lo, exact := sum(big.ToNegativeInf)
	if known && exact {
		return Enclosure{lo, lo}
	}
	hi, _ := sum(big.ToPositiveInf)
	return Enclosure{lo, hi}
}

func directed(mode big.RoundingMode) *big.Float {
	return new(big.Float).SetPrec(exactBits).SetMode(mode)
}

// enclose is the activation of a number.
func (a Activation) enclose(t Enclosure) Enclosure {
	below, kinked := a.Kinked()
	if !kinked {
		lo := directed(big.ToNegativeInf).SetFloat64(a.ValueDown(float64Down(t.Lo)))
		f, hi := a.facts(), directed(big.ToPositiveInf)
		if math.IsInf(f.bound, 1) && t.Hi.Cmp(hi.SetFloat64(math.MaxFloat64)) > 0 {
			// Beyond float64 growth and offset are as good: |s(t)| <= growth |t| + offset.
			offset := directed(big.ToPositiveInf).SetFloat64(f.offset)
			return Enclosure{lo, hi.Add(hi.Mul(hi.SetFloat64(f.growth), t.Hi), offset)}
		}
		return Enclosure{lo, hi.SetFloat64(a.ValueUp(float64Up(t.Hi)))}
	}
	value := func(t *big.Float, mode big.RoundingMode) *big.Float {
		if t.Sign() >= 0 {
			return t
		}
		return directed(mode).Mul(t, directed(mode).SetFloat64(below))
	}
	lo := value(t.Lo, big.ToNegativeInf)
	if t.Lo == t.Hi && (lo == t.Lo || lo.Acc() == big.Exact) {
		return Enclosure{lo, lo}
	}
	return Enclosure{lo, value(t.Hi, big.ToPositiveInf)}
}

// float64Down is a float64 <= t. It is finite: beyond the range it is the end of the range
// that t is beyond, which serves the activations that are not kinked: on the side where they
// have a bound they have it there, and enclose asks no more of the other one.
func float64Down(t *big.Float) float64 {
	v, side := t.Float64()
	if side == big.Above {
		v = below(v)
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}

// float64Up is a float64 >= t in the same sense.
func float64Up(t *big.Float) float64 {
	v, side := t.Float64()
	if side == big.Below {
		v = above(v)
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64)
}
