package check

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"psafe/host/bound"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/ontop"
	"psafe/host/read/property"
	"psafe/internal/testkit/sumtest"
	"psafe/internal/testscale"
)

// TestOnTop: of posteriors that are random in their last layer alone, with any covariance, what certify
// claims is proved again, and as many drawn networks as can be are within the bounds of both.
func TestOnTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	lower, upper, dependent := 0, 0, 0
	for i := range testscale.Costly(t, 900) {
		act := activations[i%len(activations)]
		sizes := [][]int{{2, 4, 3}, {2, 5, 4, 3}, {2, 3}, {1, 6, 2}}[rng.IntN(4)]
		post := sumtest.RandomOnTop(rng, act, []float64{0.03, 0.1, 0.3}[rng.IntN(3)], sizes...)
		task := randomTask(rng, post, 0)
		p := []bound.Precision{bound.Float32, bound.Float64}[i%2]
		r := certified(t, p, post, prove.Config{Method: prove.CLBP, Cells: 1 + i%3*4}, []property.Task{task})[0]
		low, up := againstDraws(t, i, post, &task, r, 400)
		if up {
			upper++
		}
		if low {
			lower++
		}
		if low && post.Kind == posterior.KindCorrelated {
			dependent++
		}
	}
	t.Logf("%d lower bounds, %d of them of weights that depend on each other, %d upper", lower, dependent, upper)
	if !testing.Short() && (dependent == 0 || upper == 0) {
		t.Error("nothing was tested")
	}
}

// TestOnTopBySlopes: where nothing but the last layer is random, nothing below can fail, and certify tries other
// lower slopes with a budget of 0. On [-1, 1] of max(x + 0.1, 0) - 0.45 x the best one shows -0.34, the usual one
// -0.45, with a deviation of 0.1.
func TestOnTopBySlopes(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 5)), net.Activation{Kind: net.ReLU}, 0, 1, 2, 1)
	for k, of := range [][2][]float64{{{1, 1}, {0.1, 3}}, {{1, -0.45}, {1.9}}} {
		l := &post.Layers[k]
		l.Weight = posterior.NewParams(of[0], make([]float64, 2), posterior.ScaleSD)
		l.Bias = posterior.NewParams(of[1], make([]float64, len(of[1])), posterior.ScaleSD)
	}
	top := &post.Layers[1]
	top.Weight = posterior.NewParams(top.Weight.Mean, []float64{0, 0.01}, posterior.ScaleSD)
	top.Bias = posterior.NewParams(top.Bias.Mean, []float64{0.1}, posterior.ScaleSD)
	row := property.Row{CLo: []float64{1}, CHi: []float64{1}}
	box := property.Box{Lo: []float64{-1}, Hi: []float64{1}}
	task := property.Task{Label: -1, T: []property.Box{box}, Inner: []property.Box{box}, S: property.Safe{Rows: []property.Row{row}, Any: [][]int{{0}}}}
	r := certified(t, bound.Float64, post, prove.Config{Method: prove.CLBP, Cells: 1}, []property.Task{task})[0]
	if fail := 1 - r.Lower(); r.Tau != 0 || fail > 0.04 {
		t.Errorf("fails %v with a budget of %v", fail, r.Tau)
	}
	againstDraws(t, 0, post, &task, r, 400)
}

// TestOnTopOfDepth: --depth is for rows of hidden layers that noise meets, and not for what is below all noise.
func TestOnTopOfDepth(t *testing.T) {
	post := sumtest.RandomNoisy(rand.New(rand.NewPCG(33, 6)), net.Activation{Kind: net.ReLU}, 0, 2, 4, 4, 4, 2)
	top := &post.Layers[3].Weight
	top.SdLo[0], top.SdHi[0] = 0.1, 0.1
	n, err := newAnyNoise(post)
	if err != nil {
		t.Fatal(err)
	}
	box := property.Box{Lo: []float64{-1, -1}, Hi: []float64{1, 1}}
	row := property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}}
	s := property.Safe{Rows: []property.Row{row, row.Negated()}}
	all, _ := n.topPass(box, 0).laws(&s)
	n.graph.depth = 1
	if laws, _ := n.topPass(box, 0).laws(&s); !reflect.DeepEqual(laws, all) {
		t.Errorf("laws of rows depend on --depth")
	}
}

// TestForgedOnTop: a record cannot claim more of such a posterior, nor a budget that is for other
// weights.
func TestForgedOnTop(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	for range 20 {
		post := sumtest.RandomOnTop(rng, activations[0], 0.1, 2, 4, 3)
		if post.Independent() {
			continue
		}
		task := randomTask(rng, post, 0)
		n, err := newAnyNoise(post)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := n.failUp(t.Context(), &task, nil, []float64{0}, atMost(0))
		other, err2 := n.failUp(t.Context(), &task, nil, []float64{1e-3}, atMost(0))
		if err != nil || err2 != nil || other < fail {
			t.Errorf("fails %v, with a budget %v: %v, %v", fail, other, err, err2)
		}
	}
}

// TestTopAsCertify: of what certify and check are told alike of a cell, they say the same of a row, up to
// the hundredth of a form that certify adds; certify never less. Rows are put together as alternatives.
func TestTopAsCertify(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 4))
	told, met := 0, 0
	for i := range testscale.Cases(t, 600) {
		const in, out = 2, 3
		n := 1 + rng.IntN(5)
		post := sumtest.RandomOnTop(rng, activations[0], []float64{0.1, 0.5}[rng.IntN(2)], in, n, out)
		top, err := ontop.New(post)
		if err != nil {
			t.Fatal(err)
		}
		pass := &topPass{topped: newTopped(post), radius: make([]float64, in), inputs: make([]slopes, n)}
		lines := &bound.InputLines{Items: 1, Rows: 2 * n, In: in, Lo: make([]float64, 2*n), ALo: make([]float64, in*2*n)}
		var box property.Box
		for k := range pass.radius {
			lo := float64(rng.IntN(32)) / 64
			pass.radius[k] = float64(rng.IntN(4)) / 32 * float64(i%3)
			box.Lo, box.Hi = append(box.Lo, lo), append(box.Hi, lo+2*pass.radius[k])
		}
		for j := range pass.inputs {
			s := &pass.inputs[j]
			s.lo = 2*rng.NormFloat64() - 1
			s.lower, s.hi = s.lo, s.lo
			for k, radius := range pass.radius {
				below := rng.NormFloat64()
				above := below + 0.2*rng.NormFloat64()
				s.below, s.above = append(s.below, below), append(s.above, above)
				s.lower, s.hi = s.lower+math.Abs(below)*radius, s.hi+(math.Abs(below)+math.Abs(above)+0.2)*radius
				lines.ALo[k*2*n+j], lines.ALo[k*2*n+n+j] = below, -above
			}
			s.upper = s.hi
			for k, radius := range pass.radius {
				s.upper -= math.Abs(s.above[k]) * radius
			}
			lines.Lo[j], lines.Lo[n+j] = s.lo, -s.hi
		}
		lines.AHi = lines.ALo
		cell := ontop.NewCell(lines, 0, n, box, bound.Float64)
		s := property.Safe{Any: [][]int{{0, 1}, {2}}}
		for range 3 {
			c := make([]float64, out)
			for o := range c {
				c[o] = rng.NormFloat64()
			}
			d := 2 * rng.NormFloat64()
			s.Rows = append(s.Rows, property.Row{CLo: c, CHi: c, D: d, DHi: d})
		}
		for _, once := range []bool{false, true} {
			var tails []float64
			for r := range s.Rows {
				want, got := top.Row(&s.Rows[r]).TailUp(cell, once), min(1, pass.tailUp(&s.Rows[r], once))
				tails = append(tails, got)
				if got > want*(1+1e-14) || want == 1 && got < 1-1e-13 && math.Abs(got-0.5) > 1e-6 {
					t.Errorf("%d %s: %v, certify says %v", i, post.Describe(), got, want)
				}
				if got > 1e-12 && want < 1 {
					if told++; want > 0.5 {
						met++
					}
					// The tail of a quotient that is off by a share of 1/80; beside 1 a tail has no such digits.
					if z, zWant := quotientApprox(got), quotientApprox(want); want < 1-1e-9 && math.Abs(z-zWant) > math.Abs(zWant)/80+1e-9 {
						t.Errorf("%d %s: %v, certify says %v", i, post.Describe(), got, want)
					}
				}
			}
			want, got := min(1, tails[0]+tails[1], tails[2]), pass.cellFailUp(&s)
			if once {
				want, got = min(1, min(tails[0], tails[1])+tails[2]), pass.holdsUp(&s)
			}
			if got < want || got > want*(1+1e-15)+1e-300 {
				t.Errorf("%d: %v of tails %v, want %v", i, got, tails, want)
			}
		}
	}
	if told == 0 || met == 0 {
		t.Errorf("%d tails were compared, %d of them at points: nothing was tested", told, met)
	}
}

// quotientApprox is about the z of which p is the tail.
func quotientApprox(p float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*p) }

// TestFormUp: the largest value of a quadratic form over a box is at most what is said of it, and not
// much less.
func TestFormUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 3))
	for range testscale.Cases(t, 300) {
		n := 2 + rng.IntN(5)
		r := topRow{n: n + 1, k: make([]float64, (n+1)*(n+1)), delta: make([]float64, n+1)}
		b := make([]float64, n*n)
		for i := range b {
			b[i] = rng.NormFloat64()
		}
		for i := range n {
			for j := range n {
				for k := range n {
					r.k[i*(n+1)+j] += b[i*n+k] * b[j*n+k]
				}
			}
		}
		reach := make([]float64, n)
		for j := range reach {
			reach[j] = rng.Float64() * float64(rng.IntN(3))
		}
		most := 0.0
		for corner := range 1 << n {
			v := 0.0
			for i := range n {
				for j := range n {
					d := r.k[i*(n+1)+j] * reach[i] * reach[j]
					if corner>>i&1 != corner>>j&1 {
						d = -d
					}
					v += d
				}
			}
			most = max(most, v)
		}
		if got := r.formUp(reach); got < most*(1-1e-12) || got > most*math.Pi/2*1.001+1e-9 {
			t.Fatalf("%v of the form, its largest value is %v", got, most)
		}
	}
}

// TestTopLaw: at a point no law of a row says that it is small less often than drawn networks do, and the law
// is near that.
func TestTopLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 24))
	const draws = 1000
	for i := range 24 {
		post := sumtest.RandomOnTop(rng, activations[0], 0.4, 2, 5, 2)
		x := []float64{rng.NormFloat64(), rng.NormFloat64()}
		law := newTopPass(newTopped(post), meansOf(t, post), property.Box{Lo: x, Hi: x}).law(&property.Row{CLo: []float64{1, -1}, CHi: []float64{1, -1}})
		var rows []float64
		w := post.NewWeights()
		for d := range draws {
			post.Draw(uint64(i), d, w)
			y := post.Network().OutputsApprox(w, x)
			rows = append(rows, y[0]-y[1])
		}
		for k := 0; k < len(law.at); k += 4 {
			below, near := 0.0, 0.0
			for _, y := range rows {
				if y < law.at[k]-1e-9 {
					below += 1.0 / draws
				}
				if y < law.at[k]+1e-9+0.02*math.Abs(law.at[0]-law.at[len(law.at)-1]) {
					near += 1.0 / draws
				}
			}
			off := 5*math.Sqrt(below*(1-below)/draws) + 5.0/draws
			if below > law.below[k]+off || law.below[k] > near+off && law.below[k] != 0.5 {
				t.Errorf("%d %s: %v below %v, drawn are %v", i, post.Describe(), law.below[k], law.at[k], below)
			}
		}
	}
}
