package decide

import (
	"math"
	"math/rand/v2"
)

// Attacks on balls: as on boxes, but with steps in the norm of the ball, and every point drawn back into
// it. What comes out is near the ball; claim.NewWitness sees to the rest.

// inside is the length up to which points are drawn in.
const inside = 1 - 1e-6

// start is the centre of the ball, or of the box.
func (a *attack) start() []float64 {
	if a.Ball == nil {
		return a.Box.CentreApprox()
	}
	return a.Ball.CentreApprox()
}

// draw draws x into the ball.
func (a *attack) draw(x []float64) {
	if a.Ball == nil {
		return
	}
	if length := a.Ball.LengthApprox(x); length > inside && length <= math.MaxFloat64 {
		for j, c := range a.Ball.CentreApprox() {
			x[j] = min(max(c+(x[j]-c)*inside/length, a.Box.Lo[j]), a.Box.Hi[j])
		}
	}
}

// stepBall is step on a ball: by a share of its diameter in the direction in which its norm lets the row
// fall most steeply.
func (a *attack) stepBall(x []float64, share float64) bool {
	before, slope := append([]float64(nil), x...), a.pass.Back(a.row)
	for j := range slope {
		slope[j] = -slope[j]
	}
	a.alongBall(x, slope, share)
	for j := range x {
		if x[j] != before[j] {
			a.consider(x)
			return true
		}
	}
	return false
}

// along moves x by a share of the diameter of T in each coordinate to where a slope leads up; of a ball, in
// the direction in which its norm lets that rise most steeply.
func (a *attack) along(x, slope []float64, share float64) {
	if a.Ball != nil {
		a.alongBall(x, slope, share)
		return
	}
	for j, g := range slope {
		width := share * (a.Box.Hi[j] - a.Box.Lo[j])
		switch {
		case g > 0:
			x[j] = min(a.Box.Hi[j], x[j]+width)
		case g < 0:
			x[j] = max(a.Box.Lo[j], x[j]-width)
		}
	}
}

func (a *attack) alongBall(x, slope []float64, share float64) {
	radius, best, total := a.Ball.RadiusHi, -1, 0.0
	for j, g := range slope {
		if g < 0 && x[j] <= a.Box.Lo[j] || g > 0 && x[j] >= a.Box.Hi[j] {
			continue
		}
		size := math.Abs(g) * radius[j]
		total += size * size
		if size > 0 && (best < 0 || size > math.Abs(slope[best])*radius[best]) {
			best = j
		}
	}
	if !(total > 0 && total <= math.MaxFloat64) {
		return
	}
	for j, g := range slope {
		by := 0.0
		switch {
		case a.Ball.Norm == 2:
			by = g * radius[j] * radius[j] / math.Sqrt(total)
		case j == best:
			by = math.Copysign(radius[j], g)
		}
		x[j] = min(max(x[j]+2*share*by, a.Box.Lo[j]), a.Box.Hi[j])
	}
	a.draw(x)
}

// randomFace writes a point of the ball's face to x, or of the box's where it is nearer.
func (a *attack) randomFace(r *rand.Rand, x []float64) {
	one := r.IntN(len(x))
	for j, c := range a.Ball.CentreApprox() {
		by := r.NormFloat64()
		if a.Ball.Norm == 1 && j != one {
			by = 0
		}
		x[j] = min(max(c+by*a.Ball.RadiusHi[j], a.Box.Lo[j]), a.Box.Hi[j])
	}
	a.draw(x)
}
