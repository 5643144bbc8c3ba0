package fallback_test

import (
	"math/rand/v2"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/internal/testkit/networktest"
	"psafe/internal/testscale"
)

// TestPoolBehindActivation: the lines of an activation on a pool's V and Above, put upon the pool's
// lines, enclose the activation of the greatest member by its star, for members in their intervals
// that keep to their leads: (42) of docs/theory.md.
func TestPoolBehindActivation(t *testing.T) {
	const window = 3
	dev := fallback.New(bound.Float64)
	rnd := rand.New(rand.NewPCG(15, 25))
	activations := networktest.Activations(0.25)
	seen, touched := 0, 0
	for range testscale.Cases(t, 3000) {
		var lo, hi, lead []float64
		for range window {
			l := rnd.NormFloat64()
			lo, hi, lead = append(lo, l), append(hi, l+rnd.ExpFloat64()), append(lead, rnd.NormFloat64()-0.5)
		}
		act := activations[rnd.IntN(len(activations))]
		p := poolLines(t, dev, act, lo, hi, lead)
		for range 20 {
			star := lo[p.star] + rnd.Float64()*(hi[p.star]-lo[p.star])
			most, possible := star, true
			for i := range window {
				if top := min(hi[i], star-lead[i]); i != p.star {
					possible = possible && top >= lo[i]
					most = max(most, top-float64(rnd.IntN(2))*rnd.Float64()*(top-lo[i]))
				}
			}
			if !possible {
				continue
			}
			seen++
			value, lower, upper := act.Approx(most), p.aLo*star+p.bLo, p.aHi*(p.s*star+p.t)+p.bHi
			if value < lower-1e-12 || value > upper+1e-12 {
				t.Fatalf("%v, members from %v to %v, leads %v: the pool is %v where the star is %v, its value %v is not from %v to %v", act, lo, hi, lead, most, star, value, lower, upper)
			}
			if upper-value < 1e-2 {
				touched++
			}
		}
	}
	if touched < seen/20 {
		t.Errorf("the upper line is near the value in %d of %d places only", touched, seen)
	}
}

// pooled are the star of a window and the lines of what is behind the pool.
type pooled struct {
	star                     int
	s, t, aLo, bLo, aHi, bHi float64
}

func poolLines(t *testing.T, dev bound.Device, act network.Activation, lo, hi, lead []float64) pooled {
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(v ...float64) bound.Array {
		a, err := dev.NewArray(len(v))
		check(err)
		check(dev.Write(a, v))
		return a
	}
	out := func() bound.Array { return in(0) }
	line := func() bound.Line { return bound.Line{A: out(), B: out()} }
	interval := func() bound.Interval { return bound.Interval{Lo: out(), Hi: out()} }
	number := func(a bound.Array) float64 {
		v := make([]float64, 1)
		check(dev.Read(v, a))
		return v[0]
	}
	n := len(lo)
	places := make([]float64, n)
	for i := range places {
		places[i] = float64(i)
	}
	star := bound.PoolStar{Slot: out(), Unit: out(), Pre: bound.Interval{Lo: in(lo...), Hi: in(hi...)}, Members: in(places...), P: 1, N: n, U: 1, Window: n}
	check(dev.Do(star))
	lines := bound.PoolLines{
		Lower: line(), Upper: line(), Err: out(), V: interval(), Above: interval(), Star: interval(), MagOut: out(),
		Pre: star.Pre, Mag: in(make([]float64, n)...), Members: star.Members, Slot: star.Slot, Lead: in(lead...), P: 1, N: n, U: 1, Window: n,
	}
	check(dev.Do(lines))
	below, _ := act.Kinked()
	relax := bound.Relax{
		Lo: line(), Hi: line(), Err: out(), Pre: lines.Star, Upper: lines.Above, Mag: lines.MagOut, N: 1,
		Activation: bound.Activation{Kind: act.Kind, SlopeLo: below, SlopeHi: below},
	}
	check(dev.Do(relax))
	return pooled{
		int(number(star.Slot)), number(lines.Upper.A), number(lines.Upper.B),
		number(relax.Lo.A), number(relax.Lo.B), number(relax.Hi.A), number(relax.Hi.B),
	}
}
