package selfcheck

import (
	"math"

	"psafe/host/bound"
	"psafe/host/model/network"
)

// pooled runs the operations of max pools: on windows that overlap and on ragged ones, with
// members that reach beyond the star, beside it and nowhere near it, known differences and
// unknown ones, infinite ends, and with activations behind them.
func pooled(dev bound.Device) error {
	const items, units, window, members = 3, 37, 4, 41
	s := arrays{dev: dev, numbers: &numbers{seed: 1 << 21}}
	defer s.release()
	const n = items * members
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range lo {
		lo[i] = s.number()
		hi[i] = lo[i] + math.Abs(s.number())
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
	lead := s.of(items*units*window, func(i int) float64 {
		if x := math.Abs(s.number()); i%11 != 0 {
			return 0.25 - x
		}
		return math.Inf(-1)
	})
	pre, at := bound.Interval{Lo: s.in(lo), Hi: s.in(hi)}, s.in(places)
	star := bound.PoolStar{Slot: s.out(items * units), Unit: s.out(items * units), Pre: pre, Members: at, P: items, N: members, U: units, Window: window}
	lines := bound.PoolLines{
		Pre: pre, Members: at, Slot: star.Slot, Mag: s.positive(n), Radius: s.positive(n), Lead: lead,
		Greatest: true, P: items, N: members, U: units, Window: window, Charge: dev.Precision().RelaxCharge(units),
	}
	for range 2 {
		s.do(star)
		lines.Lower, lines.Upper, lines.Err = s.line(items*units), s.line(items*units), s.out(items*units)
		lines.V, lines.Above, lines.MagOut = s.interval(items*units), s.interval(items*units), s.out(items*units)
		lines.Star = s.interval(items * units)
		if lines.Radius != nil {
			lines.RadiusOut = s.out(items * units)
		}
		s.do(lines)
		for _, kind := range []network.Kind{network.ReLU, network.Tanh} {
			s.do(bound.Relax{
				Lo: s.line(items * units), Hi: s.line(items * units), Err: s.out(items * units), Pre: lines.Star, Upper: lines.Above,
				Mag: lines.MagOut, N: items * units, Activation: bound.Activation{Kind: kind}, Charge: lines.Charge,
			})
		}
		// Once more without what is optional.
		lines.Radius, lines.RadiusOut, lines.Lead, lines.Greatest = nil, nil, nil, false
	}
	return s.err
}
