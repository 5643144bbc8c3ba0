package relax

import (
	"math"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Slopes hold what is known of an input z_j of the last layer on a cell: z_j is at least lower +
// Below (x - centre) and at most upper + above (x - centre), and in [lo, hi].
type Slopes struct {
	Lower, Upper float64
	Below, Above []float64
	Lo, Hi       float64
}

// SlopesInto returns what is known of each number that feeds layer k.
func (p *Pass) SlopesInto(k int, centre []float64) []Slopes {
	list, z := make([]Slopes, p.Layers[k].In), p.Into(k)
	for j := range list {
		s := &list[j]
		s.Lower, s.Below, s.Lo = p.lineOf(k, j, 1, centre)
		s.Upper, s.Above, s.Hi = p.lineOf(k, j, -1, centre)
		s.Upper, s.Hi = -s.Upper, -s.Hi
		for i, a := range s.Above {
			s.Above[i] = 0 - a
		}
		s.Lo, s.Hi = max(s.Lo, z.Lo[j]), min(s.Hi, z.Hi[j])
	}
	return list
}

// lineOf is a function of x below sign z_j, z being what feeds layer k: at + slope (x - centre); and a
// lower bound of sign z_j.
func (p *Pass) lineOf(k, j int, sign float64, centre []float64) (at float64, slope []float64, lo float64) {
	row := NewSpan(p.Layers[k].In)
	row.Lo[j], row.Hi[j] = sign, sign
	return p.LineBelow(k, row, arith.Sum{}, centre)
}

// LineBelow is a function of x below row z + c, z being what feeds layer k, and a lower bound of it.
func (p *Pass) LineBelow(k int, row Span, c arith.Sum, centre []float64) (at float64, slope []float64, lo float64) {
	slope = make([]float64, len(centre))
	lo = p.Down(k, row, c, Way{Arrive: func(s Span, c arith.Sum) { at = p.LineAt(s, c, centre, slope) }})
	return at, slope, lo
}

// LineAt is s x + c at its least for the inputs x of the pass, as at + slope (x - centre).
func (p *Pass) LineAt(s Span, c arith.Sum, centre, slope []float64) (at float64) {
	for i := range slope {
		if s.Lo == nil || s.Lo[i] == 0 && s.Hi[i] == 0 {
			continue
		}
		var more float64
		if slope[i] = s.Lo[i]; s.Lo[i] != s.Hi[i] {
			slope[i], more = Chord(s.Lo[i], s.Hi[i], p.X.Lo[i], p.X.Hi[i])
		}
		c.Plus(more)
		c.Add(slope[i], centre[i])
	}
	return c.Lo()
}

// Chosen are the lines that a row takes: z_j is in at_j + slope_j (x - centre) +- half_j, and within
// reach_j of at_j.
type Chosen struct {
	At, Half, Reach []float64
	Slope           [][]float64
}

// NewChosen is of so many numbers, of which no line is taken yet.
func NewChosen(n int) Chosen {
	return Chosen{make([]float64, n), make([]float64, n), make([]float64, n), make([][]float64, n)}
}

// Take takes what the lower line says of z_j, or the upper.
func (c *Chosen) Take(j int, s *Slopes, radius []float64, below bool) {
	var apart, rises, falls arith.Sum
	for k, radius := range radius {
		if radius != 0 {
			apart.Add(arith.SumUp(max(s.Above[k], s.Below[k]), -min(s.Above[k], s.Below[k])), radius)
			rises.Add(math.Abs(s.Below[k]), radius)
			falls.Add(math.Abs(s.Above[k]), radius)
		}
	}
	apart.Plus(s.Upper)
	apart.Plus(-s.Lower)
	gap, low, high := apart.Hi(), 0.0, 0.0
	varies := rises
	if below {
		end := rises
		end.Plus(s.Hi)
		end.Plus(-s.Lower)
		gap = max(0, min(gap, end.Hi()))
		low, high, c.Slope[j] = s.Lower, arith.SumUp(s.Lower, gap), s.Below
	} else {
		end := falls
		end.Plus(s.Upper)
		end.Plus(-s.Lo)
		gap, varies = max(0, min(gap, end.Hi())), falls
		low, high, c.Slope[j] = arith.SumDown(s.Upper, -gap), s.Upper, s.Above
	}
	c.At[j] = arith.Middle(low, high)
	c.Half[j] = max(arith.SumUp(high, -c.At[j]), arith.SumUp(c.At[j], -low))
	varies.Plus(c.Half[j])
	c.Reach[j] = max(0, min(varies.Hi(), max(arith.SumUp(s.Hi, -c.At[j]), arith.SumUp(c.At[j], -s.Lo))))
}

// CentresOf is a point of a box: any will do as the centre.
func CentresOf(cell property.Box) []float64 {
	c := make([]float64, len(cell.Lo))
	for j := range c {
		c[j] = arith.Middle(cell.Lo[j], cell.Hi[j])
	}
	return c
}

// RadiusOf returns how far the points of a box are at most from its centre, in each coordinate.
func RadiusOf(cell property.Box) []float64 {
	radius := make([]float64, len(cell.Lo))
	for j, lo := range cell.Lo {
		if hi := cell.Hi[j]; lo != hi {
			c := arith.Middle(lo, hi)
			radius[j] = max(arith.SumUp(hi, -c), arith.SumUp(c, -lo))
		}
	}
	return radius
}
