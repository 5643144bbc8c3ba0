package selfcheck

import (
	"math"

	"psafe/host/arith"
	"psafe/host/bound"
)

// numbers are multiples of 1/64 in [-1, 1), the same everywhere.
type numbers struct{ seed, next uint32 }

func (n *numbers) number() float64 {
	n.next++
	return float64(int32(arith.Philox([4]uint32{n.next}, [2]uint32{n.seed})[0])>>25) / 64
}

// arrays are those of a query that calls operations by themselves; its first error stays.
type arrays struct {
	dev bound.Device
	*numbers
	held []bound.Array
	err  error
}

func (s *arrays) release() {
	for _, a := range s.held {
		s.dev.Release(a)
	}
	s.held = nil
}

func (s *arrays) do(op bound.Operation) {
	if s.err == nil {
		s.err = s.dev.Do(op)
	}
}

// out is an array to be written.
func (s *arrays) out(n int) (a bound.Array) {
	if s.err == nil {
		a, s.err = s.dev.NewArray(n)
		s.held = append(s.held, a)
	}
	return a
}

// in is an array of these numbers.
func (s *arrays) in(v []float64) bound.Array {
	a := s.out(len(v))
	if s.err == nil {
		s.err = s.dev.Write(a, v)
	}
	return a
}

// of is an array of n numbers.
func (s *arrays) of(n int, number func(i int) float64) bound.Array {
	v := make([]float64, n)
	for i := range v {
		v[i] = number(i)
	}
	return s.in(v)
}

func (s *arrays) interval(n int) bound.Interval { return bound.Interval{Lo: s.out(n), Hi: s.out(n)} }
func (s *arrays) line(n int) bound.Line         { return bound.Line{A: s.out(n), B: s.out(n)} }

// signed and positive are arrays of numbers in [-1, 1) and [0, 1].
func (s *arrays) signed(n int) bound.Array {
	return s.of(n, func(int) float64 { return s.number() })
}

func (s *arrays) positive(n int) bound.Array {
	return s.of(n, func(int) float64 { return math.Abs(s.number()) })
}
