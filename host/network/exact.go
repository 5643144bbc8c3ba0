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
// input in x. Where x is known exactly and activations have one kink, so are the outputs;
// values of others are enclosed in two neighbouring float64 or a few (ValueDown, ValueUp).
// It panics unless there are as many inputs and weights as the network has.
func (n Network) Enclose(weights [][]float64, x []Enclosure) []Enclosure {
	if len(x) != n.Inputs() || len(weights) != 2*len(n) {
		panic(fmt.Sprintf("network: Enclose: %d inputs and %d lists of weights for a network of %d and %d", len(x), len(weights), n.Inputs(), 2*len(n)))
	}
	for k, l := range n {
		z := make([]Enclosure, l.Outputs())
		for i := range z {
			z[i] = l.Activation.enclose(affineOf(l, weights[2*k], weights[2*k+1][l.BiasOf(i)], x, i))
		}
		x = z
	}
	return x
}

// affineOf encloses pre-activation i of a layer.
func affineOf(l Layer, weight []float64, bias float64, z []Enclosure, i int) Enclosure {
	known := true
	for j := range l.Into(i) {
		known = known && z[j].Lo == z[j].Hi
	}
	sum := func(mode big.RoundingMode) (*big.Float, bool) {
		total, exact := directed(mode).SetFloat64(bias), true
		product, w := directed(mode), directed(mode)
		for j, at := range l.Into(i) {
			v := z[j].Lo
			if (weight[at] < 0) != (mode == big.ToPositiveInf) {
				v = z[j].Hi
			}
			if weight[at] == 0 || v.Sign() == 0 {
				continue
			}
			product.Mul(w.SetFloat64(weight[at]), v)
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
		return Enclosure{
			directed(big.ToNegativeInf).SetFloat64(a.ValueDown(float64Down(t.Lo))),
			directed(big.ToPositiveInf).SetFloat64(a.ValueUp(float64Up(t.Hi))),
		}
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
// that t is beyond, which serves activations that are not kinked because they are bounded and
// have their bound there.
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
