package network

import (
	"fmt"
	"math/big"
	"slices"
)

// AffineForms are numbers that are linear in x on a box, exactly: number i is
//
//	Offset[i] + sum of Slope[i][j] x_j
type AffineForms struct {
	lo, hi []*big.Float
	offset []*big.Float
	slope  [][]*big.Float
}

// AffineOn is the network of these weights (as for Enclose) on the box from lo to hi, if it
// is linear there and exact arithmetic shows it: there is no max pool, every activation has one
// kink, or none, and every pre-activation stays on one side of it. All numbers are exact. ok is
// false if that cannot be said. It panics unless lo and hi have as many entries as the network
// has inputs.
func (n Network) AffineOn(weights [][]float64, lo, hi []float64) (f AffineForms, ok bool) {
	if len(lo) != n.Inputs() || len(hi) != n.Inputs() {
		panic(fmt.Sprintf("network: AffineOn: %d and %d ends for %d inputs", len(lo), len(hi), n.Inputs()))
	}
	f.lo, f.hi = exactly(lo), exactly(hi)
	zero := exactly(make([]float64, len(lo)))
	for j := range lo {
		slope := slices.Clone(zero)
		slope[j] = exactly([]float64{1})[0]
		f.offset, f.slope = append(f.offset, zero[0]), append(f.slope, slope)
	}
	input, out := f, make([]AffineForms, len(n))
	for k, l := range n {
		f = input.joined(n, k, out)
		if out[k], ok = f.through(l, weights[2*k], weights[2*k+1]); !ok {
			return f, false
		}
	}
	return out[len(n)-1], true
}

// joined puts what feeds a layer together, from the input f and the outputs of layers.
func (f *AffineForms) joined(n Network, k int, out []AffineForms) AffineForms {
	var offsets [][]*big.Float
	var slopes [][][]*big.Float
	for _, o := range out {
		offsets, slopes = append(offsets, o.offset), append(slopes, o.slope)
	}
	return AffineForms{f.lo, f.hi, Join(n, k, f.offset, offsets), Join(n, k, f.slope, slopes)}
}

// through returns what a layer makes of the numbers.
func (f *AffineForms) through(l Layer, weight, bias []float64) (next AffineForms, ok bool) {
	next = AffineForms{lo: f.lo, hi: f.hi}
	below, kinked := l.Activation.Kinked()
	if !kinked {
		return next, false
	}
	if _, pool := l.Map.(MaxPool); pool {
		return next, false // no attempt to show which number is the greatest
	}
	terms := l.terms(weight, bias)
	for i := range l.Outputs() {
		c := terms(i)
		if !slices.Equal(c.lo, c.hi) {
			return next, false
		}
		offset, slope, exact := f.combine(c.of, c.lo, c.bias)
		least, most := f.least(offset, slope), f.most(offset, slope)
		if !exact || least == nil || most == nil {
			return next, false
		}
		if below != 1 && least.Sign() < 0 {
			if most.Sign() > 0 {
				return next, false // a kink is inside of the box
			}
			for _, s := range append(slope, offset) {
				exact = scale(s, below) && exact
			}
		}
		if !exact {
			return next, false
		}
		next.offset, next.slope = append(next.offset, offset), append(next.slope, slope)
	}
	return next, true
}

// LeastSign is the sign of the least value on the box of d + sum of c_i times number i,
// exactly; -1 if exact arithmetic cannot tell.
func (f *AffineForms) LeastSign(c []float64, d float64) int {
	of := make([]int, len(c))
	for i := range of {
		of[i] = i
	}
	offset, slope, exact := f.combine(of, c, d)
	if least := f.least(offset, slope); exact && least != nil {
		return least.Sign()
	}
	return -1
}

// combine is bias + sum of c_k times number of[k].
func (f *AffineForms) combine(of []int, c []float64, bias float64) (offset *big.Float, slope []*big.Float, exact bool) {
	offset, slope, exact = exactly([]float64{bias})[0], exactly(make([]float64, len(f.lo))), true
	product, factor := directed(big.ToNegativeInf), directed(big.ToNegativeInf)
	add := func(to, x *big.Float) {
		if x.Sign() == 0 {
			return
		}
		product.Mul(factor, x)
		exact = exact && product.Acc() == big.Exact
		to.Add(to, product)
		exact = exact && to.Acc() == big.Exact
	}
	for k, i := range of {
		if factor.SetFloat64(c[k]); c[k] == 0 {
			continue
		}
		add(offset, f.offset[i])
		for j, s := range f.slope[i] {
			add(slope[j], s)
		}
	}
	return offset, slope, exact
}

// least is the least value of offset + slope x on the box, nil if it is not exact.
func (f *AffineForms) least(offset *big.Float, slope []*big.Float) *big.Float {
	return extreme(offset, slope, f.lo, f.hi)
}

// most is the largest one.
func (f *AffineForms) most(offset *big.Float, slope []*big.Float) *big.Float {
	return extreme(offset, slope, f.hi, f.lo)
}

// extreme takes positive slopes at the ends at and negative ones at other.
func extreme(offset *big.Float, slope, at, other []*big.Float) *big.Float {
	sum, product := directed(big.ToNegativeInf).Set(offset), directed(big.ToNegativeInf)
	for j, s := range slope {
		end := at[j]
		if s.Sign() < 0 {
			end = other[j]
		}
		if s.Sign() == 0 || end.Sign() == 0 {
			continue
		}
		if product.Mul(s, end); product.Acc() != big.Exact {
			return nil
		}
		if sum.Add(sum, product); sum.Acc() != big.Exact {
			return nil
		}
	}
	return sum
}

// scale multiplies x and says whether that was exact.
func scale(x *big.Float, factor float64) bool {
	x.Mul(x, directed(big.ToNegativeInf).SetFloat64(factor))
	return x.Acc() == big.Exact
}

// exactly are the numbers, ready for exact sums.
func exactly(x []float64) []*big.Float {
	v := make([]*big.Float, len(x))
	for i := range x {
		v[i] = directed(big.ToNegativeInf).SetFloat64(x[i])
	}
	return v
}
