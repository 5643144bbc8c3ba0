package grid

import (
	"math"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
)

// TestNormalBins: what goes to either end of a bin against integrals by Simpson's rule.
func TestNormalBins(t *testing.T) {
	for _, c := range []struct{ fine, widest, even float64 }{{1. / 128, 1. / 24, 0}, {1. / 128, 1. / 24, 5}, {1, 2, 0}} {
		b := newNormalBins(c.fine, c.widest, c.even)
		total, second := 0.0, 0.0
		for k := range b.mass {
			p, q := b.z[k], b.z[k+1]
			if !(p < q && q-p <= c.widest*(1+1e-12)) {
				t.Fatalf("a bin from %v to %v", p, q)
			}
			const steps = 4000
			var lower, upper float64
			for i := range steps + 1 {
				z := p + (q-p)*float64(i)/steps
				f := (q - p) / steps / 3 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
				if i > 0 && i < steps {
					f *= float64(2 + 2*(i%2))
				}
				lower += f * (q - z) / (q - p)
				upper += f * (z - p) / (q - p)
			}
			for _, x := range [][2]float64{{b.lower[k], lower}, {b.upper[k], upper}, {b.mass[k], lower + upper}} {
				if x[0] < x[1]*(1-1e-9) || x[0] > x[1]*(1+1e-6)+1e-25 {
					t.Errorf("bin from %v to %v: %v, integrated %v", p, q, x[0], x[1])
				}
			}
			if b.lower[k]+b.upper[k] < b.mass[k]*(1-1e-8) {
				t.Errorf("bin from %v to %v: %v and %v of %v", p, q, b.lower[k], b.upper[k], b.mass[k])
			}
			total += b.lower[k] + b.upper[k]
			second += b.lower[k]*p*p + b.upper[k]*q*q
		}
		if total+b.beyond < 1 || total > 1+1e-9 || second < 1 || second > 1+c.widest*c.widest {
			t.Errorf("mass %v, second moment %v", total, second)
		}
	}
	if last := len(newNormalBins(1, 2, 0).z) - 1; newNormalBins(1, 2, 0).z[last] != law.Reach {
		t.Error("bins do not reach as far as they should")
	}
	all := newSumBins(1, 1, 2)
	for mean, want := range map[float64]int{0: 2, 1: 2, -1: 3, -2.6: 5, -1e10: 5} {
		if got := all.of(arith.Exactly(mean), arith.Exactly(1), 1); got != all[1][want] {
			t.Errorf("mean %v: not bins %d", mean, want)
		}
	}
	if got := all.of(arith.Exactly(-1e300), arith.Exactly(1e-300), 0); got != all[0][5] {
		t.Error("far from 0: not the last bins")
	}
}

// TestSigned: masses on both sides of 0 and all together, the mean, and squares of widths.
func TestSigned(t *testing.T) {
	b := newNormalBins(0.3, 0.5, 0)
	for _, c := range []struct{ mean, sd float64 }{{0, 1}, {0.1, 1}, {-0.37, 2}, {5, 0.5}, {-3e-5, 1e-3}, {20, 1}} {
		neg, pos := b.signed(arith.Exactly(c.mean), arith.Exactly(c.sd))
		below, over, mean := 0.0, 0.0, 0.0
		for k, p := range neg.P {
			below += p
			mean += p * (neg.Lo[k] + neg.Hi[k]) / 2
			if !(neg.Hi[k] <= 0) {
				t.Errorf("%+v: %v is not negative", c, neg.Hi[k])
			}
		}
		for k, p := range pos.P {
			over += p
			mean += p * (pos.Lo[k] + pos.Hi[k]) / 2
			if !(pos.Lo[k] >= 0) {
				t.Errorf("%+v: %v is not positive", c, pos.Lo[k])
			}
			if k > 0 && pos.Square[k] > 0 && pos.Square[k-1] > 0 {
				if w := pos.Lo[k] - pos.Lo[k-1]; pos.Square[k] < w*w*(1-1e-12) || pos.Square[k-1] < w*w*(1-1e-12) {
					t.Errorf("%+v: at %v and %v squares are %v, %v", c, pos.Lo[k-1], pos.Lo[k], pos.Square[k-1], pos.Square[k])
				}
			}
		}
		// Steps to either end of a bin beside 0 do not cross it.
		if want := sumtest.NormalCDF(-c.mean / c.sd); math.Abs(below-want) > 0.2*want+1e-12 || below+over < 1-1e-12 || below+over > 1+1e-9 {
			t.Errorf("%+v: %v below 0, want %v, %v over", c, below, want, over)
		}
		if math.Abs(mean-c.mean) > 0.03*c.sd {
			t.Errorf("%+v: mean %v", c, mean)
		}
	}
	if neg, pos := b.signed(arith.Of(-1, 2), arith.Interval{}); neg.Lo[0] != -1 || neg.Hi[0] != 0 || pos.Lo[0] != 0 || pos.Hi[0] != 2 || neg.P[0] != 1 || pos.P[0] != 1 {
		t.Errorf("a constant: %+v %+v", neg, pos)
	}
}

// TestGridLowByBins: where all middles are the point itself, low = high = s(u): values, widths and
// means of their bins, by hand.
func TestGridLowByBins(t *testing.T) {
	for _, act := range []network.Activation{{Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.5}} {
		n := newSum(t, sumtest.OneNeuron(act, []float64{0}, []float64{0}, 0.1, 1, 1))
		p := point{x: []float64{0}, beside: []arith.Interval{{}}, before: []arith.Interval{{}}, after: []arith.Interval{{}}}
		bins := newSumBins(0.25, 0.5, 0.5)
		h := n.atPoint(&p, 0, bins, 0)
		tMean, tSD := n.Preactivation(0, p.x)
		u := bins.of(tMean, tSD, 0).at(tMean, tSD)
		var from, to float64 // the bin that 0 is in
		for k := range len(u) - 1 {
			if u[k].Lo < 0 && u[k+1].Hi > 0 {
				from, to = u[k].Lo, u[k+1].Hi
			}
		}
		for what, s := range map[string]probability.Split{"low": h.low, "high": h.high} {
			mass, mean, least := 0.0, 0.0, 0.0
			for k, x := range s.Lo {
				mass, mean = mass+s.P[k], mean+s.P[k]*x
				if s.Square[k] == 0 {
					least = min(least, x)
					if act.Kind != network.ReLU && x != from && x != to {
						t.Errorf("%v %s: no width at %v", act, what, x)
					}
					continue
				}
				edge := x // of u
				if x < 0 {
					edge /= 0.5
				}
				wide := 0.0 // the wider of the bins beside it
				for i := range len(u) - 1 {
					if lo, hi := u[i].Lo, u[i+1].Hi; hi-edge < 1e-12 && hi > edge-1e-12 && !(lo < 0 && hi > 0) || math.Abs(lo-edge) < 1e-12 && !(lo < 0 && hi > 0) {
						wide = max(wide, hi-lo)
					}
				}
				if x < 0 {
					wide *= 0.5
				}
				if s.Square[k] < wide*wide*(1-1e-9) || s.Square[k] > wide*wide*4.0001 {
					t.Errorf("%v %s at %v: square %v, the bin is %v wide", act, what, x, s.Square[k], wide)
				}
			}
			want := 0.1*sumtest.NormalCDF(0.1) + math.Exp(-0.005)/math.Sqrt(2*math.Pi)
			if act.Kind != network.ReLU {
				want += 0.5 * (0.1 - want)
			}
			if mass < 1-1e-9 || mass > 1+1e-9 || math.Abs(mean-want) > 0.05 {
				t.Errorf("%v %s: mass %v, mean %v, want %v", act, what, mass, mean, want)
			}
			if what == "low" && least != from || what == "high" && least < 0 {
				t.Errorf("%v %s: the least without a width is %v, the bin of 0 begins at %v", act, what, least, from)
			}
		}
	}
}

// TestPointConstants: a constant neuron's weight makes the rest, with its value squared.
func TestPointConstants(t *testing.T) {
	n := newSum(t, sumtest.OneNeuron(network.Activation{Kind: network.ReLU}, []float64{1}, []float64{0}, 0, 0, 1))
	n.Output.Weight.SdLo[0], n.Output.Weight.SdHi[0] = 0.5, 0.5
	at := Grid{Box: sumtest.Interval(2, 2), Cuts: [][]float64{{}}}
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: 0.3, DHi: 0.3}
	got, err := n.gridsUp(t.Context(), []Grid{at}, []property.Row{row}, nil)
	if want := sumtest.NormalCDF(-2.3 / math.Hypot(1, n.Output.Bias.SdHi[0])); err != nil || got < want*(1-1e-12) || got > want*(1+1e-9) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
}
