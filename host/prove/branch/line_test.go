package branch

import (
	"math/big"
	"slices"

	"psafe/host/model/network"
	"psafe/host/read/property"
)

// lineNet is a network on a segment of its inputs, in rational numbers: where t goes from 0 to 1.
type lineNet struct {
	net     network.Network
	weights [][]float64
}

// affineOf is a + b t.
type affineOf struct{ a, b *big.Rat }

func (f affineOf) at(t *big.Rat) *big.Rat { return new(big.Rat).Add(f.a, new(big.Rat).Mul(f.b, t)) }

// linePiece is an interval of t on which every pre-activation is linear and has one sign: pre by layer
// and neuron.
type linePiece struct {
	lo, hi *big.Rat
	z      []affineOf
	pre    [][]affineOf
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// pieces returns the pieces of the segment from x to y.
func (n lineNet) pieces(x, y []float64) []linePiece {
	first := linePiece{lo: new(big.Rat), hi: big.NewRat(1, 1)}
	for j := range x {
		first.z = append(first.z, affineOf{rat(x[j]), new(big.Rat).Sub(rat(y[j]), rat(x[j]))})
	}
	list := []linePiece{first}
	for k, l := range n.net {
		var next []linePiece
		for _, p := range list {
			var pre []affineOf
			for i := range l.Outputs() {
				f := affineOf{rat(n.weights[2*k+1][i]), new(big.Rat)}
				for j := range l.Inputs() {
					w := rat(n.weights[2*k][j*l.Outputs()+i])
					f.a = new(big.Rat).Add(f.a, new(big.Rat).Mul(w, p.z[j].a))
					f.b = new(big.Rat).Add(f.b, new(big.Rat).Mul(w, p.z[j].b))
				}
				pre = append(pre, f)
			}
			p.pre = append(slices.Clone(p.pre), pre)
			if k == len(n.net)-1 {
				next = append(next, p)
				continue
			}
			next = append(next, p.cut(pre)...)
		}
		list = next
	}
	return list
}

// cut cuts a linePiece where its last pre-activations are 0, and takes them through max(t, 0).
func (p linePiece) cut(pre []affineOf) (parts []linePiece) {
	at := []*big.Rat{p.lo, p.hi}
	for _, f := range pre {
		if f.b.Sign() != 0 {
			if t := new(big.Rat).Quo(new(big.Rat).Neg(f.a), f.b); t.Cmp(p.lo) > 0 && t.Cmp(p.hi) < 0 {
				at = append(at, t)
			}
		}
	}
	slices.SortFunc(at, (*big.Rat).Cmp)
	for i := 1; i < len(at); i++ {
		if at[i-1].Cmp(at[i]) == 0 && i > 1 {
			continue
		}
		part := p
		part.lo, part.hi, part.z = at[i-1], at[i], nil
		mid := new(big.Rat).Quo(new(big.Rat).Add(part.lo, part.hi), big.NewRat(2, 1))
		for _, f := range pre {
			if f.at(mid).Sign() < 0 {
				f = affineOf{new(big.Rat), new(big.Rat)}
			}
			part.z = append(part.z, f)
		}
		parts = append(parts, part)
	}
	return parts
}

// least is the least value of a row on pieces where all phases hold, nil if there are none. A kink
// belongs to both sides.
func least(list []linePiece, row property.Row, phases []phaseAt) *big.Rat {
	var best *big.Rat
	for _, p := range list {
		for _, t := range []*big.Rat{p.lo, p.hi} {
			holds := true
			for _, f := range phases {
				holds = holds && float64(p.pre[f.layer][f.unit].at(t).Sign())*f.phase >= 0
			}
			if !holds {
				continue
			}
			sum := rat(row.D)
			for i, y := range p.pre[len(p.pre)-1] {
				sum.Add(sum, new(big.Rat).Mul(rat(row.CLo[i]), y.at(t)))
			}
			if best == nil || sum.Cmp(best) < 0 {
				best = sum
			}
		}
	}
	return best
}

// leastOfMost is the least value of the greater of two rows.
func leastOfMost(list []linePiece, one, two property.Row) *big.Rat {
	var best *big.Rat
	for _, p := range list {
		at := []*big.Rat{p.lo, p.hi}
		line := func(row property.Row) affineOf {
			f := affineOf{rat(row.D), new(big.Rat)}
			for i, y := range p.pre[len(p.pre)-1] {
				f.a.Add(f.a, new(big.Rat).Mul(rat(row.CLo[i]), y.a))
				f.b.Add(f.b, new(big.Rat).Mul(rat(row.CLo[i]), y.b))
			}
			return f
		}
		f, g := line(one), line(two)
		if slope := new(big.Rat).Sub(f.b, g.b); slope.Sign() != 0 {
			if t := new(big.Rat).Quo(new(big.Rat).Sub(g.a, f.a), slope); t.Cmp(p.lo) > 0 && t.Cmp(p.hi) < 0 {
				at = append(at, t)
			}
		}
		for _, t := range at {
			v := f.at(t)
			if w := g.at(t); w.Cmp(v) > 0 {
				v = w
			}
			if best == nil || v.Cmp(best) < 0 {
				best = v
			}
		}
	}
	return best
}
