package prove_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// rows is the safe set of all (or any) of rows c y + d >= 0 for one output: c and d in
// turn.
func rows(all bool, cd ...float64) property.Safe {
	s := property.Safe{}
	for i := 0; i < len(cd); i += 2 {
		s.Rows = append(s.Rows, property.Row{CLo: cd[i : i+1], CHi: cd[i : i+1], D: cd[i+1], DHi: cd[i+1]})
		if all && i > 0 {
			s.Any[0] = append(s.Any[0], i/2)
		} else {
			s.Any = append(s.Any, []int{i / 2})
		}
	}
	return s
}

var viaCLBP = prove.Config{Method: prove.CLBP}

// TestOneLayerAtAPoint: a row of one affine layer at a point is a normal number, so
// its lower and its upper bound are its probability itself.
func TestOneLayerAtAPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		n := 1 + r.IntN(5)
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.DenseLayer(n, 2, network.Activation{})}}}
		var weight, bias []float64
		for range 2 * n {
			weight = append(weight, r.NormFloat64(), r.ExpFloat64())
		}
		for range 2 {
			bias = append(bias, r.NormFloat64(), r.ExpFloat64())
		}
		post.Layers[0].Weight, post.Layers[0].Bias = normal(weight...), normal(bias...)
		x := property.Box{}
		for range n {
			// Numbers of either precision.
			v := math.Round(64*r.NormFloat64()) / 64
			x.Lo, x.Hi = append(x.Lo, v), append(x.Hi, v)
		}
		c := []float64{math.Round(8*r.NormFloat64()) / 8, math.Round(8*r.NormFloat64()) / 8}
		if c[0] == 0 && c[1] == 0 {
			c[0] = 1
		}
		mean, variance := 0.0, 0.0
		for k := range 2 {
			mean += c[k] * bias[2*k]
			variance += c[k] * c[k] * bias[2*k+1] * bias[2*k+1]
			for j, v := range x.Lo {
				at := 2 * (2*j + k)
				mean += c[k] * v * weight[at]
				variance += c[k] * c[k] * v * v * weight[at+1] * weight[at+1]
			}
		}
		for _, z := range []float64{-3, -1, -0.1, 0.1, 1, 3, 5} {
			d := z*math.Sqrt(variance) - mean
			task := inner(safeOn(property.Safe{Rows: []property.Row{{CLo: c, CHi: c, D: d, DHi: d}}, Any: [][]int{{0}}}, x))
			truth := phi(z)
			for p, slack := range map[bound.Precision]float64{bound.Float32: 3e-5, bound.Float64: 1e-9} {
				res := run(t, p, post, viaCLBP, task)[0]
				lo, hi := res.Lower(), res.Upper()
				if !(lo <= truth+1e-12 && truth-1e-12 <= hi) {
					t.Fatalf("case %d z %v %v: %v to %v, P_safe is %v", i, z, p, lo, hi, truth)
				}
				if z > 0 && lo < truth-slack || z < 0 && hi > truth+slack {
					t.Errorf("case %d z %v %v: %v to %v, P_safe is %v: must be within %v", i, z, p, lo, hi, truth, slack)
				}
			}
		}
	}
}

// TestTwoRowsAtAPoint: the failures of the rows of a conjunction, and the successes of
// the alternatives of a disjunction, add up; a mixture may do for the latter.
func TestTwoRowsAtAPoint(t *testing.T) {
	post := chain(relu, normal(0, 1), none) // f(x) = w x at 1
	one := interval(1, 1)
	for _, c := range []struct {
		name         string
		s            property.Safe
		lower, upper float64 // what the sums give
		truth        float64
	}{
		{"-1 <= w <= 2", rows(true, 1, 1, -1, 2), 1 - phi(-1) - phi(-2), phi(1), phi(2) - phi(-1)},
		{"w >= 1 and w >= 2", rows(true, 1, -1, 1, -2), 0, phi(-2), phi(-2)},
		{"w >= 1 or w <= -2", rows(false, 1, -1, -1, -2), 0, phi(-1) + phi(-2), phi(-1) + phi(-2)},
		{"w >= -1 or w >= 3", rows(false, 1, 1, 1, -3), phi(1), phi(1) + phi(-3), phi(1)},
		{"w >= -1 or w <= 1.5", rows(false, 1, 1, -1, 1.5), 1, 1, 1}, // half of both is 1.25
	} {
		for _, p := range []bound.Precision{bound.Float32, bound.Float64} {
			r := run(t, p, post, viaCLBP, inner(safeOn(c.s, one)))[0]
			if lo, hi := r.Lower(), r.Upper(); math.Abs(lo-c.lower) > 1e-5 || math.Abs(hi-c.upper) > 1e-5 || lo > c.truth || hi < c.truth {
				t.Errorf("%s %v: %v to %v, want %v to %v around %v", c.name, p, lo, hi, c.lower, c.upper, c.truth)
			}
		}
	}
}

// integrate2 is the midpoint rule for two independent normal numbers.
func integrate2(m1, s1, m2, s2 float64, f func(a, b float64) float64) float64 {
	const n = 900
	var z, density [n]float64
	for i := range n {
		z[i] = -9 + 18*(float64(i)+0.5)/n
		density[i] = math.Exp(-z[i]*z[i]/2) / math.Sqrt(2*math.Pi) * 18 / n
	}
	sum := 0.0
	for i := range n {
		for j := range n {
			if density[i]*density[j] > 1e-14 {
				sum += density[i] * density[j] * f(m1+s1*z[i], m2+s2*z[j])
			}
		}
	}
	return sum
}

// outer is Prob(v z >= -c for all z from lo to hi), v ~ N(mean, sd^2), c > 0.
func outer(mean, sd, c, lo, hi float64) float64 {
	from, to := math.Inf(-1), math.Inf(1)
	if hi > 0 {
		from = -c / hi
	}
	if lo < 0 {
		to = -c / lo
	}
	return phi((to-mean)/sd) - phi((from-mean)/sd)
}

// TestClosedForms: posteriors of one to three weights, for which P_safe is an
// integral. p_lower reaches what it is known to reach.
func TestClosedForms(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers, not races: not with -short")
	}
	sigmoid := network.Activation{Kind: network.Sigmoid}
	leaky := network.Activation{Kind: network.LeakyReLU, Slope: 0.3}
	// f(x) = v a(w x + b) >= -c on [lo, hi], a increasing.
	hiddenNeuron := func(a network.Activation, w, b, v [2]float64, c, lo, hi float64) (*posterior.Posterior, property.Task, float64) {
		post := chain(a, normal(w[:]...), normal(b[:]...), normal(v[:]...), none)
		at := func(w, b float64) float64 {
			y, z := a.Approx(w*lo+b), a.Approx(w*hi+b)
			return outer(v[0], v[1], c, min(y, z), max(y, z))
		}
		task := inner(safeOn(atLeast(-c), interval(lo, hi)))
		if b[1] == 0 {
			return post, task, integrate(w[0], w[1], func(w float64) float64 { return at(w, b[0]) })
		}
		return post, task, integrate2(w[0], w[1], b[0], b[1], at)
	}
	for i, c := range testscale.Few(t, []struct {
		a       network.Activation
		w, b, v [2]float64
		c       float64
		lo, hi  float64
		clbp    float64 // what p_lower is at least
		auto    float64
	}{
		{relu, [2]float64{1, 0.2}, [2]float64{0.5, 0}, [2]float64{1, 0.5}, 0.5, 1, 1, 0.96, 0.98},
		{relu, [2]float64{1, 0.2}, [2]float64{0.5, 0.1}, [2]float64{1, 0.4}, 0.5, 0.5, 1.5, 0.83, 0.99},
		{relu, [2]float64{1, 1}, [2]float64{0, 0}, [2]float64{0.5, 0.5}, 2, 0, 1, 0.65, 0.95},
		{tanh, [2]float64{0.5, 0.1}, [2]float64{0, 0.1}, [2]float64{1, 0.5}, 1.2, -1, 1, 0.7, 0.7},
		{tanh, [2]float64{2, 1}, [2]float64{-1, 0.5}, [2]float64{-1, 0.3}, 2, 0, 0.1, 0.9999, 0.9999},
		{sigmoid, [2]float64{1, 0.5}, [2]float64{0, 0.5}, [2]float64{0.5, 0.4}, 0.2, -1, 2, 0.19, 0.91},
		{leaky, [2]float64{-1, 0.3}, [2]float64{0.2, 0.1}, [2]float64{0.5, 0.3}, 0.5, -0.5, 1, 0.86, 0.86},
		// All but surely unsafe: only the upper bound says anything.
		{relu, [2]float64{1, 0.2}, [2]float64{1, 0.2}, [2]float64{-2, 0.3}, 1, 0.5, 1, 0, 0},
	}, 4) {
		post, task, truth := hiddenNeuron(c.a, c.w, c.b, c.v, c.c, c.lo, c.hi)
		for _, p := range testscale.Few(t, []bound.Precision{bound.Float32, bound.Float64}, 1) {
			for s, least := range map[prove.Method]float64{prove.CLBP: c.clbp, prove.Auto: c.auto} {
				r := run(t, p, post, prove.Config{Method: s}, task)[0]
				t.Logf("%d %v: %.6f <= %.6f <= %.6f", i, p, r.Lower(), truth, r.Upper())
				// 1e-5: what the integrals are good for.
				if lo, hi := r.Lower(), r.Upper(); lo > truth+1e-5 || hi < truth-1e-5 || lo < least {
					t.Errorf("case %d %v: %v to %v, P_safe is %v, p_lower must be %v", i, p, lo, hi, truth, least)
				}
			}
		}
		if hi := run(t, bound.Float64, post, viaCLBP, task)[0].Upper(); truth < 0.1 && hi > truth+0.05 {
			t.Errorf("case %d: p_upper %v, P_safe is %v", i, hi, truth)
		}
	}
}

// TestOneLayerOverABox: f(x) = w x + b over an interval, against (14) with known
// numbers and against quadrature.
func TestOneLayerOverABox(t *testing.T) {
	for i, c := range []struct{ w, sw, b, sb, lo, hi, z float64 }{
		{1, 0.2, 0, 0.3, -1, 1, 2.5}, {-0.5, 0.1, 1, 0.2, 0, 2, 3}, {0.3, 0.3, 0, 0, 1, 1.5, 1.5}, {2, 0.5, -1, 0.5, -0.25, 0.25, 2},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			post := chain(relu, normal(c.w, c.sw), normal(c.b, c.sb))
			// m0 and (11), (12) by hand.
			m0 := math.Min(c.w*c.lo, c.w*c.hi) + c.b
			e := math.Sqrt(2/math.Pi) * c.sw * (c.hi - c.lo) / 2
			most := math.Max(math.Abs(c.lo), math.Abs(c.hi))
			v := c.sw*c.sw*most*most + c.sb*c.sb
			a := m0 - e - c.z*math.Sqrt(v)
			truth := integrate(c.w, c.sw, func(w float64) float64 {
				worst := math.Min(w*c.lo, w*c.hi) + c.b - a
				switch {
				case c.sb > 0:
					return phi(worst / c.sb)
				case worst >= 0:
					return 1
				}
				return 0
			})
			task := inner(safeOn(atLeast(a), interval(c.lo, c.hi)))
			one := viaCLBP
			one.Cells = 1
			r := run(t, bound.Float64, post, one, task)[0]
			if lo := r.Lower(); lo < phi(c.z)-1e-9 || lo > truth+1e-5 {
				t.Errorf("p_lower %v, (14) alone gives %v, P_safe is %v", lo, phi(c.z), truth)
			}
			many := run(t, bound.Float64, post, viaCLBP, task)[0]
			if lo := many.Lower(); lo < r.Lower() || lo > truth+1e-5 || many.Cells < 1 {
				t.Errorf("p_lower %v by %d cells, %v by one, P_safe is %v", lo, many.Cells, r.Lower(), truth)
			}
		})
	}
}
