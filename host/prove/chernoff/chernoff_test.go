package chernoff

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"psafe/fallback"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/claim"
	"psafe/host/prove/clbp"
	"psafe/host/prove/engine"
	"psafe/host/prove/probability"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// sure is with which probability a statement of the tests about draws fails.
const sure = 1e-9

// pointCase is a random posterior, and a task that keeps the class of a point.
func pointCase(r *rand.Rand, radius float64, sizes ...int) (*posterior.Posterior, property.Task) {
	post := provetest.Noisy(r, 0.2+0.8*r.Float64(), r.IntN(4) == 0, sizes...)
	x := make([]float64, sizes[0])
	for j := range x {
		x[j] = r.NormFloat64()
	}
	y := post.LogitsApprox(x)
	box, label := provetest.BoxAround(x, radius), slices.Index(y, slices.Max(y))
	return post, property.Task{Label: label, T: []property.Box{box}, Inner: []property.Box{box}, S: property.ArgmaxIs(label, len(y))}
}

// drawn returns how many of n drawn networks give each class at a point.
func drawn(post *posterior.Posterior, x []float64, n int) (counts []int) {
	counts = make([]int, post.Outputs())
	net, weights := post.Network(), post.NewWeights()
	for i := range n {
		post.Draw(34, i, weights)
		y := net.OutputsApprox(weights, x)
		counts[slices.Index(y, slices.Max(y))]++
	}
	return counts
}

func engineOf(t *testing.T, post *posterior.Posterior) *engine.Engine {
	t.Helper()
	e, err := engine.New(fallback.New(bound.Float64), nil, post, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestAgainstDraws: no lower bound is above, and no upper bound below, what drawn networks allow; and where there is
// something to be shown, most of it is.
func TestAgainstDraws(t *testing.T) {
	draws, shown, sought := 1500, 0.0, 0.0
	if testscale.Deep(t) {
		draws = 20000
	}
	r := rand.New(rand.NewPCG(34, 1))
	shapes := [][]int{{2, 8, 8, 3}, {3, 12, 2}, {1, 3, 2, 2}, {2, 16, 16, 2}, {2, 6, 6, 6, 2}, {2, 4, 4, 3, 3, 2}}
	cases := testscale.Cases(t, 200/testscale.By(t, 2))
	for i := range cases {
		radius := 0.0
		if i%7 == 4 {
			radius = 0x1p-45
		}
		post, task := pointCase(r, radius, shapes[i%len(shapes)]...)
		if i%3 == 1 {
			others(r, post, &task)
		}
		e := engineOf(t, post)
		results, err := Certify(t.Context(), e, []property.Task{task})
		if err != nil {
			t.Fatal(err)
		}
		other := task // a class that the point has not
		other.Label = (task.Label + 1) % (len(task.S.Rows) + 1)
		other.S = property.ArgmaxIs(other.Label, len(task.S.Rows)+1)
		results = append(results, claim.NewResult(&other, Method))
		at, err := clbp.Uppers(t.Context(), e, results)
		if err == nil {
			err = Uppers(t.Context(), e, at, results)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 { // a short search, which has (52) alone, claims less: by a factor of what fails, that of (52a) and of few rates
			short, err := QuickDown(t.Context(), e.Normal, &task)
			if err != nil {
				t.Fatal(err)
			}
			if full := results[0].Lower(); short > full+0.01 || full > 0.8 && short < 1-8*(1-full)-0.01 && len(shapes[i%len(shapes)]) < 5 {
				t.Errorf("case %d, %v: a short search finds %v, a long one %v", i, shapes[i%len(shapes)], short, full)
			}
		}
		counts := drawn(post, task.T[0].Lo, draws)
		n := counts[task.Label]
		most, least := probability.ClopperPearsonUp(n, draws, sure), probability.ClopperPearsonDown(n, draws, sure)
		if lower, upper := results[0].Lower(), results[0].Upper(); lower > most || upper < least {
			t.Errorf("case %d, %v: P_safe is in [%v, %v], drawn [%v, %v]", i, shapes[i%len(shapes)], lower, upper, least, most)
		}
		if share := float64(n) / float64(draws); share > 0.9 {
			shown, sought = shown+results[0].Lower(), sought+share
		}
		n = counts[other.Label]
		if least := probability.ClopperPearsonDown(n, draws, sure); results[1].Upper() < least {
			t.Errorf("case %d, %v: P_safe of another class is at most %v, drawn at least %v", i, shapes[i%len(shapes)], results[1].Upper(), least)
		}
	}
	if t.Logf("%v of %v shown", shown, sought); cases >= 20 && !(shown > 0.4*sought) {
		t.Errorf("%v of %v shown", shown, sought)
	}
}

// TestQuickDown: what fails at the points of T is added up, and what is not at points, or would take long, is not looked at.
func TestQuickDown(t *testing.T) {
	_, task := pointCase(rand.New(rand.NewPCG(34, 9)), 0, 2, 6, 2)
	post := provetest.Noisy(rand.New(rand.NewPCG(34, 11)), 0.5, false, 2, 6, 2)
	y := post.LogitsApprox(task.T[0].Lo)
	task.S = property.ArgmaxIs(slices.Index(y, slices.Max(y)), 2)
	ctx := t.Context()
	look := func(post *posterior.Posterior, boxes ...property.Box) (float64, error) {
		of := task
		of.T = boxes
		return QuickDown(ctx, post, &of)
	}
	down := func(post *posterior.Posterior, boxes ...property.Box) float64 {
		p, err := look(post, boxes...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := task.T[0], provetest.BoxAround([]float64{task.T[0].Lo[0] / 2, task.T[0].Lo[1] / 2}, 0)
	if one, other, both := down(post, a), down(post, b), down(post, a, b); !(one > 0 && one < 0.999 && other > 0 && other < 0.999) || math.Abs(both-(one+other-1)) > 1e-9 {
		t.Errorf("%v and %v at points, %v at both", one, other, both)
	}
	if p := down(post, provetest.BoxAround(a.Lo, 0.01)); p != 0 {
		t.Errorf("%v in a box", p)
	}
	if p, err := look(provetest.Noisy(rand.New(rand.NewPCG(34, 10)), 0.01, false, 2, 450, 450, 2), a); p != 0 || err == nil {
		t.Errorf("%v of a network that takes long", p)
	}
	hour, end := context.WithTimeout(ctx, time.Hour)
	defer end()
	if ctx = hour; down(post, a) == 0 {
		t.Error("an hour is too short")
	}
	large := provetest.Noisy(rand.New(rand.NewPCG(34, 10)), 0.01, false, 2, 330, 330, 2)
	shortly, endShortly := context.WithTimeout(hour, 400*time.Millisecond)
	defer endShortly()
	ctx = shortly
	if p, err := look(large, a); p != 0 || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("%v, %v of a network that takes longer than there is time", p, err)
	}
}

// TestAbove: what is said of a surface and a plane holds at random points of the rect, and is near what is seen there.
func TestAbove(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 2))
	for i := range testscale.Cases(t, 600) {
		v := math.Exp(r.NormFloat64())
		box := rect{meanLo: 3 * r.NormFloat64(), varLo: v}
		box.meanHi, box.varHi = box.meanLo+5*r.Float64(), v*(1+2*r.Float64())
		al, b := r.NormFloat64(), (r.Float64()*1.6-0.8)/box.varHi
		by := slopes{r.NormFloat64(), r.NormFloat64()}
		if i%2 == 1 { // flat in the middle, and bent
			al *= 4 / math.Sqrt(v)
			middle := tiltApprox(al, b, (box.meanLo+box.meanHi)/2, (box.varLo+box.varHi)/2)
			by = slopes{middle.byMean, middle.byVar}
		}
		const tol = 1e-3
		got, seen := box.above(relu{al, b}, by, tol), math.Inf(-1)
		look := func(mean, variance float64) {
			exact := gauss.ReLUMomentUp(al, b, mean, variance)
			h := exact - by.mean*mean - by.variance*variance
			if seen = max(seen, h); h-1e-11*(1+math.Abs(exact)+math.Abs(h)) > got {
				t.Errorf("case %d: %v is below %v at %v, %v of %+v", i, got, h, mean, variance, box)
			}
		}
		for j := range 400 {
			mean, variance := box.meanLo+(box.meanHi-box.meanLo)*float64(j%20)/19, box.varLo+(box.varHi-box.varLo)*float64(j/20)/19
			look(min(mean, box.meanHi), min(variance, box.varHi))
		}
		for range 100 {
			look(box.meanLo+(box.meanHi-box.meanLo)*r.Float64(), box.varLo+(box.varHi-box.varLo)*r.Float64())
		}
		// Between the points of that grid a surface may rise by a little.
		if got > seen+tol+0.05 {
			t.Errorf("case %d: %v, seen %v", i, got, seen)
		}
	}
	// Along the variance alone, where the surface is about log Q(6/s) and bends down.
	thin, by := rect{6, 6, 0.5, 3}, slopes{0, tiltApprox(50, 0, 6, 1.2).byVar}
	if got, inside := thin.above(relu{50, 0}, by, 1e-3), gauss.ReLUMomentUp(50, 0, 6, 1.2)-1.2*by.variance; got < inside-1e-9 || got > inside+0.1 {
		t.Errorf("%v along the variance, %v inside", got, inside)
	}
	inf := math.Inf(1)
	for _, box := range []rect{{0, 1, 0, 1}, {0, 1, 1, inf}, {1, 0, 1, 2}, {0, 1, 2, 1}, {math.NaN(), 1, 1, 2}, {0, inf, 1, 2}} {
		if got := box.above(relu{1, 0}, slopes{}, 1e-3); got != inf {
			t.Errorf("%v: %v", box, got)
		}
	}
	if got := (rect{0, 1, 0.5, 2}).above(relu{1, 0.5}, slopes{}, 1e-3); got != inf {
		t.Errorf("a moment that is infinite in a corner: %v", got)
	}
}

// TestMoments: the moment of a row is no less than in draws, at rates where these show it, and near it where a neuron's
// mean hardly varies.
func TestMoments(t *testing.T) {
	draws := 4000
	if testscale.Deep(t) {
		draws = 100000
	}
	r := rand.New(rand.NewPCG(34, 7))
	for i := range testscale.Cases(t, 120) {
		post, task := pointCase(r, 0, 2, 6, 4, 2)
		if i%2 == 0 { // the first layer is nearly certain, so that planes are nearly exact
			for _, g := range []posterior.Params{post.Layers[0].Weight, post.Layers[0].Bias} {
				for j := range g.SdHi {
					g.SdLo[j], g.SdHi[j], g.Spread[j] = 1e-3, 1e-3, 1e-3
				}
			}
			for j, g := 0, post.Layers[1].Bias; j < len(g.SdHi); j++ { // and what the second has is its biases'
				g.SdLo[j], g.SdHi[j], g.Spread[j] = 1, 1, 1
			}
		}
		p, err := newChain(post).newPoint(t.Context(), task.T[0], 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil || slices.ContainsFunc(p.rects[1], func(n rect) bool { return n.varLo == 0 }) {
			continue
		}
		row := p.head(&task.S.Rows[0])
		_, variance := row.momentsApprox(p.meansApprox())
		h := 0.7 / math.Sqrt(variance)
		al, b := row.exponent(h, h*h/2)
		o := p.outlineApprox(1, lows(al), b, rounds)
		if o.planes == nil {
			continue // a moment that is infinite
		}
		up, sum, square := p.momentUp(1, al, b, o.planes, fine), 0.0, 0.0
		if got, want := p.tailUp(row, h, whole(h, o.planes)), up-h*row.c+h*h*row.sb/2; math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("case %d: a tail of e^%v, (52) is e^%v", i, got, want)
		}
		second, z := &post.Layers[1], make([]float64, post.Layers[0].Outputs())
		for range draws {
			for j, n := range p.rects[0] {
				z[j] = max(0, n.meanLo+math.Sqrt(n.varLo)*r.NormFloat64())
			}
			power, holds := 0.0, true
			for o, n := range p.rects[1] {
				mean, v := second.Bias.Mean[o], second.Bias.SdHi[o]*second.Bias.SdHi[o]
				for j, x := range z {
					at := j*second.Outputs() + o
					mean += second.Weight.Mean[at] * x
					v += second.Weight.SdHi[at] * second.Weight.SdHi[at] * x * x
				}
				holds = holds && n.meanLo <= mean && mean <= n.meanHi && n.varLo <= v && v <= n.varHi
				x := max(0, mean+math.Sqrt(v)*r.NormFloat64())
				power += b[o]*x*x/2 - al[o].Lo*x
			}
			if holds {
				sum, square = sum+math.Exp(power), square+math.Exp(2*power)
			}
		}
		mean := sum / float64(draws)
		off := 6 * math.Sqrt((square/float64(draws)-mean*mean)/float64(draws)) / mean
		if off > 0.3 {
			continue // a few draws have most of it
		}
		if exact := math.Log(mean); up < exact-off || i%2 == 0 && up > exact+off+0.1 {
			t.Errorf("case %d: a moment of e^%v, in draws e^%v +- %v", i, up, exact, off)
		}
	}
}

// TestAlternatives: of a set with alternatives, each with its own row, an upper bound counts all of them; and a lower
// bound is that of one.
func TestAlternatives(t *testing.T) {
	post := provetest.Noisy(rand.New(rand.NewPCG(34, 5)), 0.1, false, 2, 8, 8, 2)
	x := []float64{0.5, -0.5}
	about := drawnRow(post, x, 4000)
	at := func(sign float64, share float64) property.Row { // sign y_0 >= a quantile of it
		c, d := []float64{sign, 0}, -sign*about[int(share*float64(len(about)-1))]
		return property.Row{CLo: c, CHi: c, D: d, DHi: d}
	}
	box := property.Box{Lo: x, Hi: x}
	task := property.Task{T: []property.Box{box}, Inner: []property.Box{box},
		S: property.Safe{Rows: []property.Row{at(1, 0.9995), at(-1, 0.0005)}, Any: [][]int{{0}, {1}}}} // safe with probability 1/1000
	up, _, err := newChain(post).safeUp(t.Context(), box, &task.S, 1)
	if err != nil || up < 0.001 || up >= 0.5 {
		t.Errorf("P_safe is 0.001, at most %v, %v", up, err)
	}
	for _, alone := range [][]int{{0}, {1}} {
		one := task.S
		one.Any = [][]int{alone}
		if of, _, _ := newChain(post).safeUp(t.Context(), box, &one, 1); !(of < up-0.0005) {
			t.Errorf("%v of both alternatives, %v of %v", up, of, alone)
		}
	}
	likely := property.Safe{Rows: []property.Row{at(1, 0.9)}, Any: [][]int{{0}}} // no more than one in ten are
	if up, _, err := newChain(post).safeUp(t.Context(), box, &likely, 1); err != nil || up < 0.1 || up >= 1 {
		t.Errorf("P_safe is 0.1, at most %v, %v", up, err)
	}
	task.S.Rows[1] = at(1, 0.001)
	results, err := Certify(t.Context(), engineOf(t, post), []property.Task{task})
	if err != nil || !(results[0].Lower() > 0.9) || results[0].Proof.Chernoff[0].Rows[0].Rate != 0 {
		t.Errorf("P_safe is 0.999, at least %v, %v", results[0].Lower(), err)
	}
}

// drawnRow are values of the first output at a point, ascending.
func drawnRow(post *posterior.Posterior, x []float64, n int) (values []float64) {
	net, weights := post.Network(), post.NewWeights()
	for i := range n {
		post.Draw(35, i, weights)
		values = append(values, net.OutputsApprox(weights, x)[0])
	}
	slices.Sort(values)
	return values
}

// TestNearlyPoint: over a box of some width a row loses at least what it varies by in draws.
func TestNearlyPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 6))
	post, task := pointCase(r, mostRadius, 2, 8, 8, 3)
	c := newChain(post)
	p, err := c.newPoint(t.Context(), task.T[0], firstTau)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	row := c.head(&task.S.Rows[0])
	loss, box := p.lossUp(row), task.T[0]
	for _, y := range [][]float64{{box.Lo[0], box.Lo[1]}, {box.Hi[0], box.Lo[1]}} {
		net, weights, mid := post.Network(), post.NewWeights(), []float64{(box.Lo[0] + box.Hi[0]) / 2, (box.Lo[1] + box.Hi[1]) / 2}
		for i := range 200 {
			post.Draw(36, i, weights)
			a, b := net.OutputsApprox(weights, mid), net.OutputsApprox(weights, y)
			for k := range a {
				if math.Abs(a[k]-b[k]) > loss+1e-13 {
					t.Fatalf("output %d moves by %v, said is %v", k, a[k]-b[k], loss)
				}
			}
		}
	}
	by := make([][]slopes, 2)
	for range p.rects[1] {
		by[1] = append(by[1], slopes{})
	}
	const rate = 0.25
	wide := p.tailUp(row, rate, whole(rate, by))
	p.vary = nil
	if point := p.tailUp(row, rate, whole(rate, by)); !(math.Abs(wide-point-rate*loss) < 0.01*rate*loss) {
		t.Errorf("a tail of %v over a box, of %v at its middle, where rows vary by %v", wide, point, loss)
	}
}

// TestStatements: what is said of the neurons of the second hidden layer fails about as often as it may, and no more.
func TestStatements(t *testing.T) {
	draws := 20000
	if testscale.Deep(t) {
		draws = 100000
	}
	const tau = 0.02
	r := rand.New(rand.NewPCG(34, 3))
	for i := range testscale.Cases(t, 40) {
		post, task := pointCase(r, 0, 2, 6, 4, 2)
		p, err := newChain(post).newPoint(t.Context(), task.T[0], tau)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue // a variance that may be 0 has no moment here
		}
		fails := make([][4]int, len(p.rects[1]))
		first, second := &post.Layers[0], &post.Layers[1]
		for range draws {
			z := make([]float64, first.Outputs())
			for j, n := range p.rects[0] {
				z[j] = max(0, n.meanLo+math.Sqrt(n.varLo)*r.NormFloat64())
			}
			for o, n := range p.rects[1] {
				mean, v := second.Bias.Mean[o], second.Bias.SdHi[o]*second.Bias.SdHi[o]
				for j, x := range z {
					at := j*second.Outputs() + o
					mean += second.Weight.Mean[at] * x
					v += second.Weight.SdHi[at] * second.Weight.SdHi[at] * x * x
				}
				for k, failed := range []bool{mean < n.meanLo-1e-9, mean > n.meanHi+1e-9, v < n.varLo-1e-9, v > n.varHi+1e-9} {
					if failed {
						fails[o][k]++
					}
				}
			}
		}
		for o, list := range fails {
			for k, n := range list {
				if probability.ClopperPearsonDown(n, draws, sure) > tau {
					t.Errorf("case %d, neuron %d: statement %d fails %d times of %d, tau is %v", i, o, k, n, draws, tau)
				}
			}
		}
	}
}

// TestFits: what exact moments are not for is refused in a line; boxes that are no points have no bound, and so have
// sets with more rows than are looked at.
func TestFits(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 4))
	for _, sizes := range [][]int{{2, 3}, {2, 600, 600, 2}, {2, 200, 200, 200, 2}} {
		if Fits(provetest.Noisy(r, 0.1, false, sizes...)) == nil {
			t.Errorf("%v fits", sizes)
		}
	}
	post, task := pointCase(r, 0.01, 2, 8, 8, 3)
	results, err := Certify(t.Context(), engineOf(t, post), []property.Task{task})
	if err != nil || results[0].Lower() != 0 || results[0].Proof.Chernoff != nil {
		t.Errorf("a box: %v, %v", results[0].Lower(), err)
	}
}
