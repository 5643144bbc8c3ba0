package decide

import (
	"math"
	"math/rand/v2"
)

// Numbers of Adam (Kingma and Ba, 2015): the decays of both means, and what keeps a step finite where
// no gradient was seen.
const (
	adamMean, adamSquare = 0.8, 0.95
	adamLeast            = 1e-12
	// adamFirst and adamLast are the steps, as shares of the box's width: the first cross it in a few,
	// the last settle in a hundredth of it.
	adamFirst, adamLast = 0.1, 0.004
)

// adamSteps is the number of steps of a start.
const adamSteps = 40

// adam descends from x by so many steps of Adam, in coordinates in which the box is a cube, and considers
// every point. Steps of the gradient's sign are as long where the slope is small as where it is large,
// and turn with every kink; these settle in what is narrow.
//
// Where the set has alternatives, leaving it means to leave all of them. The descent is on the sum of
// those that hold, each by its least row: the greatest of them alone would pull to and fro. Where none
// holds it is on the greatest, as the margin is.
func (a *attack) adam(x []float64, steps int) {
	mean, square, pull := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(a.row))
	meanLeft, squareLeft := 1.0, 1.0
	a.consider(x)
	for k := range steps {
		if a.done() {
			return
		}
		a.pull(a.pass.Logits(), pull)
		rate := adamFirst * math.Pow(adamLast/adamFirst, float64(k)/float64(max(1, steps-1)))
		meanLeft, squareLeft = meanLeft*adamMean, squareLeft*adamSquare
		moved := false
		for j, g := range a.pass.Back(pull) {
			lo, hi := a.Box.Lo[j], a.Box.Hi[j]
			g *= hi - lo
			mean[j] += (1 - adamMean) * (g - mean[j])
			square[j] += (1 - adamSquare) * (g*g - square[j])
			step := rate * (hi - lo) * mean[j] / (1 - meanLeft) / (math.Sqrt(square[j]/(1-squareLeft)) + adamLeast)
			to := min(max(x[j]-step, lo), hi)
			if to != x[j] && to == to { // not NaN
				x[j], moved = to, true
			}
		}
		if !moved {
			return
		}
		a.draw(x)
		a.consider(x)
	}
}

// pull writes the sum of the least rows of the alternatives that hold at the logits, or of the greatest
// where none does.
func (a *attack) pull(y, sum []float64) {
	clear(sum)
	holding := 0
	a.Safe.AlternativeDecides(a.valuesApprox(y), func(least float64, at int) {
		if at >= 0 && least > 0 {
			holding++
			row := &a.Safe.Rows[at]
			for i := range sum {
				sum[i] += 0.5 * (row.CLo[i] + row.CHi[i])
			}
		}
	})
	if holding == 0 {
		a.worstRow(y)
		copy(sum, a.row)
	}
}

// randomPoint writes a point of the box to x.
func (a *attack) randomPoint(r *rand.Rand, x []float64) {
	for j := range x {
		lo, hi := a.Box.Lo[j], a.Box.Hi[j]
		x[j] = min(max(lo+r.Float64()*(hi-lo), lo), hi)
	}
	a.draw(x)
}

// restarts descends by Adam from so many random points, or until the attack is done.
func (a *attack) restarts(r *rand.Rand, starts, steps int) {
	x := make([]float64, len(a.Box.Lo))
	for s := 0; s < starts && !a.done(); s++ {
		a.randomPoint(r, x)
		a.adam(x, steps)
	}
}
