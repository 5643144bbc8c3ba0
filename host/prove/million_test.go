package prove_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/prove/claim"
	"psafe/host/read/property"
	"psafe/internal/testkit/provetest"
	"psafe/internal/testscale"
)

// atPoint draws the outputs of a ReLU network with independent normal weights at one point: given the layer
// below, its pre-activations are independent normal numbers, which are far fewer than weights.
type atPoint struct {
	post *posterior.Posterior
	r    *rand.Rand
	// mean and sd are those of the first layer, which are the same in every draw.
	mean, sd []float64
	z, y     []float64
}

func newAtPoint(post *posterior.Posterior, x []float64, seed uint64) *atPoint {
	a := &atPoint{post: post, r: rand.New(rand.NewPCG(seed, 106))}
	a.mean, a.sd = a.pre(0, x, nil, nil)
	return a
}

// pre are the means and deviations of layer k's pre-activations given its inputs.
func (a *atPoint) pre(k int, z, mean, sd []float64) ([]float64, []float64) {
	l := &a.post.Layers[k]
	mean, sd = append(mean[:0], l.Bias.Mean...), append(sd[:0], l.Bias.SdHi...)
	for o := range mean {
		v := sd[o] * sd[o]
		for j, x := range z {
			w := j*len(mean) + o
			mean[o] += l.Weight.Mean[w] * x
			v += l.Weight.SdHi[w] * l.Weight.SdHi[w] * x * x
		}
		sd[o] = math.Sqrt(v)
	}
	return mean, sd
}

// draw are the outputs of one network.
func (a *atPoint) draw() []float64 {
	mean, sd := a.mean, a.sd
	for k := range a.post.Layers {
		a.y = a.y[:0]
		for o, m := range mean {
			a.y = append(a.y, m+sd[o]*a.r.NormFloat64())
		}
		if k == len(a.post.Layers)-1 {
			break
		}
		a.z = a.z[:0]
		for _, t := range a.y {
			a.z = append(a.z, max(t, 0))
		}
		if k == 0 {
			mean, sd = nil, nil
		}
		mean, sd = a.pre(k+1, a.z, mean, sd)
	}
	return a.y
}

// drawnMoments are means of what of says of the outputs at x, and five standard errors of each.
func drawnMoments(post *posterior.Posterior, x []float64, seed uint64, draws int, of func(y []float64) []float64) (mean, off []float64) {
	a := newAtPoint(post, x, seed)
	var square []float64
	for range draws {
		v := of(a.draw())
		if mean == nil {
			mean, square = make([]float64, len(v)), make([]float64, len(v))
		}
		for i, u := range v {
			mean[i] += u
			square[i] += u * u
		}
	}
	n := float64(draws)
	for i := range mean {
		mean[i] /= n
		off = append(off, 5*math.Sqrt(max(0, square[i]/n-mean[i]*mean[i])/n)+1e-6)
	}
	return mean, off
}

// shares are the softmax of outputs, in place.
func shares(y []float64) []float64 {
	most, sum := slices.Max(y), 0.0
	for k := range y {
		y[k] = math.Exp(y[k] - most)
		sum += y[k]
	}
	for k := range y {
		y[k] /= sum
	}
	return y
}

// TestMillionDraws: no bound of decisions and of means of tiny networks with normal weights is beyond what a
// million draws show at the worst points of a grid, to five standard errors; and at points of no width the
// probability of the class is about what is drawn. (With few cases there are fewer draws.)
func TestMillionDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 106))
	draws, look := 1000000, 4000
	if !testscale.Deep(t) {
		draws, look = 50000, 300
	}
	gaps := map[float64][]float64{} // by deviations of weights
	verdicts, compared := map[string]int{}, 0
	for n := range testscale.Costly(t, 1000) {
		sd, sizes := []float64{0.05, 0.2, 0.6}[n%3], [][]int{{1, 3, 2}, {2, 3, 3}, {1, 3, 2, 2}, {2, 4, 2}}[n/2%4]
		post := provetest.Noisy(r, sd, n%7 == 0, sizes...)
		x := make([]float64, post.Inputs())
		for j := range x {
			x[j] = r.NormFloat64()
		}
		eps := []float64{0, 0.01, 0.1}[n/3%3]
		task := property.Task{Index: n, Label: -1, T: []property.Box{provetest.BoxAround(x, eps)}}
		task.Inner = task.T
		precision := []bound.Precision{bound.Float32, bound.Float64}[n/4%2]
		points := gridOf(5, task.T[0])
		// worst is the point of the grid where a few draws, the same everywhere, have the least of something.
		worst := func(of func(y []float64) []float64, pick func(m []float64) float64) []float64 {
			best, least := points[0], math.Inf(1)
			for _, p := range points {
				m, _ := drawnMoments(post, p, uint64(n), look, of)
				if v := pick(m); v < least {
					best, least = p, v
				}
			}
			return best
		}
		if n%2 == 1 {
			s, _, err := property.ParseSpec("output_box:[-0.2,1e3],[,]"+[]string{"", ",[,]"}[post.Outputs()-2], post.Outputs())
			if err != nil {
				t.Fatal(err)
			}
			task.S = s
			m := run(t, precision, post, prove.Config{Method: prove.CLBP, Mean: true, Cells: 8}, task)[0].Mean
			of := func(y []float64) []float64 { return y }
			for _, sign := range []float64{1, -1} {
				at := worst(of, func(m []float64) float64 { return sign * m[0] })
				mean, off := drawnMoments(post, at, uint64(n)+1e6, draws, of)
				for i := range mean {
					compared++
					if m.Lower[i] > mean[i]+off[i] || m.Upper[i] < mean[i]-off[i] {
						t.Errorf("%d: output %d is from %v to %v, drawn is %v", n, i, m.Lower[i], m.Upper[i], mean[i])
					}
				}
			}
			continue
		}
		y := post.LogitsApprox(x)
		if task.Label = slices.Index(y, slices.Max(y)); n%10 == 0 {
			task.Label = r.IntN(post.Outputs())
		}
		c := task.Label
		task.S = property.ArgmaxIs(c, post.Outputs())
		d := run(t, precision, post, prove.Config{Method: prove.CLBP, Decision: true, Cells: 4}, task)[0].Decision
		verdicts[d.Verdict()]++
		at := worst(shares, func(pi []float64) float64 { return pi[c] - pi[rivalOf(pi, c)] })
		pi, off := drawnMoments(post, at, uint64(n)+1e6, draws, shares)
		compared++
		against(t, "million", &task, d, pi, off, 1, 0)
		if d.Verdict() == claim.DecisionSafe && pi[rivalOf(pi, c)]-off[rivalOf(pi, c)] > pi[c]+off[c] {
			t.Errorf("%d: decision_safe, drawn is %v", n, pi)
		}
		if eps == 0 {
			gaps[sd] = append(gaps[sd], pi[c]-d.Lower)
		}
	}
	t.Logf("%d comparisons of %d draws; %v", compared, draws, verdicts)
	for sd, list := range gaps {
		slices.Sort(list)
		sum := 0.0
		for _, g := range list {
			sum += g
		}
		mean := sum / float64(len(list))
		t.Logf("of %d points, sd %v, lower is below the drawn probability by %.4f in the median, %.4f on average, %.4f at most",
			len(list), sd, list[len(list)/2], mean, list[len(list)-1])
		if most := map[float64]float64{0.05: 0.05, 0.2: 0.2, 0.6: 0.5}[sd]; !(mean <= most) {
			t.Errorf("at points lower is below the drawn probability by %v on average, sd %v", mean, sd)
		}
	}
}
