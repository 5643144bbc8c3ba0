package clbp

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/law"
)

// turn is the covariances times g.
func (t *concaves) turn(g []float64) arrayOff {
	a := arrayOff{v: make([]float64, len(g))}
	size := 0.0
	for _, x := range g {
		size = arith.SumUp(size, math.Abs(x))
	}
	for o, row := range t.covariance {
		var sum arith.Sum
		for j, x := range g {
			if x != 0 {
				sum.Add(x, row[j])
			}
		}
		lo, hi := sum.Lo(), sum.Hi()
		a.v[o] = arith.Middle(lo, hi)
		a.off = max(a.off, arith.SumUp(hi, -lo))
	}
	a.off = arith.SumUp(a.off, arith.ProductUp(size, t.off))
	return a
}

// dot bounds |g a|.
func (a arrayOff) dot(g []float64) float64 {
	var sum, off arith.Sum
	for j, x := range g {
		sum.Add(x, a.v[j])
		off.Add(math.Abs(x), a.off)
	}
	return arith.SumUp(max(sum.Hi(), -sum.Lo()), max(0, off.Hi()))
}

// noiseUp bounds g' covariance g over all gradients g.
func (t *concaves) noiseUp(b *below) float64 {
	turned, total := t.turn(b.centre), 0.0
	add := func(x float64) { total = arith.SumUp(total, x) }
	add(turned.dot(b.centre))
	add(2 * turned.along(b.axis))
	for at, k := range b.kept {
		add(arith.ProductUp(2*k.by, turned.dot(k.centre)))
		add(arith.ProductUp(law.SquareUp(k.by), k.turned.dot(k.centre)))
		add(arith.ProductUp(2*k.by, k.turned.along(b.axis)))
		for _, o := range b.kept[:at] {
			add(arith.ProductUp(arith.ProductUp(2*k.by, o.by), k.turned.dot(o.centre)))
		}
	}
	for j, x := range b.axis {
		if x == 0 {
			continue
		}
		var sum arith.Sum
		for o, y := range b.axis {
			sum.Add(y, arith.SumUp(math.Abs(t.covariance[j][o]), t.off))
		}
		add(arith.ProductUp(x, max(0, sum.Hi())))
	}
	return total
}

// along bounds sum_j axis_j |a_j|.
func (a arrayOff) along(axis []float64) float64 {
	var sum arith.Sum
	for j, x := range axis {
		sum.Add(x, arith.SumUp(math.Abs(a.v[j]), a.off))
	}
	return max(0, sum.Hi())
}
