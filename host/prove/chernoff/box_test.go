package chernoff

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testscale"
)

// staysIn reports whether a network keeps the class at the corners and in the middle of a box, and at a few points
// between.
func staysIn(r *rand.Rand, net network.Network, weights [][]float64, task *property.Task) bool {
	box := task.T[0]
	x := make([]float64, len(box.Lo))
	for i := range 1<<len(x) + 4 {
		for j := range x {
			switch {
			case i >= 1<<len(x):
				x[j] = box.Lo[j] + (box.Hi[j]-box.Lo[j])*r.Float64()
			case i>>j&1 == 0:
				x[j] = box.Lo[j]
			default:
				x[j] = box.Hi[j]
			}
		}
		y := net.OutputsApprox(weights, x)
		for o := range y {
			if y[o] > y[task.Label] {
				return false
			}
		}
	}
	return true
}

// TestBoxesAgainstDraws: no lower bound over a box is above what drawn networks allow.
func TestBoxesAgainstDraws(t *testing.T) {
	cases, draws := testscale.Cases(t, 120), 600
	if testscale.Deep(t) {
		cases, draws = testscale.Cases(t, 1000), 100000
	}
	r := rand.New(rand.NewPCG(34, 11))
	shapes := [][]int{{2, 8, 8, 2}, {2, 12, 2}, {1, 4, 3, 2}, {2, 8, 8, 3}, {3, 6, 4, 2}}
	shown, sought, bounded := 0.0, 0.0, 0
	for i := range cases {
		post, task := pointCase(r, math.Exp(2*r.Float64()-5), shapes[i%len(shapes)]...)
		results, err := Certify(t.Context(), engineOf(t, post), []property.Task{task})
		if err == nil {
			err = Boxes(t.Context(), engineOf(t, post), 0, nil, results)
		}
		if err != nil {
			t.Fatal(err)
		}
		if results[0].Lower() == 0 {
			continue
		}
		bounded++
		safe, drawn, net, weights := 0, 0, post.Network(), post.NewWeights()
		for ; drawn < draws; drawn++ {
			if drawn == 2000 && results[0].Lower() < float64(safe)/float64(drawn)-0.1 {
				break // more say no more: ten deviations
			}
			if post.Draw(34, drawn, weights); staysIn(r, net, weights, &task) {
				safe++
			}
		}
		if most := probability.ClopperPearsonUp(safe, drawn, sure); results[0].Lower() > most {
			t.Errorf("case %d, %v: P_safe is at least %v, drawn at most %v", i, shapes[i%len(shapes)], results[0].Lower(), most)
		}
		shown, sought = shown+results[0].Lower(), sought+float64(safe)/float64(drawn)
	}
	if t.Logf("%d of %d bounded, %v of %v shown", bounded, cases, shown, sought); cases >= 20 && !(shown > 0.45*sought && bounded > cases/5) {
		t.Errorf("%d of %d bounded, %v of %v shown", bounded, cases, shown, sought)
	}
}

// atExactly is the exponent of a unit at t.
func (u *unit) atExactly(t float64) *big.Rat {
	for _, p := range u.pieces {
		if t <= p.To {
			e := new(big.Rat).Mul(rat(p.Slope), rat(t))
			e.Add(e, rat(p.Power))
			return e.Add(e, new(big.Rat).Mul(rat(p.Bend/2), new(big.Rat).Mul(rat(t), rat(t))))
		}
	}
	panic("no piece")
}

func rat(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// TestUnits: a unit is at least what a neuron does for each move within the radius, exactly, and no more than for the
// worst.
func TestUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 12))
	relu := func(x *big.Rat) *big.Rat {
		if x.Sign() < 0 {
			return new(big.Rat)
		}
		return x
	}
	mul := func(x ...*big.Rat) *big.Rat {
		p := rat(1)
		for _, f := range x {
			p.Mul(p, f)
		}
		return p
	}
	for i := range testscale.Cases(t, 1500) {
		h, a, radius, k := math.Exp(r.NormFloat64()), r.NormFloat64(), roundUp32(math.Exp(r.NormFloat64()-1)), uint8(r.IntN(steps+1))
		s, al, bend := math.Abs(r.NormFloat64()), r.NormFloat64(), r.NormFloat64()
		first := i%2 == 1
		if i%4 == 0 {
			s = 0
		}
		of := lastUnit(h, a, s, radius, k)
		if first {
			of = firstUnit(h, a, al, bend, radius, k)
		}
		x := radius * 3 * (2*r.Float64() - 1)
		switch i % 7 {
		case 0:
			x = kink(k, radius)
		case 1:
			x = -radius
		}
		if x == 0 {
			continue
		}
		u, most := of.atExactly(x), math.Inf(-1)
		for j := range 10 {
			d := radius * float64(j-4) / 4
			if j == 9 {
				d = min(max(-x, -radius), radius) // where the neuron turns
			}
			moved := relu(new(big.Rat).Add(rat(x), rat(d)))
			out := mul(rat(-h), rat(a), moved)
			out.Add(out, mul(rat(h), rat(a), rat(share(k)), rat(d)))
			if first {
				z := relu(rat(x))
				out.Add(out, mul(rat(h), rat(a), z))
				out.Sub(out, mul(rat(al), z))
				out.Add(out, mul(rat(bend), z, z, rat(0.5)))
			} else {
				out.Add(out, mul(rat(h), rat(h), rat(s), moved, moved, rat(0.5)))
			}
			if out.Cmp(u) > 0 {
				t.Errorf("case %d: a unit below what a neuron does at %v, moved by %v: h %v, a %v, radius %v, share %d", i, x, d, h, a, radius, k)
			}
			v, _ := out.Float64()
			most = max(most, v)
		}
		if got, _ := u.Float64(); s == 0 && got > most+1e-9*(1+math.Abs(most)) {
			t.Errorf("case %d: %v, at most %v is needed", i, got, most)
		}
	}
}

// TestUnitsAbove: what is said of a unit's moment and a plane holds at random points of the rect, and is near what is
// seen there.
func TestUnitsAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 13))
	for i := range testscale.Cases(t, 300) {
		v := math.Exp(r.NormFloat64())
		box := rect{meanLo: 3 * r.NormFloat64(), varLo: v}
		box.meanHi, box.varHi = box.meanLo+4*r.Float64(), v*(1+2*r.Float64())
		h, a := math.Exp(r.NormFloat64()-1)/math.Sqrt(v), r.NormFloat64()*3
		s := 0.8 * r.Float64() / (box.varHi * h * h)
		u := lastUnit(h, a, s, roundUp32(math.Sqrt(v)*math.Exp(r.NormFloat64()-1)), uint8(r.IntN(steps+1)))
		middle := u.tiltApprox((box.meanLo+box.meanHi)/2, (box.varLo+box.varHi)/2)
		by := slopes{middle.byMean, middle.byVar}
		const tol = 1e-3
		got, seen := box.above(&u, by, tol), math.Inf(-1)
		for j := range 300 {
			shareOfMean, shareOfVar := r.Float64(), r.Float64()
			if j < 4 { // the corners
				shareOfMean, shareOfVar = float64(j%2), float64(j/2)
			}
			mean, variance := box.meanLo+(box.meanHi-box.meanLo)*shareOfMean, box.varLo+(box.varHi-box.varLo)*shareOfVar
			mean, variance = min(mean, box.meanHi), min(variance, box.varHi)
			exact := gauss.PiecesMomentUp(u.pieces, mean, variance)
			height := exact - by.mean*mean - by.variance*variance
			if seen = max(seen, height); height-1e-9*(1+math.Abs(exact)+math.Abs(height)) > got {
				t.Errorf("case %d: %v is below %v at %v, %v of %+v", i, got, height, mean, variance, box)
			}
		}
		if got > seen+tol+0.1 {
			t.Errorf("case %d: %v, seen %v", i, got, seen)
		}
	}
	if got := (rect{0, 1, 0.5, 2}).above(&unit{pieces: []gauss.Piece{{To: arith.Inf, Bend: 1}}}, slopes{}, 1e-3); got != arith.Inf {
		t.Errorf("a moment that is infinite in a corner: %v", got)
	}
}

// certain takes the noise from a layer.
func certain(l *posterior.Layer) {
	for _, p := range []*posterior.Params{&l.Weight, &l.Bias} {
		clear(p.SdLo)
		clear(p.SdHi)
		clear(p.Spread)
	}
}

// TestDifferences: over draws of the weights, neurons and rows move no more than is said of them: on average what is
// lost without a quantile, and with it but as often as the budget allows.
func TestDifferences(t *testing.T) {
	draws := 300
	if testscale.Deep(t) {
		draws = 5000
	}
	r := rand.New(rand.NewPCG(34, 14))
	for i := range testscale.Cases(t, 600) {
		sizes := [][]int{{3, 6, 4, 2}, {2, 9, 2}, {1, 1, 3, 2}}[i%3]
		post, task := pointCase(r, math.Exp(2*r.Float64()-4), sizes...)
		for k := range post.Layers { // one layer or two have noise, so that each kind of it is seen alone
			if kinds := []int{1, 2, 4, 7, 3, 6, 5}[i/3%7]; kinds>>k&1 == 0 {
				certain(&post.Layers[k])
			}
		}
		if k := i / 21 % 3; k > 0 && k < len(post.Layers) { // and without what its means do
			clear(post.Layers[k].Weight.Mean)
		}
		c := newChain(post)
		b, err := c.newRegion(t.Context(), task.T[0], 0.02)
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			continue
		}
		checkDifference(t, r, i, post, b, &task.S.Rows[0], task.T[0], draws)
	}
}

// checkDifference compares a row's difference with random shares, and how far neurons move, with draws.
func checkDifference(t *testing.T, r *rand.Rand, i int, post *posterior.Posterior, b *region, row *property.Row, box property.Box, draws int) {
	var shares [][]uint8
	for _, l := range b.hidden {
		list := make([]uint8, l.out)
		for j := range list {
			list[j] = uint8(r.IntN(steps + 1))
		}
		shares = append(shares, list)
	}
	s := b.spread(b.head(row), shares)
	const k = 4 // of the budget 1/256
	below := s.loss + b.quantiles[k]*math.Sqrt(s.variance)
	sum, square, n, fails, moved := 0.0, 0.0, 0.0, 0, 0
	weights := post.NewWeights()
	for d := range draws {
		post.Draw(37, d, weights)
		at := hiddenOf(post, weights, box.CentreApprox())
		if !b.sidesHold(at[0]) {
			continue
		}
		noise := noiseOf(post, weights, row)
		lost := 0.0
		if s.carried != nil {
			for j, a := range s.carried {
				lost += lossApprox(a, at[0][j], b.reach[0][j], share(shares[0][j]))
			}
		}
		least, far := 0.0, false
		for range 12 {
			x := make([]float64, len(box.Lo))
			for j := range x {
				x[j] = []float64{box.Lo[j], box.Hi[j]}[r.IntN(2)]
			}
			there, total := hiddenOf(post, weights, x), lost
			for k, list := range there {
				for j, v := range list {
					move := v - at[k][j]
					far = far || math.Abs(move) > b.reach[k][j]+1e-12
					if k == len(there)-1 {
						total += s.a[j]*share(shares[k][j])*move + noise[j]*(max(v, 0)-max(at[k][j], 0))
					}
				}
			}
			least = min(least, total)
		}
		if n++; far {
			moved++
		}
		sum, square = sum-least, square+least*least
		if -least > below+1e-12 {
			fails++
		}
	}
	if n == 0 {
		return
	}
	mean := sum / n
	if off := 6 * math.Sqrt(max(0, square/n-mean*mean)/n); mean-off > s.loss+1e-12 {
		t.Errorf("case %d: a row is less by %v +- %v on average, said is %v", i, mean, off, s.loss)
	}
	if hasNoise := post.Layers[len(b.hidden)].Weight.SdHi[0] > 0; !hasNoise && probability.ClopperPearsonDown(fails, int(n), sure) > 1.0/256 {
		t.Errorf("case %d: a row is less by %v in %d of %v draws, budgeted is 1/256", i, below, fails, n)
	}
	if statements := float64(len(b.reach[0]) + 2*len(b.reach[len(b.reach)-1]) + 1); probability.ClopperPearsonDown(moved, int(n), sure) > 0.02*radiusShare*statements {
		t.Errorf("case %d: neurons move further than said in %d of %v draws", i, moved, n)
	}
}

// sidesHold reports whether the first layer is where it was said to be.
func (b *region) sidesHold(at []float64) bool {
	for i, side := range b.sides {
		if side == 0 && at[i] > -b.reach[0][i] || side == 1 && at[i] < b.reach[0][i] {
			return false
		}
	}
	return true
}

// lossApprox returns what a neuron with a coefficient loses at worst.
func lossApprox(a, t, radius, share float64) float64 {
	most := 0.0
	for _, d := range []float64{-radius, radius, min(max(-t, -radius), radius)} {
		most = max(most, -a*(max(t+d, 0)-max(t, 0)-share*d))
	}
	return most
}

// hiddenOf are the pre-activations of hidden layers.
func hiddenOf(post *posterior.Posterior, weights [][]float64, x []float64) (all [][]float64) {
	for k := range len(post.Layers) - 1 {
		out := post.Layers[k].Outputs()
		next := make([]float64, out)
		for o := range next {
			next[o] = weights[2*k+1][o]
			for j, v := range x {
				next[o] += weights[2*k][j*out+o] * v
			}
		}
		all, x = append(all, next), make([]float64, out)
		for o, v := range next {
			x[o] = max(v, 0)
		}
	}
	return all
}

// noiseOf returns what a row's coefficients over the last hidden layer deviate by.
func noiseOf(post *posterior.Posterior, weights [][]float64, row *property.Row) []float64 {
	k := len(post.Layers) - 1
	l := &post.Layers[k]
	noise := make([]float64, l.Inputs())
	for j := range noise {
		for o, c := range row.CLo {
			at := j*l.Outputs() + o
			noise[j] += c * (weights[2*k][at] - l.Weight.Mean[at])
		}
	}
	return noise
}

// TestDifferencesCount: a tail pays for its row's difference, and a box for all that is stated of it.
func TestDifferencesCount(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 15))
	for range 50 {
		if countsDifference(t, r) {
			return
		}
	}
	t.Error("nothing is found")
}

// countsDifference reports whether there was something to look at.
func countsDifference(t *testing.T, r *rand.Rand) bool {
	post, task := pointCase(r, 0.01, 2, 8, 8, 2)
	c := newChain(post)
	const tau = 1e-3
	b, err := c.newRegion(t.Context(), task.T[0], tau)
	point, errOf := c.newPoint(t.Context(), property.Box{Lo: task.T[0].Lo, Hi: task.T[0].Lo}, tau)
	if err != nil || errOf != nil || b == nil || point == nil {
		t.Fatal(err, errOf)
	}
	stated := (8 + 2*8 + 1) * tau * radiusShare
	for i, r := range b.rects[0] {
		if b.sides[i] != 0.5 {
			stated += gauss.TailDown((math.Abs(r.meanLo) - b.reach[0][i]) / math.Sqrt(r.varLo))
		}
	}
	if more := b.budget - point.budget; !(more >= stated*(1-1e-6)) {
		t.Errorf("a box has a budget larger by %v than a point", more)
	}
	g := b.rowApprox(b.spreadApprox(b.head(&task.S.Rows[0])))
	if !(g.log < -1) {
		return false
	}
	with, off := b.tailUp(&g), g.loss+b.quantiles[g.budget]*math.Sqrt(g.variance)
	without := *g.spread
	without.loss, without.variance = 0, 0
	g.spread = &without
	if got := with - b.tailUp(&g); !(math.Abs(got-g.rate*off) < 1e-6*g.rate*off) {
		t.Errorf("a tail of e^%v for a difference of %v at the rate %v, by itself e^%v", with, off, g.rate, with-got)
	}
	return true
}
