package bound

import "math"

// sharedArrays makes arrays of a self-check query and remembers the first error.
type sharedArrays struct {
	dev     Device
	numbers *selfNumbers
	made    []Array
	err     error
}

func (s *sharedArrays) release() {
	for _, a := range s.made {
		s.dev.Release(a)
	}
}

// of is an array of n numbers.
func (s *sharedArrays) of(n int, number func(i int) float64) Array {
	if s.err != nil {
		return nil
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = number(i)
	}
	var a Array
	if a, s.err = s.dev.NewArray(n); s.err != nil {
		return nil
	}
	s.made = append(s.made, a)
	s.err = s.dev.Write(a, v)
	return a
}

// out is an array that an operation writes.
func (s *sharedArrays) out(n int) Array { return s.of(n, func(int) float64 { return -1 }) }

// signed and positive are arrays of numbers in [-1, 1) and [0, 1].
func (s *sharedArrays) signed(n int) Array {
	return s.of(n, func(int) float64 { return s.numbers.number() })
}

func (s *sharedArrays) positive(n int) Array {
	return s.of(n, func(int) float64 { return math.Abs(s.numbers.number()) })
}

// interval has ends up to 1/4 apart.
func (s *sharedArrays) interval(n int) Interval {
	lo := make([]float64, n)
	return Interval{
		s.of(n, func(i int) float64 { lo[i] = s.numbers.number(); return lo[i] }),
		s.of(n, func(i int) float64 { return lo[i] + math.Abs(s.numbers.number())/4 }),
	}
}

// sharedWeights calls the operations of weights that are used in several places on a layer of
// more positions, taps and channels than a block has, with factors of one and of both signs, some
// of them infinite.
func sharedWeights(dev Device, numbers *selfNumbers) error {
	const items, inputs, rows, positions, taps, channels, in = 3, 2, 3, 37, 35, 34, 41
	s := &sharedArrays{dev: dev, numbers: numbers}
	defer s.release()
	round := dev.Precision().SharedRounding(positions, taps, channels)
	g := s.interval(items * taps * channels * rows)
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
	variance := SharedVar{Var: s.out(items * rows), VarIn: s.positive(items * rows), G: g, A: a,
		V: s.positive(taps * channels), VB: s.positive(channels), MaxSq: maxSq,
		P: items, R: rows, Cols: rows, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels, Round: round}
	box := ShareBox{W: s.out(items * taps * channels * rows), C: s.out(items * rows), CIn: s.signed(items * rows), G: g, A: a,
		Weight: s.interval(2 * taps * channels), Bias: s.interval(2 * channels), MaxSq: maxSq,
		P: items, PerBox: 2, R: rows, In: in, Inputs: inputs, Positions: positions, K: taps, Channels: channels, Round: round}
	through := ShareRows{S: s.out(items * positions * taps * rows), A: a, W: box.W,
		P: items, R: rows, Positions: positions, K: taps, Channels: channels}
	place := func(n int) func(int) float64 { // of n, or -1
		return func(int) float64 { return math.Floor((numbers.number()+1)/2*float64(n+1)) - 1 }
	}
	position := func(int) float64 { return math.Floor((numbers.number() + 1) / 2 * positions) }
	unit := s.of(rows, func(r int) float64 { return position(r)*channels + float64(r) })
	pair := PairNoise{Sum: s.out(items * rows), SumIn: s.positive(items * rows), V: s.positive(2 * taps * channels), Z: s.interval(inputs * in),
		Taps: s.of(positions*taps, place(in)), Unit: unit,
		Other: s.of(items*rows, func(i int) float64 { return position(i)*channels + float64(i%rows) }),
		P:     items, PerBox: 2, Inputs: inputs, R: rows, In: in, Positions: positions, K: taps, Channels: channels,
		Round: dev.Precision().PairRounding(taps)}
	for _, call := range []func() error{
		func() error { return dev.Do(variance) },
		func() error { return dev.Do(box) },
		func() error { return dev.Do(through) },
		func() error { return dev.Do(pair) },
		func() error { pair.Squared, pair.SumIn = true, nil; return dev.Do(pair) },
		func() error { variance.VarIn, variance.Cols = nil, 1; return dev.Do(variance) },
	} {
		if s.err == nil {
			s.err = call()
		}
	}
	return s.err
}
