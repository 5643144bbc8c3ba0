package property

import (
	"fmt"
	"math"
)

// Ball is the set of x with sum_j (|x_j - v_j| / r_j)^Norm <= 1: the L1 ball (Norm 1) or the L2 ball
// (Norm 2) around v, whose half-axes r_j are all the same unless inputs were normalised or have radii of
// their own. v_j is a real number in [CentreLo[j], CentreHi[j]], r_j one in [RadiusLo[j], RadiusHi[j]].
// Where RadiusHi[j] is 0 the input does not move: x_j = v_j.
type Ball struct {
	Norm                                   int
	CentreLo, CentreHi, RadiusLo, RadiusHi []float64
}

// parseNorm reads the word of a norm: 0 stands for the box.
func parseNorm(word string) (int, error) {
	switch word {
	case "", "inf":
		return 0, nil
	case "1", "2":
		return int(word[0] - '0'), nil
	}
	return 0, fmt.Errorf("--norm %.40q is none of inf, 2 and 1: write --norm 2 for the ball of the L2 norm, or leave it out for a box", word)
}

// Round reports whether T is a ball, not a box.
func (r *Region) Round() bool { return r.norm != 0 }

// ballOf is the ball around a point, whose coordinates are real numbers in [lo[j], hi[j]]; nil where the
// region is a box, or the point alone.
func (r *Region) ballOf(lo, hi []float64) *Ball {
	if r.norm == 0 {
		return nil
	}
	b := &Ball{Norm: r.norm, CentreLo: lo, CentreHi: hi, RadiusLo: make([]float64, len(lo)), RadiusHi: make([]float64, len(lo))}
	moves := false
	for j := range lo {
		_, to := r.offsets(j)
		b.RadiusLo[j], b.RadiusHi[j] = to.Lo, to.Hi
		moves = moves || to.Hi > 0
	}
	if !moves {
		return nil
	}
	return b
}

// RegionOf gives the task the region around point i, 0 <= i < N (it panics otherwise): T, Inner and Ball.
// Errors name the file and the point.
func (p *Points) RegionOf(t *Task, i int, r *Region) error {
	box, err := p.Around(i, r)
	if err != nil {
		return err
	}
	lo, hi := p.At(i)
	t.T, t.Inner, t.Ball = []Box{box}, []Box{p.Inside(i, r)}, r.ballOf(lo, hi)
	return nil
}

// ball takes a ball of raw inputs to one of the network's.
func (n *Norm) ball(b *Ball) *Ball {
	if b == nil {
		return nil
	}
	k := len(b.CentreLo)
	out := &Ball{Norm: b.Norm, CentreLo: make([]float64, k), CentreHi: make([]float64, k), RadiusLo: make([]float64, k), RadiusHi: make([]float64, k)}
	for j := range b.CentreLo {
		out.CentreLo[j], out.CentreHi[j] = n.lower(j, b.CentreLo[j]), n.upper(j, b.CentreHi[j])
		std := n.std.at(j)
		out.RadiusLo[j], out.RadiusHi[j] = max(0, divDown(b.RadiusLo[j], std.Hi)), divUp(b.RadiusHi[j], std.Lo)
	}
	return out
}

// divUp is a float64 >= a/b for b > 0.
func divUp(a, b float64) float64 { return 0 - divDown(-a, b) }

// mulUp is a float64 >= a*b.
func mulUp(a, b float64) float64 { return 0 - mulDown(-a, b) }

// unmoved is how many times its enclosure an input that does not move gets as its half-axis.
const unmoved = 0x1p30

// Outer is a ball with a float64 centre c in the box, which contains all points of b that are in the box:
//
//	sum_j (|x_j - c_j| / radius_j)^Norm <= 1,    and x_j = c_j where radius_j = 0
//
// With d_j >= |v_j - c_j| and half-axes r_j, x - c = (x - v) + (v - c) is at most 1 + sum_j d_j/r_j in the
// norm of b, by the triangle inequality and as the L1 norm is above the L2 norm. So the half-axes are
// r_j (1 + sum d/r), rounded up. An input that does not move, of which only an enclosure is known, takes
// part with r_j = 2^30 d_j.
func (b *Ball) Outer(box Box) (centre, radius []float64) {
	n := len(b.CentreLo)
	centre, radius = make([]float64, n), make([]float64, n)
	more := 0.0
	for j := range centre {
		c := min(max(Middle(b.CentreLo[j], b.CentreHi[j]), box.Lo[j]), box.Hi[j])
		d, r := max(addUp(b.CentreHi[j], -c), addUp(c, -b.CentreLo[j])), b.RadiusHi[j]
		if d > 0 && r == 0 {
			r = d * unmoved
		}
		if d > 0 {
			more = addUp(more, divUp(d, r))
		}
		centre[j], radius[j] = c, r
	}
	if more > 0 {
		by := addUp(1, more)
		for j, r := range radius {
			radius[j] = mulUp(r, by)
		}
	}
	return centre, radius
}

// lengthUp bounds sum_j (|x_j - v_j| / r_j)^Norm from above, whatever the centre and the half-axes are:
// at most 1 says that x is surely in the ball. Inputs that do not move are left out.
func (b *Ball) lengthUp(x []float64) float64 {
	sum := 0.0
	for j, v := range x {
		if b.RadiusHi[j] == 0 {
			continue
		}
		d := max(addUp(v, -b.CentreLo[j]), addUp(b.CentreHi[j], -v))
		if d > 0 && !(b.RadiusLo[j] > 0) {
			return math.Inf(1)
		} else if d > 0 {
			d = divUp(d, b.RadiusLo[j])
		}
		if b.Norm == 2 {
			d = mulUp(d, d)
		}
		sum = addUp(sum, d)
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}

// LengthApprox is about what lengthUp bounds, to the power of 1/Norm: 1 on the face of the ball.
func (b *Ball) LengthApprox(x []float64) float64 {
	length := b.lengthUp(x)
	if b.Norm == 2 {
		return math.Sqrt(length)
	}
	return length
}

// CentreApprox is about the centre.
func (b *Ball) CentreApprox() []float64 {
	return Box{Lo: b.CentreLo, Hi: b.CentreHi}.CentreApprox()
}

// pullIn draws a point of the box inner, nearly as little as it takes, to one that is surely in the ball
// too; false if none is found. Inputs that do not move stay as they are.
func (b *Ball) pullIn(x []float64, inner Box) bool {
	centre, less := b.CentreApprox(), 1-0x1p-30
	for range 4 {
		length := b.LengthApprox(x)
		if b.lengthUp(x) <= 1 {
			return true
		}
		for j, c := range centre {
			if b.RadiusHi[j] > 0 {
				x[j] = min(max(c+float64((x[j]-c)*(less/length)), inner.Lo[j]), inner.Hi[j])
			}
		}
		less *= 1 - 0x1p-12
	}
	return b.lengthUp(x) <= 1
}

// checkBall is the part of Check on Ball.
func (t *Task) checkBall(inputs int) error {
	b := t.Ball
	switch {
	case b == nil:
		return nil
	case b.Norm != 1 && b.Norm != 2:
		return fmt.Errorf("has a ball of norm %d; give 1 or 2", b.Norm)
	case len(t.T) != 1:
		return fmt.Errorf("has a ball and %d boxes; give the one box around it", len(t.T))
	}
	for _, list := range [][]float64{b.CentreLo, b.CentreHi, b.RadiusLo, b.RadiusHi} {
		if len(list) != inputs {
			return fmt.Errorf("its ball has %d coordinates, the network has %d inputs; give one for each", len(list), inputs)
		}
	}
	for j := range inputs {
		if !ordered(b.CentreLo[j], b.CentreHi[j]) || !ordered(b.RadiusLo[j], b.RadiusHi[j]) || b.RadiusLo[j] < 0 {
			return fmt.Errorf("its ball: coordinate %d: centre %v to %v and radius %v to %v are no finite numbers, the radius at least 0; mend them",
				j, b.CentreLo[j], b.CentreHi[j], b.RadiusLo[j], b.RadiusHi[j])
		}
	}
	return nil
}
