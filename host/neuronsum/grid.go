package neuronsum

import (
	"math"

	"psafe/host/property"
)

// Grid cuts one box by planes into cells. Its points are the corners of the cells; the bound has
// one event for each of them (docs/soundness.md, section on sums of neurons).
type Grid struct {
	Box property.Box
	// Cuts are, for each axis, the coordinates of the planes across it: strictly ascending,
	// strictly inside the box.
	Cuts [][]float64
}

// valid says that the planes are where they must be.
func (g *Grid) valid() bool {
	if len(g.Cuts) != len(g.Box.Lo) || len(g.Box.Lo) != len(g.Box.Hi) {
		return false
	}
	for j, lo := range g.Box.Lo {
		hi := g.Box.Hi[j]
		if !(lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) {
			return false
		}
		for _, x := range append(g.Cuts[j][:len(g.Cuts[j]):len(g.Cuts[j])], hi) {
			if len(g.Cuts[j]) > 0 && !(lo < x) {
				return false
			}
			lo = x
		}
	}
	return true
}

// planes are the coordinates of the points in axis j: one if the box has no width there.
func (g *Grid) planes(j int) []float64 {
	p := append([]float64{g.Box.Lo[j]}, g.Cuts[j]...)
	if g.Box.Hi[j] > g.Box.Lo[j] {
		p = append(p, g.Box.Hi[j])
	}
	return p
}

// Points is the number of points, at most maxPoints + 1.
func (g *Grid) Points() int {
	n := 1
	for j := range g.Cuts {
		if n *= len(g.planes(j)); n > maxPoints {
			return maxPoints + 1
		}
	}
	return n
}

// maxPoints bounds the points of a grid.
const maxPoints = 1 << 16

// gridPoint is the point x of a grid, and where the middles of the cells around it lie in each
// axis: at x + beside where there are cells on one side only (0 if the box has no width), at
// x + before or x + after, before < 0 < after, where there are cells on both sides.
type gridPoint struct {
	x                     []float64
	beside, before, after []ival
}

// twoSided says that there are cells on both sides of the point in axis j.
func (p *gridPoint) twoSided(j int) bool { return p.after[j].hi > 0 }

// points lists all points, the last axis running fastest. Offsets enclose halves of the exact
// differences of planes, so that all points of a cell speak of the same middle.
func (g *Grid) points() []gridPoint {
	all := []gridPoint{{}}
	for j := range g.Box.Lo {
		p := g.planes(j)
		half := func(k, from int) ival {
			return exactly(p[k]).minus(exactly(p[from])).times(exactly(0.5))
		}
		var more []gridPoint
		for _, q := range all {
			for k, x := range p {
				var beside, before, after ival
				switch {
				case len(p) == 1:
				case k == 0:
					beside = half(1, 0)
				case k == len(p)-1:
					beside = half(k-1, k)
				default:
					before, after = half(k-1, k), half(k+1, k)
				}
				more = append(more, gridPoint{append(q.x[:j:j], x), append(q.beside[:j:j], beside), append(q.before[:j:j], before), append(q.after[:j:j], after)})
			}
		}
		all = more
	}
	return all
}
