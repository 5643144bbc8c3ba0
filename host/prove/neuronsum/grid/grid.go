// Package grid bounds failure probabilities on large boxes, by sums over grids (docs/theory.md,
// sections 8.4 to 8.8).
//
// Files: grid.go has the points, sum.go adds up over them, law.go and bins.go have the laws of
// neurons and weights there, large.go what is split off, chance.go and walk.go the chances of kinks
// beside a point, choose.go, search.go, approx.go and largeapprox.go what planes and mixtures are
// chosen by.
package grid

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Grid cuts one box by planes into cells. Its points are the corners of the cells; the bound has
// one event for each of them (docs/theory.md (32)).
type Grid struct {
	Box property.Box
	// Cuts are, for each axis, the coordinates of the planes across it: strictly ascending,
	// strictly inside the box.
	Cuts [][]float64
	// CentreAt say, for each axis, where the points of cells are whose signs count there: at such a part
	// of the way from the lower to the upper plane. Half way if nil.
	CentreAt []float64
}

// centres are the coordinates in axis j of the points of cells, one between each two planes.
func (g *Grid) centres(j int) []float64 {
	f := 0.5
	if g.CentreAt != nil {
		f = g.CentreAt[j]
	}
	p := g.planes(j)
	c := make([]float64, len(p)-1)
	for k := range c {
		c[k] = min(max(p[k]+f*(p[k+1]-p[k]), p[k]), p[k+1])
	}
	return c
}

// valid reports whether planes are where they must be, and the points of cells inside them if there
// are planes to part them.
func (g *Grid) valid() bool {
	if len(g.Cuts) != len(g.Box.Lo) || len(g.Box.Lo) != len(g.Box.Hi) || g.CentreAt != nil && len(g.CentreAt) != len(g.Cuts) {
		return false
	}
	for j, lo := range g.Box.Lo {
		hi := g.Box.Hi[j]
		if !(lo <= hi && lo >= -math.MaxFloat64 && hi <= math.MaxFloat64) || g.CentreAt != nil && !(g.CentreAt[j] >= 0 && g.CentreAt[j] <= 1) {
			return false
		}
		cut := len(g.Cuts[j]) > 0
		if cut && !(lo < hi) {
			return false
		}
		p := g.planes(j)
		for k, c := range g.centres(j) {
			if !(p[k] <= c && c <= p[k+1]) || cut && (p[k] == c || c == p[k+1]) {
				return false
			}
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

// point is the point x of a grid, and where the points of the cells around it lie in each axis:
// at x + beside where there are cells on one side only (0 if the box has no width), at
// x + before or x + after, before < 0 < after, where there are cells on both sides.
type point struct {
	x                     []float64
	beside, before, after []arith.Interval
}

// twoSided reports whether there are cells on both sides of the point in axis j.
func (p *point) twoSided(j int) bool { return p.after[j].Hi > 0 }

// points lists all points, the last axis running fastest. Offsets enclose exact differences,
// so that all corners of a cell speak of the same point of it.
func (g *Grid) points() []point {
	all := []point{{}}
	for j := range g.Box.Lo {
		p := g.planes(j)
		c := g.centres(j)
		from := func(k, cell int) arith.Interval { return arith.Exactly(c[cell]).Minus(arith.Exactly(p[k])) }
		var more []point
		for _, q := range all {
			for k, x := range p {
				var beside, before, after arith.Interval
				switch {
				case len(p) == 1:
				case k == 0:
					beside = from(0, 0)
				case k == len(p)-1:
					beside = from(k, k-1)
				default:
					before, after = from(k, k-1), from(k, k)
				}
				more = append(more, point{append(q.x[:j:j], x), append(q.beside[:j:j], beside), append(q.before[:j:j], before), append(q.after[:j:j], after)})
			}
		}
		all = more
	}
	return all
}
