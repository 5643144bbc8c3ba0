package chernoff

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// activations are all kinds, some with several slopes.
func activations(r *rand.Rand) network.Activation {
	for {
		a := network.Activation{Kind: network.Kind(r.IntN(network.Kinds))}
		if a.Check() != nil {
			a.Slope = []float64{0.01, 0.3, r.Float64(), 1}[r.IntN(4)]
		}
		if a.Check() == nil {
			return a
		}
	}
}

// exactly is s(t) in exact arithmetic, or with 400 bits.
func exactly(a network.Activation, t float64) *big.Float {
	x, one := arith.NewBig().SetFloat64(t), arith.NewBig().SetInt64(1)
	switch below, kinked := a.Kinked(); {
	case kinked && t < 0:
		return x.Mul(x, arith.NewBig().SetFloat64(below))
	case kinked, t >= 0 && a.Kind == network.ELU:
		return x
	}
	away := arith.NewBig().SetFloat64(math.Abs(t)) // e^-away is known
	switch a.Kind {
	case network.ELU:
		e := arith.BigExp(away)
		return e.Mul(e.Sub(e, one), arith.NewBig().SetFloat64(a.Slope))
	case network.Softplus: // by the series of ln((1+y)/(1-y)), y = e/(2+e)
		e := arith.BigExp(away)
		y := arith.NewBig().Quo(e, arith.NewBig().Add(e, arith.NewBig().SetInt64(2)))
		square, sum := arith.NewBig().Mul(y, y), arith.NewBig()
		for n := int64(1); n < 260; n += 2 {
			sum.Add(sum, arith.NewBig().Quo(y, arith.NewBig().SetInt64(n)))
			y.Mul(y, square)
		}
		return sum.Add(sum.Mul(sum, arith.NewBig().SetInt64(2)), arith.NewBig().SetFloat64(max(t, 0)))
	}
	tanh := a.Kind == network.Tanh
	if tanh {
		away.Mul(away, arith.NewBig().SetInt64(2))
	}
	e := arith.BigExp(away)
	w := arith.NewBig().Quo(one, arith.NewBig().Add(one, e)) // of |t|
	if tanh {
		w.Sub(w.Add(w, w), one)
		if t < 0 {
			w.Neg(w)
		}
	} else if t < 0 {
		w.Sub(one, w)
	}
	return w
}

// curveCase is a random curve and what it is of.
func curveCase(r *rand.Rand) (a network.Activation, al arith.Interval, b float64, box rect, s *curve) {
	a = activations(r)
	v := math.Exp(r.NormFloat64())
	box = rect{meanLo: 3 * r.NormFloat64(), varLo: v}
	box.meanHi, box.varHi = box.meanLo+3*r.Float64(), v*(1+r.Float64())
	al = arith.Exactly(math.Exp(1.5*r.NormFloat64()) * r.NormFloat64())
	if r.IntN(2) == 0 {
		al.Hi += math.Abs(al.Hi) * 0x1p-45
	}
	if r.IntN(3) > 0 {
		b = (1.8*r.Float64() - 0.9) / box.varHi
	}
	l := &layer{act: a, out: 1}
	return a, al, b, box, l.curve(al, b, box, 1e-3)
}

// TestCurves: pieces are at least exp(-al z + b z^2/2) at every t, in exact arithmetic; and near it.
func TestCurves(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 21))
	for i := range testscale.Cases(t, 1500) {
		a, al, b, box, s := curveCase(r)
		if len(s.pieces) > mostPieces+64 {
			t.Errorf("case %d, %v: %d pieces", i, a, len(s.pieces))
		}
		for j := range 12 {
			x := box.meanLo + 4*math.Sqrt(box.varHi)*r.NormFloat64()
			if j < 4 { // next to an end
				x = s.pieces[r.IntN(len(s.pieces))].To
				if math.IsInf(x, 0) {
					x = 40 * r.NormFloat64()
				}
				x = []float64{x, math.Nextafter(x, -50), math.Nextafter(x, 50), x + 1e-3*r.NormFloat64()}[j]
			} else if j < 6 { // beyond all
				x = math.Copysign(farEnd+20*r.Float64(), float64(j)-4.5)
			}
			got, _ := s.atExactly(x).Float64() // what is off by a rounding is looked at by itself
			z := exactly(a, x)
			exact := arith.NewBig()
			for k, end := range []float64{al.Lo, al.Hi} {
				square := arith.NewBig().Mul(z, z)
				power := square.Mul(square, arith.NewBig().SetFloat64(b/2))
				power.Sub(power, arith.NewBig().Mul(z, arith.NewBig().SetFloat64(end)))
				if k == 0 || power.Cmp(exact) > 0 {
					exact = power
				}
			}
			if arith.NewBig().SetRat(s.atExactly(x)).Cmp(exact) < 0 {
				about, _ := exact.Float64()
				t.Errorf("case %d, %v at %v: %v is below %v", i, a, x, got, about)
			}
		}
	}
}

// TestLeastHalf: half of the least b is none of the numbers that are rounded to 0.
func TestLeastHalf(t *testing.T) {
	f := &bent{act: network.Activation{Kind: network.Softplus}, b: 0x1p-1074}
	if got := f.of(arith.Exactly(100)); got < 5000*0x1p-1074 {
		t.Errorf("of z = 100: %v", got)
	}
	if p := f.outer(farEnd, 1); p.Power < 0 || p.Bend < 0x1p-1074 {
		t.Errorf("beyond: %v", p)
	}
}

// TestCurveMoments: of pieces, in corners and above a plane; near what quadrature says.
func TestCurveMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 22))
	for i := range testscale.Cases(t, 300) {
		a, al, b, box, s := curveCase(r)
		l := &layer{act: a, out: 1}
		mean, v := box.meanLo+(box.meanHi-box.meanLo)*r.Float64(), box.varLo+(box.varHi-box.varLo)*r.Float64()
		about := l.tiltApprox(al.Lo, b, mean, v)
		if math.IsInf(about.log, 1) {
			continue
		}
		off := 0.04 * (al.Size()*math.Sqrt(v) + math.Abs(b)*v) // of quadrature, by kinks
		if got := gauss.PiecesMomentUp(s.pieces, mean, v); got > about.log+2e-3+off || got < about.log-0.02-off {
			t.Errorf("case %d, %v, al %v, b %v at %v, %v: %v, by quadrature %v, %d pieces", i, a, al, b, mean, v, got, about.log, len(s.pieces))
		}
		by := slopes{about.byMean, about.byVar}
		got, seen := box.above(s, by, 0.01), math.Inf(-1)
		for j := range 64 {
			share, of := r.Float64(), r.Float64()
			if j < 25 {
				share, of = float64(j%5)/4, float64(j/5)/4
			}
			mean, v := min(box.meanHi, box.meanLo+(box.meanHi-box.meanLo)*share), min(box.varHi, box.varLo+(box.varHi-box.varLo)*of)
			exact := gauss.PiecesMomentUp(s.pieces, mean, v)
			h := exact - by.mean*mean - by.variance*v
			if seen = max(seen, h); h-1e-11*(1+math.Abs(exact)) > got {
				t.Errorf("case %d, %v: %v is below %v at %v, %v", i, a, got, h, mean, v)
			}
		}
		if got > seen+0.1 {
			t.Errorf("case %d, %v: %v above a plane, seen %v", i, a, got, seen)
		}
	}
}

// TestNegative: of outputs below 0 a row has the largest of its coefficients; and boxes of some width are for ReLU alone.
func TestNegative(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(34, 23)), 0.001, false, 1, 1, 1)
	post.Layers[0].Activation = network.Activation{Kind: network.Tanh}
	for k, mean := range []float64{-2, 1} {
		post.Layers[k].Weight.Mean[0], post.Layers[k].Bias.Mean[0] = mean, 0
	}
	x := []float64{1} // z is -0.96, and the row between 0.5 - 0.96 and 0.5
	safe := property.Safe{Rows: []property.Row{{CLo: []float64{0}, CHi: []float64{1}, D: 0.5, DHi: 0.5}}, Any: [][]int{{0}}}
	task := property.Task{T: []property.Box{{Lo: x, Hi: x}}, Inner: []property.Box{{Lo: x, Hi: x}}, S: safe}
	c := newChain(post)
	p, err := c.newPoint(t.Context(), task.T[0], firstTau)
	if err != nil {
		t.Fatal(err)
	}
	if log := p.tailUp(c.head(&safe.Rows[0]), 4, whole(4, make([][]slopes, 1))); !(log > 0) {
		t.Errorf("a row that is negative is so with e^%v", log)
	}
	task.S.Rows[0].CHi = []float64{0.25}
	wide := task
	wide.T = []property.Box{provetest.BoxAround(x, 0.01)}
	results, err := Certify(t.Context(), engineOf(t, post), []property.Task{task, wide})
	if err == nil {
		err = Boxes(t.Context(), engineOf(t, post), 0, nil, results)
	}
	if err != nil || !(results[0].Lower() > 0.99) || results[1].Lower() > 0 {
		t.Errorf("at a point %v, over a box %v, %v", results[0].Lower(), results[1].Lower(), err)
	}
}
