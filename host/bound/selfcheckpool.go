package bound

import (
	"math"

	"psafe/host/model/network"
)

// pooled runs the operations of max pools: on windows that overlap and on ragged ones, with
// members that reach beyond the star, beside it and nowhere near it, known differences and
// unknown ones, infinite ends, and with activations behind them.
func pooled(dev Device) error {
	const items, units, window, members = 3, 37, 4, 41
	s := selfArrays{dev: dev, numbers: selfNumbers{seed: 1 << 21}}
	defer s.release()
	const n = items * members
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range lo {
		lo[i] = s.numbers.number()
		hi[i] = lo[i] + math.Abs(s.numbers.number())
		if i%7 == 0 {
			hi[i] = lo[i]
		}
	}
	lo[5], hi[7], lo[50], hi[50] = math.Inf(-1), math.Inf(1), math.Inf(-1), math.Inf(1)
	places := make([]float64, units*window)
	for i := range places {
		places[i] = float64((i/window + i%window*i%members) % members)
		if i/window%5 == 3 && i%window > 1 {
			places[i] = -1
		}
	}
	lead := s.magnitudes(items * units * window)
	for i := range lead {
		lead[i] = 0.25 - lead[i]
		if i%11 == 0 {
			lead[i] = math.Inf(-1)
		}
	}
	pre, at := Interval{s.in(lo), s.in(hi)}, s.in(places)
	star := PoolStar{Slot: s.out(items * units), Unit: s.out(items * units), Pre: pre, Members: at, P: items, N: members, U: units, Window: window}
	lines := PoolLines{
		Pre: pre, Members: at, Slot: star.Slot, Mag: s.in(s.magnitudes(n)), Radius: s.in(s.magnitudes(n)), Lead: s.in(lead),
		Greatest: true, P: items, N: members, U: units, Window: window, Charge: dev.Precision().RelaxCharge(units),
	}
	for range 2 {
		if s.err == nil {
			s.err = dev.Do(star)
		}
		lines.Lower, lines.Upper, lines.Err = s.line(items*units), s.line(items*units), s.out(items*units)
		lines.V, lines.Above, lines.MagOut = s.interval(items*units), s.interval(items*units), s.out(items*units)
		lines.Star = s.interval(items * units)
		if lines.Radius != nil {
			lines.RadiusOut = s.out(items * units)
		}
		if s.err == nil {
			s.err = dev.Do(lines)
		}
		for _, kind := range []network.Kind{network.ReLU, network.Tanh} {
			r := Relax{
				Lo: s.line(items * units), Hi: s.line(items * units), Err: s.out(items * units), Pre: lines.Star, Upper: lines.Above,
				Mag: lines.MagOut, N: items * units, Activation: Activation{Kind: kind}, Charge: lines.Charge,
			}
			if s.err == nil {
				s.err = dev.Do(r)
			}
		}
		// Once more without what is optional.
		lines.Radius, lines.RadiusOut, lines.Lead, lines.Greatest = nil, nil, nil, false
	}
	return s.err
}

// selfArrays are the arrays of a query that calls operations by themselves; its first error stays.
type selfArrays struct {
	dev     Device
	numbers selfNumbers
	held    []Array
	err     error
}

func (s *selfArrays) release() {
	for _, a := range s.held {
		s.dev.Release(a)
	}
}

func (s *selfArrays) out(n int) Array {
	if s.err != nil {
		return nil
	}
	a, err := s.dev.NewArray(n)
	s.held, s.err = append(s.held, a), err
	return a
}

func (s *selfArrays) in(v []float64) Array {
	a := s.out(len(v))
	if s.err == nil {
		s.err = s.dev.Write(a, v)
	}
	return a
}

func (s *selfArrays) interval(n int) Interval { return Interval{s.out(n), s.out(n)} }
func (s *selfArrays) line(n int) Line         { return Line{s.out(n), s.out(n)} }

func (s *selfArrays) magnitudes(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Abs(s.numbers.number())
	}
	return v
}
