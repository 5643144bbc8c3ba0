package probability

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/arith"
)

// bigExp is e^x within 2^-290.
func bigExp(x float64) *big.Float {
	if x <= 0 {
		return arith.BigExp(arith.NewBig().SetFloat64(-x))
	}
	return arith.NewBig().Quo(arith.BigUnit, arith.BigExp(arith.NewBig().SetFloat64(x)))
}

func toFloat(x *big.Float) float64 { f, _ := x.Float64(); return f }

// lowShare is at most E 1/(1 + e^(top - X)) where X is the sum of max(|G_l|, 0) for the layers that are
// negative: a Riemann sum of at most two layers, each share at the upper end of what M may be.
func lowShare(top float64, v []float64) float64 {
	const steps, reach = 240, 7.0
	drops, masses := [][]float64{}, [][]float64{}
	for _, x := range v {
		drop, mass := []float64{0}, []float64{0.5}
		for i := range steps {
			from, to := reach*float64(i)/steps, reach*float64(i+1)/steps
			drop, mass = append(drop, from*math.Sqrt(x)), append(mass, approxQ(from)-approxQ(to))
		}
		drops, masses = append(drops, drop), append(masses, mass)
	}
	if len(v) == 1 {
		drops, masses = append(drops, []float64{0}), append(masses, []float64{1})
	}
	sum := 0.0
	for i, p := range masses[0] {
		for j, q := range masses[1] {
			sum += p * q / (1 + math.Exp(top-drops[0][i]-drops[1][j]))
		}
	}
	return sum
}

// TestSigmoidMean: above the mean of the law, and near it.
func TestSigmoidMean(t *testing.T) {
	for _, top := range []float64{-3, 0, 1, 4, 9} {
		for _, v := range [][]float64{{0.04}, {4}, {1, 1}, {0.2, 9}, {1e-6, 3}} {
			got, low := NewMarginLaw(top, v).SigmoidMeanUp(), lowShare(top, v)
			sd := 0.0
			for _, x := range v {
				sd += x
			}
			if got < low*(1-1e-12) || got > low*(1+0.12*math.Sqrt(sd))+1e-9 {
				t.Errorf("top %v, variances %v: %v, the mean is about %v", top, v, got, low)
			}
		}
	}
	if got := NewMarginLaw(2, nil).SigmoidMeanUp(); math.Abs(got-1/(1+math.Exp(2))) > 1e-15 {
		t.Errorf("without noise: %v", got)
	}
	for _, l := range []*MarginLaw{NewMarginLaw(math.NaN(), nil), NewMarginLaw(5, []float64{math.NaN()}), NewMarginLaw(5, []float64{-1}), NewMarginLaw(math.Inf(1), nil)} {
		if l.SigmoidMeanUp() != 1 {
			t.Errorf("%v, %v says something", l.Top, l.Step)
		}
	}
}

// coupled are margins top_k - max(0, noise) of one draw in n, however margins depend on each other:
// orders[k] says which part of its law margin k is in. In each part the noise is the least.
func coupled(tops, sds []float64, orders [][]int, i, n int) []float64 {
	m := slices.Clone(tops)
	for k, sd := range sds {
		if u := float64(orders[k][i]) / float64(n); u > 0.5 {
			m[k] -= sd * math.Sqrt2 * math.Erfinv(2*u-1)
		}
	}
	return m
}

// TestPredictiveOf: whatever margins have to do with each other, and whatever happens where hidden
// bounds fail, the bounds hold; and they are near where there is one rival.
func TestPredictiveOf(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 2))
	const n = 1000
	for c := range 60 {
		rivals := 1 + c%4
		tops, sds := make([]float64, rivals), make([]float64, rivals)
		orders, laws := make([][]int, rivals), make([]*MarginLaw, rivals)
		for k := range rivals {
			tops[k], sds[k] = 3*r.NormFloat64()+1+float64(c%3), math.Exp(r.NormFloat64())
			laws[k] = NewMarginLaw(tops[k], []float64{sds[k] * sds[k]})
			orders[k] = r.Perm(n)
			if c%2 == 0 { // all together, or one against the others
				for i := range n {
					if orders[k][i] = i; k == 1 {
						orders[k][i] = n - 1 - i
					}
				}
			}
		}
		budget := []float64{0, 0.01, 0.2}[c%3]
		p := PredictiveOf(laws, budget)
		lower, shares, gaps := 0.0, make([]float64, rivals), make([]float64, rivals)
		for i := range n {
			m := coupled(tops, sds, orders, i, n)
			sum := 1.0
			for _, x := range m {
				sum += math.Exp(-x)
			}
			for k, x := range m {
				shares[k] += math.Exp(-x) / sum / n
				gaps[k] += (1 - math.Exp(-x)) / sum / n
			}
			lower += 1 / sum / n
		}
		// Where hidden bounds fail, all is the class of a rival.
		if lower *= 1 - budget; p.LowerDown > lower+1e-12 {
			t.Errorf("%d: lower %v, it is %v", c, p.LowerDown, lower)
		}
		for k := range gaps {
			gap, share := gaps[k]*(1-budget)-budget, shares[k]*(1-budget)+budget
			if p.GapsDown[k] > gap+1e-12 || p.RivalsUp[k] < share-1e-12 {
				t.Errorf("%d: gap %v and rival %v, they are %v and %v", c, p.GapsDown[k], p.RivalsUp[k], gap, share)
			}
			if loose := 0.02*(1+sds[k]) + budget*share; rivals == 1 && (p.GapsDown[k] < gap-2*loose || p.RivalsUp[k] > share+loose || p.LowerDown < lower-loose) {
				t.Errorf("%d: sd %v: lower %v, gap %v and rival %v, they are %v, %v and %v", c, sds[k], p.LowerDown, p.GapsDown[k], p.RivalsUp[k], lower, gap, share)
			}
		}
	}
	// Two rivals as near as each other: rows by themselves say nothing, levels do.
	near := []*MarginLaw{NewMarginLaw(0.5, []float64{1e-4}), NewMarginLaw(0.5, []float64{1e-4})}
	if p := PredictiveOf(near, 0.001); !(p.LeastGap() > 0.12) {
		t.Errorf("two rivals nearby: %+v", p)
	}
	// One far rival that is loud costs levels nothing.
	near = nil
	for range 3 {
		near = append(near, NewMarginLaw(0.8, []float64{0.04}))
	}
	far := append(slices.Clone(near), NewMarginLaw(40, []float64{16}))
	if p, q := PredictiveOf(near, 0.001), PredictiveOf(far, 0.001); !(p.LeastGap() > 0.05 && q.LeastGap() > p.LeastGap()-1e-3) {
		t.Errorf("a far rival: %v, without it %v", q.LeastGap(), p.LeastGap())
	}
}

// TestAheadPredictive: two networks, of which one is ahead by no more than said, and the other as far behind as can
// be, are no worse than the bounds, and about as bad.
func TestAheadPredictive(t *testing.T) {
	for _, p := range []float64{0.6, 0.9, 1 - 1e-6} {
		for _, ahead := range []float64{1.0 / 64, 1, 9} {
			for rivals := 1; rivals < 4; rivals++ {
				is := AheadPredictive(p, ahead, rivals)
				s := 1 / (1 + float64(rivals)*math.Exp(-ahead)) // and each rival has s e^-ahead
				near := func(what string, got, want float64) {
					if got > want+1e-15 || got < want-1e-9 {
						t.Errorf("%v, %v, %d: %s %v, the worst is %v", p, ahead, rivals, what, got, want)
					}
				}
				near("lower", is.LowerDown, p*s)
				near("gap", is.LeastGap(), max(-1, p*s*(1-math.Exp(-ahead))-(1-p)))
				near("rival", -is.MostRival(), -min(1, 1-p+1/(1+math.Exp(ahead))))
			}
		}
	}
}
