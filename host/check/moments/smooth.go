package moments

import (
	"math"

	"psafe/host/arith"
	"psafe/host/check/curves"
	"psafe/host/model/network"
)

// Activations that are no ReLU: exp(-al z + b z^2/2), z = s(t), is bounded on stretches of t (docs/theory.md, section 7.7).

const (
	// lastStep is from where on, on both sides, s is taken for a line and something that is small.
	lastStep = 30
	// leastStep is how narrow stretches may be.
	leastStep = 0x1p-6
	// within is how many deviations from the mean stretches are narrow.
	within = 7
)

// plain reports whether an activation is ReLU.
func plain(a network.Activation) bool {
	_, kinked := a.Kinked()
	return kinked && a.DeadBelow()
}

// served reports whether moments of an activation are known: of what is below t for t < 0 and t above, and of smooth
// ones.
func served(a network.Activation) bool {
	_, kinked := a.Kinked()
	return kinked || curves.Smooth(a)
}

// moment is log E exp(-al z + b z^2/2) of a neuron about n, as a surface; by stretches that are at most about tol above.
func moment(a network.Activation, al arith.Interval, b float64, n bounds, tol float64) surface {
	if plain(a) {
		return relu{al.Lo, b}
	}
	return stretches(a, al, b, n, tol)
}

func stretches(a network.Activation, al arith.Interval, b float64, n bounds, tol float64) *response {
	f := &weighed{a: a, al: al, b: arith.Exactly(b)}
	if below, kinked := a.Kinked(); kinked {
		slope, square := arith.Exactly(below).Times(al).Negated(), arith.Exactly(below).Square()
		return &response{convex: al.Hi <= 0 && b >= 0, parts: []stretch{
			{from: math.Inf(-1), slope: slope.Lo, bend: square.Times(f.b).Hi},
			{to: math.Inf(1), slope: -al.Lo, bend: b},
		}}
	}
	sd := n.variance.Sqrt().Hi
	// The weighed law is about (mean - al v)/(1 - b v), and so much wider.
	room := max(1-b*n.variance.Hi, 1.0/16)
	reach := (n.mean.Size()*max(0, 1-room)+sd*sd*al.Size())/room + within*sd/math.Sqrt(room)
	f.most = 0.5 / max(n.variance.Hi, 0x1p-1000)
	r, right := &response{parts: []stretch{f.ray(-lastStep, true)}}, float64(lastStep)
	if curves.Beyond(a, 0, false).Off == (arith.Interval{}) {
		right = 0 // a line from there on: cut, it would bend by no more than most
	}
	for from, step := -float64(lastStep), 1.0; from < right; {
		end := right
		if from < 0 {
			end = 0
		}
		for step *= 4; ; step /= 2 {
			to := min(from+step, end)
			s, off := f.arc(from, to)
			outside := max(0, n.mean.Lo-reach-to, from-n.mean.Hi-reach) / max(sd, 0x1p-500)
			if off <= tol+outside+outside*outside/4 || step <= leastStep {
				r.parts, from = append(r.parts, s), to
				break
			}
		}
	}
	r.parts = append(r.parts, f.ray(right, false))
	return r
}

// weighed is g(t) = -al s(t) + b s(t)^2/2, for the worst al; stretches bend by at most most.
type weighed struct {
	a    network.Activation
	al   arith.Interval
	b    arith.Interval
	most float64
}

// at is at least g(t).
func (f *weighed) at(t float64) float64 {
	return f.of(curves.Value(f.a, arith.Exactly(t)))
}

func (f *weighed) of(z arith.Interval) float64 {
	return f.b.Times(z.Square()).Times(arith.Exactly(0.5)).Minus(f.al.Times(z)).Hi
}

// arc bounds g between two numbers on one side of 0, and says by how much about that is above g somewhere. A function whose
// second derivative is no more than g” is above g between two points where it is; where g bends down by up to m, the
// line through both points and m/8 times the square of the width.
func (f *weighed) arc(from, to float64) (s stretch, off float64) {
	first, second := curves.Derivatives(f.a, from, to)
	z := curves.Value(f.a, arith.Of(from, to))
	bend := f.b.Times(first.Square().Plus(z.Times(second))).Minus(f.al.Times(second))
	width, own, lift := arith.Difference(to, from), min(bend.Lo, f.most), 0.0
	if own < 0 && f.b.Lo >= 0 { // a line: parts that bend down say nothing in openUp
		own, lift = 0, arith.Exactly(-own).Times(width.Square()).Hi/8
	}
	if math.Abs(own) < 0x1p-500 {
		own = min(own, 0)
	}
	half, low, high := arith.Exactly(own).Times(arith.Exactly(0.5)), f.at(from), f.at(to)
	slope := (high-low)/(to-from) - own*(from+to)/2
	rest := func(t, g float64) float64 {
		x := arith.Exactly(t)
		return arith.Exactly(g).Minus(arith.Exactly(slope).Times(x)).Minus(half.Times(x.Square())).Hi
	}
	power := arith.SumUp(max(rest(from, low), rest(to, high)), lift)
	return stretch{from: from, to: to, power: power, slope: slope, bend: own}, lift + (bend.Hi-own)*width.Square().Hi/8
}

// ray bounds g beyond a point, where s is slope t + d for a d within an interval: with t outward, -al (slope t + d) +
// b (slope t + d)^2/2 has no part that is less for a larger coefficient.
func (f *weighed) ray(x float64, left bool) stretch {
	ray := curves.Beyond(f.a, x, left)
	s := stretch{from: x, to: math.Inf(1), power: f.of(ray.Off)}
	if left {
		s.from, s.to = math.Inf(-1), x
	}
	if ray.Slope != 0 {
		k := arith.Exactly(ray.Slope)
		slope := f.b.Times(ray.Off).Minus(f.al).Times(k)
		if s.slope = slope.Hi; left {
			s.slope = slope.Lo
		}
		s.bend = f.b.Times(k.Square()).Hi
	}
	return s
}

// certainUp is at least -al z + b z^2/2 where z = s(t), t in an interval.
func certainUp(a network.Activation, al arith.Interval, b float64, t arith.Interval) float64 {
	return (&weighed{a: a, al: al, b: arith.Exactly(b)}).of(curves.Value(a, t))
}
