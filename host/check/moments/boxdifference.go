package moments

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// difference is by how much a row in a box is below the row at its middle, but for what single neurons lose: less than
// loss + q sqrt(variance), but with what q is the quantile of.
type difference struct {
	loss, variance float64
	// carried are the coefficients over the outputs of the first of two hidden layers.
	carried []float64
}

// passed returns what goes through the neurons of hidden layer k, and by how much less than that is rounded.
func (m *moving) passed(k int, a []float64, by Row) (through []float64, off float64) {
	through = make([]float64, len(a))
	var s arith.Sum
	for j, x := range a {
		part := arith.Exactly(x).Times(arith.Exactly(m.share(by, k, j)))
		through[j] = part.Middle()
		s.Add(part.Radius(), m.reach[k][j])
	}
	return through, s.Hi()
}

// difference takes a row's coefficients a over the last hidden layer, with variances s, down to the input.
func (m *moving) difference(a, s []float64, by Row) difference {
	if len(m.layers) == 2 {
		through, off := m.passed(0, a, by)
		d := m.down(through, s, nil, nil)
		d.loss = arith.Up(d.loss + off)
		return d
	}
	high := &m.layers[1]
	n, out := high.Inputs(), high.Outputs()
	through, off := m.passed(1, a, by)
	carried, noise, meets := make([]float64, n), make([]float64, n), make([]float64, n)
	var loss, length, open, openSquare arith.Sum
	steepest := 0.0
	for i, side := range m.onto {
		var mean, own, last arith.Sum
		most := 0.0
		for j, t := range through {
			at := i*out + j
			x, v := high.Weight.Mean[at], m.vary[1][at]
			mean.Add(t, x)
			own.Add(arith.Up(t*t), v)
			last.Add(s[j], arith.Up(arith.Up(x*x)+v))
			most = max(most, arith.Up(s[j]*v))
		}
		both, reach := arith.Of(mean.Lo(), mean.Hi()), m.reach[0][i]
		carried[i] = both.Middle()
		loss.Add(both.Radius(), reach)
		if side == 0 {
			continue // it is 0 in the whole box
		}
		noise[i], meets[i], steepest = own.Hi(), last.Hi(), max(steepest, most)
		length.Add(own.Hi(), arith.Up(reach*reach))
		if side < 1 {
			open.Add(rootOf(last.Hi()), reach/2)
			openSquare.Add(most, arith.Up(reach*reach)/4)
		}
	}
	loss.Plus(off)
	loss.Add(arith.Sqrt2OverPiUp, open.Hi())
	above := arith.SumUp(arith.Up(rootOf(steepest)*m.weight), rootOf(openSquare.Hi()))
	above = arith.SumUp(rootOf(length.Hi()), arith.Up(arith.Sqrt2OverPiUp*above))
	lower, off := m.passed(0, carried, by)
	loss.Plus(off)
	d := m.down(lower, noise, s, meets)
	d.carried, d.loss = carried, arith.Up(d.loss+loss.Hi())
	d.variance = arith.Up(d.variance + arith.Up(above*above))
	return d
}

// down is a difference with the coefficients through over the first layer's pre-activations, each of which also meets
// noise of a variance; last are the variances over the second layer's outputs, if there is one, whose products
// with the weights below are moving.squares, and meets what they meet of the second layer.
func (m *moving) down(through, noise, last, meets []float64) difference {
	l, n := &m.layers[0], len(through)
	var loss, v arith.Sum
	for k, r := range m.radius {
		if !(r > 0) {
			continue
		}
		var mean, own, square, more, bend arith.Sum
		steepest := 0.0
		for i, t := range through {
			at := k*n + i
			x, w := l.Weight.Mean[at], m.vary[0][at]
			mean.Add(t, x)
			own.Add(arith.Up(t*t), w)
			square.Add(noise[i], arith.Up(arith.Up(x*x)+w))
			steepest = max(steepest, arith.Up(noise[i]*w))
			if meets != nil {
				bend.Add(m.onto[i]*m.onto[i]*meets[i], w)
			}
		}
		for j, s := range last {
			more.Add(s, m.squares[j*len(m.radius)+k])
		}
		sd := rootOf(own.Hi())
		noisy, slope := rootOf(square.Hi()), rootOf(steepest)
		if last != nil {
			noisy, slope = arith.SumUp(noisy, rootOf(more.Hi())), arith.SumUp(slope, rootOf(bend.Hi()))
		}
		size := max(math.Abs(mean.Lo()), math.Abs(mean.Hi()))
		loss.Add(r, arith.SumUp(gauss.AbsMeanUp(size, sd), arith.Up(arith.Sqrt2OverPiUp*noisy)))
		slope = arith.SumUp(sd, arith.Up(arith.Sqrt2OverPiUp*slope))
		v.Add(arith.Up(r*r), arith.Up(slope*slope))
	}
	return difference{loss: loss.Hi(), variance: max(0, v.Hi())}
}
