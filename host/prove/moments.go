package prove

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Moments of neurons over the posterior, layer by layer (docs/theory.md, section 9.8).

// spread holds, for all x of a box, the mean of a neuron, that of its square, and its variance.
type spread struct{ mean, square, variance arith.Interval }

// moments bounds the mean and the variance of each output on a box, of dense layers with independent normal
// weights and ReLU between them. Given the layers below, a pre-activation t is normal, and
//
//	E t = sum_i E w_i E z_i + E b,   Var t = sum_i sd_i^2 E z_i^2 + sd_b^2 + Var(sum_i E w_i z_i)   (88)
//
// The last term is 0 in the first layer and sum_i (E w_i)^2 Var z_i in the second, whose inputs are
// independent; above, it is at most the square of sum_i |E w_i| sd(z_i).
//
// Dropout of rate p is w_i^2 p/(1-p) in the place of sd_i^2. But nothing is normal then, and neurons of the
// first layer share its masks.
func moments(p *posterior.Posterior, b property.Box) []spread {
	z := make([]spread, len(b.Lo))
	for i := range z {
		x := arith.Of(b.Lo[i], b.Hi[i])
		z[i] = spread{x, x.Square(), arith.Interval{}}
	}
	masked := p.Dropout() != nil
	for k := range p.Layers {
		l := &p.Layers[k]
		of := l.Map.(network.Linear)
		var odds arith.Interval
		if masked {
			rate := p.Dropout()[k]
			odds = arith.Exactly(rate).Over(arith.Difference(1, rate))
		}
		next := make([]spread, l.Outputs())
		for j := range next {
			bias := of.BiasOf(j)
			t := pre{mean: arith.Exactly(l.Bias.Mean[bias])}
			if !masked {
				t.noise = arith.Of(l.Bias.SdLo[bias], l.Bias.SdHi[bias]).Square()
				t.least = t.noise.Lo
			}
			for i, w := range of.Into(j) {
				mean := arith.Exactly(l.Weight.Mean[w])
				sd := mean.Square().Times(odds)
				if !masked {
					sd = arith.Of(l.Weight.SdLo[w], l.Weight.SdHi[w]).Square()
				}
				t.mean = t.mean.Plus(mean.Times(z[i].mean))
				t.noise = t.noise.Plus(sd.Times(z[i].square))
				if k > 0 && !masked {
					t.least = max(0, arith.Down(t.least+max(0, arith.Down(sd.Lo*max(0, arith.Down(z[i].mean.Lo*z[i].mean.Lo))))))
				}
				switch {
				case k == 1 && !masked:
					t.below = t.below.Plus(mean.Square().Times(z[i].variance))
				case k > 0:
					t.together = arith.Up(t.together + arith.Up(mean.Size()*z[i].variance.Sqrt().Hi))
				}
			}
			if k > 1 || k == 1 && masked {
				t.below = arith.Of(0, arith.Up(t.together*t.together))
			}
			next[j] = t.spread(k == 0 && !masked, k == len(p.Layers)-1)
		}
		z = next
	}
	return z
}

// pre is a pre-activation: its mean, the mean of its variance given the layers below, at least the square of
// the mean of its deviation given these, and the variance of its mean given these.
type pre struct {
	mean, noise, below arith.Interval
	least, together    float64
}

// spread returns the spread of t itself or, unless it is an output, of max(t, 0): exact up to intervals if t
// is normal. Otherwise, with s the deviation given the layers below,
//
//	E max(N(E t, (E s)^2), 0) <= E max(t, 0) <= (E t + sqrt((E t)^2 + Var t))/2                     (89)
//
// as E max(N(m, s^2), 0) is convex in m and s together and grows with both, and by E|t| <= sqrt(E t^2).
// And Var max(t, 0) <= Var t, as max(., 0) does not enlarge distances. Of masks least is 0, and then this holds
// of any law, by Jensen.
func (t *pre) spread(normal, output bool) spread {
	v := t.noise
	if t.below != (arith.Interval{}) {
		v = v.Plus(t.below)
	}
	if output {
		return spread{t.mean, t.mean.Square().Plus(v), v}
	}
	if normal {
		least, most := max(0, math.Nextafter(math.Sqrt(max(0, v.Lo)), 0)), math.Nextafter(math.Sqrt(v.Hi), math.Inf(1))
		return spread{
			arith.Of(gauss.ReLUMeanDown(t.mean.Lo, least), gauss.ReLUMeanUp(t.mean.Hi, most)),
			arith.Of(gauss.ReLUSquareDown(t.mean.Lo, least), gauss.ReLUSquareUp(t.mean.Hi, most)),
			arith.Of(gauss.ReLUVarianceDown(t.mean.Lo, least), gauss.ReLUVarianceUp(t.mean.Hi, most)),
		}
	}
	lo := gauss.ReLUMeanDown(t.mean.Lo, max(0, arith.Down(math.Sqrt(max(0, t.least)))))
	end := arith.Exactly(t.mean.Hi)
	hi := max(0, arith.Up(end.Plus(end.Square().Plus(arith.Of(0, v.Hi)).Sqrt()).Hi/2))
	square := v.Hi
	if t.mean.Hi > 0 {
		square = end.Square().Plus(arith.Of(0, v.Hi)).Hi
	}
	return spread{arith.Of(lo, hi), arith.Of(max(0, arith.Down(lo*lo)), square), arith.Of(0, v.Hi)}
}
