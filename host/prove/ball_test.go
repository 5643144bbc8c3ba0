package prove_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"psafe/fallback"
	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/engine"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// around is the ball of a norm around x, cut to the box from lo to hi in every coordinate.
func around(x []float64, eps float64, norm int, lo, hi float64, s property.Safe) property.Task {
	b := provetest.BoxAround(x, eps)
	for j := range x {
		b.Lo[j], b.Hi[j] = max(b.Lo[j], lo), min(b.Hi[j], hi)
	}
	radius := slices.Repeat([]float64{eps}, len(x))
	return property.Task{T: []property.Box{b}, Inner: []property.Box{b}, Label: -1, S: s,
		Ball: &property.Ball{Norm: norm, CentreLo: x, CentreHi: x, RadiusLo: radius, RadiusHi: radius}}
}

// dyadic is a number of either precision.
func dyadic(r *rand.Rand) float64 { return math.Round(64*r.NormFloat64()) / 64 }

// TestBallsOfLinear: of a network that is linear on T and certain, the least value over the ball is a
// number: a c + b - eps |a| in the dual norm, without what the box shuts off. What is proved never lies
// above it, by exact arithmetic, and is near it.
func TestBallsOfLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 5))
	for i := range testscale.Cases(t, 200) {
		n, norm, layers := 1+r.IntN(9), 1+r.IntN(2), 1+i%2
		x, a, eps := make([]float64, n), make([]float64, n), math.Ldexp(1+float64(r.IntN(63))/64, -r.IntN(4))
		for j := range x {
			x[j], a[j] = min(max(dyadic(r), -1), 1), dyadic(r)
		}
		post := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{{Layer: network.DenseLayer(n, 1, network.Activation{}), Weight: normal(zip(a)...), Bias: normal(64, 0)}}}
		if layers == 2 { // z >= 0: relu is linear
			post.Layers[0].Activation = relu
			post.Layers = append(post.Layers, posterior.Layer{Layer: network.DenseLayer(1, 1, network.Activation{}), Weight: unit, Bias: none})
		}
		lo, hi := -1.0, 1.0
		if r.IntN(3) == 0 {
			lo, hi = -9, 9
		}
		value, square, most := new(big.Rat).SetInt64(64), new(big.Rat), new(big.Rat)
		for j := range x {
			aj, xj := exact(a[j]), exact(x[j])
			value.Add(value, new(big.Rat).Mul(aj, xj))
			if a[j] > 0 && x[j] <= lo || a[j] < 0 && x[j] >= hi {
				continue
			}
			square.Add(square, new(big.Rat).Mul(aj, aj))
			if abs := new(big.Rat).Abs(aj); abs.Cmp(most) > 0 {
				most = abs
			}
		}
		// fall is what the row falls by, exactly where it is a fraction; below says whether the margin d of
		// the centre is below it.
		below := func(d *big.Rat) bool {
			e := exact(eps)
			if norm == 1 {
				return d.Cmp(new(big.Rat).Mul(e, most)) < 0
			}
			e.Mul(e, e)
			return d.Sign() < 0 || new(big.Rat).Mul(d, d).Cmp(e.Mul(e, square)) < 0
		}
		v, _ := value.Float64()
		fall, _ := square.Float64()
		if fall = eps * math.Sqrt(fall); norm == 1 {
			fall, _ = most.Float64()
			fall *= eps
		}
		// Where the box cuts the ball further than at the centre it is not used: fall is what is proved.
		for p, slack := range map[bound.Precision]float64{bound.Float32: 2e-3, bound.Float64: 1e-9} {
			proved := func(threshold float64) bool {
				task := around(x, eps, norm, lo, hi, rows(true, 1, -threshold))
				cfg := viaCLBP
				cfg.NoUpper = true
				return run(t, p, post, cfg, task)[0].Lower() == 1
			}
			if threshold := v - fall - slack; !proved(threshold) {
				t.Errorf("case %d %v: norm %d: least value %v, y >= %v is not proved", i, p, norm, v-fall, threshold)
			}
			for threshold := range steps(v - fall) {
				if proved(threshold) && below(new(big.Rat).Sub(value, exact(threshold))) && exactlyOpen(x, eps, lo, hi) {
					t.Fatalf("case %d %v: norm %d: y >= %v is proved, the least value is below it", i, p, norm, threshold)
				}
			}
		}
	}
}

// exactlyOpen reports whether the box cuts nothing off but what lies beyond coordinates of the centre:
// then the dual norm is exact.
func exactlyOpen(x []float64, eps, lo, hi float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v > lo && v-eps < lo || v < hi && v+eps > hi })
}

func zip(means []float64) (pairs []float64) {
	for _, m := range means {
		pairs = append(pairs, m, 0)
	}
	return pairs
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// steps are numbers from a little below x to a little above.
func steps(x float64) func(func(float64) bool) {
	return func(yield func(float64) bool) {
		for _, off := range []float64{-1e-7, -1e-12, -1e-15, 0, 1e-15, 1e-13, 1e-9, 1e-5} {
			if !yield(x + off) {
				return
			}
		}
	}
}

// TestBallsOfRandom compares p_lower with drawn networks at points of the ball, found by their gradients:
// no more of them may fail than it says. And it is never below what the box around the ball gets.
func TestBallsOfRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 6))
	violations, tight, boxes, balls := 0, 0, 0.0, 0.0
	for i := range testscale.Cases(t, 400) {
		sizes := []int{2 + r.IntN(14), 4 + r.IntN(8), 4 + r.IntN(8), 3}[:2+r.IntN(3)]
		sizes[len(sizes)-1] = 3
		post := provetest.Noisy(r, 0.02+0.2*r.Float64()/float64(len(sizes)), true, sizes...)
		x := make([]float64, sizes[0])
		for j := range x {
			x[j] = math.Round(8*(r.NormFloat64())) / 8
		}
		norm, eps := 1+r.IntN(2), []float64{0.05, 0.2, 0.5}[r.IntN(3)]
		lo, hi := -1.0, 1.0
		if r.IntN(2) == 0 {
			lo, hi = -9, 9
		}
		for j := range x {
			x[j] = min(max(x[j], lo), hi)
		}
		y := post.LogitsApprox(x)
		s := property.ArgmaxIs(slices.Index(y, slices.Max(y)), 3)
		task := around(x, eps, norm, lo, hi, s)
		box := task
		box.Ball = nil
		p := bound.Precision(r.IntN(2))
		cfg := viaCLBP
		cfg.Cells = 1
		res := run(t, p, post, cfg, task)[0]
		lower := res.Lower()
		fails, draws := 0, 200
		w := post.NewWeights()
		for k := range draws {
			post.Draw(7, k, w)
			if failsOnBall(r, post, w, &task) {
				fails++
			}
		}
		q := 1 - lower
		if expected := q * float64(draws); float64(fails) > expected+6*math.Sqrt(expected)+3 {
			violations++
			t.Errorf("case %d: %v, norm %d, eps %v: p_lower %v, but %d of %d drawn networks fail", i, sizes, norm, eps, lower, fails, draws)
		}
		if lower > 0.5 {
			tight++
		}
		balls += lower
		boxes += run(t, p, post, cfg, box)[0].Lower()
	}
	t.Logf("violations %d, p_lower above 0.5: %d, mean of balls against boxes around them: sums %.2f and %.2f", violations, tight, balls, boxes)
	if tight == 0 || balls <= boxes {
		t.Errorf("nothing is gained by balls: %d tight, sums %v and %v", tight, balls, boxes)
	}
}

// failsOnBall looks for a point of the task where the network fails: at the centre, at random points and
// by steps along the gradient.
func failsOnBall(r *rand.Rand, post *posterior.Posterior, w [][]float64, t *property.Task) bool {
	pass, b, box := post.Network().NewPass(w), t.Ball, t.T[0]
	margin := func(x []float64) (least float64, row []float64) {
		y := pass.Forward(x)
		least = math.Inf(1)
		for _, c := range t.S.Rows {
			v := c.D
			for i := range y {
				v += c.CLo[i] * y[i]
			}
			if v < least {
				least, row = v, c.CLo
			}
		}
		return least, row
	}
	for try := range 6 {
		x := slices.Clone(b.CentreLo)
		if try > 0 {
			for j := range x {
				x[j] += b.RadiusLo[j] * r.NormFloat64()
			}
		}
		for range 5 {
			if w := t.Witness(0, x); w.Lo != nil {
				x = w.Lo
			} else {
				break
			}
			least, row := margin(x)
			if least < 0 {
				return true
			}
			slope := pass.Back(row)
			best := 0
			for j, g := range slope {
				if math.Abs(g) > math.Abs(slope[best]) && (g > 0 && x[j] > box.Lo[j] || g < 0 && x[j] < box.Hi[j]) {
					best = j
				}
			}
			for j, g := range slope {
				if b.Norm == 2 {
					x[j] -= 3 * g * b.RadiusLo[j]
				} else if j == best {
					x[j] -= math.Copysign(2*b.RadiusLo[j], g)
				}
			}
		}
	}
	return false
}

// TestBallsRefused: what knows of no balls does not certify the box for one.
func TestBallsRefused(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(1, 2)), 0.1, false, 3, 4, 2)
	task := around([]float64{0, 0, 0}, 0.1, 2, -1, 1, property.ArgmaxIs(0, 2))
	e, err := engine.New(fallback.New(bound.Float64), nil, post, 12)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct {
		cfg  prove.Config
		says string
	}{
		{prove.Config{Method: prove.LBP}, "method lbp is for boxes"},
		{prove.Config{Method: prove.IBP, Gamma: 1, Samples: 3}, "method ibp is for boxes"},
		{prove.Config{Method: prove.NeuronSum}, "method neuronsum is for boxes"},
		{prove.Config{Method: prove.Phases}, "method phases is for boxes"},
		{prove.Config{Method: prove.Statistical, Samples: 9, Confidence: 0.9}, "method statistical is for boxes"},
		{prove.Config{Samples: 9, Confidence: 0.9}, "leave --draws out"},
		{prove.Config{Cells: 4}, "leave --options cells out"},
		{prove.Config{Mean: true}, "leave --target out"},
		{prove.Config{Derived: true}, "--options derived is for boxes"},
	} {
		err := prove.Run(t.Context(), []*engine.Engine{e}, c.cfg, []property.Task{task}, nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.says)
		}
	}
}

// TestBallsAuto: auto is never below what it shows of the box around a ball of few inputs, and what is
// proved of a ball by methods of boxes counts for the ball alone where the box is worth it.
func TestBallsAuto(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 42))
	better := 0
	for n := range testscale.Costly(t, 24) {
		post := provetest.Noisy(r, 0.3, false, 2, 4, 2)
		x := []float64{r.NormFloat64(), r.NormFloat64()}
		y := post.LogitsApprox(x)
		ball := around(x, 0.1, 1+n%2, -99, 99, property.ArgmaxIs(slices.Index(y, slices.Max(y)), 2))
		box := ball
		box.Ball = nil
		cfg := prove.Config{NoUpper: true}
		results := run(t, bound.Float64, post, cfg, ball, box)
		alone := run(t, bound.Float64, post, prove.Config{Method: prove.CLBP, NoUpper: true}, ball)[0].Lower()
		of, around := results[0], results[1]
		if of.Lower() < max(around.Lower(), alone) || of.Task.Ball == nil {
			t.Errorf("%d: p_lower %v by %s, of the box %v by %s, of the ball by clbp %v", n, of.Lower(), of.Method, around.Lower(), around.Method, alone)
		}
		if of.Lower() > alone {
			better++
		}
	}
	if better == 0 {
		t.Error("the box is never better")
	}
	// Of many inputs the box is not tried, unless it is a point.
	post := provetest.Noisy(r, 0.3, false, 12, 4, 2)
	x := make([]float64, 12)
	y := post.LogitsApprox(x)
	for _, eps := range []float64{0, 0.1} {
		task := around(x, eps, 2, -99, 99, property.ArgmaxIs(slices.Index(y, slices.Max(y)), 2))
		if of := run(t, bound.Float64, post, prove.Config{NoUpper: true}, task)[0]; of.Method != "clbp" && eps > 0 {
			t.Errorf("eps %v: by method %s", eps, of.Method)
		}
	}
}
