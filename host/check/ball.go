package check

import (
	"math"
	"math/bits"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// What a ball says more than the box around it (docs/theory.md, section 3.7), of chains of dense layers.

// ballCell is a ball around a centre in the cell; shutLo and shutHi say in which inputs the cell has
// nothing below the centre, or above it.
type ballCell struct {
	norm           int
	centre, radius []float64
	shutLo, shutHi []bool
	units          ballUnits
}

// ballUnits are, for each unit of the first layer: its noise downward and upward from the centre, how
// it varies, the greatest r_j sd_j, and a bound of E |(r_j W_j)|_2^2.
type ballUnits struct {
	down, up, vary []noise
	steep, sizeSq  []float64
}

// newBallCell is nil where there is no ball, or where it is a point.
func (n *noisy) newBallCell(cell property.Box, ball *property.Ball, point bool) *ballCell {
	if ball == nil || point || !n.graph.chain {
		return nil
	}
	b := &ballCell{norm: ball.Norm, shutLo: make([]bool, len(cell.Lo)), shutHi: make([]bool, len(cell.Lo))}
	b.centre, b.radius = ball.Outer(cell)
	for j, c := range b.centre {
		b.shutLo[j], b.shutHi[j] = !(cell.Lo[j] < c), !(cell.Hi[j] > c)
	}
	b.units = n.ballUnitsOf(b, cell)
	return b
}

// ballSum sums what bounds how far a row falls from the centre over a ball, in the mean: sums of r_j^2
// times the squares of normal coefficients, the greatest r_j |mean| and the greatest r_j sd.
type ballSum struct {
	sq         arith.Sum
	far, steep float64
}

// add adds input j.
func (b *ballCell) add(f *ballSum, j int, a, variance float64) {
	r := b.radius[j]
	if r == 0 || b.shutLo[j] && b.shutHi[j] {
		return
	}
	shut := b.shutLo[j]
	if a < 0 {
		shut = b.shutHi[j]
	}
	f.steep = max(f.steep, arith.Up(r*arith.SqrtUp(variance)))
	rr := squareUp(r)
	if shut {
		f.sq.Add(rr, arith.ProductUp(0.5, variance))
		return
	}
	f.sq.Add(rr, squareUp(a))
	f.sq.Add(rr, variance)
	f.far = max(f.far, arith.Up(r*math.Abs(a)))
}

// meanUp is the bound: the root of the sum of squares, or in the L1 norm the greatest mean and the mean of
// the greatest of n normal variables, which is at most sqrt(2 ln 2n).
func (b *ballCell) meanUp(f *ballSum) float64 {
	root := arith.SqrtUp(max(0, f.sq.Hi()))
	if b.norm == 2 {
		return root
	}
	most := arith.SqrtUp(arith.ProductUp(2*float64(bits.Len(uint(2*len(b.radius)))), ln2Up))
	return min(root, arith.SumUp(f.far, arith.ProductUp(most, f.steep)))
}

// ln2Up is ln 2 = 0.693147180559945309..., rounded up.
const ln2Up = 0.6931471805599454

// varianceUp bounds sum_j s_j x_j^2 over the ball.
func (b *ballCell) varianceUp(spreads []float64) float64 {
	var square arith.Sum
	steep := 0.0
	for j, s := range spreads {
		square.Add(s, squareUp(b.centre[j]))
		steep = max(steep, arith.Up(b.radius[j]*arith.SqrtUp(s)))
	}
	return squareUp(arith.SumUp(arith.SqrtUp(max(0, square.Hi())), steep))
}

// ballUnitsOf bounds the rows of the first matrix over the ball.
func (n *noisy) ballUnitsOf(b *ballCell, cell property.Box) ballUnits {
	l, d := &n.mean[0], &n.deviations[0]
	u := ballUnits{make([]noise, l.out), make([]noise, l.out), make([]noise, l.out), make([]float64, l.out), make([]float64, l.out)}
	for i := range l.out {
		var down, up, whole ballSum
		var box arith.Sum
		open := ballCell{norm: b.norm, radius: b.radius, shutLo: make([]bool, l.in), shutHi: make([]bool, l.in)}
		spreads := make([]float64, l.in)
		for j := range l.in {
			m, s := l.w.lo[j*l.out+i], d.variance[j*l.out+i]
			b.add(&down, j, m, s)
			b.add(&up, j, -m, s)
			open.add(&whole, j, m, s)
			spreads[j] = s
			box.Add(s, squareUp(abs(cell.Lo[j], cell.Hi[j])))
		}
		v := arith.SumUp(min(b.varianceUp(spreads), max(0, box.Hi())), d.biasVariance[i])
		u.down[i], u.up[i] = noise{b.meanUp(&down), v}, noise{b.meanUp(&up), v}
		u.vary[i] = noise{b.meanUp(&whole), squareUp(whole.steep)}
		u.steep[i], u.sizeSq[i] = whole.steep, max(0, whole.sq.Hi())
	}
	return u
}

// firstRow is ofRow of the first layer with the ball's variance, where that is less.
func (p *cellPass) firstRow(a []float64) noise {
	n, d := p.deviations[0].ofRow(a, p.reachInto(0), p.into(0)), &p.deviations[0]
	if p.ball == nil {
		return n
	}
	var bias arith.Sum
	squares := squaresUp(a)
	for i, q := range squares {
		bias.Add(q, d.biasVariance[i])
	}
	n.variance = min(n.variance, arith.SumUp(p.ball.varianceUp(d.spreads(squares)), max(0, bias.Hi())))
	return n
}

// ballForm is a lower bound of a row on the ball, but for noise: what it met and the squares of its
// coefficients over the top are given as for sharp. Whichever bound of the second layer's noise is less,
// with what it adds to the deviation of the first's, is taken.
func (p *cellPass) ballForm(top int, squares []float64, f *fall, met *noises) (lo float64, list []noise) {
	b, s, c := p.ball, f.inputs, f.constant
	var spreads []float64
	switch {
	case !p.levels.noise[0]:
	case top == 0:
		spreads = p.deviations[0].spreads(squares)
	default:
		spreads = p.deviations[0].spreads(squaresUp(f.a[0]))
	}
	var fell ballSum
	for j, x := range b.centre {
		slope, intercept := chord(s.lo[j], s.hi[j], p.x.lo[j], p.x.hi[j])
		c.Plus(intercept)
		c.Add(slope, x)
		v := 0.0
		if spreads != nil {
			v = spreads[j]
		}
		b.add(&fell, j, slope, v)
	}
	by, moved, second := b.meanUp(&fell), 0.0, 0.0
	if top > 0 && p.levels.noise[1] {
		second = met.of[p.levels.of[1]].mean
		root, moves := p.ballThrough(&fell, p.spreadsAt(1, top, squares, f))
		if arith.SumUp(root, moves) < arith.SumUp(by, second) {
			by, moved, second = root, moves, 0
		}
	}
	for l := top; l >= 0; l-- {
		if !p.levels.noise[l] {
			continue
		}
		n := met.of[p.levels.of[l]]
		switch {
		case l == 1:
			n.mean = second
		case l == 0 && moved > 0:
			n = noise{0, squareUp(arith.SumUp(arith.SqrtUp(n.variance), moved))}
		case l == 0:
			n.mean = 0
		}
		list = append(list, n)
	}
	return arith.SumDown(c.Lo(), -by), list
}

// ballThrough returns how far a row falls with the noise of the second layer through the first one's
// weights, and what that adds to the deviation of the first's noise.
func (p *cellPass) ballThrough(fell *ballSum, spreads []float64) (root, moved float64) {
	sq, z := fell.sq, p.values(0)
	for j, s := range spreads {
		if s == 0 || z.lo[j] == z.hi[j] {
			continue // it does not vary
		}
		sq.Add(s, p.ball.units.sizeSq[j])
		moved = max(moved, arith.Up(arith.SqrtUp(s)*p.ball.units.steep[j]))
	}
	return arith.SqrtUp(max(0, sq.Hi())), moved
}

// neuronOnBall is neuronLo on a ball, of a layer above the first.
func (p *cellPass) neuronOnBall(k, i int, sign float64, met *noises, tau float64, w way) float64 {
	s, c := p.layers[k].unit(i, sign)
	f := p.newFall(k, &w)
	lo := p.linesLo(k, s, c, met, w, nil)
	total, levels := met.total()
	lo = arith.SumDown(lo, -total.byUp(p.quantile(tau, levels)))
	if f.inputs.lo == nil {
		return lo
	}
	square := make([]float64, p.layers[k].out)
	square[i] = 1
	less, list := p.ballForm(k, square, f, met)
	total = noise{}
	for _, n := range list {
		total = total.plus(n)
	}
	return max(lo, arith.SumDown(less, -total.byUp(p.quantile(tau, levels))))
}
