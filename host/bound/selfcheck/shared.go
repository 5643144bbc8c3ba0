package selfcheck

import (
	"math"

	"psafe/host/bound"
)

// near is an interval with ends up to 1/4 apart.
func (s *arrays) near(n int) bound.Interval {
	lo := make([]float64, n)
	return bound.Interval{
		Lo: s.of(n, func(i int) float64 { lo[i] = s.number(); return lo[i] }),
		Hi: s.of(n, func(i int) float64 { return lo[i] + math.Abs(s.number())/4 }),
	}
}

// sharedWeights calls the operations of weights that are used in several places on a layer of
// more positions, taps and channels than a block has, with factors of one and of both signs, some
// of them infinite.
func sharedWeights(dev bound.Device, numbers *numbers) error {
	const items, inputs, rows, positions, taps, channels, in = 3, 2, 3, 37, 35, 34, 41
	s := &arrays{dev: dev, numbers: numbers}
	defer s.release()
	round := dev.Precision().SharedRounding(positions, taps, channels)
	g := s.near(items * taps * channels * rows)
	// The greatest square of each input is its last, and that of the second much larger, so that it
	// shows which is taken.
	maxSq := s.of(inputs*in, func(i int) float64 {
		x := math.Abs(numbers.number())
		if i%in == in-1 {
			x = 2
		}
		return math.Ldexp(x, 20*(i/in))
	})
	a := s.of(items*positions*channels*rows, func(i int) float64 {
		if i == positions*channels*rows+3 {
			return math.Inf(1)
		}
		return numbers.number() / 8
	})
	variance := bound.SharedVar{Var: s.out(items * rows), VarIn: s.positive(items * rows), G: g, A: a,
		V: s.positive(taps * channels), VB: s.positive(channels), MaxSq: maxSq,
		P: items, R: rows, Cols: rows, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels, Round: round}
	box := bound.ShareBox{W: s.out(items * taps * channels * rows), C: s.out(items * rows), CIn: s.signed(items * rows), G: g, A: a,
		Weight: s.near(2 * taps * channels), Bias: s.near(2 * channels), MaxSq: maxSq,
		P: items, PerBox: 2, R: rows, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels, Round: round}
	through := bound.ShareRows{S: s.out(items * positions * taps * rows), A: a, W: box.W,
		P: items, R: rows, Positions: positions, K: taps, Channels: channels}
	place := func(n int) func(int) float64 { // of n, or -1
		return func(int) float64 { return math.Floor((numbers.number()+1)/2*float64(n+1)) - 1 }
	}
	position := func(int) float64 { return math.Floor((numbers.number() + 1) / 2 * positions) }
	unit := s.of(rows, func(r int) float64 { return position(r)*channels + float64(r) })
	pair := bound.PairNoise{Sum: s.out(items * rows), SumIn: s.positive(items * rows), V: s.positive(2 * taps * channels), Z: s.near(inputs * in),
		Taps: s.of(positions*taps, place(in)), Unit: unit,
		Other: s.of(items*rows, func(i int) float64 { return position(i)*channels + float64(i%rows) }),
		P:     items, PerBox: 2, Inputs: inputs, R: rows, In: in, Positions: positions, K: taps, Channels: channels,
		Round: dev.Precision().PairRounding(taps)}
	for _, op := range []bound.Operation{variance, box, through, pair} {
		s.do(op)
	}
	pair.Squared, pair.SumIn = true, nil
	s.do(pair)
	variance.VarIn, variance.Cols = nil, 1
	s.do(variance)
	return s.err
}
