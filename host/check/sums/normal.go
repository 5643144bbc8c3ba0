package sums

import (
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// The standard normal distribution for sums of neurons, in a table: Prob(Z <= z) at
// multiples of a step, and the masses of bins.

const (
	// tableStep is the distance of the table's entries, tableReach where it ends.
	tableStep  = 1. / 256
	tableReach = 9
	// binReach is where the bins of a normal variable end: what is beyond is lost.
	binReach = 8
	// widestBin is the width of bins in the tails, in tableSteps.
	widestBin = 8
)

// normals is the table of the normal distribution.
type normals struct {
	// up[k] and down[k] bound Q(k tableStep).
	up, down []float64
	// edges are multiples of tableStep from -binReach to binReach that cut the line into
	// bins, close where the density is high: rounding to them loses least where their
	// density is as its root. mass[k] is an upper bound of Prob(edges[k] <= Z <= edges[k+1]).
	edges, mass []float64
	// lost bounds Prob(|Z| > binReach).
	lost float64
}

// normalTable is computed at the first use: 2,300 tails.
var normalTable = sync.OnceValue(func() *normals {
	t := &normals{}
	for k := range int(tableReach/tableStep) + 1 {
		z := arith.DDOf(float64(k) * tableStep)
		t.down, t.up = append(t.down, gauss.TailOfDown(z)), append(t.up, gauss.TailOfUp(z))
	}
	last := int(binReach / tableStep)
	for k := 0; k < last; {
		z := float64(k) * tableStep
		next := min(last, k+min(max(1, int(math.Exp(z*z/4))), widestBin))
		t.edges, t.mass = append(t.edges, z), append(t.mass, betweenUp(z, float64(next)*tableStep))
		k = next
	}
	t.edges = append(t.edges, binReach)
	// The other half is the mirror image.
	var edges, mass []float64
	for k := len(t.mass) - 1; k >= 0; k-- {
		edges, mass = append(edges, -t.edges[k+1]), append(mass, t.mass[k])
	}
	t.edges, t.mass = append(edges, t.edges...), append(mass, t.mass...)
	t.lost = 2 * t.up[last]
	return t
})

// belowUp is an upper bound of F(z) = Prob(Z <= z); 1 for NaN. Between entries of the table
// it is the chord of F: above F for z < 0, where F is convex, and for z > 0 below it by
// tableStep^2/8 max|f'| at most, where |f'| <= 0.242 for the density f. The chord itself is within
// 4 u.
func (t *normals) belowUp(z float64) float64 {
	k, share := math.Modf(math.Abs(z) / tableStep)
	i, last := int(min(k, tableReach/tableStep)), int(tableReach/tableStep)
	switch {
	case z < 0 && i == last:
		return t.up[last]
	case z < 0:
		return (t.up[i] - float64(share*(t.up[i]-t.up[i+1]))) * (1 + 0x1p-50)
	case z >= 0 && i < last:
		tail := (t.down[i] - float64(share*(t.down[i]-t.down[i+1]))) * (1 - 0x1p-50)
		return min(1, arith.Up(arith.Up(1-tail)+tableStep*tableStep/32))
	}
	return 1
}

// belowDown is a lower bound of Prob(Z <= z); 0 for NaN.
func (t *normals) belowDown(z float64) float64 { return max(0, arith.Down(1-t.belowUp(-z))) }

// betweenUp is an upper bound of Prob(x <= Z <= y) for -9 < x, y < 9: the difference of
// tails on one side of 0, as a dd, or what two of them leave.
func betweenUp(x, y float64) float64 {
	switch {
	case x >= y:
		return 0
	case y <= 0:
		return betweenUp(-y, -x)
	case x < 0:
		return arith.SumUp(betweenUp(0, -x), betweenUp(0, y))
	}
	m, k := gauss.TailOf(arith.DDOf(x))
	n, l := gauss.TailOf(arith.DDOf(y))
	q := m.Scaled(k).Minus(n.Scaled(l))
	return max(0, arith.SumUp(q.RoundUp(gauss.TailErr), m.Scaled(k).Hi*(2*gauss.TailErr)))
}
