package boxes

import (
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/engine"
	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// freed returns the end-points of a verified box, with the weights freed that
// cannot matter on it (docs/theory.md, section 2.5):
//
//   - weights all of whose places are out of a neuron that is 0 for all of the box and T,
//     or out of an input that is 0 on all of T;
//   - the lower ends of biases that lead into ReLU neurons only that are never positive,
//     and of weights all of whose places are into such a neuron from an input that is never
//     negative, or out of one that is 0. Lower weights only lower the pre-activation, so
//     the neuron stays 0.
//
// Proof, layer by layer in the order of the network: for w in the freed set let w' be w
// clamped to the box. If all numbers that feed a layer agree for w and w', then so do its
// outputs. Maps without weights, pools among them, have the same inputs. In others, a freed
// weight out of z_j = 0 adds nothing in any of its places; a neuron into which no other freed
// weight or bias leads has the same pre-activation; any other is dead, and its pre-activation
// under w is at most that under w', which is <= 0: so its output is 0 for both. So f^w = f^w'
// on T, and w' is in the verified box.
func freed(post *posterior.Posterior, p *engine.Probe) bound.Explicit {
	box := bound.Explicit{}
	for i := range p.Box.Lo {
		box.Lo, box.Hi = append(box.Lo, slices.Clone(p.Box.Lo[i])), append(box.Hi, slices.Clone(p.Box.Hi[i]))
	}
	net, input := post.Network(), inputSigns(p.Task.T, post.Inputs())
	out := make([][]sign, len(net))
	for k := range post.Layers {
		l, z := &post.Layers[k], network.Join(net, k, input, out)
		m, linear := l.Map.(network.Linear)
		if !linear {
			out[k] = unweightedSigns(l.Map, z)
		} else {
			out[k] = make([]sign, l.Outputs()) // of which nothing is known
			free(m, z, box.Lo[2*k], box.Hi[2*k])
		}
		dead := make([]bool, l.Outputs())
		if l.Activation.DeadBelow() && k < len(p.Dead) && p.Dead[k] != nil {
			dead = p.Dead[k]
			if linear {
				lowerDead(m, dead, z, box.Lo[2*k], box.Lo[2*k+1])
			}
		}
		for i := range out[k] {
			out[k][i] = out[k][i].through(l.Activation, dead[i])
		}
	}
	return box
}

// sign tells of a number whether it is 0, and whether it is never negative, on the box and all of
// T.
type sign struct{ zero, nonNeg bool }

// through takes a pre-activation through an activation; dead neurons are 0 behind it.
func (s sign) through(a network.Activation, dead bool) sign {
	_, kinked := a.Kinked() // so that what is not negative stays what it is
	return sign{zero: dead || kinked && s.zero, nonNeg: a.NonNeg() || kinked && s.nonNeg}
}

// unweightedSigns returns the signs of sums with coefficients that are not negative, and of maxima:
// a maximum is not negative if one of the numbers is not.
func unweightedSigns(m network.Map, z []sign) []sign {
	_, pool := m.(network.MaxPool)
	into := network.Unweighted(m)
	out := make([]sign, m.Outputs())
	for i := range out {
		zero, nonNeg, any := true, true, false
		for j := range into(i) {
			zero, nonNeg, any = zero && z[j].zero, nonNeg && z[j].nonNeg, any || z[j].nonNeg
		}
		out[i] = sign{zero: zero, nonNeg: nonNeg || pool && any}
	}
	return out
}

// inputSigns are the signs of the inputs on all of T.
func inputSigns(t []property.Box, n int) []sign {
	in := make([]sign, n)
	for j := range in {
		in[j] = sign{zero: true, nonNeg: true}
		for _, b := range t {
			in[j].zero = in[j].zero && b.Lo[j] == 0 && b.Hi[j] == 0
			in[j].nonNeg = in[j].nonNeg && b.Lo[j] >= 0
		}
	}
	return in
}

// free lets weights that meet only inputs that are 0 be anything.
func free(m network.Linear, z []sign, lo, hi []float64) {
	used := make([]bool, m.Weights())
	for j := range z {
		for _, w := range m.From(j) {
			used[w] = used[w] || !z[j].zero
		}
	}
	for w, u := range used {
		if !u {
			lo[w], hi[w] = math.Inf(-1), math.Inf(1)
		}
	}
}

// lowerDead lets weights that only lead from inputs that are never negative into dead
// neurons, or from inputs that are 0, be as low as they like, and so the biases of dead
// neurons only.
func lowerDead(m network.Linear, dead []bool, z []sign, wLo, bLo []float64) {
	weight, bias := make([]bool, m.Weights()), make([]bool, m.Biases())
	for i, d := range dead {
		b := m.BiasOf(i)
		bias[b] = bias[b] || !d
		for j, w := range m.Into(i) {
			weight[w] = weight[w] || !z[j].zero && !(d && z[j].nonNeg)
		}
	}
	for _, kept := range []struct {
		used []bool
		lo   []float64
	}{{weight, wLo}, {bias, bLo}} {
		for w, u := range kept.used {
			if !u {
				kept.lo[w] = math.Inf(-1)
			}
		}
	}
}

// massDown is a lower bound, at most 0, of the log-probability that every parameter lies in the box, whose ends may be
// infinite. It panics where the lengths differ.
func massDown(f *posterior.Flat, box bound.Explicit) float64 {
	return measure.LogMassDown(slices.Concat(box.Lo...), slices.Concat(box.Hi...), f.Mean, f.SdLo, f.SdHi)
}
