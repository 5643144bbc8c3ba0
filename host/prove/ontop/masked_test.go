package ontop

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestMasked: of small networks of which inputs and neurons are dropped, the masks with which a row fails
// somewhere on a grid have at most the probability that is said.
func TestMasked(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 21))
	told, sums := 0, 0.0
	for i := range testscale.Cases(t, 1000) {
		act := []network.Activation{{Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.Tanh}, {Kind: network.Identity}}[i%8/2]
		sizes := [][]int{{2, 3, 2}, {3, 4, 2}, {1, 3, 3, 2}, {2, 3, 3, 2}}[rng.IntN(4)]
		post := sumtest.RandomMasked(rng, act, 0, sizes...)
		masked, err := NewMasked(post)
		if err != nil {
			t.Fatal(err)
		}
		hidden := 0
		for _, n := range sizes[1 : len(sizes)-1] {
			hidden += n
		}
		if masked.Events() != 2*hidden {
			t.Fatalf("%d events of layers of %v", masked.Events(), sizes)
		}
		task := property.Task{T: []property.Box{{}}, S: property.Safe{Any: [][]int{{0}}}}
		for range sizes[0] {
			at, by := rng.NormFloat64(), 0.2*rng.Float64()*float64(i%2)
			task.T[0].Lo, task.T[0].Hi = append(task.T[0].Lo, at-by), append(task.T[0].Hi, at+by)
		}
		y := post.LogitsApprox(task.T[0].Lo)
		c := []float64{1, -1}
		row := property.Row{CLo: c, CHi: c, D: y[1] - y[0] + 3*rng.Float64()}
		row.DHi = row.D
		task.S.Rows = []property.Row{row}
		fail, _ := sumtest.MaskedUnsafe(post, &task, task.T[0].Lo, -1e-9)
		pass := masked.On(InputCell(task.T[0]))
		for _, tau := range []float64{1e-4, 1e-2} {
			tail, budget := pass.Tails(task.S.Rows, tau, i%3 == 0)[0], tau*float64(masked.Events())
			if tail+budget < fail {
				t.Errorf("%d %v %v: %v beside %v, masks of probability %v fail", i, act, sizes, tail, budget, fail)
			}
			if tail < 1 {
				told++
				sums += min(1, tail+budget) - fail
			}
		}
	}
	if told == 0 {
		t.Error("nothing is known of any network")
	}
	t.Logf("%d tails below 1, %.3f above the truth on average", told, sums/float64(told))
}

// TestMaskedGraph: the same for small networks of convolutions, pools and joins, of which single numbers and
// whole channels are dropped in front of any layers, and of DropConnect, bounded from the input on.
func TestMaskedGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 26))
	told, above := 0, 0.0
	for i := range testscale.Cases(t, 250) {
		act := []network.Activation{{Kind: network.ReLU}, {Kind: network.LeakyReLU, Slope: 0.25}, {Kind: network.ReLU}, {Kind: network.Tanh}}[i%4]
		post := sumtest.RandomMaskedGraph(rng, act)
		if i%5 == 4 {
			post = sumtest.RandomDropConnect(rng, act)
		}
		masked, err := newMasked(post, 0)
		if err != nil {
			t.Fatal(err)
		}
		task := property.Task{T: []property.Box{{}}, S: property.Safe{Any: [][]int{{0}}}}
		for range post.Inputs() {
			at, by := rng.NormFloat64(), 0.1*rng.Float64()*float64(i%3)
			task.T[0].Lo, task.T[0].Hi = append(task.T[0].Lo, at-by), append(task.T[0].Hi, at+by)
		}
		y := post.LogitsApprox(task.T[0].Lo)
		c := make([]float64, len(y))
		c[0], c[1] = 1, -1
		row := property.Row{CLo: c, CHi: c, D: y[1] - y[0] + 2*rng.Float64()}
		row.DHi = row.D
		task.S.Rows = []property.Row{row}
		fail, _ := sumtest.MaskedUnsafe(post, &task, task.T[0].Lo, -1e-9)
		pass := masked.On(InputCell(task.T[0]))
		for _, tau := range []float64{1e-4, 1e-2} {
			tail, budget := pass.Tails(task.S.Rows, tau, false)[0], tau*float64(masked.Events())
			if tail+budget < fail {
				t.Errorf("%d %v: %v beside %v, masks of probability %v fail", i, post.Describe(), tail, budget, fail)
			}
			if near, _ := sumtest.MaskedUnsafe(post, &task, task.T[0].Lo, -1e-2); i%3 == 0 && budget == 0 && tail > near+1e-9 {
				t.Errorf("%d %v: tail %v at a point, masks of probability %v fail", i, post.Describe(), tail, near)
			}
			if tail+budget < 1 {
				told++
				above += tail - fail
			}
		}
	}
	if told == 0 && !testing.Short() {
		t.Error("nothing is known of any network")
	}
	t.Logf("%d tails below 1, %.3f above the truth on average", told, above/float64(told))
}

// TestMaskedPool: rows through max pools, to their stars, are at or below the maxima.
func TestMaskedPool(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 27))
	for i := range testscale.Cases(t, 300) {
		act := []network.Activation{{Kind: network.ReLU}, {Kind: network.Identity}, {Kind: network.LeakyReLU, Slope: 0.25}}[i%3]
		l := &maskedLayer{in: 3, out: 2, activation: act, members: []int32{0, 1, 2, 1, 2, -1}}
		z := &values{moves: make([]float64, 3)}
		for range 3 {
			lo := rng.NormFloat64()
			z.lo, z.hi = append(z.lo, lo), append(z.hi, lo+2*rng.Float64())
		}
		h := &hidden{values: values{moves: make([]float64, 2)}}
		h.pooled(l, z)
		c := newCoefficients(2)
		c.a[0], c.a[1] = rng.NormFloat64(), rng.NormFloat64()
		var constant arith.Sum
		s := h.unpool(h.through(c, &constant), 3, &constant)
		for range 30 {
			var y [3]float64
			said := constant.Lo()
			for j := range y {
				y[j] = z.lo[j] + rng.Float64()*(z.hi[j]-z.lo[j])
				said += s.a[j]*y[j] - s.wrong[j]*math.Abs(y[j])
			}
			v := [2]float64{max(y[0], y[1], y[2]), max(y[1], y[2])}
			truth := 0.0
			for w, t := range v {
				v[w] = act.Approx(t)
				truth += c.a[w] * v[w]
			}
			if said > truth+1e-12 || v[0] < h.lo[0]-1e-12 || v[1] > h.hi[1]+1e-12 {
				t.Fatalf("%d %v: a row of maxima %v is %v, %v is said; in %v to %v", i, act, v, truth, said, h.lo, h.hi)
			}
		}
	}
}

// TestMaskedRanges: intervals of what is linear hold whatever is dropped.
func TestMaskedRanges(t *testing.T) {
	l := &maskedLayer{in: 2, out: 1, rate: 0.5, kernels: [][]int32{{0, 1}}, weight: []float64{1, 1}, bias: []float64{0}, low: network.Dense{In: 2, Out: 1}.Lowered()}
	lo, hi := l.ranges(&values{lo: []float64{1, 2}, hi: []float64{1, 3}})
	if lo[0] > 0 || hi[0] < 8 || lo[0] < -1e-9 || hi[0] > 8+1e-9 {
		t.Errorf("%v to %v, want 0 to 8", lo, hi)
	}
}

// TestSharedMask: what shares a mask is dropped together: the numbers of a channel, and a number in all windows
// that see it. Masks of their own would hardly ever drop half of them.
func TestSharedMask(t *testing.T) {
	const rate = 0.125
	posts, points := sumtest.SharedMasks(rate)
	for i, post := range posts {
		masked, err := NewMasked(post)
		if err != nil {
			t.Fatal(err)
		}
		row := property.Row{CLo: []float64{1}, CHi: []float64{1}, D: -1, DHi: -1}
		pass := masked.On(InputCell(property.Box{Lo: points[i], Hi: points[i]}))
		if tail := pass.Tails([]property.Row{row}, 0, false)[0]; tail < rate || tail > rate+1e-9 {
			t.Errorf("%s: tail %v, it fails with probability %v", post.Describe(), tail, rate)
		}
	}
}

// TestLaws: the sum of terms whose size is anything in its range is below a quantile with probability tau
// at most, and not with much less; and what tailUp says holds, and is the truth where sizes are known.
func TestLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 22))
	for i := range testscale.Cases(t, 300) {
		n := 1 + rng.IntN(9)
		low, above := rng.IntN(n+1), []term(nil)
		var known, terms []term
		size := 0.0
		for j := range n {
			rate := float64(1+rng.IntN(12)) / 16
			most := rng.NormFloat64()
			u := most
			if j >= low {
				u *= rng.Float64()
			}
			size += math.Abs(most) / (1 - rate)
			known = append(known, term{-u, u * rate / (1 - rate), rate})
			terms = append(terms, term{-most, most * rate / (1 - rate), rate})
		}
		above = terms[low:]
		mean := rng.NormFloat64() + 1
		below := func(at float64) (p float64) {
			for mask := range 1 << n {
				value, q := mean, 1.0
				for j, t := range known {
					if mask>>j&1 == 0 {
						value, q = value+t.dropped, q*t.rate
					} else {
						value, q = value+t.kept, q*(1-t.rate)
					}
				}
				if value <= at {
					p += q
				}
			}
			return p
		}
		fail, tail := below(-1e-12), tailUp(mean, terms[:low], above, finePoints)
		if tail < fail {
			t.Errorf("%d: tail %v of %d and %d terms, the truth is %v", i, tail, low, n-low, fail)
		}
		if most := below(size / 200); low == n && tail > most*(1+1e-9)+1e-12 {
			t.Errorf("%d: tail %v, the truth is %v", i, tail, most)
		}
		row, _ := lawUp(mean, terms[:low], above)
		for i, up := range row.Above {
			if at := row.Top - row.Step*float64(i); below(at-1e-9) > up {
				t.Fatalf("%d: %v is said to be below %v with %v, the truth is %v", i, mean, at, up, below(at-1e-9))
			}
		}
		share, reach := sigmoidMean(mean, known), row.Step*float64(len(row.Above))
		if got := row.SigmoidMeanUp(); got < share-1e-12 || low == n && got > share+0.005+reach/250 {
			t.Errorf("%d: the mean of 1/(1+e^row) is %v, by the law %v", i, share, got)
		}
		l := newLaw(mean, terms)
		for _, tau := range []float64{1e-3, 0.02, 0.2} {
			at := l.quantileDown(tau)
			if p := below(at - 1e-12); p > tau {
				t.Errorf("%d: %v is said to be above %v but for %v, the truth is %v", i, mean, at, tau, p)
			}
			if p := below(at + size/100); low == n && n > 4 && p < tau/60 && at < mean-1e-9 {
				t.Errorf("%d: the quantile %v of %v has %v above", i, at, tau, p)
			}
		}
	}
}

// sigmoidMean is the mean of 1/(1 + e^y) for y = mean + the terms.
func sigmoidMean(mean float64, terms []term) (sum float64) {
	for mask := range 1 << len(terms) {
		y, q := mean, 1.0
		for j, t := range terms {
			if mask>>j&1 == 0 {
				y, q = y+t.dropped, q*t.rate
			} else {
				y, q = y+t.kept, q*(1-t.rate)
			}
		}
		sum += q / (1 + math.Exp(y))
	}
	return sum
}

// TestMaskedMoves: what is dropped above moves with the input, and so does its noise.
func TestMaskedMoves(t *testing.T) {
	layers := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 23)), network.Activation{Kind: network.Identity}, 0, 1, 1, 1).Layers
	for k := range layers {
		layers[k].Weight.Mean, layers[k].Bias.Mean = []float64{1}, []float64{0}
	}
	// y = x m/(1-1/2) n/(1-1/4): with x in [1, 3] it is at most -D with the larger probability at 3.
	post, err := posterior.FromDropout(layers, []float64{0.25, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	masked, err := NewMasked(post)
	if err != nil {
		t.Fatal(err)
	}
	row := property.Row{CLo: []float64{-1}, CHi: []float64{-1}, D: 7, DHi: 7}
	box := property.Box{Lo: []float64{1}, Hi: []float64{3}}
	tail, fail := masked.On(InputCell(box)).Tails([]property.Row{row}, 1e-6, false)[0], 0.75*0.5
	if tail < fail {
		t.Errorf("tail %v, fail with probability %v", tail, fail)
	}
}

// TestMaskNoise: what a mask above does to a row, with a value of any size in its range that varies as it may,
// has no larger mean of (c - y)+ than the terms in its place.
func TestMaskNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 24))
	for i := range testscale.Cases(t, 1000) {
		rate := float64(1+rng.IntN(14)) / 16
		n := 1 + rng.IntN(2) // of one channel
		l := &maskedLayer{in: n, out: 1, rate: rate, unit: make([]int32, n), units: 1, fedRandom: true}
		s, h := newCoefficients(n), &values{}
		for j := range n {
			lo := rng.NormFloat64()
			s.a[j] = rng.NormFloat64()
			h.lo, h.hi, h.moves = append(h.lo, lo), append(h.hi, lo+2*rng.Float64()), append(h.moves, rng.Float64()*float64(i%3))
		}
		row := &maskedRow{}
		l.mask(s, row, h)
		for range 20 {
			c, value, by, odds := 3*rng.NormFloat64(), 0.0, 0.0, rate/(1-rate)
			for j, a := range s.a {
				value += a * (h.lo[j] + rng.Float64()*(h.hi[j]-h.lo[j]))
				by += math.Abs(a) * h.moves[j]
			}
			truth := rate*max(0, c+value+by) + (1-rate)*max(0, c-odds*(value-by))
			said := 0.0
			for mask := range 1 << len(row.above) {
				p, y := 1.0, row.constant.Hi()
				for e, t := range row.above {
					if mask>>e&1 == 0 {
						p, y = p*t.rate, y+t.dropped
					} else {
						p, y = p*(1-t.rate), y+t.kept
					}
				}
				said += p * max(0, c-y)
			}
			if said < truth-1e-12 {
				t.Fatalf("%d: the mean of (%v - y)+ is %v, of the terms %v", i, c, truth, said)
			}
		}
	}
}

// TestSpread: of gaps on a lattice the means of (s - y)+ are at least those of the gaps themselves, and hardly
// more.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 25))
	for i := range testscale.Cases(t, 300) {
		n, points, step := 1+rng.IntN(5), 4+rng.IntN(40), 0.1
		var gaps []gap
		for range n {
			up := float64(1+rng.IntN(14)) / 16
			gaps = append(gaps, gap{rng.Float64(), up, 1 - up})
		}
		d := missing(spread(gaps, step, points))
		for s := range d {
			truth := 0.0
			for mask := range 1 << n {
				p, y := 1.0, 0.0
				for e, g := range gaps {
					if mask>>e&1 == 1 {
						p, y = p*g.up, y+g.gap
					} else {
						p *= g.stay
					}
				}
				truth += p * max(0, float64(s)*step-y)
			}
			if got := d[s] * step; got < truth-1e-12 || got > truth+step*float64(n)/2 {
				t.Fatalf("%d: the mean of (%v - y)+ is %v, on the lattice %v", i, float64(s)*step, truth, got)
			}
		}
	}
}

// TestMaskedEnds: once there is no time, nothing is known of the rows and neurons that are left.
func TestMaskedEnds(t *testing.T) {
	relu := network.Activation{Kind: network.ReLU}
	masked, err := NewMasked(sumtest.RandomMasked(rand.New(rand.NewPCG(43, 3)), relu, 0, 3, 6, 5, 2))
	if err != nil {
		t.Fatal(err)
	}
	row := property.Row{CLo: []float64{1, 0}, CHi: []float64{1, 0}, D: 9, DHi: 9}
	var looks atomic.Int64
	bound := func(few int64) float64 {
		looks.Store(0)
		masked.Ended = func() error {
			if looks.Add(1) > few {
				return context.DeadlineExceeded
			}
			return nil
		}
		return masked.On(InputCell(provetest.BoxAround(make([]float64, 3), 0.01))).Tails([]property.Row{row}, 1e-6, false)[0]
	}
	want, all := bound(1<<40), int64(0)
	if all = looks.Load(); !(want < 1) || all < 6 {
		t.Fatalf("%v after %d looks", want, all)
	}
	for few := range all {
		if tail := bound(few); tail != 1 {
			t.Errorf("%v after %d of %d looks, want %v", tail, few, all, want)
		}
	}
}
