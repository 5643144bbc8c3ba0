package devicetest

import (
	"math"
	"math/big"

	"psafe/host/bound"
	"psafe/host/model/network"
)

type activateCase struct {
	bound.Activate
	pre ends
}

// sigmoidBudget is how far the bounds of an activation may be from its exact
// value, in units of u: sixteen for the sigmoid as fallback/sigmoid.go proves it,
// twice that for tanh, and a few roundings.
const sigmoidBudget = 40

func drawActivate(g *gen) opCase {
	c := &activateCase{Activate: bound.Activate{N: g.length(), Activation: g.activation()}}
	c.pre = g.preActivations(c.N, c.Activation.Kind)
	return c
}

// activation draws one; a leaky ReLU's slope is an interval, a point often.
func (g *gen) activation() bound.Activation {
	switch kind := network.Kind(g.IntN(network.Kinds)); kind {
	case network.Identity:
		return bound.Activation{Kind: kind, SlopeLo: 1, SlopeHi: 1}
	case network.LeakyReLU:
		slope := []float64{0.1, 0.01, 0.5, 0x1p-40, 1e-60, g.Float64(), 1 - 0x1p-53}[g.IntN(7)]
		return bound.Activation{Kind: kind, SlopeLo: g.p.RoundLo(slope), SlopeHi: g.p.RoundHi(slope)}
	case network.ELU:
		slope := []float64{1, 1, 0.1, 0.5, 0x1p-40, g.Float64(), 1 - 0x1p-53}[g.IntN(7)]
		return bound.Activation{Kind: kind, SlopeLo: g.p.RoundLo(slope), SlopeHi: g.p.RoundHi(slope)}
	default:
		return bound.Activation{Kind: kind}
	}
}

// smooth reports whether the activation is made of exponentials.
func smooth(kind network.Kind) bool { return saturates(kind) || convex(kind) }

// saturates reports whether its values are in [-1, 1].
func saturates(kind network.Kind) bool { return kind == network.Tanh || kind == network.Sigmoid }

// convex reports whether it bends one way and grows without an end.
func convex(kind network.Kind) bool { return kind == network.Softplus || kind == network.ELU }

// preActivations draws intervals; for smooth activations many where these bend.
func (g *gen) preActivations(n int, kind network.Kind) ends {
	if !smooth(kind) || g.oneIn(3) {
		e := g.intervals(n)
		if g.oneIn(4) {
			g.unbound(&e)
		}
		return e
	}
	var e ends
	for range n {
		centre, radius := 8*g.NormFloat64(), math.Ldexp(g.Float64(), g.IntN(30)-26)
		switch g.IntN(8) {
		case 0:
			centre = 0
		case 1: // touches 0
			centre = radius * g.sign()
		case 2:
			radius = 0
		case 3: // near where exp(-t) vanishes
			centre = g.sign() * []float64{16, 17, 37, 80, 87, 89, 104, 700, 709, 746}[g.IntN(10)] * (1 + g.Float64()/64)
		case 4:
			radius *= 100
		}
		e.add(g.p.RoundLo(centre-radius), g.p.RoundHi(centre+radius))
	}
	return e
}

func (c *activateCase) call(e *env) error {
	a := c.Activate
	a.Z, a.Pre = e.outPair("Z", a.N), e.pair("Pre", c.pre)
	if e.err != nil {
		return nil
	}
	return e.dev.Do(a)
}

func (c *activateCase) check(k *checker, out []output) {
	for i := range c.N {
		zLo, zHi := out[0].v[i], out[1].v[i]
		c.checkEnd(k, "Z.Lo", i, c.pre.lo[i], zLo, k.lower)
		c.checkEnd(k, "Z.Hi", i, c.pre.hi[i], zHi, k.upper)
		if !(zLo <= zHi) {
			k.failf("Z[%d] is [%x, %x]", i, zLo, zHi)
		}
		switch {
		case (network.Activation{Kind: c.Activation.Kind}).NonNeg() && !(zLo >= 0):
			k.failf("Z.Lo[%d] is %x: the values are never negative, and other operations rely on it", i, zLo)
		case saturates(c.Activation.Kind) && (zLo < -1 || zHi > 1):
			k.failf("Z[%d] is [%x, %x], which is more than the range", i, zLo, zHi)
		}
	}
}

// checkEnd checks one end, for both ends of the slope's interval.
func (c *activateCase) checkEnd(k *checker, what string, i int, t, got float64, side func(string, int, float64, num)) {
	if math.IsInf(t, 0) && (c.Activation.Kind == network.Identity || c.Activation.Kind == network.LeakyReLU || (c.Activation.Kind == network.ReLU || convex(c.Activation.Kind)) && t > 0) {
		if c.Activation.Kind != network.LeakyReLU && got != t {
			k.failf("%s[%d] is %v for pre-activation %v", what, i, got, t)
		}
		return
	}
	for _, slope := range []float64{c.Activation.SlopeLo, c.Activation.SlopeHi} {
		v := ballOf(exact(t)).activate(c.Activation.Kind, point(slope))
		// The side that lets a bound pass if the ball cannot tell; it is a point
		// where the activation is made of lines.
		side(what, i, got, exactOf(v.hi, v.lo, what))
		budget := add(mul(k.ulps(8), absOf(exactBall(v.lo))), k.etas(8))
		if smooth(c.Activation.Kind) {
			budget = add(budget, k.ulps(sigmoidBudget))
		}
		if slope == c.Activation.SlopeHi && !k.far(absOf(exact(finite(t)))) {
			budget = add(budget, mul(absOf(exact(finite(t))), exact(c.Activation.SlopeHi-c.Activation.SlopeLo)))
			k.near(what, i, got, exactBall(v.lo), budget)
		}
	}
}

func finite(t float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	return t
}

// exactOf picks the end of a ball with which to compare a bound: the upper end for
// a lower bound, the lower end for an upper bound.
func exactOf(hi, lo *big.Float, what string) num {
	if what == "Z.Lo" {
		return exactBall(hi)
	}
	return exactBall(lo)
}

func exactBall(x *big.Float) num { return exactly(newNum().Set(x)) }
