package clbp

import (
	"math"
	"math/bits"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

// What a ball says more than the box around it (docs/theory.md, section 3.7), of chains of dense layers.

// newBallCell is nil where there is no ball, or where it is a point.
func (n *Noisy) newBallCell(cell property.Box, ball *property.Ball, point bool) *ballCell {
	if ball == nil || point || !n.Graph.Chain {
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
	rr := law.SquareUp(r)
	if shut {
		f.sq.Add(rr, arith.ProductUp(0.5, variance))
		return
	}
	f.sq.Add(rr, law.SquareUp(a))
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

// ballUnitsOf bounds the rows of the first matrix over the ball.
func (n *Noisy) ballUnitsOf(b *ballCell, cell property.Box) ballUnits {
	l, d := &n.Mean[0], &n.Deviations[0]
	u := ballUnits{make([]law.Noise, l.Out), make([]law.Noise, l.Out), make([]law.Noise, l.Out), make([]float64, l.Out), make([]float64, l.Out)}
	for i := range l.Out {
		var down, up, whole ballSum
		var box arith.Sum
		open := ballCell{norm: b.norm, radius: b.radius, shutLo: make([]bool, l.In), shutHi: make([]bool, l.In)}
		spreads := make([]float64, l.In)
		for j := range l.In {
			m, s := l.W.Lo[l.Number(j, i)], d.variance[l.Number(j, i)]
			b.add(&down, j, m, s)
			b.add(&up, j, -m, s)
			open.add(&whole, j, m, s)
			spreads[j] = s
			box.Add(s, law.SquareUp(relax.Abs(cell.Lo[j], cell.Hi[j])))
		}
		v := arith.SumUp(min(b.varianceUp(spreads), max(0, box.Hi())), d.BiasVariance[i])
		u.down[i], u.up[i] = law.Noise{Mean: b.meanUp(&down), Variance: v}, law.Noise{Mean: b.meanUp(&up), Variance: v}
		u.vary[i] = law.Noise{Mean: b.meanUp(&whole), Variance: law.SquareUp(whole.steep)}
		u.steep[i], u.sizeSq[i] = whole.steep, max(0, whole.sq.Hi())
	}
	return u
}

// ballForm is a lower bound of a row on the ball, but for noise: what it met and the squares of its
// coefficients over the top are given as for sharp. Whichever bound of the second layer's noise is less,
// with what it adds to the deviation of the first's, is taken.
func (p *CellPass) ballForm(top int, squares []float64, f *fall, met *Noises) (lo float64, list []law.Noise) {
	b, s, c := p.ball, f.inputs, f.constant
	var spreads []float64
	switch {
	case !p.Levels.Noise[0]:
	case top == 0:
		spreads = p.Deviations[0].spreads(squares)
	default:
		spreads = p.Deviations[0].spreads(law.SquaresUp(f.A[0]))
	}
	var fell ballSum
	for j, x := range b.centre {
		slope, intercept := relax.Chord(s.Lo[j], s.Hi[j], p.X.Lo[j], p.X.Hi[j])
		c.Plus(intercept)
		c.Add(slope, x)
		v := 0.0
		if spreads != nil {
			v = spreads[j]
		}
		b.add(&fell, j, slope, v)
	}
	by, moved, second := b.meanUp(&fell), 0.0, 0.0
	if top > 0 && p.Levels.Noise[1] {
		second = met.of[p.Levels.Of[1]].Mean
		root, moves := p.ballThrough(&fell, p.spreadsAt(1, top, squares, f))
		if arith.SumUp(root, moves) < arith.SumUp(by, second) {
			by, moved, second = root, moves, 0
		}
	}
	for l := top; l >= 0; l-- {
		if !p.Levels.Noise[l] {
			continue
		}
		n := met.of[p.Levels.Of[l]]
		switch {
		case l == 1:
			n.Mean = second
		case l == 0 && moved > 0:
			n = law.Noise{Mean: 0, Variance: law.SquareUp(arith.SumUp(arith.SqrtUp(n.Variance), moved))}
		case l == 0:
			n.Mean = 0
		}
		list = append(list, n)
	}
	return arith.SumDown(c.Lo(), -by), list
}

// ballThrough returns how far a row falls with the noise of the second layer through the first one's
// weights, and what that adds to the deviation of the first's noise.
func (p *CellPass) ballThrough(fell *ballSum, spreads []float64) (root, moved float64) {
	sq, z := fell.sq, p.Values(0)
	for j, s := range spreads {
		if s == 0 || z.Lo[j] == z.Hi[j] {
			continue // it does not vary
		}
		sq.Add(s, p.ball.units.sizeSq[j])
		moved = max(moved, arith.Up(arith.SqrtUp(s)*p.ball.units.steep[j]))
	}
	return arith.SqrtUp(max(0, sq.Hi())), moved
}

// neuronOnBall is neuronLo on a ball, of a layer above the first.
func (p *CellPass) neuronOnBall(k, i int, sign float64, met *Noises, tau float64, w relax.Way) float64 {
	s, c := p.Layers[k].Unit(i, sign)
	f := p.NewFall(k, &w)
	lo := p.linesLo(k, s, c, met, w, nil)
	total, levels := met.total()
	lo = arith.SumDown(lo, -total.ByUp(p.Quantile(tau, levels)))
	if f.inputs.Lo == nil {
		return lo
	}
	square := make([]float64, p.Layers[k].Out)
	square[i] = 1
	less, list := p.ballForm(k, square, f, met)
	return max(lo, arith.SumDown(less, -sumOf(list).ByUp(p.Quantile(tau, levels))))
}
