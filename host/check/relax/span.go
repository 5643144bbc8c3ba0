package relax

import "psafe/host/arith"

// Span is a list of intervals: coordinate j is in [Lo[j], Hi[j]].
type Span struct{ Lo, Hi []float64 }

// NewSpan is n intervals [0, 0].
func NewSpan(n int) Span { return Span{make([]float64, n), make([]float64, n)} }

// Abs is the greatest |t| for t in [lo, hi].
func Abs(lo, hi float64) float64 { return max(-lo, hi) }

// Chord is a line a z + b at or below s z for all s in [sLo, sHi] and z in [zLo, zHi]. Where
// z changes sign, that is the chord of min(sLo z, sHi z), which is concave, so that any line
// below it at both ends will do.
func Chord(sLo, sHi, zLo, zHi float64) (a, b float64) {
	switch {
	case zLo >= 0:
		return sLo, 0
	case zHi <= 0:
		return sHi, 0
	}
	a = (float64(sLo*zHi) - float64(sHi*zLo)) / (zHi - zLo)
	if !(a >= sLo) {
		a = sLo
	} else if a > sHi {
		a = sHi
	}
	atLo := arith.Down(float64(arith.Up(sHi-a) * zLo))
	atHi := arith.Down(float64(arith.Down(sLo-a) * zHi))
	return a, min(atLo, atHi)
}

// Dot adds a_i w_i to s for the i listed in at.
func Dot(s arith.Sum, a, w []float64, at []int) arith.Sum {
	w = w[:len(a)]
	for _, i := range at {
		s = s.With(a[i], w[i])
	}
	return s
}

// IntervalLo is a lower bound of s z + c.
func IntervalLo(s, z Span, c arith.Sum) float64 {
	addLeast(&c, s, z)
	return c.Lo()
}

// addLeast adds the least of s z to c.
func addLeast(c *arith.Sum, s, z Span) {
	for j, lo := range s.Lo {
		if hi := s.Hi[j]; lo != 0 || hi != 0 {
			c.Add(arith.LeastProduct(lo, hi, z.Lo[j], z.Hi[j]))
		}
	}
}
