package property

import (
	"fmt"
	"math"
)

// What tests ask of regions, with enclosures in the place of texts.

// BallLinf encloses the set {x : |x_j - v_j| <= eps for every j}, cut to the
// interval clip if that is not nil, in the smallest box that can be told from
// the arguments: each v_j is a real number in [lo[j], hi[j]], eps and both ends
// of clip are real numbers too. Lower ends are rounded down and upper ends up,
// so the box contains the real set whatever the real numbers are.
//
// lo and hi must have the same length (it panics otherwise). A negative or
// non-finite eps, a clip interval with its ends reversed, a point that is not
// finite or has lo > hi, a point further than eps outside of clip (the set is
// empty) and an overflow are errors; those of a coordinate name it.
func BallLinf(lo, hi []float64, eps Decimal, clip *[2]Decimal) (Box, error) {
	r, err := ballRegion(eps, clip)
	if err != nil {
		return Box{}, err
	}
	return r.Around(lo, hi)
}

// Ball is BallLinf around point i, 0 <= i < N (it panics otherwise). Errors
// name the file and the point.
func (p *Points) Ball(i int, eps Decimal, clip *[2]Decimal) (Box, error) {
	lo, hi := p.At(i)
	b, err := BallLinf(lo, hi, eps, clip)
	if err != nil {
		return Box{}, fmt.Errorf("%s: point %d: %w", p.Source, i, err)
	}
	return b, nil
}

// InnerBall is the counterpart of BallLinf from inside: a box of points that lie
// in the real set {x : |x_j - v_j| <= eps for every j}, cut to clip, whatever the
// real numbers v_j in [lo[j], hi[j]], eps and the ends of clip are. Lower ends are
// rounded up and upper ends down; Lo[j] > Hi[j] says that no float64 is known to
// be inside in coordinate j, where the set is narrower than the enclosures of its
// numbers.
//
// If the enclosures cannot tell that the set has a point at all, because the ball
// and clip only just touch in some coordinate, InnerBall is the zero Box; so it is
// for what is no radius, clip interval or point. BallLinf says what is wrong with
// arguments. lo and hi must have the same length (it panics otherwise).
func InnerBall(lo, hi []float64, eps Decimal, clip *[2]Decimal) Box {
	if r, err := ballRegion(eps, clip); err == nil {
		return r.Inside(lo, hi)
	}
	return Box{}
}

// InnerBall is InnerBall around point i, 0 <= i < N (it panics otherwise).
func (p *Points) InnerBall(i int, eps Decimal, clip *[2]Decimal) Box {
	lo, hi := p.At(i)
	return InnerBall(lo, hi, eps, clip)
}

// ballRegion is the region of one radius for all inputs, and one interval.
func ballRegion(eps Decimal, clip *[2]Decimal) (Region, error) {
	if !(eps.Lo >= 0 && eps.Hi >= eps.Lo && eps.Hi <= math.MaxFloat64) {
		return Region{}, fmt.Errorf("eps %s is not a number >= 0; give a radius such as 0.05", eps)
	}
	r := Region{from: Vector{all: Decimal{0 - eps.Hi, 0 - eps.Lo}}, to: Vector{all: eps}, eps: &Vector{all: eps}}
	if clip != nil {
		if !(clip[0].Lo <= clip[1].Hi) {
			return Region{}, fmt.Errorf("clip interval from %s to %s is empty; give the lower end first", clip[0], clip[1])
		}
		r.clip = &[2]Vector{{all: clip[0]}, {all: clip[1]}}
	}
	return r, nil
}
